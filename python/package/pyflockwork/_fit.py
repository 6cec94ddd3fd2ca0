"""Fitting models to data."""

from __future__ import annotations

import html
import json
import math
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._arguments import bar, device_and_threads, number, on_host, seed, values_of, whole, without_na

if TYPE_CHECKING:
    from typing_extensions import Unpack

Floats = NDArray[np.float64]


class Columns(NamedTuple):
    """Arguments of a model: an array of shape (rows, columns) or (fits, rows, columns), and names."""

    numbers: NDArray[Any]
    names: list[str]


def _mentioned(model: str) -> set[str]:
    """The names in a formula."""
    quoted = re.findall(r"`([^`]*)`", model)
    return {*quoted, *re.findall(r"[^\W\d]\w*", re.sub(r"`[^`]*`", " ", model))}


def _by_name(x: Any) -> dict[str, Any] | None:
    """The columns of a mapping, a data frame or a structured array, by their names."""
    if isinstance(x, Mapping):
        names = list(x)
    elif hasattr(x, "columns"):
        names = list(x.columns)
    elif getattr(getattr(x, "dtype", None), "names", None):
        names = list(x.dtype.names)
    else:
        return None
    return {str(name): x[name] for name in names}


def _used(names: list[str], formula: str | None) -> list[str]:
    """The columns that a formula names, if it is given."""
    if formula is None:
        return names
    mentioned = _mentioned(formula)
    used = [name for name in names if name in mentioned]
    if names and not used:
        try:
            _native.Problem.formula(formula, None, [0.0], [1.0])
        except ValueError as mistake:
            # One of grammar comes first; that it has other names than this is known.
            if "expected" in str(mistake):
                raise
        raise ValueError(f"the formula names none of the columns of x: {', '.join(names)}")
    return used


def _columns(x: Any, formula: str | None, rows: int | None = None, sets: int | None = None) -> Columns:
    """The columns of an array, or by name those that the formula names, if it is given. With `sets`, data
    sets may have arguments of their own."""
    if np.ma.is_masked(x):
        if sets is None:
            raise ValueError("x has masked values: leave these rows out")
        kind = np.asarray(x).dtype
        x = values_of(x, "x").astype(kind if kind.kind == "f" else float)
    x = on_host(x)
    named = _by_name(x)
    if named is None:
        numbers = np.asarray(x)
        if numbers.ndim == 1 or (sets is not None and numbers.shape == (sets, rows)):
            numbers = numbers[..., np.newaxis]
        count = numbers.shape[-1] if numbers.ndim else 0
        names = ["x"] if count == 1 else [f"x{nth}" for nth in range(1, count + 1)]
        _used(names, formula)
    else:
        names = _used(list(named), formula)
        if not names:
            raise ValueError("x has no columns")
        columns = {name: np.asarray(on_host(named[name])) for name in names}
        for name, column in columns.items():
            if sets is None and column.ndim > 1:
                raise ValueError(
                    f"x[{name!r}] has the shape {column.shape}; it must be (rows,), as of its ravel()"
                )
        try:
            numbers = np.stack(np.broadcast_arrays(*columns.values()), axis=-1)
        except ValueError:
            told = ", ".join(f"{name!r} {column.shape}" for name, column in columns.items())
            raise ValueError(f"the columns of x have shapes that do not go together: {told}") from None
    if numbers.dtype.kind not in "fiub":
        raise TypeError(f"x has numbers of type {numbers.dtype}; they must be real")
    if not 2 <= numbers.ndim <= (2 if sets is None else 3):
        raise ValueError(
            f"x has the shape {np.shape(x)}; it must be (rows,) or (rows, columns)"
            + (", or those for each of the data sets" if sets is not None else "")
        )
    return Columns(numbers, names)


def _as_fitted(x: Any, names: list[str], sets: int | None = None) -> Floats:
    """The columns of the arguments at which a model of these columns is evaluated, of one data set or of
    so many."""
    x = on_host(x)
    named = _by_name(x)
    if named is None:
        x = np.atleast_1d(x)
        # Of one column, rows of a matrix as long as there are fits are those of each.
        are_own = sets is not None and len(names) == 1 and x.ndim == 2 and len(x) == sets
        numbers = _columns(x, None, x.shape[1] if are_own else None, sets).numbers
    else:
        missing = [name for name in names if name not in named]
        if missing:
            raise ValueError(f"x has no column {missing[0]!r}; it needs {', '.join(names)}")
        numbers = _columns({name: named[name] for name in names}, None, None, sets).numbers
    if numbers.shape[-1] != len(names):
        raise ValueError(
            f"x has {numbers.shape[-1]} columns; the model was fitted to {len(names)}: {', '.join(names)}"
        )
    if numbers.ndim == 3 and len(numbers) != sets:
        raise ValueError(f"x has arguments for {len(numbers)} data sets; there are {sets} fits")
    return np.ascontiguousarray(numbers, float)


def _bounds(bounds: Any) -> list[tuple[str, float, float]]:
    if bounds is None:
        return []
    if not isinstance(bounds, Mapping):
        raise TypeError(f"bounds are {bounds!r}; they must be a mapping from names to pairs (low, high)")
    stated = []
    for name, pair in bounds.items():
        try:
            low, high = (float(end) for end in pair)
        except (TypeError, ValueError):
            raise ValueError(f"the bounds of {name} are {pair!r}; they must be a pair (low, high)") from None
        stated.append((str(name), low, high))
    return stated


