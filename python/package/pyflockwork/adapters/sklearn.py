"""Estimators for scikit-learn: a model that is typed in, and a search for hyperparameters.

Examples
--------
>>> import numpy as np
>>> from sklearn.model_selection import GridSearchCV
>>> from pyflockwork.adapters.sklearn import CurveRegressor
>>> x = np.linspace(0, 5, 60)
>>> y = 3 * np.exp(-0.8 * x) + 1
>>> formulas = ["slope*x + base", "amp*exp(-rate*x) + base"]
>>> search = GridSearchCV(CurveRegressor(), {"formula": formulas}).fit(x[:, None], y)
>>> search.best_params_["formula"]
'amp*exp(-rate*x) + base'
>>> round(search.best_estimator_.params_["rate"], 6)
0.8
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from math import exp, log
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _lacking

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.exceptions import FitFailedWarning
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils._param_validation import Interval
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError as error:
    raise _lacking("scikit-learn", "sklearn") from error

from .. import FitResult, Swarm, fit

__all__ = ["CurveRegressor", "FlockSearchCV"]

Floats = NDArray[np.float64]


class CurveRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """`pyflockwork.fit` as a regressor: a model that is typed in, fitted without starting values.

    Parameters
    ----------
    formula : str
        Names of columns are data, all other names parameters. Columns have the names of a data frame,
        otherwise ``x1``, ``x2`` and so on; a single one is also ``x``. Or the name of a built-in model.
    bounds, fixed : mapping, optional
        Of parameters, as of `pyflockwork.fit`.
    loss : {"squares", "absolute", "huber", "cauchy"}
        Of a residual; `f_scale` is its scale.
    sizes, starts, options : optional
        As of `pyflockwork.fit`.
    random_state : int, RandomState or None
        The seed; 1 without one.
    device, threads
        Where to calculate.

    Attributes
    ----------
    result_ : FitResult
        The fit, with standard errors and intervals.
    params_ : dict of str to float
        The estimates.
    n_features_in_, feature_names_in_
        As of any estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from pyflockwork.adapters.sklearn import CurveRegressor
    >>> x = np.linspace(0, 5, 60)[:, None]
    >>> model = CurveRegressor("amp*exp(-rate*x) + base").fit(x, 3 * np.exp(-0.8 * x[:, 0]) + 1)
    >>> round(model.params_["rate"], 6), round(float(model.predict([[0.0]])[0]), 6)
    (0.8, 4.0)
    """

    def __init__(
        self,
        formula: str = "slope*x1 + base",
        *,
        bounds: Mapping[str, Any] | None = None,
        fixed: Mapping[str, float] | None = None,
        loss: str = "squares",
        f_scale: float = 1.0,
        sizes: Mapping[str, int] | None = None,
        starts: int | None = None,
        options: Mapping[str, Any] | None = None,
        random_state: Any = None,
        device: str = "auto",
        threads: int = 0,
    ) -> None:
        self.formula = formula
        self.bounds = bounds
        self.fixed = fixed
        self.loss = loss
        self.f_scale = f_scale
        self.sizes = sizes
        self.starts = starts
        self.options = options
        self.random_state = random_state
        self.device = device
        self.threads = threads

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CurveRegressor:
        """Fits the model. Weights are as of `pyflockwork.fit`: a row of weight 2 counts as two."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        self.result_: FitResult = fit(
            self._columns(X),
            np.asarray(y, np.float64),
            self.formula,
            many=False,
            weights=sample_weight,
            bounds=self.bounds,
            fixed=self.fixed,
            loss=self.loss,
            f_scale=self.f_scale,
            sizes=self.sizes,
            starts=self.starts,
            options=self.options,
            rng=self.random_state,
            device=self.device,
            threads=self.threads,
        )
        self.params_ = dict(self.result_.params)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The model's values, and with `return_std` their standard errors."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        bands = self.result_.bands(self._columns(X))
        return (bands[:, 0].copy(), bands[:, 1].copy()) if return_std else bands[:, 0].copy()

    def _columns(self, X: Floats) -> Any:
        if str(self.formula).strip().isidentifier():
            # A built-in model takes all columns.
            return X
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            return dict(zip(names, X.T, strict=True))
        columns = {f"x{nth}": column for nth, column in enumerate(X.T, 1)}
        return {"x": X[:, 0], **columns} if len(columns) == 1 else columns


