"""Searches for a minimum."""

from __future__ import annotations

import inspect
import json
import math
import os
import signal
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._arguments import (
    Box,
    Sides,
    bar,
    box,
    constrained,
    device_and_threads,
    number,
    seed,
    values_of,
    whole,
)

if TYPE_CHECKING:
    from ._result import OptimizeResult

Floats = NDArray[np.float64]


class Command:
    """A program that calculates a value: what it prints last.

    Parameters
    ----------
    text : str
        The command, with a place such as ``{width}`` for each variable.
    jobs : int
        How many to run at a time; 0 for one for each core.
    timeout : float, optional
        Seconds after which one is ended. It then has no value.

    Examples
    --------
    >>> import pyflockwork as fw
    >>> program = fw.Command("echo {a}", jobs=2)
    >>> fw.minimize(program, {"a": (1, 2)}, maxfun=40).nfev <= 40
    True
    """

    def __init__(self, text: str, *, jobs: int = 0, timeout: float | None = None) -> None:
        if not isinstance(text, str):
            raise TypeError(f"the command is {text!r}; it must be a text")
        if timeout is not None and number("timeout", timeout) <= 0:
            raise ValueError(f"timeout is {timeout!r}; it must be more than 0")
        self.text, self.jobs, self.timeout = text, whole("jobs", jobs), timeout

    def __repr__(self) -> str:
        return f"Command({self.text!r}, jobs={self.jobs}, timeout={self.timeout})"


_OF_SWARM = ("particles", "preset", "rule", "maxiter", "x0")


def _points(x0: Any) -> Floats:
    """Points to start from."""
    try:
        points = np.atleast_2d(np.asarray(x0, float))
    except (TypeError, ValueError):
        raise TypeError(f"x0 is {x0!r}; it must be numbers: a point, or several") from None
    if points.ndim != 2 or points.size == 0:
        raise ValueError(f"x0 has the shape {np.shape(x0)}; it must be (n,), or (points, n)")
    if not np.all(np.isfinite(points)):
        raise ValueError("x0 has a coordinate that is not finite")
    return points


def changes(
    *,
    is_swarm: bool,
    rng: Any,
    x0: Any = None,
    particles: int | None = None,
    maxiter: int | None = None,
    maxfun: int | None = None,
    target: float | None = None,
    seconds: float | None = None,
    precision: str | None = None,
    lanes: int | None = None,
    agreeing: int | None = 5,
    rule: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> str:
    """What differs from the usual options, with the library's names."""
    stated: dict[str, Any] = {"seed": seed(rng)}
    stop: dict[str, Any] = {}
    if maxfun is not None:
        stop["evaluations"] = whole("maxfun", maxfun, 0, (1 << 64) - 1)
    if target is not None:
        stop["target"] = number("target", target)
    if seconds is not None:
        stop["seconds"] = number("seconds", seconds)
    if particles is not None:
        stated["particles"] = whole("particles", particles, 1)
    if maxiter is not None:
        stated["iterations"] = whole("maxiter", maxiter)
    if precision is not None:
        stated["precision"] = precision
    if rule is not None:
        stated["rule"] = rule
    if stop:
        stated["stop"] = stop
    if x0 is not None:
        stated["start"] = {"points": _points(x0).tolist()}
    if not is_swarm:
        stated["searches"] = {
            "lanes": None if lanes is None else whole("lanes", lanes, 1),
            "agreeing": None if agreeing is None else whole("agreeing", agreeing, 1),
        }
    if not isinstance(options, (Mapping, type(None))):
        raise TypeError(f"options are {options!r}; they must be a mapping from names")
    for name, value in (options or {}).items():
        if isinstance(value, Mapping) and isinstance(stated.get(name), dict):
            stated[name] = {**stated[name], **value}
        else:
            stated[name] = value
    try:
        return json.dumps(stated, default=_plain, allow_nan=False)
    except ValueError as error:
        raise ValueError(f"an option is not a finite number: {stated}") from error


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"{value!r} cannot be an option")