def _weights(
    sigma: Any, weights: Any, shape: tuple[int, ...], missing: NDArray[np.bool_] | None = None
) -> Floats | None:
    """Weights of the shape of y or of a row of it; those of missing values may be missing too."""
    if sigma is not None and weights is not None:
        raise ValueError("sigma and weights are both given: weights are 1 / sigma**2")
    given = sigma if weights is None else weights
    if given is None:
        return None
    what = "weights" if sigma is None else "sigma"
    numbers = values_of(given, what)
    if numbers.ndim == 0:
        numbers = np.broadcast_to(numbers, shape)
    if numbers.shape not in (shape, shape[-1:]):
        accepted = " or ".join(str(each) for each in dict.fromkeys((shape, shape[-1:])))
        raise ValueError(f"{what} has the shape {numbers.shape}; it must be a number or of shape {accepted}")
    if missing is not None:
        unknown = missing if numbers.shape == shape else missing.all(axis=0)
        numbers = np.where(unknown & np.isnan(numbers), 1.0, numbers)
    if np.isnan(numbers).any():
        at = tuple(int(index) for index in np.argwhere(np.isnan(numbers))[0])
        raise ValueError(f"{what}[{', '.join(map(str, at))}] is NaN or masked, and y has a value there")
    if sigma is not None:
        if np.any(~(numbers > 0)):
            at = tuple(int(index) for index in np.argwhere(~(numbers > 0))[0])
            where = ", ".join(map(str, at))
            raise ValueError(f"sigma[{where}] is {float(numbers[at])!r}; it must be above 0")
        numbers = numbers**-2.0
    return np.ascontiguousarray(numbers)


def _is_formula(model: Any) -> bool:
    if not isinstance(model, str):
        raise TypeError(f"the model is {model!r}; it must be a formula or the name of a model")
    # A formula that is a name alone would have nothing to fit.
    return re.fullmatch(r"\s*[A-Za-z_]\w*\s*", model) is None


