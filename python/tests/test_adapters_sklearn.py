"""Estimators for scikit-learn, held to its own checks."""

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.datasets import load_iris  # noqa: E402
from sklearn.exceptions import FitFailedWarning  # noqa: E402
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier  # noqa: E402
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import FunctionTransformer, StandardScaler  # noqa: E402
from sklearn.tree import DecisionTreeRegressor  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

import pyflockwork as fw  # noqa: E402
from pyflockwork.adapters.sklearn import CurveRegressor, FlockSearchCV  # noqa: E402

DECAY = "amp*exp(-rate*x) + base"


def data(rows=60, seed=1):
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 5, rows)
    return x[:, None], 3 * np.exp(-0.8 * x) + 1 + 0.05 * rng.standard_normal(rows)


# Fits to ten columns, of which the formula has one, are to explain most of y.
FEW = {
    "check_regressors_train": "the formula is about one column",
    "check_dataframe_column_names_consistency": "the formula has other names than the columns",
}


def test_the_regressor_passes_scikit_learns_checks():
    found = check_estimator(
        CurveRegressor(device="cpu", threads=1), expected_failed_checks=FEW, on_skip=None, on_fail=None
    )
    assert {check["status"] for check in found} <= {"passed", "skipped", "xfail"}, found
    assert sum(check["status"] == "passed" for check in found) > 50


@pytest.mark.filterwarnings("ignore")
def test_the_search_passes_scikit_learns_checks():
    # Ridge takes y of two dimensions, of which that check wants a warning.
    found = check_estimator(
        FlockSearchCV(Ridge(), {"alpha": (1e-3, 10.0, "log")}, n_iter=3, cv=2),
        expected_failed_checks={"check_supervised_y_2d": "as GridSearchCV of Ridge"},
        on_skip=None,
        on_fail=None,
    )
    assert {check["status"] for check in found} <= {"passed", "skipped", "xfail"}, found
    assert sum(check["status"] == "passed" for check in found) > 45


def test_a_regressor_is_the_fit():
    x, y = data()
    model = CurveRegressor(DECAY, bounds={"rate": (0, 5)}, random_state=2).fit(x, y)
    ours = fw.fit(x[:, 0], y, DECAY, bounds={"rate": (0, 5)}, rng=2)
    assert model.params_ == ours.params and model.result_.stderr == ours.stderr
    values, errors = model.predict(x, return_std=True)
    assert np.array_equal(values, ours.predict()) and np.array_equal(errors, ours.bands()[:, 1])
    assert abs(model.score(x, y) - ours.r_squared) < 1e-9
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(x), values)
    fixed = clone(model).set_params(fixed={"base": 1.0}, loss="huber", f_scale=0.1).fit(x, y)
    assert fixed.params_["base"] == 1 and fixed.params_ != model.params_


def test_weights_of_rows_count_them():
    x, y = data()
    counts = np.arange(60) % 3
    weighted = CurveRegressor(DECAY).fit(x, y, sample_weight=counts).params_
    repeated = CurveRegressor(DECAY).fit(np.repeat(x, counts, axis=0), np.repeat(y, counts)).params_
    assert np.allclose(list(weighted.values()), list(repeated.values()), rtol=1e-6)
    assert weighted != CurveRegressor(DECAY).fit(x, y).params_


def test_columns_have_numbers_or_names():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    table = pandas.DataFrame({"t": rng.random(40), "u": rng.random(40)})
    y = 2 * table["t"] - 3 * table["u"] + 1
    named = CurveRegressor("a*t + b*u + c").fit(table, y)
    numbered = CurveRegressor("a*x1 + b*x2 + c").fit(table.to_numpy(), y)
    for model in (named, numbered):
        assert np.allclose(list(model.params_.values()), [2, -3, 1])
    assert np.allclose(named.predict(pandas.DataFrame({"t": [1.0], "u": [0.0]})), 3)
    with pytest.raises(ValueError, match="names none of the columns"):
        CurveRegressor("a*x1 + b*x2 + c").fit(table, y)
    x, y = data()
    built_in = CurveRegressor("offset_exponentials", sizes={"terms": 1}).fit(x, y)
    assert abs(built_in.params_["rate1"] - 0.8) < 0.1


def test_formulas_are_chosen_by_cross_validation():
    x, y = data()
    folds = KFold(5, shuffle=True, random_state=1)
    formulas = ["slope*x + base", "a*x^2 + b*x + c", DECAY]
    search = GridSearchCV(CurveRegressor(), {"formula": formulas}, cv=folds).fit(x, y)
    assert search.best_params_ == {"formula": DECAY} and search.best_score_ > 0.95
    line = cross_val_score(CurveRegressor("slope*x + base"), x, y, cv=folds)
    assert np.allclose(line, cross_val_score(LinearRegression(), x, y, cv=folds))
    pipe = make_pipeline(FunctionTransformer(np.log1p), CurveRegressor("slope*x + base")).fit(x, y)
    assert np.allclose(pipe.predict(x), LinearRegression().fit(np.log1p(x), y).predict(np.log1p(x)))