def is_swarm(problem: _native.Problem, method: str, given: Mapping[str, Any]) -> bool:
    """Whether the search is a swarm's: if an option was given that only a swarm has, or where
    searches by CMA-ES do not suit."""
    if method not in ("auto", "cmaes", "swarm"):
        raise ValueError(f"method is {method!r}; it must be auto, cmaes or swarm")
    own = [name for name in _OF_SWARM if given.get(name) is not None]
    if given.get("precision") == "f32":
        own.append("precision")
    if method == "cmaes" and own:
        raise ValueError(f"{own[0]} is an option of swarms: leave it out, or take method='swarm'")
    if method == "auto":
        return bool(own) or not problem.suits_searches()
    return method == "swarm"


def _ignore_interrupts() -> None:
    """In a worker: Ctrl-C is for whoever waits for it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _mapper(workers: Any) -> Iterator[Callable[..., Any]]:
    """What applies a function to many points."""
    if callable(workers):
        yield workers
    elif workers == 1:
        yield map
    elif isinstance(workers, (int, np.integer)) and (workers > 1 or workers == -1):
        from concurrent.futures import ProcessPoolExecutor

        count = os.cpu_count() or 1 if workers == -1 else int(workers)
        with ProcessPoolExecutor(count, initializer=_ignore_interrupts) as pool:

            def shared(function: Callable[..., Any], points: Floats) -> Iterator[Any]:
                return pool.map(function, points, chunksize=-(-len(points) // (4 * count)))

            yield shared
    else:
        raise ValueError(
            f"workers is {workers!r}; it must be a number of processes, -1 for one for each core, "
            "or a function like map"
        )


class _Called:
    """A function of one point with its further arguments; processes can be sent it."""

    def __init__(self, fun: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.fun, self.args = fun, args

    def __call__(self, x: Floats) -> float:
        value = self.fun(x, *self.args)
        if np.ma.is_masked(value):
            return np.nan
        try:
            if isinstance(value, (str, bytes)):
                raise TypeError("text")
            if isinstance(value, (list, tuple)):
                (value,) = value
            return value.item() if isinstance(value, np.ndarray) else float(value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"the function returned {value!r}; it must return a number") from error


def evaluator(
    fun: Callable[..., Any], args: tuple[Any, ...], vectorized: bool, mapper: Callable[..., Any]
) -> Callable[[Floats], Floats]:
    """The values at the rows of a matrix."""
    if not vectorized:
        called = _Called(fun, args)
        if mapper is map:
            # Not by `map`, which would take a StopIteration of the function for its own end.
            return lambda points: np.array([called(point) for point in points])

        def each(points: Floats) -> Floats:
            values = np.array(list(mapper(called, points)), float)
            if values.shape != (len(points),):
                raise ValueError(f"workers returned values of shape {values.shape} for {len(points)} points")
            return values

        return each

    def all_at_once(points: Floats) -> Floats:
        values = values_of(fun(points.T, *args), "the values that the function returned")
        if values.shape == (1, len(points)):
            values = values[0]
        if values.shape != (len(points),):
            raise ValueError(
                f"the function returned an array of shape {values.shape} for an array of shape "
                f"{points.T.shape}; it must return a value for each column: ({len(points)},)"
            )
        return np.ascontiguousarray(values)

    return all_at_once


class _Watch:
    """What looks on: the caller's callback, a bar, and failures of constraints."""

    def __init__(
        self, callback: Callable[..., Any] | None, sides: Sides | None, bar: Any, limit: int | None
    ) -> None:
        if callback is not None and not callable(callback):
            raise TypeError(f"callback is {callback!r}; it must be a function")
        self.callback, self.sides, self.bar, self.limit = callback, sides, bar, limit
        self.gets_result, self.gets_convergence = False, True
        # Whether the callback has ended the run, and how far it was then.
        self.has_ended, self.last = False, (0, 0)
        if callback is not None:
            try:
                parameters = inspect.signature(callback).parameters
            except (TypeError, ValueError):
                return
            self.gets_result = list(parameters) == ["intermediate_result"]
            kinds = [parameter.kind for parameter in parameters.values()]
            self.gets_convergence = (
                "convergence" in parameters
                or inspect.Parameter.VAR_KEYWORD in kinds
                or inspect.Parameter.VAR_POSITIONAL in kinds
                or len(parameters) > 1
            )

    def looks(self) -> bool:
        return self.callback is not None or self.bar is not None or bool(self.sides and self.sides.names)

    def __call__(self, value: float, iteration: int, evaluations: int, best: Any = None) -> bool:
        """Whether to end the run."""
        if self.bar is not None:
            self.bar.update(evaluations - self.bar.n)
            self.bar.set_postfix_str(f"{value:.6g}", refresh=False)
        if self.sides is not None and self.sides.failures:
            return True
        if self.callback is None or evaluations == 0:
            return False
        self.last = (iteration, evaluations)
        x = None if best is None else np.asarray(best, float)
        try:
            self.has_ended = bool(self._called(value, iteration, evaluations, x))
        except StopIteration:
            self.has_ended = True
        return self.has_ended

    def _called(self, value: float, iteration: int, evaluations: int, x: Floats | None) -> Any:
        assert self.callback is not None
        if self.gets_result:
            from ._result import OptimizeResult

            result = OptimizeResult(fun=value, nit=iteration, nfev=evaluations)
            if x is not None:
                result.x = x
            return self.callback(intermediate_result=result)
        if not self.gets_convergence:
            return self.callback(x)
        done = min(1.0, evaluations / self.limit) if self.limit else 0.0
        return self.callback(x, convergence=done)