class FitResult:
    """A fitted model.

    Attributes
    ----------
    params : dict of str to float
        The estimates.
    stderr : dict of str to float
        Their standard errors: 0 of a fixed one, infinite where the data do not determine it, NaN
        where there is none: `status` says why.
    values : ndarray
        The estimates in the order of `names`.
    names : list of str
        The parameters.
    status : dict of str to str
        Of each parameter: estimated, given, at bound, undetermined, and so on.
    covariance, correlation : ndarray
        Of the parameters that were not fixed, `free`.
    fun : float
        The sum of weighted squares, or of the loss.
    deviation : float
        The residual standard deviation.
    r_squared, adjusted_r_squared, log_likelihood, aic, aicc, bic : float
        How well the model explains the data.
    degrees_of_freedom, nobs : int
        Rows less the parameters that are neither fixed nor at a bound; rows, those of weight 0 included.
    profile : dict of str to (float, float), or None
        The intervals by profile likelihood, if they were asked for. NaN where one does not end: beyond
        a bound, and of what was fixed.
    success : bool
        Whether every parameter that was looked for is estimated.
    message : str
        How the search ended.
    """

    def __init__(self, statement: dict[str, Any], native: _native.Fitted) -> None:
        self._statement = statement
        self._native: _native.Fitted | None = native
        report = json.loads(native.written())
        values, errors, status = native.estimates()
        self.values = values
        self.names = [str(parameter["name"]) for parameter in report["parameters"]]
        self.params = dict(zip(self.names, values.tolist(), strict=True))
        self.stderr = dict(zip(self.names, errors.tolist(), strict=True))
        self.status = dict(zip(self.names, status, strict=True))
        self.profile: dict[str, tuple[float, float]] | None = None
        if statement["profile"]:
            self.profile = {
                parameter["name"]: _pair(parameter["profile"]) for parameter in report["parameters"]
            }
        statistics = report["statistics"]
        self.free = [str(name) for name in statistics["covariance"]["parameters"]]
        self.covariance = _matrix(statistics["covariance"]["rows"])
        self.correlation = _matrix(statistics["correlation"]["rows"])
        self.level = float(statistics["level"])
        self.fun = float(report["value"]) * float(report["unit"]) ** 2
        self.deviation = _number(report["deviation"])
        self.r_squared = _number(statistics["r_squared"])
        self.adjusted_r_squared = _number(statistics["adjusted_r_squared"])
        self.log_likelihood = _number(statistics["log_likelihood"])
        self.aic = _number(statistics["aic"])
        self.aicc = _number(statistics["aicc"])
        self.bic = _number(statistics["bic"])
        self.degrees_of_freedom = int(report["degrees_of_freedom"])
        self.nobs = int(report["rows"])
        self.widened = list(report["widened"])
        self.seconds = float(report["seconds"])
        self.message = native.stopped()
        self.success = self.message != "interrupted" and all(
            word in ("estimated", "given") for word in status
        )

    @property
    def model(self) -> str:
        """The formula, or the name of the model."""
        return str(self._statement["model"])

    def _fitted(self) -> _native.Fitted:
        """The library's result; after unpickling it is fitted again, which gives the same bits."""
        if self._native is None:
            self._native = _run(self._statement)
        return self._native

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_native": None}

    def interval(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Confidence intervals by standard errors and Student's t distribution, or the normal one with
        `absolute_sigma`.

        Examples
        --------
        >>> import numpy as np, pyflockwork as fw
        >>> x = np.arange(6.0)
        >>> r = fw.fit(x, [0.1, 1.9, 4.2, 5.8, 8.1, 9.9], "slope*x + base")
        >>> low, high = r.interval(0.95)["slope"]
        >>> bool(low < 2 < high)
        True
        """
        ends = self._fitted().intervals(number("level", level))
        return {name: (float(low), float(high)) for name, (low, high) in zip(self.names, ends, strict=True)}

    def predict(self, x: Any = None) -> Floats:
        """The model's values at `x`, arranged as the data's; without it, at the data's."""
        if x is None:
            return self._fitted().predictions()
        return self.bands(x)[:, 0].copy()

    def bands(self, x: Any = None, *, sigma: Any = None) -> Floats:
        """For each row of `x`: the prediction, its standard error, the ends of the confidence interval of
        the model's true value, and those of the prediction interval of a new row. An array of shape
        (rows, 6), at the fit's level.

        `sigma` is the standard deviation of new rows, in the sense of the fit's own: a number, or one for
        each row. Without it, it is the fit's if that is the same for all rows; otherwise the last two
        columns are NaN.

        Examples
        --------
        >>> import numpy as np, pyflockwork as fw
        >>> x = np.arange(6.0)
        >>> r = fw.fit(x, [0.1, 1.9, 4.2, 5.8, 8.1, 9.9], "slope*x + base", sigma=0.2)
        >>> r.bands([2.5])[0, 4:].round(1).tolist()
        [4.5, 5.5]
        """
        numbers = self._statement["arguments"] if x is None else self._arguments(x)
        bands = self._fitted().predict(numbers)
        weights = self._statement["weights"]
        if sigma is not None:
            own = values_of(sigma, "sigma")
            if own.shape not in ((), (len(bands),)) or np.any(~(own > 0)):
                raise ValueError(f"sigma is {sigma!r}; it must be above 0, one number or {len(bands)}")
        elif weights is None:
            return bands
        else:
            counted = weights[weights > 0]
            own = np.asarray(counted[0] ** -0.5 if np.all(counted == counted[0]) else np.nan)
        # Of a new row of weight 1.
        deviation = 1.0 if self._statement["absolute_sigma"] else self.deviation
        whole = np.hypot(bands[:, 1], deviation)
        reach = (bands[:, 5] - bands[:, 0]) / np.where(whole == 0, 1.0, whole)
        half = reach * np.hypot(bands[:, 1], own * deviation)
        bands[:, 4], bands[:, 5] = bands[:, 0] - half, bands[:, 0] + half
        return bands

    def _arguments(self, x: Any) -> Floats:
        return _as_fitted(x, self._statement["names"][:-1])

    @property
    def residuals(self) -> Floats:
        """Data less predictions."""
        return self._fitted().residuals()

    def plot(self, ax: Any = None) -> Any:
        """Draws the data, the curve and its confidence band with matplotlib; returns the axes. For
        models of one column."""
        arguments = self._statement["arguments"]
        if arguments.shape[1] != 1:
            raise ValueError(f"the model has {arguments.shape[1]} columns; a curve can be drawn of one")
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.subplots(layout="constrained")[1]
        x = arguments[:, 0]
        across = np.linspace(x.min(), x.max(), 400)
        bands = self.bands(across)
        ax.plot(x, self._statement["targets"], "o", markersize=4, label="data")
        (line,) = ax.plot(across, bands[:, 0], label=self.model)
        ax.fill_between(across, bands[:, 2], bands[:, 3], alpha=0.25, color=line.get_color(), lw=0)
        ax.set_xlabel(self._statement["names"][0])
        ax.set_ylabel(self._statement["names"][-1])
        ax.legend()
        return ax

    def _table(self) -> list[tuple[str, str, str, str]]:
        intervals = self.interval(self.level)
        rows = [("", "value", "stderr", f"{100 * self.level:g} % interval")]
        for name in self.names:
            word = self.status[name]
            low, high = intervals[name]
            value, error = self.params[name], self.stderr[name]
            digits = _digits(value, error)
            between = f"{low:.{digits}g} to {high:.{digits}g}" if word == "estimated" else word
            rows.append((name, f"{value:.{digits}g}", f"{error:.3g}", between))
        return rows

    def __repr__(self) -> str:
        table = self._table()
        widths = [max(len(row[nth]) for row in table) for nth in range(4)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in table
        ]
        return "\n".join(
            [
                self.model,
                *lines,
                f"{self.nobs} rows, {self.degrees_of_freedom} degrees of freedom, "
                f"deviation {self.deviation:.6g}, R^2 {self.r_squared:.6g}",
            ]
        )

    def _repr_html_(self) -> str:
        return _html(self.model, self._table())


def _html(caption: str, rows: Sequence[Sequence[str]]) -> str:
    """A table whose first row is its head."""
    head, *table = rows
    cells = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    lines = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in table
    )
    return f"<p><code>{html.escape(caption)}</code></p><table><tr>{cells}</tr>{lines}</table>"


