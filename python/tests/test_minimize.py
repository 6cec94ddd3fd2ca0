"""Searches, beside SciPy's where it has the thing."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy import optimize

import pyflockwork as fw

VALLEY = "sum(i in 0..n-1: 100*(x[i+1]-x[i]^2)^2 + (1-x[i])^2)"


def valley(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2, axis=0)


def test_a_formula_and_a_function_reach_the_known_minimum():
    for fun, more in ((VALLEY, {}), (valley, {}), (valley, {"vectorized": True})):
        r = fw.minimize(fun, [(-5, 5)] * 5, **more)
        assert isinstance(r, optimize.OptimizeResult)
        assert r.success and r.fun < 1e-12 and np.allclose(r.x, 1, atol=1e-6), r
        assert r.agreeing >= 5 and r.searches >= r.agreeing and r.nfev > 0


def test_ways_of_evaluating_give_the_same_bits():
    one = fw.minimize(valley, [(-5, 5)] * 3, maxfun=3000)
    for more in ({"vectorized": True}, {"workers": 2}, {"workers": map}, {"threads": 1}):
        other = fw.minimize(valley, optimize.Bounds([-5] * 3, [5] * 3), maxfun=3000, **more)
        assert other.x.tobytes() == one.x.tobytes() and other.fun == one.fun, more
    swarm = fw.Swarm([(-5, 5)] * 3, maxfun=3000)
    for points in swarm:
        for index in reversed(range(len(points))):
            swarm.tell_at(index, valley(points[index]))
    assert swarm.result().x.tobytes() == one.x.tobytes()
    assert swarm.best[0] == one.fun


def test_seeds():
    def at(rng):
        return fw.minimize(VALLEY, [(-5, 5)] * 3, maxfun=500, rng=rng).x.tobytes()

    assert at(3) == at(3) and at(None) == at(1) and at(3) != at(4)
    assert at(np.random.default_rng(1)) == at(np.random.default_rng(1))
    for wrong in (-1, 1.5, "x", True, 1 << 64):
        with pytest.raises(ValueError, match="rng is"):
            at(wrong)


def test_whole_variables_lie_between_the_bounds():
    r = fw.minimize(
        lambda x: (x[0] - 2.6) ** 2 + abs(x[1] - 0.4),
        [(0.5, 7.5), (-1, 1)],
        integrality=[1, 0],
        particles=64,
        maxiter=300,
    )
    assert r.x[0] == 3.0 and abs(r.x[1] - 0.4) < 1e-3
    r = fw.minimize("(n - 7.9)^2", {"n": (1.2, 6.8)}, integrality=True)
    assert r.x[0] == 6.0
    with pytest.raises(ValueError, match="no whole number"):
        fw.minimize("n", {"n": (1.2, 1.8)}, integrality=True)


def constraints():
    nonlinear = optimize.NonlinearConstraint(lambda x: x[0] ** 2 + x[1] ** 2, -np.inf, 1)
    linear = optimize.LinearConstraint([[1, -1]], -0.5, 0.5)
    return nonlinear, linear


@pytest.mark.parametrize("fun", ["-x[0] - 2*x[1]", lambda x: -x[0] - 2 * x[1]])
def test_constraints_as_scipy_states_them(fun):
    theirs = optimize.minimize(
        lambda x: -x[0] - 2 * x[1],
        [0, 0],
        bounds=[(-2, 2)] * 2,
        constraints=constraints(),
        method="SLSQP",
    )
    forms = [
        constraints(),
        [
            {"type": "ineq", "fun": lambda x, most: most - x @ x, "args": (1,)},
            {"type": "ineq", "fun": lambda x: 0.5 - np.array([x[0] - x[1], x[1] - x[0]])},
        ],
        ["x[0]^2 + x[1]^2 <= 1", "abs(x[0] - x[1]) <= 0.5"],
    ]
    for form in forms:
        r = fw.minimize(fun, [(-2, 2)] * 2, constraints=form, maxfun=30_000)
        assert r.maxcv == 0 and abs(r.fun - theirs.fun) < 1e-5, (r, theirs.fun)
        assert any(constraint["active"] for constraint in r.constraints)
        for constraint in r.constraints:
            left, right = constraint["left"], constraint["right"]
            over = {"at_most": left - right, "at_least": right - left}.get(
                constraint["relation"], abs(left - right)
            )
            assert np.isclose(max(over, 0.0), constraint["violation"], atol=1e-12)
            if " >= " in constraint["text"]:
                assert constraint["relation"] == "at_least"


def test_an_equality_and_what_cannot_be_satisfied():
    equal = {"type": "eq", "fun": lambda x: x[0] + 2 * x[1] - 1}
    r = fw.minimize(lambda x: x @ x, [(-1, 1)] * 2, constraints=equal, maxfun=20_000, equal_within=1e-8)
    assert abs(r.fun - 0.2) < 1e-6
    r = fw.minimize("x[0]", [(0, 1)], constraints="x[0] >= 2", maxfun=2000)
    assert not r.success and r.maxcv == 1 and np.isnan(r.fun) and "satisfies" in r.message


class Own(Exception):
    pass


def test_exceptions_come_out_unchanged():
    def fails(x, **_):
        raise Own("from here")

    for more in ({}, {"vectorized": True}):
        with pytest.raises(Own, match="from here"):
            fw.minimize(fails, [(0, 1)], **more)
    constraint = {"type": "ineq", "fun": lambda x: fails(x) if x[0] != 0.5 else 1}
    for fun in (lambda x: x[0], "x[0]"):
        with pytest.raises(Own, match="from here"):
            fw.minimize(fun, [(0, 1)], constraints=constraint, maxfun=5000)
    # However soon it ends.
    for formula, box in ((VALLEY, [(-5, 5)] * 10), ("x[0]^2", [(-1, 1)])):
        with pytest.raises(Own):
            fw.minimize(formula, box, callback=fails)


@pytest.mark.parametrize("fun", [VALLEY, valley])
def test_callbacks_end_a_run_with_the_best_so_far(fun):
    seen = []

    def new(intermediate_result):
        seen.append(intermediate_result)
        return sum(bool(np.isfinite(r.fun)) for r in seen) > 2

    def old(x, convergence):
        assert 0 <= convergence <= 1
        if len(seen) > 6:
            raise StopIteration
        seen.append(None)

    for callback in (new, old):
        r = fw.minimize(fun, [(-5, 5)] * 40, callback=callback, maxfun=1_000_000_000, agreeing=None)
        assert not r.success
        assert r.message.startswith("interrupted")
    first, last = seen[0], next(r for r in reversed(seen) if r is not None)
    assert last.fun <= first.fun
    assert last.nfev >= first.nfev


def test_a_callback_may_end_a_run_before_a_value_is_found():
    r = fw.minimize(
        "sqrt(-1 - x[0]^2)", [(-5, 5)], callback=lambda x: True, maxfun=1_000_000_000, agreeing=None
    )
    assert not r.success
    assert r.x is None
    assert "before a value" in r.message


@pytest.mark.parametrize("fun", [VALLEY, valley])
@pytest.mark.parametrize("later", [0.0, 0.2])
def test_ctrl_c_ends_a_run_with_the_best_so_far(fun, later):
    """In the callback, and in whatever runs some time later."""
    sent = []

    def interrupts(intermediate_result):
        if not sent and np.isfinite(intermediate_result.fun):
            sent.append(True)
            if later == 0.0:
                os.kill(os.getpid(), signal.SIGINT)
            else:
                threading.Timer(later, os.kill, (os.getpid(), signal.SIGINT)).start()

    r = fw.minimize(
        fun, [(-5, 5)] * 40, maxfun=1_000_000_000_000, agreeing=None, target=-1, callback=interrupts
    )
    assert not r.success
    assert r.message == "interrupted"
    assert np.isfinite(r.fun)


def test_saved_runs_go_on_with_the_same_bits(tmp_path):
    for fun, again in ((VALLEY, ()), (valley, (valley, [(-5, 5)] * 4))):
        # Each of several lanes has a share of `maxfun`, and on a GPU `maxfun` says how many there are.
        whole = fw.minimize(fun, [(-5, 5)] * 4, maxfun=4000, lanes=1)
        file = tmp_path / "run"
        part = fw.minimize(fun, [(-5, 5)] * 4, maxfun=1000, lanes=1, save=file)
        rest = fw.resume(file, *again, maxfun=4000)
        assert part.nfev <= 1000 and rest.x.tobytes() == whole.x.tobytes()
        assert rest.nfev == whole.nfev
    with pytest.raises(ValueError, match="cannot hold"):
        fw.resume(file)
    with pytest.raises(FileNotFoundError):
        fw.resume(tmp_path / "none")


def test_programs():
    r = fw.minimize(fw.Command("echo {a}", jobs=2), {"a": (1, 2)}, particles=8, maxiter=4)
    assert r.fun < 1.2 and r.nfev == 40
    assert 0 < r.programs["evaluated"] <= 40 and r.programs["failed"] == 0


@pytest.mark.skipif(os.name != "posix", reason="a command of a POSIX shell")
def test_programs_that_fail_are_told_of():
    some = fw.Command("sh -c 'case {a} in -*) exit 3;; esac; echo {a}'")
    r = fw.minimize(some, {"a": (-1, 1)}, particles=8, maxiter=4)
    assert 0 <= r.fun < 0.5 and 0 < r.programs["failed"] < r.programs["evaluated"]
    assert r.programs["first_failure"].endswith("exit status: 3")
    assert f"failed at {r.programs['failed']} of" in r.message


def test_formulas_among_constraints_know_the_names_of_a_functions_variables():
    bounds = {"width": (0, 9), "height": (0, 9)}
    limit = "2*(width + height) <= 12"
    r = fw.minimize(lambda x: -x[0] * x[1], bounds, constraints=limit)
    assert abs(r.params["width"] - 3) < 1e-6 and abs(r.fun + 9) < 1e-6
    swarm = fw.Swarm(bounds, constraints=limit, maxfun=20_000)
    for points in swarm:
        swarm.tell(-points.prod(axis=1))
    assert abs(swarm.result().fun + 9) < 1e-6
    with pytest.raises(ValueError, match="depth"):
        fw.minimize(lambda x: x[0], bounds, constraints="depth <= 1")


def test_options_by_the_librarys_names():
    r = fw.minimize(VALLEY, [(-5, 5)] * 2, particles=40, options={"stop": {"patience": 30}})
    assert r.message == "the best no longer improved"
    with pytest.raises(ValueError, match='no option called "patients"'):
        fw.minimize(VALLEY, [(-5, 5)] * 2, particles=40, options={"stop": {"patients": 30}})
    # Nothing that was asked for is ignored.
    for options in ({"stop": {"patience": 30}}, {"polish": {"method": "line"}}, {"edge": "wrap"}):
        with pytest.raises(ValueError, match="option of swarms"):
            fw.minimize(VALLEY, [(-5, 5)] * 2, options=options)
    r = fw.minimize(VALLEY, [(-5, 5)] * 2, preset="robust", x0=[1, 1], maxiter=3)
    assert r.fun == 0


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ((VALLEY, []), ValueError, "bounds must be"),
        ((VALLEY, [(1, 2, 3)]), ValueError, "bounds must be"),
        ((VALLEY, None), ValueError, "bounds must be"),
        ((VALLEY, [(2, 1)] * 2), ValueError, "dimension 0 has the bounds"),
        (("x[0] +", [(0, 1)]), ValueError, "mistake"),
        (("a + b", {"a": (0, 1)}), ValueError, "b"),
        ((3, [(0, 1)]), TypeError, "fun is 3"),
        ((lambda x: "text", [(0, 1)]), TypeError, "must return a number"),
        ((lambda x: None, [(0, 1)]), TypeError, "must return a number"),
        ((lambda x: np.nan, [(0, 1)]), ValueError, "no finite value"),
    ],
)
def test_mistakes_are_told(arguments, error, match):
    with pytest.raises(error, match=match):
        fw.minimize(*arguments)


def test_more_mistakes_are_told():
    box = [(0, 1)] * 2
    for match, more in (
        ("method is", {"method": "annealing"}),
        ("device is", {"device": "tpu"}),
        ("device is", {"device": "cuda:one"}),
        ("threads is", {"threads": -1}),
        ("workers is", {"workers": 0}),
        ("option of swarms", {"method": "cmaes", "particles": 10}),
        ("maxfun is -1", {"maxfun": -1}),
        ("maxfun is 1.5", {"maxfun": 1.5}),
        ("particles is", {"particles": 0}),
        ("lanes is", {"lanes": 0}),
        ("integrality has", {"integrality": [1, 1, 1]}),
        ("integrality is 'all'", {"integrality": "all"}),
        ("x0 is 'a'", {"x0": "a"}),
        ("options are", {"options": 3}),
        ("rule", {"rule": "gravity"}),
        ("finite", {"x0": [np.nan, 0]}),
        ("target is inf", {"target": np.inf}),
    ):
        with pytest.raises((ValueError, TypeError), match=match):
            fw.minimize(valley, box, **more)
    with pytest.raises(ValueError, match="numbers of different GPUs"):
        fw.minimize(VALLEY, box, device="cuda:0,0")
    with pytest.raises(ValueError, match="a value for each column"):
        fw.minimize(lambda x: x, box, vectorized=True)
    with pytest.raises(TypeError, match="constraint 1 is 3"):
        fw.minimize(valley, box, constraints=[3])
    assert fw.minimize(valley, box, constraints=None, maxfun=200).nfev <= 200
    for match, wrong in (("maxiter is -1", {"maxiter": -1}), ("popsize is 0", {"popsize": 0})):
        with pytest.raises(ValueError, match=match):
            fw.differential_evolution(valley, box, **wrong)


def test_a_variable_with_equal_bounds_is_given():
    for fun in (VALLEY, valley):
        r = fw.minimize(fun, [(-3, 3), (0.25, 0.25)], x0=[0, 0.25])
        assert r.success and r.x[1] == 0.25 and abs(r.x[0] - 0.5) < 0.01
    r = fw.minimize("(a-1)^2 + b", {"a": (-3, 3), "b": (0.3, 0.3)}, constraints="a + b <= 1")
    assert r.params["b"] == 0.3 and abs(r.params["a"] - 0.7) < 1e-6
    r = fw.differential_evolution(
        lambda x: (x[0] - 1.2) ** 2 + x[1], [(-3, 3), (0.3, 0.3)], integrality=[1, 0]
    )
    assert r.x.tolist() == [1, 0.3]
    seen = []

    def constant(x):
        seen.append(x.tolist())
        return 7.0

    r = fw.differential_evolution(constant, {"a": (1, 1), "b": (2, 2)})
    assert r.success and r.params == {"a": 1, "b": 2} and r.fun == 7 and r.nfev == 1 and seen == [[1, 2]]


def test_as_scipys_function():
    bounds = [(-5.12, 5.12)] * 3

    def rastrigin(x):
        return 10 * len(x) + np.sum(x**2 - 10 * np.cos(2 * np.pi * x), axis=0)

    theirs = optimize.differential_evolution(rastrigin, bounds, rng=1, maxiter=300)
    ours = fw.differential_evolution(rastrigin, bounds, rng=1, maxiter=300)
    assert ours.fun <= theirs.fun + 1e-9 and ours.nfev <= 301 * 15 * 3
    with pytest.warns(UserWarning, match="mutation"):
        fw.differential_evolution(rastrigin, bounds, mutation=0.3, maxiter=2)


def test_results_can_be_pickled_and_shown():
    r = fw.minimize(VALLEY, [(-5, 5)] * 2, maxfun=1000)
    again = pickle.loads(pickle.dumps(r))
    assert again.fun == r.fun and np.array_equal(again.x, r.x)
    assert "fun" in repr(r) and "<table>" in r._repr_html_()


def test_the_interpreter_runs_on_meanwhile():
    ticks = 0
    done = threading.Event()

    def count():
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    # It would never end if nothing else could run.
    fw.minimize(
        VALLEY, [(-5, 5)] * 30, maxfun=1_000_000_000_000, agreeing=None, callback=lambda x: ticks > 10
    )
    done.set()
    thread.join()
    assert ticks > 10


def test_a_search_in_another_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(fw.minimize(valley, [(-5, 5)] * 2).fun))
    thread.start()
    thread.join()
    assert found[0] < 1e-9


def test_asked_twice_told_wrongly():
    swarm = fw.Swarm([(0, 1)] * 2, maxfun=100)
    points = swarm.ask()
    assert np.array_equal(points, swarm.ask())
    points[:] = 7  # The caller's own copy.
    with pytest.raises(ValueError, match="points were asked for"):
        swarm.tell([1.0])
    with pytest.raises(ValueError, match="index"):
        swarm.tell_at(len(points), 1.0)
    swarm.tell(np.ones(len(points), np.float32))
    with pytest.raises(ValueError, match="asked"):
        swarm.tell([1.0])
    swarm.ask()
    r = swarm.result()
    assert r.fun == 1 and r.message == "interrupted" and swarm.ask() is None
    assert np.all((r.x >= 0) & (r.x <= 1))


def test_several_threads_tell_a_swarm():
    def run(pool):
        swarm = fw.Swarm([(-5, 5)] * 3, maxfun=2000, agreeing=None)
        ended = threading.Event()

        def look():
            while not ended.is_set():
                best = swarm.best
                assert best is None or best[0] >= 0

        watching = pool.submit(look)
        try:
            for points in swarm:

                def tell(row, points=points):
                    swarm.tell_at(row, valley(points[row]))

                list(pool.map(tell, range(len(points))))
        finally:
            ended.set()
        watching.result()
        return swarm.result()

    with ThreadPoolExecutor(4) as pool:
        told = run(pool)
    r = fw.minimize(valley, [(-5, 5)] * 3, maxfun=2000, agreeing=None)
    assert (told.fun, told.nfev) == (r.fun, r.nfev) and np.array_equal(told.x, r.x)


@pytest.mark.parametrize("more", [{}, {"vectorized": True}, {"method": "swarm", "particles": 10}])
def test_arrays_that_a_function_gets_are_its_own(more):
    kept = []

    def keeps(x):
        kept.append((x, x.copy()))
        values = np.sum(x**2, axis=0)
        x[...] = 7.0
        kept[-1][1][...] = kept[-1][1] * 1.0
        return values

    first = fw.minimize(keeps, [(-5, 5)] * 2, maxfun=200, **more)
    assert all(np.all(x == 7.0) for x, _ in kept)
    again = fw.minimize(lambda x: np.sum(x**2, axis=0), [(-5, 5)] * 2, maxfun=200, **more)
    assert again.x.tobytes() == first.x.tobytes()


def test_a_guess_is_never_lost():
    def spike(x):
        return 0.0 if np.all(x == 0.3) else 1.0 + x @ x

    r = fw.minimize(spike, [(-5, 5)] * 3, x0=[0.3] * 3, maxfun=3000)
    assert r.fun == 0.0
    assert np.all(r.x == 0.3)
    assert r.nfev <= 3000
    r = fw.minimize(lambda x: np.nan if x[0] == 1 else x @ x, [(-5, 5)] * 2, x0=[1, 1], maxfun=3000)
    assert r.fun < 1e-6
    with pytest.raises(ValueError, match="start point"):
        fw.minimize(spike, [(-5, 5)] * 3, x0=[0.3])


def test_stop_iteration_in_a_function_comes_out():
    def stops(x):
        raise StopIteration("here")

    for more in ({}, {"vectorized": True}):
        with pytest.raises(StopIteration, match="here"):
            fw.minimize(stops, [(0, 1)], **more)


def dies(x):
    os._exit(1)


def test_a_worker_that_dies_is_an_error():
    with pytest.raises(RuntimeError):
        fw.minimize(dies, [(0, 1)], workers=2)


def test_an_exception_of_a_signal_handler_comes_out():
    def raises(number, frame):
        raise TimeoutError("from the handler")

    before = signal.signal(signal.SIGALRM, raises)
    try:
        for fun in (VALLEY, valley):
            timer = [0.1]

            def asks(x):
                if timer:  # noqa: B023
                    signal.setitimer(signal.ITIMER_REAL, timer.pop())  # noqa: B023

            with pytest.raises(TimeoutError, match="from the handler"):
                fw.minimize(fun, [(-5, 5)] * 30, maxfun=10**12, agreeing=None, callback=asks)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_swarm_that_was_told_nothing():
    swarm = fw.Swarm([(0, 1)])
    with pytest.raises(ValueError, match="no finite value"):
        swarm.result()
    assert swarm.ask() is None
    assert swarm.best is None
    assert "Swarm" in repr(swarm)
    with pytest.raises(ValueError, match="without a result"):
        swarm.result()


@pytest.mark.parametrize("method", ["auto", "swarm"])
@pytest.mark.parametrize("calls", [1, 2, 9])
def test_what_a_callback_has_ended_goes_on_with_the_same_bits(tmp_path, method, calls):
    box = [(-5, 5)] * 4

    def wavy(x):
        return float((x**2 - 10 * np.cos(6 * x)).sum())

    options = {"maxiter": 30, "particles": 40} if method == "swarm" else {"maxfun": 4000}
    whole = fw.minimize(wavy, box, method=method, rng=3, **options)
    seen = []
    part = fw.minimize(
        wavy,
        box,
        method=method,
        rng=3,
        save=tmp_path / "run",
        **options,
        callback=lambda x: seen.append(x) or len(seen) >= calls,
    )
    assert part.message.startswith("interrupted") and part.nfev < whole.nfev
    rest = fw.resume(tmp_path / "run", wavy, box)
    assert np.array_equal(rest.x, whole.x)
    assert (rest.fun, rest.nfev) == (whole.fun, whole.nfev)


@pytest.mark.parametrize("trial", range(4))
def test_ctrl_c_ends_a_run_with_python_constraints(trial):
    script = """
