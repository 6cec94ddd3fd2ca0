"""Bounds, seeds and constraints as SciPy states them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._native import Problem, copy_to_host

Floats = NDArray[np.float64]


def on_host(array: Any) -> Any:
    """An array of a GPU's memory as NumPy's; anything else as it is."""
    if isinstance(array, np.ndarray):
        return array
    copy = copy_to_host(array)
    if copy is not None:
        return copy
    return array if hasattr(array, "columns") else without_na(array)


def without_na(array: Any) -> Any:
    """A series or a data frame of nullable numbers as an array, in which what is missing is NaN; anything
    else as it is."""
    if hasattr(array, "to_numpy") and np.asarray(array).dtype.kind == "O":
        try:
            return array.to_numpy(dtype=float, na_value=np.nan)
        except (TypeError, ValueError):
            # Texts among them, say: whoever wants numbers says so.
            return array
    return array


class Box(NamedTuple):
    """The names of variables, if they have any, and their bounds."""

    names: list[str] | None
    lower: list[float]
    upper: list[float]

    def variable(self, index: int) -> str:
        """A variable as a formula names it."""
        return self.names[index] if self.names is not None else f"x[{index}]"


def box(bounds: Any) -> Box:
    """The box of pairs, of SciPy's `Bounds`, or of a mapping from names to pairs."""
    names: list[str] | None = None
    if isinstance(bounds, Mapping):
        names = [str(name) for name in bounds]
        bounds = list(bounds.values())
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        lower, upper = np.broadcast_arrays(
            np.atleast_1d(np.asarray(bounds.lb, float)), np.atleast_1d(np.asarray(bounds.ub, float))
        )
        pairs = np.stack([lower, upper], axis=1)
    else:
        try:
            pairs = np.asarray(bounds, float)
        except (TypeError, ValueError):
            pairs = np.empty(0)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) == 0:
        raise ValueError(
            "bounds must be a pair (low, high) for each variable, a mapping from names to pairs, "
            f"or SciPy's Bounds; they are {bounds!r}"
        )
    return Box(names, pairs[:, 0].tolist(), pairs[:, 1].tolist())


def seed(rng: Any) -> int:
    """A seed: the number itself, or one drawn from a generator. Without one it is 1."""
    if rng is None:
        return 1
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(0, 1 << 63))
    if isinstance(rng, np.random.RandomState):
        return int(rng.randint(0, 1 << 31))
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and 0 <= rng < 1 << 64:
        return int(rng)
    raise ValueError(
        f"rng is {rng!r}; it must be a whole number from 0 to 2**64 - 1, a numpy.random.Generator or None"
    )


def whole(name: str, value: Any, least: int = 0, most: int = (1 << 32) - 2) -> int:
    """A whole number, which a float may be."""
    try:
        number = int(value) if isinstance(value, float) and value.is_integer() else operator.index(value)
    except TypeError:
        number = least - 1
    if not least <= number <= most or isinstance(value, bool):
        raise ValueError(f"{name} is {value!r}; it must be a whole number from {least} to {most}")
    return number