def _digits(value: float, error: float) -> int:
    """So many digits that two of the standard error are among them, and at least 6."""
    if not (0 < error < abs(value) and math.isfinite(value)):
        return 6
    return min(max(6, math.floor(math.log10(abs(value))) - math.floor(math.log10(error)) + 2), 17)


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _pair(value: Any) -> tuple[float, float]:
    low, high = value if value is not None else (None, None)
    return _number(low), _number(high)


def _matrix(rows: list[list[Any]]) -> Floats:
    return np.array([[_number(value) for value in row] for row in rows], float).reshape(len(rows), len(rows))


def _run(statement: dict[str, Any]) -> _native.Fitted:
    fit = _native.Fit(
        statement["model"],
        statement["is_formula"],
        statement["arguments"],
        statement["targets"],
        statement["names"],
    )
    fit = fit.stated(
        statement["sizes"],
        statement["bounds"],
        statement["fixed"],
        statement["weights"],
        statement["loss"],
        statement["scale"],
        statement["starts"],
        statement["level"],
        statement["profile"],
        statement["absolute_sigma"],
        json.dumps(statement["options"]),
    )
    return fit.run(statement["device"], statement["threads"])


# As the library numbers them.
_ENDS = (
    "not fitted: the run was ended before",
    "converged",
    "still going down after as many iterations as were allowed",
    "not a number at any starting point",
    "undetermined: some parameters make no difference that the others could not make",
    "not fitted: fewer rows than parameters",
    "not fitted: all values are equal",
)


def _names(option: str, given: Any) -> list[str]:
    """The names of parameters: one, or several."""
    if isinstance(given, str):
        return [given]
    if isinstance(given, Iterable) and not isinstance(given, bytes):
        names = list(given)
        if all(isinstance(name, str) for name in names):
            return names
    raise TypeError(f"{option} is {given!r}; it must be the name of a parameter, or several names")


class OneOfMany(NamedTuple):
    """One of `ManyFits`."""

    params: dict[str, float]
    stderr: dict[str, float]
    fun: float
    success: bool
    message: str
    nit: int
    nobs: int


