"""Results of searches. Imported with the first result, since SciPy takes its time."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:

    class _Base(dict[str, Any]):
        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

else:
    try:
        from scipy.optimize import OptimizeResult as _Base
    except ImportError:

        class _Base(dict):
            """What SciPy's class of this name does: a dictionary whose entries are attributes."""

            def __getattr__(self, name):
                try:
                    return self[name]
                except KeyError as error:
                    raise AttributeError(name) from error

            __setattr__ = dict.__setitem__
            __delattr__ = dict.__delitem__

            def __dir__(self):
                return list(self)

            def __repr__(self):
                width = max(map(len, self), default=0)
                return "\n".join(f"{name:>{width}}: {value!r}" for name, value in self.items())


class OptimizeResult(_Base):
    """The result of a search: SciPy's `OptimizeResult`, where SciPy is installed.

    Attributes
    ----------
    x : ndarray
        The best point found.
    fun : float
        Its value; NaN if no point was found that satisfies the constraints.
    success : bool
        Whether something said that the run had found what it sought, and its point satisfies the
        constraints: not if it did all its iterations or evaluations, or ran out of time, or was
        interrupted.
    message : str
        Why it ended.
    nfev, nit : int
        Evaluations, points that constraints forbid included; iterations of a swarm, or rounds of searches.
        A callback's nit counts the iterations of all searches.
    agreeing, searches : int
        How many searches ended at this value, of how many: how sure it is. 0 for a swarm.
    maxcv : float
        The greatest violation of a constraint, if there are any.
    params : dict of str to float
        The best point by the names of its variables, if the bounds have names.
    constraints : list of dict
        For each: its text, both sides, whether it is active, and its violation.
    programs : dict
        Of a `Command`: ``evaluated``, the different points with an answer; ``failed``, those of them at
        which the program failed; and ``first_failure``.
    seconds : float
        How long it took.
    """

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'><code>{html.escape(repr(value))}</code></td></tr>"
            for name, value in self.items()
        )
        return f"<table>{rows}</table>"


_WELL = {
    "target",
    "fitness_tolerance",
    "spread_tolerance",
    "patience",
    "agreement",
    "certain",
}


def nothing(iterations: int, evaluations: int) -> OptimizeResult:
    """The result of a run that a callback ended before it had found anything."""
    return OptimizeResult(
        x=None,
        fun=float("nan"),
        success=False,
        message="interrupted before a value was found",
        nfev=evaluations,
        nit=iterations,
        agreeing=0,
        searches=0,
    )


def result(written: str) -> OptimizeResult:
    """The result of a run, from its JSON."""
    outcome = json.loads(written)
    constraints = outcome.get("constraints", [])
    violations = [constraint["violation"] for constraint in constraints]
    feasible = all(violation == 0.0 for violation in violations)
    agreement = outcome.get("agreement") or {"agreeing": 0, "ended": 0}
    message = outcome["message"]
    if not feasible:
        message += "; no point with a value was found that satisfies all constraints"
    value = outcome["value"]
    fields: dict[str, Any] = {
        "x": np.array(outcome["position"], float),
        "fun": float("nan") if value is None else value,
        "success": feasible and outcome["stopped"] in _WELL,
        "message": message,
        "nfev": outcome["evaluations"],
        "nit": outcome["iterations"],
        "agreeing": agreement["agreeing"],
        "searches": agreement["ended"],
        "seconds": outcome["startup_seconds"] + outcome["seconds"],
    }
    programs = outcome["programs"]
    if programs is not None:
        fields["programs"] = programs
        if programs["failed"] > 0:
            failed, evaluated = programs["failed"], programs["evaluated"]
            fields["message"] += f"; the program failed at {failed} of {evaluated} points: see programs"
    if constraints:
        fields["maxcv"] = max(violations)
        fields["constraints"] = constraints
    return OptimizeResult(fields)
