"""The algorithm for pymoo, run by pymoo."""

import copy
import gc
import pickle
import threading

import numpy as np
import pytest

pytest.importorskip("pymoo")

from pymoo.core.callback import Callback  # noqa: E402
from pymoo.core.problem import ElementwiseProblem, Problem  # noqa: E402
from pymoo.optimize import minimize  # noqa: E402
from pymoo.problems import get_problem  # noqa: E402
from pymoo.problems.single.g import G4, G5, G6, G9  # noqa: E402

import pyflockwork as fw  # noqa: E402
from pyflockwork.adapters.pymoo import Flockwork  # noqa: E402


class Bowl(ElementwiseProblem):
    """Its minimum is 0.49 with the inequality, 0.58 with both constraints and 0 without."""

    def __init__(self, ieq=1, eq=0, **more):
        super().__init__(n_var=3, n_obj=1, n_ieq_constr=ieq, n_eq_constr=eq, xl=-2, xu=2, **more)
        self.calls = 0

    def _evaluate(self, x, out, *args, **kwargs):
        self.calls += 1
        assert x.shape == (3,) and np.all(np.abs(x) <= 2)
        out["F"] = x @ x
        if self.n_ieq_constr:
            out["G"] = 0.7 - x[0]
        if self.n_eq_constr:
            out["H"] = x[0] + x[1] - 1


class Rows(Problem):
    def __init__(self):
        super().__init__(n_var=2, n_obj=1, xl=[-1, 2], xu=[3, 5])
        self.sizes = []

    def _evaluate(self, x, out, *args, **kwargs):
        self.sizes.append(len(x))
        out["F"] = ((x - [1, 1]) ** 2).sum(axis=1)


def test_it_is_minimize_to_the_bit():
    problem = get_problem("himmelblau")
    bounds = np.stack(problem.bounds(), axis=1)
    ours = fw.minimize(lambda x: problem.evaluate(x.T)[:, 0], bounds, vectorized=True, rng=3)
    r = minimize(problem, Flockwork(), seed=3)
    assert r.X.tobytes() == ours.x.tobytes() and r.F[0] == ours.fun
    outcome = r.algorithm.outcome
    assert outcome.success and outcome.agreeing == ours.agreeing and outcome.message == ours.message
    assert r.algorithm.evaluator.n_eval == ours.nfev
    assert minimize(problem, Flockwork(), ("n_eval", 100), seed=4).F[0] != r.F[0]


def test_vectorised_problems_are_evaluated_in_generations():
    problem = Rows()
    r = minimize(problem, Flockwork(), ("n_gen", 20), seed=1)
    assert r.algorithm.n_gen - 1 == len(problem.sizes) == 20 and min(problem.sizes) > 3
    r = minimize(Rows(), Flockwork(), ("n_eval", 3000), seed=1)
    assert np.allclose(r.X, [1, 2], atol=1e-3) and r.X[1] >= 2


@pytest.mark.parametrize(
    ("problem", "evaluations", "minimum"),
    [
        (G4, 10_000, -30665.538672),
        (G6, 10_000, -6961.813876),
        (G9, 10_000, 680.630057),
        (G5, 4_000, 5126.4967),
    ],
)
def test_constrained_problems(problem, evaluations, minimum):
    r = minimize(problem(), Flockwork(), ("n_eval", evaluations), seed=1)
    assert abs(r.F[0] - minimum) < 1e-4 * abs(minimum) and r.CV[0] == 0
    assert r.algorithm.evaluator.n_eval <= evaluations


class Counts(Callback):
    calls = 0

    def notify(self, algorithm):
        self.calls += 1
        assert algorithm.opt is not None