class ManyFits:
    """One model, fitted to each of many data sets. An index gives one of them, an `OneOfMany`.

    Attributes
    ----------
    names : list of str
        The parameters.
    values, stderr : ndarray
        Of shape (fits, parameters), in the order of `names`. NaN where there is none.
    params : dict of str to ndarray
        The estimates of each parameter, of shape (fits,).
    fun : ndarray
        What was minimised: the sum of weighted squares, or of the loss, or the deviance.
    success : ndarray of bool
        Which converged: to a minimum, which is the lowest one as far as starting points tell. Of models
        with many minima, such as oscillations, give `bounds`, or more `starts`.
    status : ndarray of int
        How each ended; `message` says it in words.
    nit, nobs : ndarray of int
        Iterations; rows that were neither missing nor of weight 0.
    free : list of str
        The parameters that were not fixed, which `covariance` is of.
    profile : ndarray or None
        The intervals by profile likelihood, of shape (fits, parameters, 2), if they were asked for.
    shared, shared_stderr : dict of str to float
        The parameters that all fits share, and their standard errors.
    device : str
        What fitted them.
    seconds : float
        How long it took.
    interrupted : bool
        Whether the run was ended before all were fitted.
    """

    def __init__(
        self, model: dict[str, Any], statement: dict[str, Any], single: bool, found: dict[str, Any]
    ) -> None:
        self._model, self._statement, self._single = model, statement, single
        self._arguments, self._targets = statement["arguments"], statement["targets"]
        self._absolute = bool(statement["absolute_sigma"] or statement["poisson"])
        self.names: list[str] = list(found["names"])
        self.free = [name for name in self.names if name not in statement["fixed"]]
        self._covariance: NDArray[Any] | None = None
        numbers, ends = found["numbers"], found["ends"]
        count = len(self.names)
        self.values: NDArray[Any] = numbers[:, :count]
        self.stderr: NDArray[Any] = numbers[:, count : 2 * count]
        self.fun: NDArray[Any] = numbers[:, 2 * count]
        self.status: NDArray[np.int64] = ends[:, 0].astype(np.int64)
        self.nit: NDArray[np.int64] = ends[:, 1].astype(np.int64)
        self.nobs: NDArray[np.int64] = ends[:, 2].astype(np.int64)
        self.device = str(found["device"])
        self.seconds = float(found["seconds"])
        self.interrupted = bool(found["interrupted"])
        self.success: NDArray[np.bool_] = self.status == 1
        # There is no value at any starting point, so none of these is an estimate.
        free = [nth for nth, name in enumerate(self.names) if name in self.free]
        self.values[np.ix_(self.status == 3, free)] = np.nan
        self.params = {name: self.values[:, nth] for nth, name in enumerate(self.names)}
        self.profile: NDArray[Any] | None = found.get("profile")
        places = {name: self.names.index(name) for name in found["shared"]}
        self.shared = {name: float(self.values[0, nth]) for name, nth in places.items()}
        self.shared_stderr = {name: float(self.stderr[0, nth]) for name, nth in places.items()}

    @property
    def model(self) -> str:
        """The formula, or the name of the model."""
        return str(self._model["model"])

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int) -> OneOfMany:
        try:
            nth = operator.index(index)
        except TypeError:
            raise TypeError(
                "the index of a fit is a whole number; values, stderr and others are arrays"
            ) from None
        if not -len(self) <= nth < len(self):
            # It also ends an iteration.
            raise IndexError(f"there is no fit {nth}: there are {len(self)}")
        index = nth % len(self)
        values, errors = self.values[index].tolist(), self.stderr[index].tolist()
        return OneOfMany(
            dict(zip(self.names, values, strict=True)),
            dict(zip(self.names, errors, strict=True)),
            float(self.fun[index]),
            bool(self.success[index]),
            self.message(index),
            int(self.nit[index]),
            int(self.nobs[index]),
        )

    def message(self, index: int) -> str:
        """How a fit ended, in words."""
        return _ENDS[int(self.status[index])]

    def endings(self) -> dict[str, int]:
        """How many fits ended in each way, in words, the most frequent first.

        Examples
        --------
        >>> import numpy as np, pyflockwork as fw
        >>> x = np.arange(9.0)
        >>> fw.fit(x, [np.exp(-x), np.exp(-2 * x), np.ones(9)], "amp*exp(-rate*x) + base").endings()
        {'converged': 2, 'not fitted: all values are equal': 1}
        """
        kinds, counts = np.unique(self.status, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return {_ENDS[int(kinds[nth])]: int(counts[nth]) for nth in order}

    def interval(self, level: float = 0.95) -> NDArray[Any]:
        """Confidence intervals by standard errors and Student's t distribution, or the normal one with
        `absolute_sigma`: of shape (fits, parameters, 2)."""
        free = len(self.free)
        if self._absolute:
            freedom = np.full(len(self), np.inf)
        elif self.shared:
            # All fits are one, with the degrees of freedom of all.
            took_part = np.isfinite(self.fun)
            own = (free - len(self.shared)) * int(took_part.sum())
            left = float(self.nobs[took_part].sum()) - own - len(self.shared)
            freedom = np.full(len(self), max(left, 0.0))
        else:
            freedom = np.maximum(self.nobs.astype(float) - free, 0.0)
        kinds, which = np.unique(freedom, return_inverse=True)
        half = _native.student_t(number("level", level), kinds)[which][:, np.newaxis] * self.stderr
        return np.stack([self.values - half, self.values + half], axis=-1)

    @property
    def covariance(self) -> NDArray[Any]:
        """Of the parameters that were not fixed, `free`: of shape (fits, free, free), the squares of `stderr`
        on the diagonals. NaN where a standard error is none. It is computed when it is first asked for, by a
        pass over the data on the CPU.

        Examples
        --------
        >>> import numpy as np, pyflockwork as fw
        >>> x = np.arange(6.0)
        >>> many = fw.fit(x, [[0.1, 1.9, 4.2, 5.8, 8.1, 9.9], [1, 0, 2, 1, 3, 2]], "slope*x + base")
        >>> many.covariance.shape, bool(np.allclose(many.covariance[:, 0, 0], many.stderr[:, 0] ** 2))
        ((2, 2, 2), True)
        """
        if self._covariance is None:
            whole = _native.covariances_of_many(
                self._model, self._statement, self._single, self.values, self.stderr
            )
            places = [self.names.index(name) for name in self.free]
            self._covariance = whole[:, places][:, :, places]
        return self._covariance

    @property
    def correlation(self) -> NDArray[Any]:
        """Of the parameters that were not fixed, arranged as `covariance`."""
        covariance = self.covariance
        deviations = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        with np.errstate(invalid="ignore", divide="ignore"):
            correlation: NDArray[Any] = covariance / deviations[:, :, None] / deviations[:, None, :]
        return correlation

    def predict(self, x: Any = None) -> NDArray[Any]:
        """Each fit's values at `x`: of shape (fits, rows). `x` is arranged as the data's, for all fits or
        for each; without it, it is the data's."""
        if x is None:
            arguments = np.ascontiguousarray(self._arguments, float)
        else:
            arguments = _as_fitted(x, self._model["names"][:-1], len(self))
        return _native.predict_many(self._model, self._single, self.values, arguments)

    @property
    def residuals(self) -> NDArray[Any]:
        """Data less predictions, of shape (fits, rows); NaN where a value was missing."""
        residuals: NDArray[Any] = self._targets - self.predict()
        return residuals

    def plot(self, axes: Any = None) -> Any:
        """Draws with matplotlib a histogram of each parameter over the fits that converged and, of models of
        one column, the best, the median and the worst fit by what is left for each degree of freedom.
        Returns the axes, of which there are as many."""
        left = self.fun / np.maximum(self.nobs - len(self.free), 1)
        order = np.argsort(left, kind="stable")[: int(np.isfinite(left).sum())]
        picked: list[tuple[str, int]] = []
        if self._arguments.shape[-1] == 1 and len(order):
            words = ("best", "median", "worst") if len(order) > 1 else ("fit",)
            places = (0, len(order) // 2, -1)
            picked = [(word, int(order[place])) for word, place in zip(words, places, strict=False)]
        count = len(self.names) + len(picked)
        if axes is None:
            from matplotlib import pyplot

            across = min(count, 3)
            down = -(-count // across)
            size = (4 * across, 3 * down)
            figure, grid = pyplot.subplots(down, across, squeeze=False, layout="constrained", figsize=size)
            for spare in grid.ravel()[count:]:
                figure.delaxes(spare)
            axes = grid.ravel()[:count]
        axes = np.asarray(axes, object).ravel()
        if len(axes) != count:
            raise ValueError(
                f"axes are {len(axes)}; there must be {count}: of each parameter, and of the fits shown"
            )
        for ax, name in zip(axes, self.names, strict=False):
            ax.hist(self.params[name][self.success], bins="auto")
            ax.set_xlabel(name)
            ax.set_ylabel("fits")
        for ax, (word, nth) in zip(axes[len(self.names) :], picked, strict=True):
            x = (self._arguments[nth] if self._arguments.ndim == 3 else self._arguments)[:, 0]
            curve = np.linspace(x.min(), x.max(), 400)
            at = np.ascontiguousarray(curve[:, np.newaxis], float)
            values = _native.predict_many(self._model, self._single, self.values[nth : nth + 1], at)[0]
            ax.plot(x, self._targets[nth], "o", markersize=3)
            ax.plot(curve, values)
            ax.set_title(f"{word}: {nth}")
            ax.set_xlabel(self._model["names"][0])
            ax.set_ylabel(self._model["names"][-1])
        return axes

    def _table(self) -> list[tuple[str, str, str, str, str]]:
        """Of each parameter: quantiles over the fits that converged, and the median standard error."""
        rows = [("", "5 %", "median", "95 %", "stderr")]
        for nth, name in enumerate(self.names):
            cells = ("", "", "", "")
            if self.success.any():
                low, middle, high = np.percentile(self.values[self.success, nth], [5, 50, 95])
                errors = self.stderr[self.success, nth]
                error = np.median(errors[np.isfinite(errors)]) if np.isfinite(errors).any() else np.nan
                cells = (f"{low:.6g}", f"{middle:.6g}", f"{high:.6g}", f"{error:.3g}")
            rows.append((name, *cells))
        return rows

    def _head(self) -> str:
        return f"{self.model}: {len(self)} fits, {int(self.success.sum())} converged, {self.device}"

    def __repr__(self) -> str:
        table = self._table()
        widths = [max(len(row[nth]) for row in table) for nth in range(5)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in table
        ]
        ends = [f"{count}: {end}" for end, count in self.endings().items() if end != "converged"]
        return "\n".join([self._head(), *lines, *ends])

    def _repr_html_(self) -> str:
        ends = [f"{count}: {end}" for end, count in self.endings().items() if end != "converged"]
        return _html(self._head(), self._table()) + "".join(f"<p>{html.escape(end)}</p>" for end in ends)


def _many(x: Any, y: NDArray[Any], model: str, given: dict[str, Any], progress: bool) -> ManyFits:
    sets, rows = y.shape
    columns = _columns(x, model if _is_formula(model) else None, rows, sets)
    single = y.dtype == np.float32 and np.result_type(columns.numbers, np.float32) == np.float32
    kind = np.float32 if single else np.float64
    own = columns.numbers.ndim == 3
    if columns.numbers.shape[-2] != rows or (own and columns.numbers.shape[0] != sets):
        raise ValueError(
            f"x has the shape {np.shape(x)}; for y of {y.shape} it must be ({rows},), "
            f"({rows}, columns), or those for each of the {sets} data sets"
        )
    # Where y is missing, x need not be known.
    missing = np.isnan(y) if y.dtype.kind == "f" else np.zeros(y.shape, bool)
    unknown = missing if own else missing.all(axis=0)
    if unknown.any():
        filled = np.where(np.expand_dims(unknown, -1) & np.isnan(columns.numbers), 0.0, columns.numbers)
        columns = columns._replace(numbers=filled.astype(columns.numbers.dtype))
    begin = given["p0"]
    if begin is not None:
        try:
            begin = np.asarray(begin, kind)
        except (TypeError, ValueError):
            raise TypeError(f"p0 is {begin!r}; it must be an array of numbers") from None
        if begin.ndim not in (1, 2):
            raise ValueError("p0 must have the shape (parameters,) or (fits, parameters)")
    weights = _weights(given["sigma"], given["weights"], y.shape, missing)
    stated = {
        "model": model,
        "is_formula": _is_formula(model),
        "names": [*columns.names, given["name"]],
        "sizes": given["sizes"],
    }
    statement = {
        **given,
        "sets": sets,
        "arguments": np.ascontiguousarray(columns.numbers, kind),
        "targets": np.require(y, kind, ["C_CONTIGUOUS", "ALIGNED"]),
        "weights": None if weights is None else weights.astype(kind, copy=False),
        "begin": begin,
    }
    shown = bar(progress, sets, "fits")

    def observe(done: int, all: int) -> None:
        shown.update(done - shown.n)

    try:
        found = _native.fit_many(stated, statement, single, observe if progress else None)
    finally:
        if shown is not None:
            shown.close()
    return ManyFits(stated, statement, single, found)


class _Options(TypedDict, total=False):
    """Options of `fit`, for type checkers."""

    bounds: Any
    fixed: Mapping[str, float] | None
    shared: str | Iterable[str]
    p0: Any
    sigma: Any
    weights: Any
    absolute_sigma: bool
    loss: str
    f_scale: float
    poisson: bool
    level: float
    profile: bool
    sizes: Mapping[str, int] | None
    starts: int | None
    tolerance: float | None
    iterations: int | None
    rng: Any
    options: Mapping[str, Any] | None
    y_name: str
    device: str
    threads: int
    progress: bool


@overload
def fit(x: Any, y: ArrayLike, model: str, *, many: Literal[True], **more: Unpack[_Options]) -> ManyFits: ...
@overload
def fit(x: Any, y: ArrayLike, model: str, *, many: Literal[False], **more: Unpack[_Options]) -> FitResult: ...
@overload
def fit(x: Any, y: ArrayLike, model: str, *, many: None = None, **more: Unpack[_Options]) -> Any: ...
def fit(
    x: Any,
    y: ArrayLike,
    model: str,
    *,
    bounds: Any = None,
    fixed: Mapping[str, float] | None = None,
    shared: str | Iterable[str] = (),
    p0: Any = None,
    sigma: Any = None,
    weights: Any = None,
    absolute_sigma: bool = False,
    loss: str = "squares",
    f_scale: float = 1.0,
    poisson: bool = False,
    level: float = 0.95,
    profile: bool = False,
    sizes: Mapping[str, int] | None = None,
    starts: int | None = None,
    tolerance: float | None = None,
    iterations: int | None = None,
    rng: Any = None,
    options: Mapping[str, Any] | None = None,
    many: bool | None = None,
    y_name: str | None = None,
    device: str = "auto",
    threads: int = 0,
    progress: bool = False,
) -> Any:
    """Fits a model to data, without starting values; or to each of many sets of data.

    Parameters
    ----------
    x : array_like or mapping
        Arguments: of shape (n,) or (n, 1), which the model calls ``x``; (n, columns), which it calls
        ``x1``, ``x2`` and so on; or a mapping from names, or a data frame. Of many fits, all may have the
        same arguments, or each its own: (fits, n) or (fits, n, columns).
    y : array_like
        What the model explains: of shape (n,), or (fits, n) for a fit of each row. Of many fits, NaN
        or masked is a missing value. If y and x are of float32, so is the arithmetic; otherwise float64.
    model : str
        A formula: names of the arguments are data, all other names parameters. Or the name of a
        built-in model.
    bounds : mapping, optional
        From names of parameters to pairs (low, high). Either may be infinite: there it is looked for
        as without bounds.
    fixed : mapping, optional
        From names to values that are not looked for.
    shared : str or iterable of str
        Of many fits: parameters of which all have the same value, fitted to all of them together. Not
        with `profile`.
    p0 : array_like, optional
        Of many fits: starting values in place of a search, of shape (parameters,) or (fits,
        parameters).
    sigma, weights : array_like, optional
        Standard deviations of y, or weights: 1 / sigma**2. One number, or of the shape of y or, of many
        fits, of a row of it. Of many fits, where y is missing they may be, and x too.
    absolute_sigma : bool
        Whether they are absolute, so that standard errors follow from them alone; otherwise they
        are scaled by the residuals, as in SciPy.
    loss : {"squares", "absolute", "huber", "cauchy"}
        Of a residual; `f_scale` is its scale, in units of y.
    poisson : bool
        Of many fits: whether y are counts; maximises the likelihood of Poisson's distribution.
    level : float
        Of intervals; of many fits, of those by profile likelihood.
    profile : bool
        Whether to calculate intervals by profile likelihood too: the `profile` of the result. With the
        loss "squares" or, of many fits, `poisson`.
    sizes : mapping, optional
        Of a built-in model: as ``{"terms": 2}``.
    starts : int, optional
        Starting points of the search.
    tolerance, iterations : float and int, optional
        Of many fits: when a descent has converged, and its most iterations.
    rng : int or numpy.random.Generator, optional
        The seed of a single fit's search; 1 without one.
    options : mapping, optional
        Options of a single fit's swarm, with the library's names.
    many : bool, optional
        Whether there are many fits; without it, whether y has two dimensions.
    y_name : str, optional
        The name of y, in pictures; no column of x and no parameter of a formula may have it. Without it
        ``y``, or what is free of ``z``, ``value`` and ``target``.
    device : str
        Where to calculate: ``"auto"``, ``"cpu"``, ``"cuda"`` (the first GPU), or GPUs by number as in
        ``"cuda:0,1"`` or ``"cuda:all"``, which share many fits; of one fit they are an error.
    threads : int
        On a CPU, 0 for one for each core. No bit of the result depends on it.
    progress : bool
        Of many fits: whether to show a bar (tqdm).

    Returns
    -------
    FitResult or ManyFits
        For y of one dimension, and of two.

    Examples
    --------
    >>> import numpy as np
    >>> import pyflockwork as fw
    >>> x = np.linspace(0, 5, 60)
    >>> y = 3 * np.exp(-0.8 * x) + 1 + 0.01 * np.sin(40 * x)
    >>> r = fw.fit(x, y, "amp*exp(-rate*x) + base")
    >>> {name: round(value, 2) for name, value in r.params.items()}
    {'amp': 3.0, 'rate': 0.8, 'base': 1.0}

    Each row by itself:

    >>> rates = np.linspace(0.5, 1.5, 1000)
    >>> many = fw.fit(x, 3 * np.exp(-rates[:, None] * x) + 1, "amp*exp(-rate*x) + base")
    >>> bool(np.allclose(many.params["rate"], rates)), bool(many.success.all())
    (True, True)

    One rate for all rows, and a scale and a base for each:

    >>> y = np.outer([1, 2, 5], np.exp(-0.8 * x)) + 0.01 * np.sin(40 * x)
    >>> together = fw.fit(x, y, "amp*exp(-rate*x) + base", shared="rate")
    >>> round(together.shared["rate"], 2), together.params["amp"].round(1).tolist()
    (0.8, [1.0, 2.0, 5.0])
    """
    device, threads = device_and_threads(device, threads)
    x, y, p0, sigma, weights = (on_host(given) for given in (x, y, p0, sigma, weights))
    y = without_na(y)
    masked = np.ma.getmaskarray(y) if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y) else None
    targets = np.asarray(y)
    if masked is not None and targets.ndim == 1:
        raise ValueError("y has masked values: leave these rows out")
    if masked is not None:
        floating = targets if targets.dtype.kind == "f" else targets.astype(float)
        targets = np.where(masked, floating.dtype.type(np.nan), floating)
    if targets.dtype.kind not in "fiub":
        raise TypeError(f"y has numbers of type {targets.dtype}; they must be real")
    if many is None:
        many = targets.ndim == 2
        if many and targets.shape[1] == 1 and len(targets) > 1:
            raise ValueError(
                f"y has the shape {targets.shape}: fits of a row each; for one fit pass y[:, 0] or "
                "y.squeeze()"
            )
    if targets.ndim != (2 if many else 1):
        accepted = "(fits, n) with many=True" if many else "(n,) with many=False"
        if targets.ndim not in (1, 2):
            accepted = "(n,), or (fits, n) for many fits"
        raise ValueError(f"y has the shape {targets.shape}; it must be {accepted}")
    if targets.size == 0:
        raise ValueError(f"y has the shape {targets.shape}; there must be at least one number")
    if y_name is None:
        taken = {*(_by_name(x) or {}), *(_mentioned(model) if _is_formula(model) else ())}
        y_name = next((name for name in ("y", "z", "value", "target") if name not in taken), "y")
    shared = _names("shared", shared)
    if not isinstance(fixed, (Mapping, type(None))):
        raise TypeError(f"fixed is {fixed!r}; it must be a mapping from names to numbers")
    if not isinstance(loss, str):
        raise TypeError(f"loss is {loss!r}; it must be squares, absolute, huber or cauchy")
    level = number("level", level)
    tolerance = None if tolerance is None else number("tolerance", tolerance)
    iterations = None if iterations is None else whole("iterations", iterations, 1)
    common: dict[str, Any] = {
        "sizes": {str(name): int(size) for name, size in (sizes or {}).items()},
        "bounds": _bounds(bounds),
        "fixed": {str(name): number(f"fixed[{name!r}]", value) for name, value in (fixed or {}).items()},
        "loss": loss,
        "scale": float(f_scale),
        "starts": None if starts is None else whole("starts", starts, 1),
        "absolute_sigma": absolute_sigma,
        "device": device,
        "threads": threads,
    }
    if many:
        if options is not None:
            raise ValueError("options is an option of a single fit")
        if poisson and loss != "squares":
            raise ValueError(f"loss is {loss!r}; counts have a likelihood of their own: leave it out")
        if profile and shared:
            raise ValueError(
                f"profile is True with {shared[0]!r} shared; it must be False there: what is shared has "
                "standard errors"
            )
        if level != 0.95 and not profile:
            raise ValueError("level is that of profile=True; without, many fits have interval(level)")
        if rng is not None:
            raise ValueError("rng is an option of a single fit: nothing is random in many fits")
        if isinstance(p0, Mapping):
            raise TypeError("p0 is a mapping; it must be an array: values for all fits, or a row for each")
        given = {
            **common,
            "shared": shared,
            "profile": level if profile else None,
            "p0": p0,
            "sigma": sigma,
            "weights": weights,
            "poisson": poisson,
            "tolerance": tolerance,
            "iterations": iterations,
            "name": y_name,
        }
        return _many(x, targets, model, given, progress)
    of_many: tuple[tuple[str, Any, Any], ...] = (
        ("shared", shared or None, None),
        ("p0", p0, None),
        ("poisson", poisson, False),
        ("tolerance", tolerance, None),
        ("iterations", iterations, None),
    )
    for name, value, usual in of_many:
        if value is not usual:
            raise ValueError(
                f"{name} is an option of many fits: pass y of shape (fits, n), such as y[None, :]"
            )
    columns = _columns(x, model if _is_formula(model) else None)
    if len(columns.numbers) != len(targets):
        raise ValueError(f"x has {len(columns.numbers)} rows, and y has {len(targets)}")
    statement = {
        **common,
        "model": model,
        "is_formula": _is_formula(model),
        "arguments": np.ascontiguousarray(columns.numbers, float),
        "targets": np.ascontiguousarray(targets, float),
        "names": [*columns.names, y_name],
        "weights": _weights(sigma, weights, targets.shape),
        "level": level,
        "profile": profile,
        "options": {"seed": seed(rng), **(options or {})},
    }
    return FitResult(statement, _run(statement))