def problem_of(
    fun: Any,
    within: Box,
    constraints: Any,
    integrality: Any,
    evaluate: Callable[[Floats], Floats] | None = None,
    name: str | None = None,
) -> tuple[_native.Problem, Sides]:
    """The problem that a formula, a program or a Python function poses; `evaluate` calls that, and
    `name` is what messages and files call it."""
    if isinstance(fun, str):
        problem = _native.Problem.formula(fun, *within)
    elif isinstance(fun, Command):
        problem = _native.Problem.command(fun.text, *within, fun.jobs, fun.timeout)
    elif callable(fun):
        name = name or str(getattr(fun, "__qualname__", type(fun).__qualname__))
        if evaluate is None:
            problem = _native.Problem.elsewhere(name, *within)
        else:
            problem = _native.Problem.function(name, *within, evaluate)
    else:
        raise TypeError(f"fun is {fun!r}; it must be a formula, a function, or a pyflockwork.Command")
    if integrality is not None:
        given = np.atleast_1d(np.asarray(integrality))
        if given.dtype.kind not in "biuf":
            raise TypeError(f"integrality is {integrality!r}; it must be numbers, not 0 for whole variables")
        kinds = given.astype(bool)
        if kinds.shape not in ((1,), (len(within.lower),)):
            raise ValueError(
                f"integrality has the shape {kinds.shape}; the problem has {len(within.lower)} variables"
            )
        are_whole = np.broadcast_to(kinds, len(within.lower))
        if are_whole.any():
            # As in SciPy, the whole numbers between the bounds.
            low = np.where(are_whole, np.ceil(within.lower), within.lower)
            high = np.where(are_whole, np.floor(within.upper), within.upper)
            for index in np.flatnonzero(are_whole & (low > high)).tolist():
                raise ValueError(
                    f"no whole number lies from {within.lower[index]!r} to {within.upper[index]!r}, the "
                    f"bounds of {within.variable(index)}"
                )
            rounded = Box(within.names, low.tolist(), high.tolist())
            if rounded != within:
                return problem_of(fun, rounded, constraints, integrality, evaluate, name)
            problem = problem.with_integers(are_whole.tolist())
    return constrained(problem, constraints, within, isinstance(fun, str))


