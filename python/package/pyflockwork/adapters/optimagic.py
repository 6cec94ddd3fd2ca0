"""An algorithm for optimagic: ``om.minimize(fun, params, algorithm=Flockwork(), bounds=...)``.

Examples
--------
>>> import numpy as np
>>> import optimagic as om
>>> from pyflockwork.adapters.optimagic import Flockwork
>>> r = om.minimize(
...     fun=lambda x: (x - 1) @ (x - 1), params=np.zeros(3), algorithm=Flockwork(),
...     bounds=om.Bounds(lower=np.full(3, -5), upper=np.full(3, 5)))
>>> r.success, [round(float(x), 6) for x in r.params]
(True, [1.0, 1.0, 1.0])
"""

# Without `from __future__ import annotations`: optimagic converts options by the types of fields.

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import _lacking

try:
    from optimagic import mark
    from optimagic.optimization.algo_options import STOPPING_MAXFUN
    from optimagic.optimization.algorithm import Algorithm, InternalOptimizeResult
    from optimagic.optimization.internal_optimization_problem import InternalOptimizationProblem
    from optimagic.typing import AggregationLevel, PositiveInt
except ImportError as error:
    raise _lacking("optimagic", "optimagic") from error

from .. import minimize

__all__ = ["Flockwork"]

Floats = NDArray[np.float64]


@mark.minimizer(
    name="flockwork",
    solver_type=AggregationLevel.SCALAR,
    is_available=True,
    is_global=True,
    needs_jac=False,
    needs_hess=False,
    needs_bounds=True,
    supports_parallelism=True,
    supports_bounds=True,
    supports_infinite_bounds=False,
    supports_linear_constraints=False,
    supports_nonlinear_constraints=True,
    disable_history=False,
)
@dataclass(frozen=True)
class Flockwork(Algorithm):
    """`pyflockwork.minimize`: independent searches by CMA-ES that end when several have ended at the best
    value, or a particle swarm.

    The result is no worse than the start, where that satisfies the constraints. Its `success` says
    whether searches agreed or the target was reached, `algorithm_output` how many agreed, of how many.
    It needs finite bounds for all parameters.

    Examples
    --------
    >>> from pyflockwork.adapters.optimagic import Flockwork
    >>> Flockwork().with_stopping(maxfun=2000).stopping_maxfun
    2000
    """

    stopping_maxfun: PositiveInt = STOPPING_MAXFUN
    """At most so many evaluations."""

    stopping_maxiter: PositiveInt | None = None
    """Iterations; makes it a swarm."""

    stopping_maxtime: float | None = None
    """Seconds after which it ends."""

    convergence_target_value: float | None = None
    """It ends at a value this good: as low, or of a maximum as high."""

    convergence_agreeing: PositiveInt | None = 5
    """It ends when so many searches have ended at the best value; None for never."""

    seed: int | None = None
    """1 without one, so that a call gives the same result again."""

    n_cores: PositiveInt = 1
    """Processes that evaluate points."""

    method: Literal["auto", "cmaes", "swarm"] = "auto"
    """Searches, or a swarm."""

    population_size: PositiveInt | None = None
    """Particles; makes it a swarm."""

    rule: str | None = None
    """How particles move; makes it a swarm."""

    preset: str | None = None
    """A set of options of a swarm."""

    options: Mapping[str, Any] | None = None
    """Any other option, by its name in the library."""

    def _solve_internal_problem(
        self, problem: InternalOptimizationProblem, x0: Floats
    ) -> InternalOptimizeResult:
        evaluations = 0

        def values(points: Floats) -> Floats:
            nonlocal evaluations
            evaluations += points.shape[1]
            found = problem.batch_fun([point.copy() for point in points.T], n_cores=self.n_cores)
            return np.array(found, float)

        target = self.convergence_target_value
        if target is not None and problem.direction.value == "maximize":
            target = -target
        constraints = [
            {"type": constraint["type"], "fun": constraint["fun"]}
            for constraint in problem.nonlinear_constraints or ()
        ]
        tolerances = [
            float(constraint["tol"])
            for constraint in problem.nonlinear_constraints or ()
            if constraint["type"] == "eq" and constraint.get("tol")
        ]
        assert problem.bounds.lower is not None and problem.bounds.upper is not None
        found = minimize(
            values,
            np.stack([problem.bounds.lower, problem.bounds.upper], axis=1),
            vectorized=True,
            x0=x0,
            constraints=constraints,
            equal_within=min(tolerances) if tolerances else None,
            rng=self.seed,
            maxfun=self.stopping_maxfun,
            maxiter=self.stopping_maxiter,
            seconds=self.stopping_maxtime,
            target=target,
            agreeing=self.convergence_agreeing,
            method=self.method,
            particles=self.population_size,
            rule=self.rule,
            preset=self.preset,
            options=self.options,
        )
        return InternalOptimizeResult(
            x=found.x,
            fun=float(found.fun),
            success=bool(found.success),
            message=found.message,
            n_fun_evals=evaluations,
            n_jac_evals=0,
            n_hess_evals=0,
            n_iterations=int(found.nit),
            max_constraint_violation=float(found.maxcv) if "maxcv" in found else None,
            info={"agreeing": found.agreeing, "searches": found.searches},
        )