@pytest.mark.parametrize(("eq", "minimum"), [(0, 0.49), (1, 0.58)])
def test_what_pymoo_does_with_an_algorithm(eq, minimum):
    counts, problem = Counts(), Bowl(eq=eq)
    algorithm = Flockwork()
    r = minimize(problem, algorithm, ("n_eval", 1500), seed=1, callback=counts)
    assert abs(r.F[0] - minimum) < 2e-4 and r.CV[0] == 0
    assert problem.calls == r.algorithm.evaluator.n_eval <= 1500
    assert counts.calls == r.algorithm.n_gen - 1 and algorithm.problem is None
    # Asked and told by hand it is the same.
    asked, problem = Flockwork(), Bowl(eq=eq)
    asked.setup(problem, termination=("n_eval", 1500), seed=1)
    while asked.has_next():
        points = asked.ask()
        for point in points:
            x = point.X
            point.set("F", np.array([x @ x]))
            point.set("G", np.array([0.7 - x[0]]))
            point.set("H", np.array([x[0] + x[1] - 1][:eq]))
        asked.evaluator.n_eval += len(points)
        asked.tell(infills=points)
    assert asked.result().X.tobytes() == r.X.tobytes()
    with pytest.raises(ValueError, match="over"):
        asked.tell(infills=points)
    history = minimize(Bowl(eq=eq), Flockwork(), ("n_eval", 400), seed=1, save_history=True).history
    ranks = [(step.opt[0].CV[0], step.opt[0].F[0] if step.opt[0].FEAS[0] else 0.0) for step in history]
    assert len(set(ranks)) > 2 and ranks == sorted(ranks, reverse=True)
    pickle.loads(pickle.dumps(r.algorithm))
    copy.deepcopy(r.algorithm)


@pytest.mark.parametrize("eq", [0, 1])
def test_what_nobody_has_any_more_ends(eq):
    class Own(Exception):
        pass

    class Fails(Bowl):
        def _evaluate(self, x, out, *args, **kwargs):
            super()._evaluate(x, out)
            if self.calls > 50:
                raise Own("from here")

    before = threading.active_count()
    with pytest.raises(Own, match="from here"):
        minimize(Fails(eq=eq), Flockwork(), seed=1)
    algorithm = Flockwork()
    algorithm.setup(Bowl(eq=eq), seed=1)
    for _ in range(3):
        algorithm.next()
    del algorithm
    gc.collect()
    assert threading.active_count() == before


@pytest.mark.parametrize("eq", [0, 1])
def test_what_cannot_be_satisfied(eq):
    class Never(Bowl):
        def _evaluate(self, x, out, *args, **kwargs):
            super()._evaluate(x, out)
            out["G"] = 5 - x[0]

    # Even where searches agree on the least violation.
    r = minimize(Never(eq=eq), Flockwork(agreeing=1, maxfun=2000), seed=1)
    assert r.X is None and abs(r.algorithm.opt[0].X[0] - 2) < 1e-6
    outcome = r.algorithm.outcome
    assert not outcome.success and np.isnan(outcome.fun) and "satisfies" in outcome.message


def test_whole_variables_swarms_and_values_that_are_none():
    r = minimize(Bowl(0, vtype=int), Flockwork(particles=20, maxiter=20), seed=1)
    assert np.array_equal(r.X, [0, 0, 0]) and r.algorithm.evaluator.n_eval == 20 * 21

    class Holes(Bowl):
        def _evaluate(self, x, out, *args, **kwargs):
            super()._evaluate(x, out)
            if x[1] < 0.5:
                out["F"] = np.nan

    r = minimize(Holes(), Flockwork(), ("n_eval", 2000), seed=1)
    assert abs(r.F[0] - 0.74) < 1e-3 and r.X[1] >= 0.5


def test_mistakes_are_told():
    with pytest.raises(ValueError, match="2 objectives"):
        minimize(get_problem("zdt1"), Flockwork(), seed=1)
    with pytest.raises(ValueError, match="first generation"):
        minimize(Bowl(), Flockwork(), ("n_eval", 2), seed=1)
    with pytest.raises(ValueError, match="without bounds"):
        minimize(Problem(n_var=2, n_obj=1), Flockwork(), seed=1)
    with pytest.raises(ValueError, match="method"):
        minimize(Bowl(), Flockwork(method="none"), seed=1)