def minimize(
    fun: str | Command | Callable[..., Any],
    bounds: Any,
    args: tuple[Any, ...] = (),
    *,
    x0: Any = None,
    constraints: Any = (),
    integrality: Any = None,
    vectorized: bool = False,
    workers: Any = 1,
    rng: Any = None,
    callback: Callable[..., Any] | None = None,
    maxfun: int | None = None,
    maxiter: int | None = None,
    target: float | None = None,
    seconds: float | None = None,
    method: str = "auto",
    particles: int | None = None,
    rule: str | None = None,
    preset: str | None = None,
    precision: str | None = None,
    lanes: int | None = None,
    agreeing: int | None = 5,
    equal_within: float | None = None,
    options: Mapping[str, Any] | None = None,
    device: str = "auto",
    threads: int = 0,
    save: str | os.PathLike[str] | None = None,
    save_every: float = 60.0,
    progress: bool = False,
) -> OptimizeResult:
    """The minimum of a function in a box.

    Without further options these are many independent searches by CMA-ES with restarts, which end
    when five of them have ended at the best value. With whole variables, or an option that only a
    swarm has, it is a particle swarm.

    Parameters
    ----------
    fun : str, callable or Command
        A formula of ``x[0]``, ``x[1]`` and so on, or of the names of `bounds`: on a GPU it becomes
        part of the kernel. A function ``fun(x, *args)`` of an array of shape (n,). A `Command`.
    bounds : sequence, Bounds or mapping
        A pair (low, high) for each variable; SciPy's `Bounds`; or names with their pairs. A variable whose
        bounds are equal is given.
    args : tuple
        Further arguments of the function.
    x0 : array_like, optional
        A point of shape (n,), or several: (points, n). A swarm starts there; of searches, which start
        elsewhere, the result is no worse than these points.
    constraints : str, object or sequence of them
        Formulas such as ``'x[0] + x[1] <= 1'``; SciPy's `LinearConstraint`, `NonlinearConstraint`
        or `Bounds`; dictionaries with ``type`` and ``fun``. Python functions among them are called
        for one point at a time, in other threads.
    integrality : array_like, optional
        Which variables are whole numbers: not 0 for those.
    vectorized : bool
        Whether the function takes all points of a generation at once: an array of shape
        (n, points), as in SciPy, and returns (points,).
    workers : int or callable
        Processes that evaluate points, -1 for one for each core; or a function like `map`.
    rng : int or numpy.random.Generator, optional
        The seed; 1 without one, so that a call gives the same result again.
    callback : callable, optional
        ``callback(intermediate_result)`` with x, fun, nit and nfev; ``callback(x)``; or
        ``callback(x, convergence=...)``, the share of `maxfun` used, 0 without that. After each
        generation of a Python function; otherwise about twenty times a second. x is None before a
        value is known. True, or StopIteration raised, ends the run with the best so far.
    maxfun : int, optional
        At most so many evaluations; points that constraints forbid count, though the function is not
        called there. Without it, searches have 100,000 for each variable.
    maxiter : int, optional
        Iterations of a swarm; 1000 without it.
    target : float, optional
        Ends at a value this low.
    seconds : float, optional
        Ends after this time; a Python function at the end of the generation under way.
    method : {"auto", "cmaes", "swarm"}
        Searches by CMA-ES, or a particle swarm.
    particles : int, optional
        Of a swarm; without it 1024, or for a program 40, which end when 50 iterations found nothing better.
    rule : {"inertia", "fully-informed", "standard-2011", "bare-bones", "comprehensive"}, optional
        How particles move.
    preset : {"robust", "thorough", "standard-2011", ...}, optional
        A set of options of a swarm.
    precision : {"f32", "f64"}, optional
        Of a swarm: f32 for a formula and f64 for a function without it. Searches have f64.
    lanes : int, optional
        Searches side by side: 1 on a CPU, up to 256 on a GPU, by what `maxfun` suffices for. The result
        depends on it.
    agreeing : int or None
        Ends when so many searches have ended at the best value; None for never. With constraints the
        descents that follow count as well.
    equal_within : float, optional
        By how much the sides of an equality may differ; 1e-4 without it.
    options : mapping, optional
        Any other option, by its name in the library: ``{"stop": {"patience": 50}}`` with
        ``method="swarm"``. Searches have only those of `seed`, `stop` (evaluations, target, seconds)
        and `searches`.
    device : str
        Where a formula is evaluated: ``"auto"``, ``"cpu"``, ``"cuda"`` (the first GPU), or GPUs by number as
        in ``"cuda:0,1"`` or ``"cuda:all"``, which share a search; for a swarm they are an error. No bit of
        the result depends on it.
    threads : int
        On a CPU, 0 for one for each core. No bit of the result depends on it.
    save : path, optional
        A file that `resume` goes on from, written every `save_every` seconds and at the end.
    progress : bool
        Whether to show a bar (tqdm).

    Returns
    -------
    OptimizeResult
        SciPy's, with x, fun, success, message, nfev and nit, and with ``agreeing`` and
        ``searches``: how many searches ended at this value, of how many.

    Raises
    ------
    ValueError
        What makes no sense, with what would be accepted.
    Exception
        What the function raises comes out as it is. Ctrl-C ends the run with the best so far.

    Examples
    --------
    >>> import pyflockwork as fw
    >>> r = fw.minimize("(1-x[0])^2 + 100*(x[1]-x[0]^2)^2", [(-3, 3)] * 2)
    >>> r.success, [round(float(x), 6) for x in r.x]
    (True, [1.0, 1.0])

    Names, a whole variable and a constraint:

    >>> r = fw.minimize("(a-1.3)^2 + (b+2)^2", {"a": (0, 10), "b": (-5, 5)},
    ...                 integrality=[1, 0], constraints="a - b <= 2.5")
    >>> [round(float(x), 4) for x in r.x], [c["active"] for c in r.constraints]
    ([1.0, -1.5], [True])

    A Python function that takes all points at once:

    >>> import numpy as np
    >>> def rastrigin(x):
    ...     return 10 * len(x) + (x**2 - 10 * np.cos(2 * np.pi * x)).sum(axis=0)
    >>> bool(fw.minimize(rastrigin, [(-5.12, 5.12)] * 4, vectorized=True).fun < 1e-9)
    True
    """
    device, threads = device_and_threads(device, threads)
    within = box(bounds)
    is_function = not isinstance(fun, (str, Command)) and callable(fun)
    if not is_function:
        of = "a formula" if isinstance(fun, str) else "a program"
        for name, is_given in [("args", args != ()), ("vectorized", vectorized), ("workers", workers != 1)]:
            if is_given:
                hint = ": a Command has jobs" if name == "workers" and isinstance(fun, Command) else ""
                raise ValueError(f"{name} is for Python functions, not for {of}{hint}")
    if is_function and vectorized and workers != 1:
        warnings.warn("vectorized: all points are passed at once, and workers have none", stacklevel=2)
    if is_function and str(device).startswith("cuda"):
        raise ValueError("a Python function is evaluated on the CPU: leave device out, or pass a formula")
    given: dict[str, Any] = {"particles": particles, "maxiter": maxiter, "rule": rule, "precision": precision}
    saved = None if save is None else os.fspath(save)
    with _mapper(workers) as mapper:
        evaluate = evaluator(fun, args, vectorized, mapper) if callable(fun) else None
        problem, sides = problem_of(fun, within, constraints, integrality, evaluate)
        if equal_within is not None:
            problem = problem.equal_within(number("equal_within", equal_within))
        watch = _Watch(callback, sides, bar(progress, maxfun, "evaluations"), maxfun)

        def run(watch: _Watch, preset: str | None, stated: str, saved: str | None) -> OptimizeResult:
            return _native_run(
                watch,
                lambda observe: _native.minimize(
                    problem, preset, stated, device, threads, saved, save_every, observe
                ),
            )

        if within.lower == within.upper:
            # There is one point.
            there: dict[str, Any] = {"x0": within.lower, "particles": 1, "maxiter": 0, "precision": "f64"}
            found = run(watch, None, changes(is_swarm=True, rng=rng, **there), saved)
            found.success, found.message = True, "the bounds of all variables are equal"
            return _with_names(found, within)

        swarm = is_swarm(problem, method, {**given, "preset": preset})
        if swarm and isinstance(fun, Command) and particles is None and preset is None:
            # A program is slow: few particles, which end when they no longer find anything better.
            given["particles"] = max(40, 0 if x0 is None else len(_points(x0)))
            options = {**(options or {})}
            options["stop"] = {"patience": 50, **(options.get("stop") or {})}
        guessed = None
        if x0 is not None and not swarm:
            # A swarm that does not move.
            count = len(_points(x0))
            still = changes(is_swarm=True, rng=rng, x0=x0, particles=count, maxiter=0, precision="f64")
            try:
                guessed = run(_Watch(None, sides, None, None), None, still, None)
            except ValueError as error:
                # Where there is no value, nothing is known.
                if "no finite value" not in str(error):
                    raise
            maxfun = None if maxfun is None else max(0, whole("maxfun", maxfun, 0, (1 << 64) - 1) - count)
        stated = changes(
            is_swarm=swarm,
            rng=rng,
            x0=x0 if swarm else None,
            maxfun=maxfun,
            target=target,
            seconds=seconds,
            lanes=lanes,
            agreeing=agreeing,
            options=options,
            **given,
        )
        found = run(watch, preset, stated, saved)
    if guessed is not None:
        found.nfev += guessed.nfev
        if guessed.fun < found.fun or (np.isnan(found.fun) and not np.isnan(guessed.fun)):
            for name in ("x", "fun", "maxcv", "constraints"):
                if name in guessed:
                    found[name] = guessed[name]
            found.agreeing = 0
    return _with_names(found, within)