class Known(Ridge):
    """Its score is known: greatest, 0, where alpha is 0.03, tol 0.25 and max_iter 7."""

    def fit(self, X, y):
        assert type(self.max_iter) is int
        self.n_features_in_ = X.shape[1]
        return self

    def score(self, X, y):
        log = np.log10(self.alpha / 0.03)
        return -(log**2) - (self.tol - 0.25) ** 2 - ((self.max_iter - 7) / 10) ** 2


BOX = {"alpha": (1e-4, 1e4, "log"), "tol": (0.0, 1.0), "max_iter": (1, 20)}


def test_a_search_finds_the_best_in_a_box():
    x, y = data()
    search = FlockSearchCV(Known(), BOX, n_iter=400, refit=False).fit(x, y)
    best = search.best_params_
    assert (
        abs(np.log10(best["alpha"] / 0.03)) < 0.1 and abs(best["tol"] - 0.25) < 0.1 and best["max_iter"] == 7
    )
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    tried = search.cv_results_["params"]
    assert 100 < len(tried) <= 400 and len({tuple(one.values()) for one in tried}) == len(tried)
    for one in tried:
        assert 1e-4 <= one["alpha"] <= 1e4 and 0 <= one["tol"] <= 1 and 1 <= one["max_iter"] <= 20
    # Half of the orders of magnitude are below 1.
    first = [one["alpha"] for one in tried[:20]]
    assert min(first) < 1 < max(first)


def test_a_search_is_that_of_scikit_learn():
    x, y = load_iris(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), RidgeClassifier())
    box = {"ridgeclassifier__alpha": (1e-3, 1e3, "log")}
    search = FlockSearchCV(pipe, box, n_iter=15, cv=3, return_train_score=True, random_state=4).fit(x, y)
    results = search.cv_results_
    assert 8 < len(results["params"]) <= 15 and results["rank_test_score"][search.best_index_] == 1
    assert {"split0_test_score", "mean_train_score", "param_ridgeclassifier__alpha"} <= set(results)
    chosen = clone(pipe).set_params(**search.best_params_)
    assert np.isclose(cross_val_score(chosen, x, y, cv=3).mean(), search.best_score_)
    assert np.array_equal(search.predict(x), chosen.fit(x, y).predict(x)) and search.score(x, y) > 0.8
    other = clone(search).set_params(n_jobs=2).fit(x, y)
    assert other.cv_results_["params"] == results["params"]
    assert clone(search).set_params(random_state=5).fit(x, y).best_params_ != search.best_params_
    pickle.loads(pickle.dumps(search)).predict(x)


def test_whole_numbers_are_evaluated_once():
    x, y = data()
    tree = FlockSearchCV(DecisionTreeRegressor(random_state=1), {"max_depth": (1, 6)}, n_iter=60).fit(x, y)
    depths = [one["max_depth"] for one in tree.cv_results_["params"]]
    assert sorted(depths) == sorted(set(depths)) and set(depths) <= set(range(1, 7)) and len(depths) > 2
    few = FlockSearchCV(DecisionTreeRegressor(random_state=1), {"max_depth": (1, 6)}, n_iter=2).fit(x, y)
    assert 1 <= len(few.cv_results_["params"]) <= 2


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_several_metrics_and_candidates_that_fail():
    x, y = data()
    metrics = ["r2", "neg_mean_absolute_error"]
    search = FlockSearchCV(Ridge(), {"alpha": (1e-3, 1e3, "log")}, n_iter=8, scoring=metrics, refit="r2")
    assert search.fit(x, y).best_score_ == max(search.cv_results_["mean_test_r2"])
    with pytest.raises(ValueError, match="refit must name"):
        clone(search).set_params(refit=False).fit(x, y)

    class Fragile(Known):
        def fit(self, X, y):
            if self.tol > 0.5:
                raise ArithmeticError("too much")
            return super().fit(X, y)

    with pytest.warns(FitFailedWarning, match="too much"):
        found = FlockSearchCV(Fragile(), BOX, n_iter=40, refit=False).fit(x, y)
    assert np.isnan(found.cv_results_["mean_test_score"]).any() and found.best_params_["tol"] <= 0.5
    with pytest.raises(ArithmeticError):
        FlockSearchCV(Fragile(), BOX, n_iter=40, error_score="raise").fit(x, y)


@pytest.mark.parametrize(
    ("match", "box", "more"),
    [
        ("are empty", {}, {}),
        ("low less than high", {"alpha": (2, 1)}, {}),
        ("low less than high", {"alpha": (0, np.inf)}, {}),
        ("low less than high", {"alpha": [1]}, {}),
        ("low less than high", {"alpha": (1, 2, "linear")}, {}),
        ("low less than high", {"alpha": ("a", "b")}, {}),
        ("above 0", {"alpha": (0, 1, "log")}, {}),
        ("random_state", {"alpha": (1, 2)}, {"cv": KFold(2, shuffle=True)}),
        ("Invalid parameter", {"beta": (1, 2)}, {}),
        ("n_iter", {"alpha": (1, 2)}, {"n_iter": 0}),
        ("no option called", {"alpha": (1, 2)}, {"options": {"beta": 2}}),
    ],
)
def test_mistakes_are_told(match, box, more):
    x, y = data()
    with pytest.raises(ValueError, match=match):
        FlockSearchCV(Ridge(), box, **{"n_iter": 8, **more}).fit(x, y)
