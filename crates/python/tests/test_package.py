"""The package itself: examples, types, imports."""

import doctest
import importlib
import importlib.metadata
import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest
import turntile

ROOT = pathlib.Path(__file__).parents[1]


@pytest.mark.parametrize("module", ["turntile", "turntile._api", "turntile._npy", "turntile._plan", "turntile._records", "turntile.weights"])
def test_examples_in_docstrings(module):
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0
    assert result.failed == 0


PAGES = ["docs/how-to/pytorch-and-jax.md", "docs/how-to/weights.md", "docs/reference/python.md"]


def test_documents():
    """Runs every block of Python in both READMEs and these pages; those for a GPU, JAX or PyTorch only where there is one."""
    # scripts/check-python copies the repository's pages there.
    project = ROOT / "project"
    project = project if project.exists() else ROOT.parents[1]
    pages = ["README.md", "docs/tutorial.md", *PAGES]
    found = [ROOT / "README.md", *(project / page for page in pages)]
    for file in found:
        blocks = re.findall(r"```python\n(.*?)```", file.read_text(), re.S)
        assert blocks
        for block in blocks:
            on_gpu = "cuda" in block and "cuda_available" not in block
            has_libraries = all(importlib.util.find_spec(name) for name in ["jax", "torch"] if f"import {name}" in block)
            if has_libraries and (not on_gpu or turntile.cuda_available()):
                exec(block, {})


def test_docstrings_say_first_that_the_object_is_stale():
    calls = [turntile.transpose, turntile.matrix_transpose, turntile.rearrange, turntile.columns, turntile.asfortranarray]
    for call in [*calls, turntile.ascontiguousarray, turntile.Plan.__call__]:
        first = call.__doc__.splitlines()[0]
        assert "in place" in first and "stale" in first, call


def mypy(*words):
    done = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_types_of_programs():
    """Programs that users may write, and calls that must be type errors."""
    mypy("mypy", "--strict", "--config-file", "pyproject.toml", "tests/typing")


def test_types_are_those_of_the_code():
    options = ["--allowlist", "tests/typing/stubtest.txt", "--ignore-unused-allowlist"]
    mypy("mypy.stubtest", "turntile", "--mypy-config-file", "pyproject.toml", *options)


def test_an_import_brings_numpy_and_no_other_library():
    code = "import sys, turntile; print(*{name.partition('.')[0] for name in sys.modules})"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "numpy" in found
    assert not {"torch", "cupy", "jax", "numba"} & set(found)


def test_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+", turntile.__version__)
    assert importlib.metadata.version("turntile") == turntile.__version__