def number(name: str, value: Any) -> float:
    """A finite number."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = np.nan
    if not np.isfinite(found):
        raise ValueError(f"{name} is {value!r}; it must be a finite number")
    return found


_DEVICE = re.compile(r"auto|cpu|cuda(:(all|\d+(,\d+)*))?")


def device_and_threads(device: Any, threads: Any) -> tuple[str, int]:
    """Where to calculate."""
    if not isinstance(device, str) or not _DEVICE.fullmatch(device):
        raise ValueError(
            f"device is {device!r}; it must be auto, cpu, cuda, or GPUs as in cuda:0,1 or cuda:all"
        )
    return device, whole("threads", threads)


def bar(progress: bool, total: int | None, unit: str) -> Any:
    """A bar, if it is to be shown."""
    if not progress:
        return None
    try:
        from tqdm.auto import tqdm
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "a bar (progress, or disp as SciPy has it) is drawn by tqdm, which is not installed: "
            "pip install tqdm, or leave it out"
        ) from error

    return tqdm(total=total, unit=f" {unit}", unit_scale=True)


def values_of(returned: Any, what: str) -> Floats:
    """Numbers that a function or a caller gave: NaN where they are masked."""
    array = np.asarray(returned)
    if array.dtype.kind == "c":
        raise TypeError(f"{what} are complex; they must be real")
    if array.dtype.kind == "O" and any(value is None for value in array.flat):
        raise TypeError(f"{what} hold None; they must be numbers")
    masked = isinstance(returned, np.ma.MaskedArray)
    try:
        # What is masked is written over, but not in the caller's memory.
        numbers = array.astype(float, copy=masked)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what} are of type {array.dtype}; they must be numbers") from error
    if masked:
        numbers[np.ma.getmaskarray(returned)] = np.nan
    return numbers


_RELATIONS = {"==": "equal", "<=": "at_most", ">=": "at_least"}


class Sides:
    """Constraints that Python functions calculate, as one function of a point whose values are to be
    at most 0, or 0. What they raise is kept: they run in other threads."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.equal: list[bool] = []
        # For each of them the relation, as results name it, and the bound.
        self.ends: list[tuple[str, float]] = []
        self.parts: list[Callable[[Floats], Floats]] = []
        self.failures: list[BaseException] = []

    def add(self, name: str, function: Callable[[Floats], Any], lower: Any, upper: Any, at: Floats) -> None:
        """Adds a function whose values are to be from `lower` to `upper`. `at` is a point to see how
        many values it has."""
        shape = np.atleast_1d(np.asarray(function(at), float)).shape
        if len(shape) != 1:
            raise ValueError(
                f"the constraint {name} returns an array of shape {shape}; "
                "it must return a number or a row of numbers"
            )
        try:
            low = np.broadcast_to(np.asarray(lower, float), shape)
            high = np.broadcast_to(np.asarray(upper, float), shape)
        except ValueError:
            sizes = " and ".join(str(np.shape(end)) for end in (lower, upper))
            raise ValueError(
                f"the constraint {name} has {shape[0]} values, and bounds of the shapes {sizes}"
            ) from None
        if np.any(np.isnan(low) | np.isnan(high)) or np.any(low > high):
            raise ValueError(f"the constraint {name} has bounds that no value satisfies")
        same = low == high
        below, above = ~same & np.isfinite(high), ~same & np.isfinite(low)
        many = shape[0] > 1
        for mask, relation in ((same, "=="), (below, "<="), (above, ">=")):
            for index in np.flatnonzero(mask):
                end = (low if relation == ">=" else high)[index]
                which = f"{name}[{index}]" if many else name
                self.names.append(f"{which} {relation} {float(end)!r}")
                self.equal.append(relation == "==")
                self.ends.append((_RELATIONS[relation], float(end)))

        def sides(x: Floats) -> Floats:
            values = np.atleast_1d(np.asarray(function(x), float))
            if values.shape != shape:
                raise ValueError(
                    f"the constraint {name} returned an array of shape {values.shape}, and one of "
                    f"shape {shape} at first"
                )
            return np.concatenate([(values - high)[same], (values - high)[below], (low - values)[above]])

        self.parts.append(sides)

    def __call__(self, x: Floats) -> Floats:
        try:
            if self.failures:
                return np.full(len(self.names), np.nan)
            return np.ascontiguousarray(np.concatenate([part(x) for part in self.parts]))
        except KeyboardInterrupt:
            # It ends the run with the best so far.
            raise
        except BaseException as failure:
            self.failures.append(failure)
            return np.full(len(self.names), np.nan)

    def restate(self, constraints: list[dict[str, Any]]) -> None:
        """Gives the last constraints of a result, which are these, the sides that their texts have."""
        if not self.ends or len(constraints) < len(self.ends):
            return
        for constraint, (relation, end) in zip(constraints[-len(self.ends) :], self.ends, strict=True):
            # The library knows that the difference is to be at most 0, or 0.
            over = constraint["left"]
            value = end - over if relation == "at_least" else end + over
            constraint.update(left=value, right=end, relation=relation)

    def check(self) -> None:
        """Raises what a function raised."""
        if self.failures:
            raise self.failures[0]


