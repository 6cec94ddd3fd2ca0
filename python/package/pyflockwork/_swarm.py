"""Searches that ask for values."""

from __future__ import annotations

import functools
import os
import re
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._arguments import box, values_of, whole
from ._minimize import changes, is_swarm, limits_of, problem_of

if TYPE_CHECKING:
    from ._result import OptimizeResult


def _elsewhere(x: NDArray[np.float64]) -> float:
    raise NotImplementedError


def _gpu(device: Any) -> int | None:
    """The number of the GPU; None for the CPU."""
    named = re.fullmatch(r"cpu|cuda(?::(\d{1,9}))?", device) if isinstance(device, str) else None
    if named is None:
        raise ValueError(f"device is {device!r}; it must be cpu, cuda, or a GPU as in cuda:1")
    return None if device == "cpu" else int(named[1] or 0)


def _from_dlpack(gpu: int | None, xp: Any) -> Callable[[Any], Any] | None:
    if xp is None:
        return None
    if gpu is None:
        raise ValueError("xp is given; on the CPU points are NumPy's: leave it out, or take device='cuda'")
    take = getattr(xp, "from_dlpack", None)
    if not callable(take):
        raise TypeError(f"xp is {xp!r}; it must be a namespace of arrays with from_dlpack, such as torch")
    return take  # type: ignore[no-any-return]


def _flat(values: ArrayLike) -> NDArray[np.float64]:
    return np.ascontiguousarray(values_of(values, "the values")).reshape(-1)


# As messages call it.
_elsewhere.__qualname__ = "the function"

_Given = ParamSpec("_Given")
_Returned = TypeVar("_Returned")


def _one_at_a_time(
    method: Callable[Concatenate[Swarm, _Given], _Returned],
) -> Callable[Concatenate[Swarm, _Given], _Returned]:
    """A method that waits while another thread is in one of these of the same swarm."""

    @functools.wraps(method)
    def waiting(self: Swarm, /, *args: _Given.args, **kwargs: _Given.kwargs) -> _Returned:
        with self._lock:
            return method(self, *args, **kwargs)

    return waiting