def _with_names(found: OptimizeResult, within: Box) -> OptimizeResult:
    """The result with its variables by name, if they have names."""
    if within.names is not None and found.x is not None:
        found.params = dict(zip(within.names, found.x.tolist(), strict=True))
    return found


def _native_run(watch: _Watch, go: Callable[[Any], str]) -> OptimizeResult:
    found: OptimizeResult | None
    try:
        written = go(watch if watch.looks() else None)
    except (ValueError, KeyboardInterrupt):
        # Without a value: that is what a constraint that fails comes to.
        if watch.sides is not None:
            watch.sides.check()
        if not watch.has_ended:
            raise
        found = None
    else:
        from ._result import result

        found = result(written)
        if watch.bar is not None:
            watch.bar.update(found.nfev - watch.bar.n)
            watch.bar.set_postfix_str(f"{found.fun:.6g}", refresh=False)
    finally:
        if watch.bar is not None:
            watch.bar.close()
    if found is None:
        from ._result import nothing

        return nothing(*watch.last)
    if watch.sides is not None:
        watch.sides.check()
        watch.sides.restate(found.get("constraints", []))
    return found


def limits_of(**limits: Any) -> str:
    """Other limits for a saved run."""
    stated = json.loads(changes(is_swarm=True, rng=None, **limits))
    del stated["seed"]
    return json.dumps(stated)