import pyflockwork as fw
calls = 0
def bowl(x):
    global calls
    calls += 1
    if calls == 100:
        print("begun", flush=True)
    return float((x**2).sum())
sides = {"type": "ineq", "fun": lambda x: x[0] + 10}
r = fw.minimize(bowl, [(-5, 5)] * 6, constraints=sides, maxfun=10**10, agreeing=None)
print(r.message)
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.13 * trial)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0].startswith("interrupted")


@pytest.mark.parametrize("vectorized", [False, True])
def test_masked_values_are_missing_and_others_refused(vectorized):
    def masked(x):
        value = 5 + x[0] ** 2
        return np.ma.masked_where(x[0] > 0, value)

    r = fw.minimize(masked, [(-1, 1)], vectorized=vectorized, maxfun=300)
    assert r.fun >= 5 and r.x[0] <= 0
    for wrong, what in ((1j, "complex|1j"), (None, "None")):

        def function(x, wrong=wrong):
            return np.full(x.shape[1:], wrong) if vectorized else wrong

        with pytest.raises(TypeError, match=what):
            fw.minimize(function, [(-1, 1)], vectorized=vectorized, maxfun=300)


def test_a_search_that_cannot_begin_says_why():
    for options, what in (({"x0": [9.0]}, "x0 is"), ({"maxfun": 2}, "maxfun is 2")):
        with pytest.raises(ValueError, match=what):
            for _ in fw.Swarm([(-1, 1)], **options):
                pass
    for x0 in (np.zeros((0, 1)), np.zeros((1, 1, 1))):
        with pytest.raises(ValueError, match="x0 has the shape"):
            fw.minimize("x[0]^2", [(-1, 1)], x0=x0)


