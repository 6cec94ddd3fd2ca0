"""The package itself."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import pyflockwork as fw


def test_import_brings_only_numpy():
    """SciPy, matplotlib and tqdm are imported by what uses them."""
    code = (
        "import sys, pyflockwork\n"
        "heavy = {'scipy', 'matplotlib', 'pandas', 'tqdm', 'multiprocessing.pool'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_it_works_without_scipy():
    code = (
        "import sys\n"
        "sys.modules['scipy'] = sys.modules['scipy.optimize'] = None\n"
        "import pyflockwork as fw\n"
        "r = fw.minimize('x[0]^2', [(-1, 1)])\n"
        "r.extra = 1\n"
        "assert r.success and r['extra'] == 1 and 'fun' in repr(r) and 'x' in dir(r)\n"
        "import pickle\n"
        "assert pickle.loads(pickle.dumps(r)).fun == r.fun\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_stub_has_all_of_the_native_module():
    from pyflockwork import _native

    stub = (Path(fw.__file__).parent / "_native.pyi").read_text()
    for name in dir(_native):
        if not name.startswith("_"):
            assert f"def {name}(" in stub or f"class {name}" in stub, name
    for kind in (_native.Problem, _native.Asking, _native.Fit, _native.Fitted):
        for name in dir(kind):
            if not name.startswith("_"):
                assert f"    def {name}(" in stub, f"{kind.__name__}.{name}"


def test_a_newcomer_sees_what_there_is():
    assert fw.__doc__ is not None
    for name in fw.__all__:
        assert name == "__version__" or getattr(fw, name).__doc__, name
    assert fw.device("cpu").startswith("cpu: ")


def has_pytorch() -> bool:
    try:
        import torch

        fw.device("cuda")
    except (ImportError, fw.CudaError):
        return False
    return bool(torch.cuda.is_available())


@pytest.mark.parametrize("page", ["python/README.md", "docs/howto/python.md"])
def test_the_examples_of_pages_run(page):
    text = (Path(__file__).parents[2] / page).read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert blocks
    if not has_pytorch():
        blocks = [block for block in blocks if "import torch" not in block]
    exec(compile("\n".join(blocks), page, "exec"), {})
