"""An algorithm for pymoo: ``minimize(problem, Flockwork(), ("n_eval", 5000), seed=1)``.

Examples
--------
>>> from pymoo.optimize import minimize
>>> from pymoo.problems import get_problem
>>> from pyflockwork.adapters.pymoo import Flockwork
>>> r = minimize(get_problem("rastrigin", n_var=2), Flockwork(), seed=1)
>>> bool(r.F[0] < 1e-9), r.algorithm.outcome.success
(True, True)
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _lacking

try:
    from pymoo.core.algorithm import Algorithm
    from pymoo.core.individual import Individual
    from pymoo.core.population import Population
    from pymoo.core.termination import NoTermination
    from pymoo.termination.max_eval import MaximumFunctionCallTermination
    from pymoo.util.display.single import SingleObjectiveOutput
    from pymoo.util.optimum import filter_optimum
except ImportError as error:
    raise _lacking("pymoo", "pymoo") from error

from .. import Swarm

if TYPE_CHECKING:
    from .._result import OptimizeResult

__all__ = ["Flockwork"]

Floats = NDArray[np.float64]


class Flockwork(Algorithm):  # type: ignore[misc]
    """`pyflockwork.Swarm` as an algorithm of pymoo, for problems with one objective.

    Inequalities follow Deb's rules, and all points of a generation are evaluated at once. Problems with
    equalities are evaluated one point at a time, each a generation of pymoo's: the tolerances of
    equalities begin wide and are narrowed as evaluations are used up, so give ``("n_eval", N)``.

    Without a termination of pymoo's it ends when searches agree, or when all evaluations are done.

    Parameters
    ----------
    maxfun : int, optional
        At most so many evaluations; without it as many as ``("n_eval", N)`` has, or 100,000 for each
        variable.
    method, particles, maxiter, rule, preset, lanes, agreeing, x0, options
        As of `pyflockwork.Swarm`. Where the variables of a problem are whole (``vtype=int``) it is a
        swarm.
    output, more
        As of any algorithm of pymoo.

    Attributes
    ----------
    outcome : OptimizeResult or None
        What the search says of itself when it has ended: `message`, `success`, `agreeing` and
        `searches`. Results are in pymoo's.

    Examples
    --------
    >>> from pymoo.optimize import minimize
    >>> from pymoo.problems.functional import FunctionalProblem
    >>> from pyflockwork.adapters.pymoo import Flockwork
    >>> disc = FunctionalProblem(
    ...     2, lambda x: x[0] + x[1], constr_ieq=[lambda x: x @ x - 2], xl=-2, xu=2)
    >>> r = minimize(disc, Flockwork(), ("n_eval", 4000), seed=1)
    >>> [round(float(x), 3) for x in r.X]
    [-1.0, -1.0]
    """

    opt: Any

    def __init__(
        self,
        *,
        maxfun: int | None = None,
        method: str = "auto",
        particles: int | None = None,
        maxiter: int | None = None,
        rule: str | None = None,
        preset: str | None = None,
        lanes: int | None = None,
        agreeing: int | None = 5,
        x0: Any = None,
        options: Mapping[str, Any] | None = None,
        output: Any = None,
        **more: Any,
    ) -> None:
        more.setdefault("termination", NoTermination())
        super().__init__(output=SingleObjectiveOutput() if output is None else output, **more)
        self.maxfun = maxfun
        self.given: dict[str, Any] = {
            "method": method,
            "particles": particles,
            "maxiter": maxiter,
            "rule": rule,
            "preset": preset,
            "lanes": lanes,
            "agreeing": agreeing,
            "x0": x0,
            "options": None if options is None else dict(options),
        }
        self.outcome: OptimizeResult | None = None
        self._most = np.inf
        self._source: _Generations | _OneByOne | None = None
        self._points: Floats | None = None

    def _setup(self, problem: Any, **_: Any) -> None:
        if problem.n_obj != 1:
            raise ValueError(f"the problem has {problem.n_obj} objectives; Flockwork minimises one")
        if isinstance(problem.xl, dict) or problem.xl is None or problem.xu is None:
            raise ValueError("the problem has variables without bounds or of several types")
        maxfun = self.maxfun
        if maxfun is None and isinstance(self.termination, MaximumFunctionCallTermination):
            maxfun = int(self.termination.n_max_evals)
        if maxfun is not None:
            self._most = maxfun
            if problem.n_eq_constr > 0:
                # The descents at the end look at constraints more often than they count.
                maxfun -= maxfun // 8
        given = {
            **self.given,
            "maxfun": maxfun,
            "integrality": True if problem.vtype in (int, "int") else None,
            "rng": self.random_state if self.seed is None else self.seed,
        }
        bounds = np.stack(problem.bounds(), axis=1)
        if problem.n_eq_constr == 0:
            self._source = _Generations(bounds, given)
        else:
            self._source = _OneByOne(bounds, given, problem)
            # What waits for values of an algorithm that nobody has any more.
            weakref.finalize(self, self._source.end)
        self._points = self._source.ask()
        if self._points is None:
            raise ValueError(f"maxfun is {maxfun}: less than the points of the first generation")

    def _infill(self) -> Any:
        if self._points is None:
            return None
        return Population.new("X", self._points.copy())

    _initialize_infill = _infill

    def _advance(self, infills: Any = None, **_: Any) -> None:
        if infills is None or self._source is None:
            raise ValueError("the search is over")
        self.pop = infills
        self._source.tell(infills)
        self._points = self._source.ask()
        if self._points is None or self.evaluator.n_eval >= self._most:
            self.termination.force_termination = True

    _initialize_advance = _advance

    def _set_optimum(self) -> None:
        there = self.pop[~np.isnan(self.pop.get("F")[:, 0])]
        known = there if self.opt is None else Population.merge(self.opt, there)
        self.opt = filter_optimum(known, least_infeasible=True)

    def _finalize(self) -> None:
        if self._source is not None:
            self.outcome = self._source.close()
            self._source, self._points = None, None

    def __getstate__(self) -> dict[str, Any]:
        # Copies, as of a history, are to look at.
        return {**self.__dict__, "_source": None, "_points": None}


# As the library ranks points: host/backend/feasible.rs.
_LEAST, _MOST, _FACTOR, _MOST_FEASIBLE = 2.0**-250, 2.0**250, 2.0**383, 2.0**257


def _worth(values: Floats, violations: Floats) -> Floats:
    """Deb's rules as one number: a point that violates nothing is worth its value, any other more, the
    more the greater its violation."""
    worth = np.where(values == np.inf, np.inf, np.minimum(values, _MOST_FEASIBLE))
    worth = np.where(violations > 0, np.sqrt(np.clip(violations, _LEAST, _MOST)) * _FACTOR, worth)
    return np.where(np.isnan(violations), np.nan, worth)


class _Generations:
    """Generations of points, all of whose values and violations are told at once."""

    def __init__(self, bounds: Floats, given: dict[str, Any]) -> None:
        self.swarm = Swarm(bounds, **given)

    def ask(self) -> Floats | None:
        points: Floats | None = self.swarm.ask()
        return points

    def tell(self, infills: Any) -> None:
        self.swarm.tell(_worth(infills.get("F")[:, 0], infills.get("CV")[:, 0]))

    def close(self) -> OptimizeResult | None:
        outcome = _ended(self.swarm)
        if outcome is not None and outcome.fun > _MOST_FEASIBLE:
            outcome.fun, outcome.success = np.nan, False
            outcome.message += "; no point with a value was found that satisfies all constraints"
        return outcome


class _OneByOne:
    """Points one at a time. The search calls for constraints in a thread of its own, which waits there
    until the point has been evaluated; the value that it asks for later is known by then."""

    def __init__(self, bounds: Floats, given: dict[str, Any], problem: Any) -> None:
        # pymoo's tolerance, in units of the library's.
        tolerance = Individual.default_config()["cv_eq"]["eps"]
        self.scale = 1e-4 / tolerance if tolerance > 0 else 1e4
        self.counts = (problem.n_ieq_constr, problem.n_eq_constr)
        self.known: dict[bytes, tuple[float, Floats]] = {}
        self.questions: SimpleQueue[Any] = SimpleQueue()
        self.waiting: list[SimpleQueue[tuple[float, Floats]]] = []
        self.is_closed, self.home = False, threading.get_ident()
        self.outcome: OptimizeResult | None = None
        constraints = [
            {"type": kind, "fun": lambda x, part=part: self.evaluated(x)[1][part]}
            for kind, part, count in (
                ("ineq", slice(0, self.counts[0]), self.counts[0]),
                ("eq", slice(self.counts[0], None), self.counts[1]),
            )
            if count
        ]
        self.swarm = Swarm(bounds, constraints=constraints, **given)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def evaluated(self, x: Floats) -> tuple[float, Floats]:
        """The value and the sides of constraints at a point, once it has been evaluated."""
        found = self.known.get(x.tobytes())
        if found is not None:
            return found
        if threading.get_ident() == self.home:
            # `Swarm` looks how many there are.
            return self.nothing()
        answers: SimpleQueue[tuple[float, Floats]] = SimpleQueue()
        self.waiting.append(answers)
        if self.is_closed:
            return self.nothing()
        self.questions.put((x.copy(), answers))
        return answers.get()

    def nothing(self) -> tuple[float, Floats]:
        """What ends the search soon: where all constraints are satisfied, it asks for a value."""
        return np.nan, np.zeros(sum(self.counts))

    def run(self) -> None:
        try:
            for points in self.swarm:
                if self.is_closed:
                    break
                self.swarm.tell([self.evaluated(point)[0] for point in points])
            self.outcome = _ended(self.swarm)
            self.questions.put(None)
        except BaseException as failure:
            self.questions.put(failure)

    def ask(self) -> Floats | None:
        found = self.questions.get()
        if isinstance(found, BaseException):
            raise found
        if found is None:
            return None
        self.asked: tuple[Floats, SimpleQueue[tuple[float, Floats]]] = found
        points: Floats = self.asked[0][np.newaxis]
        return points

    def tell(self, infills: Any) -> None:
        sides = np.concatenate([-infills[0].G[: self.counts[0]], infills[0].H * self.scale])
        answer = float(infills[0].F[0]), sides
        point, waits = self.asked
        self.known[point.tobytes()] = answer
        self.waiting.remove(waits)
        waits.put(answer)

    def end(self) -> None:
        """Ends the search, and waits for that where it may: not in a thread that it needs itself."""
        self.is_closed = True
        for waits in list(self.waiting):
            waits.put(self.nothing())
        if threading.current_thread() is threading.main_thread():
            self.thread.join()

    def close(self) -> OptimizeResult | None:
        self.end()
        self.thread.join()
        return self.outcome


def _ended(swarm: Swarm) -> OptimizeResult | None:
    try:
        return swarm.result()
    except ValueError:
        # Nothing with a value was told.
        return None
