"""Swarms whose points stay on a GPU. Without a GPU they run where `FLOCKWORK_LIBCUDA` names the driver that
stands in, whose memory is the host's."""

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import pyflockwork as fw

try:
    fw.device("cuda")
    HAS_GPU = True
except fw.CudaError:
    HAS_GPU = False

STANDS_IN = HAS_GPU and "FLOCKWORK_LIBCUDA" in os.environ
on_gpu = pytest.mark.skipif(not HAS_GPU, reason="no GPU")
on_real_gpu = pytest.mark.skipif(not HAS_GPU or STANDS_IN, reason="no GPU")
standing_in = pytest.mark.skipif(not STANDS_IN, reason="no driver that stands in")

BOX = [(-2.0, 3.0)] * 4
OPTIONS: dict[str, Any] = {"particles": 100, "maxiter": 20, "rng": 3}


def bowl(points: np.ndarray) -> np.ndarray:
    return ((np.asarray(points, float) - 0.5) ** 2 * np.arange(1, points.shape[1] + 1)).sum(axis=1)


def on_cpu(box: Any = BOX, **options: Any) -> Any:
    swarm = fw.Swarm(box, **{**OPTIONS, **options})
    for points in swarm:
        swarm.tell(bowl(points))
    return swarm.result()


def same(found: Any, expected: Any) -> None:
    assert np.array_equal(found.x, expected.x)
    assert (found.fun, found.nit, found.nfev) == (expected.fun, expected.nit, expected.nfev)
    assert found.message == expected.message


class There:
    """An array of the host's memory that says that it is a GPU's: so it is for the driver that stands in."""

    def __init__(self, array: np.ndarray, **changes: Any) -> None:
        self.array, self.changes = array, changes

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        interface = dict(self.array.__array_interface__, stream=1)
        return {**interface, **self.changes}


@on_gpu
def test_the_bits_are_those_of_the_cpu() -> None:
    swarm = fw.Swarm(BOX, device="cuda", **OPTIONS)
    points = swarm.ask()
    assert isinstance(points, fw.DeviceArray)
    assert (points.shape, points.dtype, points.ndim, len(points)) == ((100, 4), "float64", 2, 100)
    assert np.array_equal(swarm.ask().copy_to_host(), points.copy_to_host())
    first = fw.Swarm(BOX, **OPTIONS).ask()
    assert np.array_equal(points.copy_to_host(), first)
    for points in swarm:
        swarm.tell(bowl(points.copy_to_host()))
    assert swarm.ask() is None
    same(swarm.result(), on_cpu())
    assert swarm.best is not None and swarm.best[0] == swarm.result().fun


@on_gpu
def test_whole_variables_and_a_target() -> None:
    options = {"integrality": [True, False, True, False], "target": 0.3, "maxiter": 500}
    swarm = fw.Swarm(BOX, device="cuda", **{**OPTIONS, **options})
    for points in swarm:
        swarm.tell(bowl(points.copy_to_host()))
    same(swarm.result(), on_cpu(**options))


@on_gpu
def test_it_ends_early_and_is_resumed(tmp_path: Any) -> None:
    file = tmp_path / "run"
    swarm = fw.Swarm(BOX, device="cuda", save=file, save_every=0, **OPTIONS)
    for _ in range(8):
        swarm.tell(bowl(swarm.ask().copy_to_host()))
    assert swarm.result().nit <= 7
    rest = fw.Swarm.resume(file, BOX, device="cuda")
    for points in rest:
        rest.tell(bowl(points.copy_to_host()))
    same(rest.result(), on_cpu())
    # Begun there, ended here.
    swarm = fw.Swarm(BOX, device="cuda", save=file, save_every=0, **OPTIONS)
    for _ in range(8):
        swarm.tell(bowl(swarm.ask().copy_to_host()))
    swarm.result()
    rest = fw.Swarm.resume(file, BOX)
    for points in rest:
        rest.tell(bowl(points))
    same(rest.result(), on_cpu())