def resume(
    path: str | os.PathLike[str],
    fun: Callable[..., Any] | None = None,
    bounds: Any = None,
    args: tuple[Any, ...] = (),
    *,
    constraints: Any = (),
    integrality: Any = None,
    vectorized: bool = False,
    workers: Any = 1,
    callback: Callable[..., Any] | None = None,
    maxfun: int | None = None,
    maxiter: int | None = None,
    target: float | None = None,
    seconds: float | None = None,
    device: str = "auto",
    threads: int = 0,
    save: str | os.PathLike[str] | None = None,
    save_every: float = 60.0,
    progress: bool = False,
) -> OptimizeResult:
    """Goes on with a run that `minimize` saved, with the same bits.

    Parameters
    ----------
    path : path
        The file.
    fun, bounds, args, constraints, integrality, vectorized, workers
        As they were, for a Python function; a formula and a program are in the file.
    maxfun, maxiter, target, seconds
        Other limits than before. Searches that are under way keep what they had left of `maxfun`, and
        there are as many side by side as before: on a GPU, unless `lanes` said how many, as many as the
        first `maxfun` sufficed for.
    callback, device, threads, progress, save_every
        As of `minimize`.
    save : path, optional
        Where to save from now on; the same file without it.

    Examples
    --------
    >>> import os, tempfile
    >>> import pyflockwork as fw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "run")
    ...     first = fw.minimize("x[0]^2 + abs(x[1])", [(-1, 1)] * 2, maxfun=300, save=file)
    ...     rest = fw.resume(file, maxfun=1_000_000)
    >>> rest.fun <= first.fun and rest.success
    True
    """
    path = os.fspath(path)
    saved = path if save is None else os.fspath(save)
    device, threads = device_and_threads(device, threads)
    limits = limits_of(maxfun=maxfun, maxiter=maxiter, target=target, seconds=seconds)
    known, name = _native.saved(path)
    if known and fun is not None:
        raise ValueError(f"the file holds the function, {name}: leave fun and bounds out")
    if not known and (fun is None or bounds is None):
        raise ValueError(
            f"the run is about the function {name}, which a file cannot hold: "
            "pass fun and bounds as they were"
        )
    if fun is not None and not callable(fun):
        raise TypeError(f"fun is {fun!r}; it must be a function")
    with _mapper(workers) as mapper:
        problem, sides = None, None
        if fun is not None:
            evaluate = evaluator(fun, args, vectorized, mapper)
            # Whether it is the same function is up to the caller, whatever its name.
            problem, sides = problem_of(fun, box(bounds), constraints, integrality, evaluate, name)
        watch = _Watch(callback, sides, bar(progress, maxfun, "evaluations"), maxfun)
        return _native_run(
            watch,
            lambda observe: _native.resume(
                path, problem, limits, device, threads, saved, save_every, observe
            ),
        )


