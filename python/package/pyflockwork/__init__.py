"""Global optimization, model fitting and all-pairs shortest paths, on NVIDIA GPUs and CPUs.

==========================  =================================================================
`minimize`                  the minimum of a formula, a Python function or a program in a box
`differential_evolution`    the same, called as SciPy's function of that name
`fit`                       the parameters of a model, for one set of data or a million
`shortest_paths`            all distances in a graph
`shortest_path`             the same, called as SciPy's function of that name
`Swarm`                     a search that asks for values, for functions that live elsewhere
`resume`                    goes on with a saved search
==========================  =================================================================

The same seed gives the same bits on a CPU, with any number of threads, and on a GPU.
"""

from ._fit import FitResult, ManyFits, OneOfMany, fit
from ._minimize import Command, differential_evolution, minimize, resume
from ._native import CudaError, DeviceArray, NegativeCycleError, __version__
from ._native import device as _device
from ._paths import shortest_path, shortest_paths
from ._swarm import Swarm

__all__ = [
    "__version__",
    "Command",
    "CudaError",
    "DeviceArray",
    "FitResult",
    "ManyFits",
    "NegativeCycleError",
    "OneOfMany",
    "Swarm",
    "device",
    "differential_evolution",
    "fit",
    "minimize",
    "resume",
    "shortest_path",
    "shortest_paths",
]


def device(device: str = "auto", *, threads: int = 0) -> str:
    """What would compute, and why.

    Parameters
    ----------
    device : str
        ``"auto"``: the first NVIDIA GPU if there is one; ``"cpu"``; ``"cuda"``: that GPU or an error;
        ``"cuda:0,1"`` or ``"cuda:all"``: these GPUs.
    threads : int
        Threads on a CPU, 0 for one for each core.

    Examples
    --------
    >>> import pyflockwork as fw
    >>> fw.device("cpu", threads=1).split(",")[0]
    'cpu: 1 thread'
    """
    name, reason = _device(device, threads)
    return f"{name} ({reason})"