@on_gpu
def test_what_is_wrong_is_said() -> None:
    for options, error in [
        ({"method": "cmaes"}, "swarms"),
        ({"constraints": "x[0] <= 1"}, "constraints"),
    ]:
        with pytest.raises(ValueError, match=error):
            fw.Swarm(BOX, device="cuda", **options).ask()
    swarm = fw.Swarm(BOX, device="cuda", **OPTIONS)
    points = swarm.ask()
    with pytest.raises(ValueError, match="3 values were told; 100 points"):
        swarm.tell([1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match="all values are told at once"):
        swarm.tell_at(0, 1.0)
    with pytest.raises(TypeError, match="copy_to_host"):
        np.asarray(points)
    swarm.tell(np.full(100, np.nan))
    with pytest.raises(ValueError, match="no finite value"):
        swarm.result()
    with pytest.raises(ValueError, match="ended without a result"):
        swarm.result()


def test_a_namespace_is_for_a_gpu() -> None:
    with pytest.raises(ValueError, match="on the CPU points are NumPy's"):
        fw.Swarm(BOX, xp=np)
    with pytest.raises(TypeError, match="from_dlpack"):
        fw.Swarm(BOX, device="cuda", xp=os)


def test_a_device_is_cpu_or_cuda() -> None:
    for wrong in ("gpu", "cuda:", "cuda:0,1", "cuda:-1", None):
        with pytest.raises(ValueError, match="cpu, cuda, or a GPU as in cuda:1"):
            fw.Swarm(BOX, device=wrong)
    with pytest.raises(fw.CudaError):
        fw.Swarm(BOX, device="cuda:99")
    if not HAS_GPU:
        with pytest.raises(fw.CudaError):
            fw.Swarm(BOX, device="cuda")


@on_gpu
def test_ctrl_c_between_iterations_leaves_nothing_running() -> None:
    script = (
        "import pyflockwork as fw\n"
        f"swarm = fw.Swarm({BOX}, device='cuda', particles=100)\n"
        "swarm.ask()\nraise KeyboardInterrupt\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60)
    assert ended.returncode != 0 and b"KeyboardInterrupt" in ended.stderr


def test_a_swarm_that_is_dropped_waits_for_no_constraint() -> None:
    script = (
        "import pyflockwork as fw\n"
        "sides = {'type': 'eq', 'fun': lambda x: x[0] + x[1] - 1}\n"
        "swarm = fw.Swarm([(-2, 2)] * 3, constraints=sides, maxfun=3000)\n"
        "del swarm\nprint('over')\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60)
    assert ended.stdout == b"over\n", ended.stderr


@standing_in
def test_values_of_cuda_array_interface() -> None:
    swarm = fw.Swarm(BOX, device="cuda", **OPTIONS)
    for nth, points in enumerate(swarm):
        interface = points.__cuda_array_interface__
        assert (interface["typestr"], interface["shape"], interface["version"]) == ("<f8", (100, 4), 3)
        values = bowl(points.copy_to_host())
        swarm.tell(There(values if nth % 2 else values.reshape(-1, 1), stream=1 if nth % 3 else None))
    same(swarm.result(), on_cpu())
    points = fw.Swarm(BOX, device="cuda", **OPTIONS)
    points.ask()
    for wrong, error in [
        (There(np.zeros(99)), "99 values were told; 100"),
        (There(np.zeros((10, 10))), "shape"),
        (There(np.zeros(200)[::2]), "side by side"),
    ]:
        with pytest.raises(ValueError, match=error):
            points.tell(wrong)
    with pytest.raises(TypeError, match="float32 or float64"):
        points.tell(There(np.zeros(100, int)))


@standing_in
def test_data_in_a_gpus_memory() -> None:
    x = np.linspace(0, 5, 50)
    y = 3 * np.exp(-0.7 * x) + 1
    here, there = (fw.fit(x, of(y), "amp*exp(-rate*x) + base") for of in (np.asarray, There))
    assert here.params == there.params
    graph = np.array([[0, 1, 9.0], [0, 0, 2], [0, 0, 0]])
    assert np.array_equal(fw.shortest_paths(There(graph)), fw.shortest_paths(graph))
    with pytest.raises(ValueError, match="contiguous"):
        fw.fit(x, There(np.zeros(100)[::2]), "amp*exp(-rate*x) + base")


def frameworks() -> list[str]:
    return ["torch", "cupy", "jax"]


def taken(name: str, points: Any) -> Any:
    """The points as an array of this library."""
    library = pytest.importorskip(name)
    if name == "torch":
        return library.from_dlpack(points)
    if name == "cupy":
        return library.asarray(points)
    library.config.update("jax_enable_x64", True)
    return library.dlpack.from_dlpack(points)


@on_real_gpu
@pytest.mark.parametrize("name", frameworks())
@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_a_library_evaluates_there(name: str, precision: str) -> None:
    """Coordinates are numbers that every library adds and multiplies alike: the bits are the CPU's."""
    pytest.importorskip(name)
    options = {**OPTIONS, "particles": 5000, "maxiter": 50, "precision": precision}
    box = [(-2.0, 3.0)] * 2

    def here(points: Any) -> Any:
        kind = np.float32 if precision == "f32" else np.float64
        x, y = points[:, 0].astype(kind), points[:, 1].astype(kind)
        return x * x + y * y

    swarm = fw.Swarm(box, **options)
    for points in swarm:
        swarm.tell(here(points))
    expected = swarm.result()
    swarm = fw.Swarm(box, device="cuda", **options)
    for points in swarm:
        array = taken(name, points)
        assert array.shape == (5000, 2)
        x, y = array[:, 0], array[:, 1]
        # Two roundings: as one multiply and add, JAX would fuse them.
        swarm.tell(there(name, x, y))
    same(swarm.result(), expected)


def there(name: str, x: Any, y: Any) -> Any:
    if name == "jax":
        import jax

        return jax.block_until_ready(x * x) + jax.block_until_ready(y * y)
    return x * x + y * y


@on_real_gpu
@pytest.mark.parametrize("name", ["torch", "cupy", "jax.numpy"])
def test_points_are_arrays_of_a_library(name: str) -> None:
    xp = pytest.importorskip(name)
    if name == "jax.numpy":
        pytest.importorskip("jax").config.update("jax_enable_x64", True)
    swarm = fw.Swarm(BOX, device="cuda", xp=xp, **OPTIONS)
    here = fw.Swarm(BOX, **OPTIONS)
    for points, expected in zip(swarm, here, strict=True):
        assert type(points) is type(xp.zeros(3)) and points.shape == (100, 4)
        assert np.array_equal(host(points), expected)
        values = points[:, 0] * points[:, 0] + points[:, 1]
        swarm.tell(values)
        here.tell(host(values))
    same(swarm.result(), here.result())


def host(array: Any) -> np.ndarray:
    return np.asarray(
        array.get() if hasattr(array, "get") else array.cpu() if hasattr(array, "cpu") else array
    )


@on_real_gpu
@pytest.mark.parametrize("direct", [False, True])
def test_pytorch_on_a_stream_of_its_own(direct: bool) -> None:
    torch = pytest.importorskip("torch")
    options = {**OPTIONS, "particles": 40_000, "maxiter": 60}
    expected = None
    for stream in [torch.cuda.default_stream(), torch.cuda.Stream()]:
        with torch.cuda.stream(stream):
            swarm = fw.Swarm([(-5, 5)] * 16, device="cuda", xp=torch if direct else None, **options)
            for points in swarm:
                x = points if direct else torch.from_dlpack(points)
                # Long enough to come too late if nobody waited.
                for _ in range(20):
                    x = x.abs()
                swarm.tell(x.sum(dim=1))
            result = swarm.result()
        if expected is not None:
            same(result, expected)
        expected = result


@on_real_gpu
def test_a_swarm_on_the_second_gpu() -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU")
    swarm = fw.Swarm(BOX, device="cuda:1", xp=torch, **OPTIONS)
    here = fw.Swarm(BOX, **OPTIONS)
    for points, expected in zip(swarm, here, strict=True):
        assert points.device.index == 1 and np.array_equal(host(points), expected)
        values = points[:, 0] * points[:, 0] + points[:, 1]
        if here.best is None:
            with pytest.raises(ValueError, match="the values are on cuda:0; the points are on cuda:1"):
                swarm.tell(values.to("cuda:0"))
        swarm.tell(values)
        here.tell(host(values))
    same(swarm.result(), here.result())


@on_real_gpu
def test_points_that_are_kept_stay_as_they_were() -> None:
    torch = pytest.importorskip("torch")
    swarm = fw.Swarm(BOX, device="cuda", **OPTIONS)
    kept = []
    for points in swarm:
        x = torch.from_dlpack(points)
        kept.append((x, x.clone()))
        swarm.tell((x * x).sum(dim=1))
    del points
    assert all(torch.equal(x, copy) for x, copy in kept)
    assert len({x.data_ptr() for x, _ in kept}) == len(kept)


@on_real_gpu
def test_data_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    x = np.linspace(0, 5, 50)
    y = 3 * np.exp(-0.7 * x) + 1
    many = np.stack([y, 2 * y, 3 * y])
    here = fw.fit(x, many, "amp*exp(-rate*x) + base")
    there = fw.fit(torch.tensor(x).cuda(), torch.tensor(many).cuda(), "amp*exp(-rate*x) + base")
    assert all(np.array_equal(here.params[name], there.params[name]) for name in here.params)
    graph = np.array([[0, 1, 9.0], [0, 0, 2], [0, 0, 0]])
    assert np.array_equal(fw.shortest_paths(torch.tensor(graph).cuda()), fw.shortest_paths(graph))


@on_real_gpu
def test_all_gpus_give_the_bits_of_one() -> None:
    wave = "sum(i in 0..n-1: x[i]^2 + 1 - cos(5*x[i]))"

    def found(device: str) -> Any:
        return fw.minimize(wave, BOX, method="cmaes", lanes=32, maxfun=60_000, device=device)

    same(found("cuda:all"), found("cuda:0"))
    same(found("cuda:all"), found("cpu"))
    x = np.linspace(0.0, 3.0, 12)
    y = (1.0 + np.arange(20_000)[:, None] % 7) * np.exp(-x) + 0.1
    one, several = (fw.fit(x, y, "a*exp(-b*x) + c", device=device) for device in ("cuda:0", "cuda:all"))
    assert all(np.array_equal(one.params[name], several.params[name]) for name in "abc")
    with pytest.raises(fw.CudaError, match="99"):
        fw.minimize(wave, BOX, device="cuda:99")