def _matrix(constraint: Any) -> Floats:
    """The matrix of a linear constraint, sparse or not."""
    a = constraint.A
    matrix: Floats = np.asarray(a.toarray() if hasattr(a, "toarray") else a, float)
    return matrix


def _linear(constraint: Any, rows: Floats, within: Box) -> Iterable[str]:
    """A linear constraint, whose matrix has these rows, as formulas, which a GPU evaluates too."""
    lower = np.broadcast_to(np.asarray(constraint.lb, float), len(rows))
    upper = np.broadcast_to(np.asarray(constraint.ub, float), len(rows))
    for row, low, high in zip(rows, lower, upper, strict=True):
        terms = [f"({float(a)!r})*{within.variable(d)}" for d, a in enumerate(row) if a != 0.0]
        text = " + ".join(terms) or "0"
        if low == high:
            yield f"{text} == {float(low)!r}"
            continue
        if np.isfinite(high):
            yield f"{text} <= {float(high)!r}"
        if np.isfinite(low):
            yield f"{text} >= {float(low)!r}"


def _with(fun: Callable[..., Any], args: tuple[Any, ...]) -> Callable[[Floats], Any]:
    return lambda x: fun(x, *args)


def constrained(problem: Problem, constraints: Any, within: Box, is_formula: bool) -> tuple[Problem, Sides]:
    """The problem subject to constraints: formulas, SciPy's objects, or dictionaries."""
    if constraints is None:
        constraints = []
    if isinstance(constraints, str) or not isinstance(constraints, Sequence):
        constraints = [constraints]
    sides = Sides()
    middle = (np.asarray(within.lower) + np.asarray(within.upper)) / 2
    for nth, constraint in enumerate(constraints):
        name = f"constraint {nth + 1}"
        if isinstance(constraint, str):
            problem = problem.subject_to(constraint)
        elif hasattr(constraint, "A") and hasattr(constraint, "lb"):
            matrix = _matrix(constraint)
            rows = np.atleast_2d(matrix)
            if rows.shape[1] != len(within.lower):
                raise ValueError(
                    f"{name} has {rows.shape[1]} columns; the problem has {len(within.lower)} variables"
                )
            if np.isnan(matrix).any():
                raise ValueError(f"{name} has a coefficient that is NaN")
            if is_formula:
                for text in _linear(constraint, rows, within):
                    problem = problem.subject_to(text)
            else:
                sides.add(name, matrix.__matmul__, constraint.lb, constraint.ub, middle)
        elif hasattr(constraint, "fun") and hasattr(constraint, "lb"):
            sides.add(name, constraint.fun, constraint.lb, constraint.ub, middle)
        elif (
            isinstance(constraint, Mapping)
            and constraint.get("type") in ("eq", "ineq")
            and callable(constraint.get("fun"))
        ):
            high = 0.0 if constraint["type"] == "eq" else np.inf
            args = tuple(constraint.get("args", ()))
            sides.add(name, _with(constraint["fun"], args), 0.0, high, middle)
        elif hasattr(constraint, "lb") and hasattr(constraint, "ub"):
            sides.add(name, lambda x: x, constraint.lb, constraint.ub, middle)
        else:
            raise TypeError(
                f"{name} is {constraint!r}; it must be a formula such as 'a + b <= 1', SciPy's "
                "LinearConstraint, NonlinearConstraint or Bounds, or a dictionary with type and fun"
            )
    if sides.names:
        problem = problem.subject_to_function(sides.names, sides.equal, sides)
    return problem, sides