class Swarm:
    """A search for a function that lives elsewhere: in a simulator, on a cluster, in another library on
    the GPU. It asks for values at points, and the caller tells them, however long they take.

    It takes the same steps, to the bit, as `minimize` with a function of the same values. Several threads
    may use it: one waits for the other.

    Parameters
    ----------
    bounds, constraints, integrality, x0, rng, maxfun, maxiter, target, seconds, method, \
particles, rule, preset, lanes, agreeing, precision, options, save, save_every
        As of `minimize`; with `x0` it is a particle swarm.
    device : {"cpu", "cuda", "cuda:1"}
        Where points and values are: on the CPU, on the first GPU, or on the GPU of that number. On a GPU
        it is a particle swarm without constraints.
    xp : module, optional
        With ``device="cuda"``: the namespace whose arrays `ask` returns, such as ``torch``, ``cupy`` or
        ``jax.numpy``. Without it a `DeviceArray`, which any of them takes.

    Examples
    --------
    >>> import numpy as np
    >>> import pyflockwork as fw
    >>> swarm = fw.Swarm([(-5, 5)] * 3, maxfun=3000)
    >>> while (points := swarm.ask()) is not None:
    ...     swarm.tell(((points - 1) ** 2).sum(axis=1))
    >>> bool(swarm.result().fun < 1e-9)
    True

    On a GPU, with PyTorch, points and values stay there:

    >>> import torch  # doctest: +SKIP
    >>> swarm = fw.Swarm([(-5, 5)] * 32, particles=65536, device="cuda", xp=torch)  # doctest: +SKIP
    >>> for points in swarm:  # doctest: +SKIP
    ...     swarm.tell(points.square().sum(dim=1))
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
        precision: str | None = None,
        device: str = "cpu",
        xp: Any = None,
        options: dict[str, Any] | None = None,
        save: str | os.PathLike[str] | None = None,
        save_every: float = 60.0,
    ) -> None:
        gpu = _gpu(device)
        problem, self._sides = problem_of(_elsewhere, box(bounds), constraints, integrality)
        given: dict[str, Any] = {"particles": particles, "maxiter": maxiter, "rule": rule}
        given["precision"] = precision
        if gpu is not None:
            if method == "cmaes":
                raise ValueError("method is cmaes; on a GPU the caller evaluates swarms: leave it out")
            method = "swarm"
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
        take = _from_dlpack(gpu, xp)
        how = (problem, preset, stated, saved, save_every)
        self._begin(_native.Asking(*how) if gpu is None else _native.AskingOnGpu(*how, gpu), take)

    def _begin(self, asking: _native.Asking | _native.AskingOnGpu, take: Callable[[Any], Any] | None) -> None:
        self._asking, self._take = asking, take
        self._lock = threading.RLock()
        self._result: OptimizeResult | None = None
        self._is_over = self._has_ended = self._has_asked = False

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
        device: str = "cpu",
        xp: Any = None,
        save: str | os.PathLike[str] | None = None,
        save_every: float = 60.0,
    ) -> Swarm:
        """Goes on with a saved one; bounds, constraints and integrality are as they were, limits and the
        device may be others. It saves to the same file unless `save` names another.

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
        gpu = _gpu(device)
        take = _from_dlpack(gpu, xp)
        swarm = cls.__new__(cls)
        _, name = _native.saved(os.fspath(path))
        problem, swarm._sides = problem_of(_elsewhere, box(bounds), constraints, integrality, None, name)
        limits = limits_of(maxfun=maxfun, maxiter=maxiter, target=target, seconds=seconds)
        saved = os.fspath(path if save is None else save)
        how = (problem, os.fspath(path), limits, saved, save_every)
        on = _native.Asking.resume(*how) if gpu is None else _native.AskingOnGpu.resume(*how, gpu)
        swarm._begin(on, take)
        return swarm

    @_one_at_a_time
    def ask(self) -> Any:
        """The points to evaluate next, of shape (points, n); None once the search is over. The same
        points again until all their values are told.

        On a GPU they are an array of `xp`, or a `DeviceArray`, which ``torch.from_dlpack``,
        ``cupy.from_dlpack`` and ``jax.numpy.from_dlpack`` take: of the swarm's `precision`, without a
        copy, and not written again while anybody has it. The stream of whoever takes it waits for it.
        """
        if self._result is not None or self._is_over:
            return None
        if isinstance(self._asking, _native.AskingOnGpu):
            points = self._asking.ask(self._take)
        else:
            points = self._asking.ask()
        self._is_over = points is None
        if points is None and not self._has_asked:
            # It could not begin: its result says why.
            self.result()
        self._has_asked = True
        return points

    @_one_at_a_time
    def tell(self, values: ArrayLike) -> None:
        """Takes a value for each of the points asked for, in their order. NaN is infinitely bad.

        On a GPU the values are an array of float32 or float64 of any library that knows ``__dlpack__``
        or ``__cuda_array_interface__``; the swarm's stream waits for them. Work that still reads the
        points has to come before the values in their stream. Values in the host's memory do as well.
        """
        self._sides.check()
        if isinstance(self._asking, _native.AskingOnGpu):
            if not self._asking.tell(values):
                self._asking.tell_from_host(_flat(values))
        else:
            self._asking.tell(_flat(values))

    @_one_at_a_time
    def tell_at(self, index: int, value: float) -> None:
        """Takes the value of one of the points asked for: of the row `index`."""
        self._sides.check()
        if isinstance(self._asking, _native.AskingOnGpu):
            raise TypeError("on a GPU all values are told at once: see tell")
        self._asking.tell_at(whole("the index", index), float(value))

    def __iter__(self) -> Iterator[Any]:
        """The points asked for, again and again."""
        while (points := self.ask()) is not None:
            yield points

    @property
    @_one_at_a_time
    def best(self) -> tuple[float, NDArray[np.float64]] | None:
        """The best value told so far and its point. On a GPU as of the last look, about a twentieth of
        a second ago."""
        if self._result is not None:
            return self._result.fun, self._result.x
        return None if self._has_ended else self._asking.best()

    @_one_at_a_time
    def result(self) -> OptimizeResult:
        """The result. A search that is not over ends here, with the best so far."""
        if self._result is None:
            self._sides.check()
            if self._has_ended:
                raise ValueError("the search ended without a result")
            from ._result import result

            self._is_over = self._has_ended = True
            self._result = result(self._asking.outcome())
            self._sides.restate(self._result.get("constraints", []))
        return self._result

    def __repr__(self) -> str:
        return f"<Swarm, best {self.best!r}>"
