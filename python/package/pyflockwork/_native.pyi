from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Path = str | PathLike[str]
Observer = Callable[..., object]

__version__: str

class CudaError(RuntimeError): ...
class NegativeCycleError(ValueError): ...

def device(device: str, threads: int) -> tuple[str, str]: ...
def minimize(
    problem: Problem,
    preset: str | None,
    changes: str,
    device: str,
    threads: int,
    save: Path | None,
    save_every: float,
    observe: Observer | None,
) -> str: ...
def resume(
    path: Path,
    problem: Problem | None,
    limits: str,
    device: str,
    threads: int,
    save: Path | None,
    save_every: float,
    observe: Observer | None,
) -> str: ...
def saved(path: Path) -> tuple[bool, str]: ...
def fit_many(
    model: dict[str, Any],
    statement: dict[str, Any],
    single: bool,
    observe: Callable[[int, int], object] | None,
) -> dict[str, Any]: ...
def covariances_of_many(
    model: dict[str, Any],
    statement: dict[str, Any],
    single: bool,
    values: NDArray[Any],
    stderr: NDArray[Any],
) -> NDArray[Any]: ...
def predict_many(
    model: dict[str, Any], single: bool, values: NDArray[Any], arguments: Floats
) -> NDArray[Any]: ...
def student_t(level: float, degrees_of_freedom: Floats) -> Floats: ...
def distances(
    given: Floats | tuple[NDArray[np.int64], NDArray[np.int64], Floats],
    directed: bool,
    predecessors: bool,
    weights: str,
    as_f64: bool,
    device: str,
    threads: int,
) -> tuple[NDArray[Any], NDArray[np.int32] | None]: ...

class Problem:
    @staticmethod
    def formula(text: str, names: list[str] | None, lower: list[float], upper: list[float]) -> Problem: ...
    @staticmethod
    def command(
        text: str,
        names: list[str] | None,
        lower: list[float],
        upper: list[float],
        jobs: int,
        timeout: float | None,
    ) -> Problem: ...
    @staticmethod
    def function(
        name: str,
        names: list[str] | None,
        lower: list[float],
        upper: list[float],
        function: Callable[[Floats], Floats],
    ) -> Problem: ...
    @staticmethod
    def elsewhere(name: str, names: list[str] | None, lower: list[float], upper: list[float]) -> Problem: ...
    def subject_to(self, text: str) -> Problem: ...
    def subject_to_function(
        self, names: list[str], equal: list[bool], function: Callable[[Floats], Floats]
    ) -> Problem: ...
    def equal_within(self, tolerance: float) -> Problem: ...
    def with_integers(self, whole: list[bool]) -> Problem: ...
    def suits_searches(self) -> bool: ...

class Asking:
    def __init__(
        self,
        problem: Problem,
        preset: str | None,
        changes: str,
        save: Path | None,
        save_every: float,
    ) -> None: ...
    @staticmethod
    def resume(problem: Problem, path: Path, limits: str, save: Path | None, save_every: float) -> Asking: ...
    def ask(self) -> Floats | None: ...
    def tell(self, values: Floats) -> None: ...
    def tell_at(self, index: int, value: float) -> None: ...
    def best(self) -> tuple[float, Floats] | None: ...
    def outcome(self) -> str: ...

class DeviceArray:
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def dtype(self) -> str: ...
    @property
    def device(self) -> int: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def copy_to_host(self) -> Floats: ...
    def __len__(self) -> int: ...

def copy_to_host(array: Any) -> NDArray[Any] | None: ...

class AskingOnGpu:
    def __init__(
        self,
        problem: Problem,
        preset: str | None,
        changes: str,
        save: Path | None,
        save_every: float,
        gpu: int,
    ) -> None: ...
    @staticmethod
    def resume(
        problem: Problem, path: Path, limits: str, save: Path | None, save_every: float, gpu: int
    ) -> AskingOnGpu: ...
    def ask(self, from_dlpack: Callable[[Any], Any] | None = None) -> Any: ...
    def tell(self, values: Any) -> bool: ...
    def tell_from_host(self, values: Floats) -> None: ...
    def best(self) -> tuple[float, Floats] | None: ...
    def outcome(self) -> str: ...

class Fit:
    def __init__(
        self, model: str, is_formula: bool, arguments: Floats, targets: Floats, names: list[str]
    ) -> None: ...
    def names(self) -> list[str]: ...
    def stated(
        self,
        sizes: dict[str, int],
        bounds: list[tuple[str, float, float]],
        fixed: dict[str, float],
        weights: Floats | None,
        loss: str,
        scale: float,
        starts: int | None,
        level: float,
        profile: bool,
        absolute_sigma: bool,
        changes: str,
    ) -> Fit: ...
    def run(self, device: str, threads: int) -> Fitted: ...

class Fitted:
    def written(self) -> str: ...
    def stopped(self) -> str: ...
    def estimates(self) -> tuple[Floats, Floats, list[str]]: ...
    def intervals(self, level: float) -> Floats: ...
    def predictions(self) -> Floats: ...
    def residuals(self) -> Floats: ...
    def predict(self, arguments: Floats) -> Floats: ...