class _Axis(NamedTuple):
    """A hyperparameter, and where it lies on an axis of the search."""

    name: str
    low: float
    high: float
    is_whole: bool
    is_log: bool

    @classmethod
    def stated(cls, name: Any, ends: Any) -> _Axis:
        """From a pair (low, high), or a triple with "log"."""
        given = tuple(ends) if isinstance(ends, (tuple, list)) else ()
        low, high, *more = given if len(given) >= 2 else (None, None)
        are_numbers = all(isinstance(end, Real) and not isinstance(end, bool) for end in (low, high))
        if not are_numbers or more not in ([], ["log"]) or not -np.inf < low < high < np.inf:
            raise ValueError(
                f"the bounds of {name} are {ends!r}; they must be (low, high) or (low, high, 'log'), and "
                "low less than high"
            )
        if more and low <= 0:
            raise ValueError(f"the bounds of {name} are {ends!r}; of a logarithm they must be above 0")
        is_whole = isinstance(low, Integral) and isinstance(high, Integral)
        return cls(str(name), float(low), float(high), is_whole, bool(more))

    def ends(self) -> tuple[float, float]:
        # Each whole number has its share of the axis.
        half = 0.5 if self.is_whole else 0.0
        low, high = self.low - half, self.high + half
        return (log(low), log(high)) if self.is_log else (low, high)

    def value(self, at: float) -> float | int:
        number = min(max(exp(at) if self.is_log else float(at), self.low), self.high)
        return round(number) if self.is_whole else number


class FlockSearchCV(BaseSearchCV):  # type: ignore[misc]
    """A search for hyperparameters in a box, by cross-validation: `GridSearchCV` without a grid.

    Its candidates are the points that `pyflockwork.Swarm` asks for, a generation at a time; `n_jobs`
    evaluates one in parallel.

    Parameters
    ----------
    estimator : estimator
        What has the hyperparameters.
    bounds : mapping
        From their names to (low, high), or (low, high, "log") for those to be searched by orders of
        magnitude. Where both ends are integers (`int`, not `float`) it is a whole number.
    n_iter : int
        At most so many candidates. One that comes again is not evaluated again.
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As of `GridSearchCV`. With several metrics, `refit` names the one that is maximised. `cv` must
        split alike each time: if it shuffles, give it a `random_state`.
    random_state : int, RandomState or None
        The seed; 1 without one.
    particles : int, optional
        Makes it a particle swarm of so many, in place of searches by CMA-ES.
    options : mapping, optional
        Any other option of the search, by its name in the library.

    Attributes
    ----------
    cv_results_, best_params_, best_score_, best_index_, best_estimator_, scorer_, n_splits_
        As of `GridSearchCV`.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from sklearn.linear_model import Ridge
    >>> from pyflockwork.adapters.sklearn import FlockSearchCV
    >>> X, y = make_regression(60, 5, noise=10, random_state=1)
    >>> search = FlockSearchCV(Ridge(), {"alpha": (1e-4, 1e4, "log")}, n_iter=40).fit(X, y)
    >>> bool(search.best_score_ > 0.9), sorted(search.best_params_)
    (True, ['alpha'])
    """

    _parameter_constraints: dict[str, Any] = {
        **BaseSearchCV._parameter_constraints,
        "bounds": [Mapping],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "particles": [Interval(Integral, 1, None, closed="left"), None],
        "options": [Mapping, None],
    }

    def __init__(
        self,
        estimator: Any,
        bounds: Mapping[str, Any],
        *,
        n_iter: int = 60,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        particles: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.bounds = bounds
        self.n_iter = n_iter
        self.random_state = random_state
        self.particles = particles
        self.options = options

    def _run_search(self, evaluate_candidates: Callable[..., dict[str, Any]]) -> None:
        if not self.bounds:
            raise ValueError("bounds are empty; they must name a hyperparameter")
        cv = self._checked_cv_orig
        if getattr(cv, "shuffle", True) and not isinstance(getattr(cv, "random_state", 0), Integral):
            raise ValueError(f"cv is {cv!r}; it must split alike each time: give it a random_state")
        axes = [_Axis.stated(name, ends) for name, ends in self.bounds.items()]
        swarm = Swarm(
            [axis.ends() for axis in axes],
            rng=self.random_state,
            particles=self.particles,
            options=None if self.options is None else dict(self.options),
        )
        names = [axis.name for axis in axes]
        scores: dict[tuple[float | int, ...], float] = {}
        left, evaluated = self.n_iter, 0
        failure: ValueError | None = None
        for points in swarm:
            is_whole = len(points) <= left
            points = points[:left]
            left -= len(points)
            keys = [tuple(axis.value(at) for axis, at in zip(axes, point, strict=True)) for point in points]
            new = [key for key in dict.fromkeys(keys) if key not in scores]
            if new:
                try:
                    results = evaluate_candidates([dict(zip(names, key, strict=True)) for key in new])
                    scores.update(zip(new, self._scores(results)[evaluated:].tolist(), strict=True))
                    evaluated += len(new)
                except ValueError as error:
                    if "fits failed" not in str(error):
                        raise
                    # To scikit-learn, which sees this generation alone, a search without any value.
                    failure = error
                    warnings.warn(str(error), FitFailedWarning, stacklevel=2)
                    scores.update(dict.fromkeys(new, np.nan))
            if not is_whole or left == 0:
                break
            swarm.tell([-scores[key] for key in keys])
        if evaluated == 0 and failure is not None:
            raise failure

    def _scores(self, results: dict[str, Any]) -> Floats:
        name = "mean_test_score"
        if name not in results:
            if not isinstance(self.refit, str):
                raise ValueError("there are several metrics: refit must name the one to be maximised")
            name = f"mean_test_{self.refit}"
        scores: Floats = np.asarray(results[name], float)
        return scores