def test_few_evaluations_of_whole_numbers():
    for maxiter in (0, 1, 20):
        r = fw.differential_evolution(lambda x: (x[0] - 1.3) ** 2, [(0, 3)], integrality=[1], maxiter=maxiter)
        assert r.nfev <= (maxiter + 1) * 15
    assert r.x[0] == 1
    few = fw.differential_evolution("(x[0]-1.3)^2", [(0, 3)], integrality=[1], maxfun=100)
    assert few.nfev <= 100 and few.x[0] == 1
    assert fw.differential_evolution("x[0]^2", [(-1, 1)] * 2, maxiter=1, popsize=1).nfev <= 6
    with pytest.raises(TypeError, match="rng and seed"):
        fw.differential_evolution("x[0]^2", [(-1, 1)], rng=1, seed=2)


@pytest.mark.skipif(sys.platform == "win32", reason="signals and programs of Unix")
def test_ctrl_c_kills_programs(tmp_path):
    started = tmp_path / "started"
    program = f"sh -c 'touch {started}; sleep 1000' {{a}}"
    script = (
        "import pyflockwork as fw\n"
        f"fw.minimize(fw.Command({program!r}, jobs=2), {{'a': (0, 1)}}, maxfun=100)\n"
    )
    run = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE)
    while not started.exists():
        assert run.poll() is None
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    # Not after the programs have ended.
    _, errors = run.communicate(timeout=300)
    assert b"KeyboardInterrupt" in errors