def differential_evolution(
    func: str | Callable[..., Any],
    bounds: Any,
    args: tuple[Any, ...] = (),
    strategy: Any = "best1bin",
    maxiter: int | None = 1000,
    popsize: int = 15,
    tol: float = 0.01,
    mutation: Any = (0.5, 1),
    recombination: float = 0.7,
    rng: Any = None,
    callback: Callable[..., Any] | None = None,
    disp: bool = False,
    polish: Any = True,
    init: Any = "latinhypercube",
    atol: float = 0,
    updating: str = "immediate",
    workers: Any = 1,
    constraints: Any = (),
    x0: Any = None,
    *,
    integrality: Any = None,
    vectorized: bool = False,
    seed: Any = None,
    **ours: Any,
) -> OptimizeResult:
    """`minimize`, called as `scipy.optimize.differential_evolution`.

    It has SciPy's greatest number of evaluations, (maxiter + 1) * popsize * n. How differential
    evolution moves (strategy, tol, mutation, recombination, polish, init, atol, updating) has no
    meaning here; a warning tells of strategy, tol, atol, mutation and recombination that are not
    SciPy's defaults. `disp` shows a bar (tqdm). The result has neither population nor constr_violation
    (maxcv is it), and a value of -inf is an error. It often takes more evaluations than SciPy's, because it
    ends when several searches agree, and success is False if they have not within maxfun, though the best
    point may be the minimum: of a slow function, ask for fewer by ``agreeing=1`` or `maxfun`. With
    `integrality` it is a swarm, which ends when 50 iterations found nothing better. Further options are those
    of `minimize`.

    Examples
    --------
    >>> from pyflockwork import differential_evolution
    >>> r = differential_evolution(lambda x: (x[0] - 1) ** 2 + x[1] ** 2, [(-2, 2), (-2, 2)], rng=1)
    >>> bool(abs(r.x[0] - 1) < 1e-6), r.success
    (True, True)
    """
    usual = {
        "strategy": (strategy, "best1bin"),
        "tol": (tol, 0.01),
        "mutation": (mutation, (0.5, 1)),
        "recombination": (recombination, 0.7),
        "atol": (atol, 0),
    }
    told = [name for name, (value, default) in usual.items() if value is not default and value != default]
    if told:
        warnings.warn(f"{', '.join(told)}: of differential evolution, without meaning here", stacklevel=2)
    within = box(bounds)
    # As in SciPy.
    maxiter, popsize = whole("maxiter", 1000 if maxiter is None else maxiter), whole("popsize", popsize, 1)
    if rng is not None and seed is not None:
        raise TypeError("rng and seed are both given: they are the same")
    dims = len(within.lower)
    # No less than the first generation of a search.
    budget = max((maxiter + 1) * popsize * dims, 4 + int(3 * math.log(dims)))
    if ours.setdefault("maxfun", budget) is not None:
        budget = whole("maxfun", ours["maxfun"], 0, (1 << 64) - 1)
    if integrality is not None and np.any(integrality) and ours.get("preset") is None:
        # It is a swarm, which has at least 50 iterations, unless SciPy's population has fewer.
        ours.setdefault("particles", max(1, min(1024, max(popsize * dims, budget // 200), budget)))
        options = dict(ours.get("options") or {})
        ours["options"] = {**options, "stop": {"patience": 50, **(options.get("stop") or {})}}
    return minimize(
        func,
        bounds,
        args,
        x0=x0,
        constraints=constraints,
        integrality=integrality,
        vectorized=vectorized,
        workers=workers,
        rng=seed if rng is None else rng,
        callback=callback,
        progress=ours.pop("progress", disp),
        **ours,
    )
