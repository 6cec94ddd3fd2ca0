"""What all adapters have in common."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGES = ["networkx", "optimagic", "pymoo", "sklearn"]


def test_importing_them_brings_nothing():
    code = (
        "import sys, pyflockwork.adapters\n"
        f"print(sorted({{'scipy', 'pandas', *{PACKAGES!r}}} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@pytest.mark.parametrize("name", PACKAGES)
def test_without_its_package_an_import_says_what_is_lacking(name):
    code = f"import sys\nsys.modules[{name!r}] = None\nimport pyflockwork.adapters.{name}"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"ImportError: pyflockwork.adapters.{name} needs " in out.stderr
    assert f"pyflockwork[{name}]" in out.stderr


@pytest.mark.parametrize("name", PACKAGES)
def test_the_examples_of_the_page_run(name):
    pytest.importorskip(name)
    text = (Path(__file__).parents[2] / "docs/howto/adapters.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    mine = [block for block in blocks if re.search(rf"^(import|from) {name}\b", block, re.MULTILINE)]
    assert len(mine) == 1
    exec(compile(mine[0], "docs/howto/adapters.md", "exec"), {})