def test_sides_of_scipys_constraints_are_those_of_their_texts():
    limit = optimize.NonlinearConstraint(lambda x: x, [-1, 0.25], [0.5, 0.25])
    r = fw.minimize(lambda x: x @ x, [(-1, 1)] * 2, constraints=["x[0] >= -0.75", limit], maxfun=20_000)
    sides = {c["text"]: (round(c["left"], 3), c["relation"], c["right"]) for c in r.constraints}
    assert sides["constraint 2[1] == 0.25"] == (0.25, "equal", 0.25)
    assert sides["constraint 2[0] <= 0.5"] == (0.0, "at_most", 0.5)
    assert sides["constraint 2[0] >= -1.0"] == (0.0, "at_least", -1.0)
    assert sides["x[0] >= -0.75"] == (0.0, "at_least", -0.75)


def test_one_value_may_come_in_a_list() -> None:
    def listed(x: Any) -> Any:
        return [float((x**2).sum())]

    assert fw.minimize(listed, [(-1, 1)] * 2, maxfun=300).fun < 1e-3
    row = fw.minimize(lambda x: (x**2).sum(axis=0)[None, :], [(-1, 1)] * 2, vectorized=True, maxfun=300)
    assert row.fun < 1e-3
    for value in ("1.5", [1.0, 2.0]):
        with pytest.raises(TypeError, match="must return a number"):
            fw.minimize(lambda x, value=value: value, [(-1, 1)])
    assert fw.minimize(listed, [(-1, 1)] * 2, maxfun=3e2).nfev <= 300


def test_a_search_over_whole_numbers_ends_when_nothing_better_is_found() -> None:
    r = fw.differential_evolution(
        lambda x: float((x[0] - 1.4) ** 2 + (x[1] - 2.6) ** 2), [(-5, 5)] * 2, integrality=[1, 0], rng=1
    )
    assert r.success and r.nfev < 30_000
    assert r.x[0] == 1 and abs(r.x[1] - 2.6) < 1e-3
