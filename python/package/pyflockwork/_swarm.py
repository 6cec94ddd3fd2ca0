"""Searches that ask for values."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._arguments import box, whole
from ._minimize import changes, is_swarm, limits_of, problem_of

if TYPE_CHECKING:
    from ._result import OptimizeResult


def _elsewhere(x: NDArray[np.float64]) -> float:
    raise NotImplementedError


# As messages call it.
_elsewhere.__qualname__ = "the function"


class Swarm:
    """A search for a function that lives elsewhere: in a simulator, on a cluster, on another device.
    It asks for values at points, and the caller tells them, however long they take.

    It takes the same steps, to the bit, as `minimize` with a function of the same values.

    Parameters
    ----------
    bounds, constraints, integrality, x0, rng, maxfun, maxiter, target, seconds, method, \
particles, rule, preset, lanes, agreeing, options, save, save_every
        As of `minimize`; with `x0` it is a particle swarm.

    Examples
    --------
    >>> import numpy as np
    >>> import pyflockwork as fw
    >>> swarm = fw.Swarm([(-5, 5)] * 3, maxfun=3000)
    >>> while (points := swarm.ask()) is not None:
    ...     swarm.tell(((points - 1) ** 2).sum(axis=1))
    >>> bool(swarm.result().fun < 1e-9)
    True
    """

    def __init__(
        self,
        bounds: Any,
        *,
        constraints: Any = (),
        integrality: Any = None,
        x0: Any = None,
        rng: Any = None,
        maxfun: int | None = None,
        maxiter: int | None = None,
        target: float | None = None,
        seconds: float | None = None,
        method: str = "auto",
        particles: int | None = None,
        rule: str | None = None,
        preset: str | None = None,
        lanes: int | None = None,
        agreeing: int | None = 5,
        options: dict[str, Any] | None = None,
        save: str | os.PathLike[str] | None = None,
        save_every: float = 60.0,
    ) -> None:
        problem, self._sides = problem_of(_elsewhere, box(bounds), constraints, integrality)
        given: dict[str, Any] = {"particles": particles, "maxiter": maxiter, "rule": rule}
        swarm = is_swarm(problem, method, {**given, "preset": preset, "x0": x0})
        stated = changes(
            is_swarm=swarm,
            x0=x0,
            rng=rng,
            maxfun=maxfun,
            target=target,
            seconds=seconds,
            lanes=lanes,
            agreeing=agreeing,
            options=options,
            **given,
        )
        saved = None if save is None else os.fspath(save)
        self._begin(_native.Asking(problem, preset, stated, saved, save_every))

    def _begin(self, asking: _native.Asking) -> None:
        self._asking = asking
        self._result: OptimizeResult | None = None
        self._is_over = self._has_ended = False

    @classmethod
    def resume(
        cls,
        path: str | os.PathLike[str],
        bounds: Any,
        *,
        constraints: Any = (),
        integrality: Any = None,
        maxfun: int | None = None,
        maxiter: int | None = None,
        target: float | None = None,
        seconds: float | None = None,
        save: str | os.PathLike[str] | None = None,
        save_every: float = 60.0,
    ) -> Swarm:
        """Goes on with a saved one; bounds, constraints and integrality are as they were, limits may
        be others. It saves to the same file unless `save` names another.

        Examples
        --------
        >>> import os, tempfile
        >>> import pyflockwork as fw
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = os.path.join(folder, "run")
        ...     swarm = fw.Swarm([(-5, 5)] * 2, maxfun=1000, save=file)
        ...     for _ in range(3):
        ...         swarm.tell((swarm.ask() ** 2).sum(axis=1))
        ...     part = swarm.result().nfev
        ...     swarm = fw.Swarm.resume(file, [(-5, 5)] * 2)
        ...     for points in swarm:
        ...         swarm.tell((points**2).sum(axis=1))
        >>> bool(part < swarm.result().nfev <= 1000)
        True
        """
        swarm = cls.__new__(cls)
        _, name = _native.saved(os.fspath(path))
        problem, swarm._sides = problem_of(_elsewhere, box(bounds), constraints, integrality, None, name)
        limits = limits_of(maxfun=maxfun, maxiter=maxiter, target=target, seconds=seconds)
        saved = os.fspath(path if save is None else save)
        swarm._begin(_native.Asking.resume(problem, os.fspath(path), limits, saved, save_every))
        return swarm

    def ask(self) -> NDArray[np.float64] | None:
        """The points to evaluate next, of shape (points, n); None once the search is over. The same
        points again until all their values are told."""
        if self._result is not None or self._is_over:
            return None
        points = self._asking.ask()
        self._is_over = points is None
        return points

    def tell(self, values: ArrayLike) -> None:
        """Takes a value for each of the points asked for, in their order. NaN is infinitely bad."""
        self._sides.check()
        self._asking.tell(np.ascontiguousarray(np.asarray(values, float)).reshape(-1))

    def tell_at(self, index: int, value: float) -> None:
        """Takes the value of one of the points asked for: of the row `index`."""
        self._sides.check()
        self._asking.tell_at(whole("the index", index), float(value))

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        """The points asked for, again and again."""
        while (points := self.ask()) is not None:
            yield points

    @property
    def best(self) -> tuple[float, NDArray[np.float64]] | None:
        """The best value told so far and its point."""
        if self._result is not None:
            return self._result.fun, self._result.x
        return None if self._has_ended else self._asking.best()

    def result(self) -> OptimizeResult:
        """The result. A search that is not over ends here, with the best so far."""
        if self._result is None:
            self._sides.check()
            if self._has_ended:
                raise ValueError("the search ended without a result")
            from ._result import result

            self._is_over = self._has_ended = True
            self._result = result(self._asking.outcome())
        return self._result

    def __repr__(self) -> str:
        return f"<Swarm, best {self.best!r}>"
