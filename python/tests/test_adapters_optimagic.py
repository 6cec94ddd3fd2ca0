"""The algorithm for optimagic, run by optimagic."""

import numpy as np
import pytest

om = pytest.importorskip("optimagic")

import pyflockwork as fw  # noqa: E402
from pyflockwork.adapters.optimagic import Flockwork  # noqa: E402

BOX = om.Bounds(lower=np.full(3, -5.0), upper=np.full(3, 5.0))


def valley(x):
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def test_the_result_says_what_happened():
    calls = []

    def counted(x):
        calls.append(x)
        return valley(x)

    r = om.minimize(counted, np.zeros(3), algorithm=Flockwork(), bounds=BOX)
    assert r.success and "agreed" in r.message and r.algorithm == "flockwork"
    assert np.allclose(r.params, 1, atol=1e-6) and r.fun == valley(r.params)
    # The one more is optimagic's own look at the start.
    assert r.n_fun_evals == len(calls) - 1 == len(r.history.fun)
    assert r.algorithm_output["agreeing"] >= 5 and r.n_iterations > 0 and r.max_constraint_violation is None


def test_it_is_minimize_to_the_bit():
    r = om.minimize(valley, np.zeros(3), algorithm=Flockwork(stopping_maxfun=2000, seed=3), bounds=BOX)
    ours = fw.minimize(valley, [(-5, 5)] * 3, x0=np.zeros(3), maxfun=2000, rng=3)
    assert r.params.tobytes() == ours.x.tobytes() and r.fun == ours.fun and r.n_fun_evals == ours.nfev <= 2000
    assert not r.success and "evaluations" in r.message


def test_a_generation_is_evaluated_by_as_many_processes_as_are_stated(monkeypatch):
    kind = om.optimization.internal_optimization_problem.InternalOptimizationProblem
    batches, evaluated = [], kind.batch_fun

    def noted(self, x_list, n_cores, batch_size=None):
        batches.append((len(x_list), n_cores))
        return evaluated(self, x_list, n_cores=1)

    monkeypatch.setattr(kind, "batch_fun", noted)
    r = om.minimize(valley, np.zeros(3), algorithm=Flockwork(stopping_maxfun=200, n_cores=7), bounds=BOX)
    assert {cores for _, cores in batches} == {7} and max(size for size, _ in batches) > 3
    assert sum(size for size, _ in batches) == r.n_fun_evals


def test_a_maximum_and_a_target():
    for target, reached in ((-0.5, True), (1.0, False)):
        r = om.maximize(
            lambda x: -valley(x),
            np.zeros(3),
            algorithm=Flockwork,
            bounds=BOX,
            algo_options={"convergence_target_value": target, "stopping_maxfun": 3000},
        )
        assert (r.fun >= target) is reached and r.success is reached


def test_the_result_is_no_worse_than_the_start():
    r = om.minimize(valley, np.ones(3), algorithm=Flockwork(stopping_maxfun=50), bounds=BOX)
    assert r.fun == 0 and np.array_equal(r.params, np.ones(3)) and not r.success


def test_options():
    swarm = Flockwork().with_stopping(maxiter=20).with_option(population_size=16)
    r = om.minimize(valley, np.zeros(3), algorithm=swarm, bounds=BOX)
    assert r.n_iterations == 20 and r.n_fun_evals == 16 * 21 and "iterations" in r.message
    rule = swarm.with_option(rule="bare-bones")
    assert om.minimize(valley, np.zeros(3), algorithm=rule, bounds=BOX).fun != r.fun
    few = om.minimize(valley, np.zeros(3), algorithm=Flockwork().with_convergence(agreeing=1), bounds=BOX)
    assert few.success and few.algorithm_output["agreeing"] == 1
    assert Flockwork(stopping_maxfun="1_000").stopping_maxfun == 1000
    with pytest.raises(ValueError, match="rule"):
        om.minimize(valley, np.zeros(3), algorithm=Flockwork(rule="none"), bounds=BOX)


def test_constraints_and_parameters_of_any_form():
    start = {"a": 1.0, "b": np.array([2.0, 3.0])}
    box = om.Bounds(lower={"a": -5.0, "b": np.full(2, -5.0)}, upper={"a": 5.0, "b": np.full(2, 5.0)})
    algorithm = Flockwork(stopping_maxfun=5000)

    def fun(params):
        return (params["a"] - 2) ** 2 + ((params["b"] - 1) ** 2).sum()

    for more in (
        {"upper_bound": 2.0},
        {"value": 2.0, "tol": 1e-8},
        {"lower_bound": -1.0, "upper_bound": 2.0},
    ):
        limit = om.NonlinearConstraint(func=lambda params: params["a"] + params["b"].sum(), **more)
        r = om.minimize(fun, start, algorithm=algorithm, bounds=box, constraints=limit)
        assert abs(r.fun - 4 / 3) < 1e-6 and abs(r.params["a"] - 4 / 3) < 1e-4, more
        assert r.max_constraint_violation == 0 and r.n_fun_evals == len(r.history.fun)
    fixed = om.FixedConstraint(lambda params: params["b"])
    r = om.minimize(fun, start, algorithm=algorithm, bounds=box, constraints=fixed)
    assert abs(r.params["a"] - 2) < 1e-6 and np.array_equal(r.params["b"], start["b"])
    never = om.NonlinearConstraint(func=lambda params: params["a"], lower_bound=7.0)
    r = om.minimize(fun, start, algorithm=algorithm, bounds=box, constraints=never)
    assert not r.success and np.isnan(r.fun) and r.max_constraint_violation == 2 and "satisfies" in r.message


def test_mistakes_are_told():
    with pytest.raises(om.exceptions.IncompleteBoundsError):
        om.minimize(valley, np.zeros(3), algorithm=Flockwork())
    with pytest.raises(om.exceptions.InvalidAlgoOptionError):
        Flockwork(stopping_maxfun=0)

    def fails(x):
        if x[0] != 0:
            raise ArithmeticError("from here")
        return 1.0

    with pytest.raises(Exception, match="evaluating fun") as caught:
        om.minimize(fails, np.zeros(3), algorithm=Flockwork(), bounds=BOX)
    assert "from here" in str(caught.value) or "from here" in str(caught.value.__cause__)
