"""The package itself: examples, types, what an import brings."""

import ast
import doctest
import importlib
import importlib.metadata
import importlib.util
import inspect
import pathlib
import re
import subprocess
import sys

import pytest
import turntile

PACKAGE = pathlib.Path(turntile.__file__).parent


@pytest.mark.parametrize("module", ["turntile", "turntile._api", "turntile._npy", "turntile._plan"])
def test_examples_in_docstrings(module):
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0
    assert result.failed == 0


def test_documents():
    """Every block of Python in both READMEs, docs/python.md and docs/tutorial.md runs, those for a GPU or PyTorch where there is one."""
    package = pathlib.Path(__file__).parents[1]
    # scripts/check-python puts the repository's beside the tests.
    project = package / "project"
    project = project if project.exists() else package.parents[1]
    pages = ["README.md", "docs/python.md", "docs/tutorial.md"]
    found = [package / "README.md", *(project / page for page in pages)]
    for file in found:
        blocks = re.findall(r"```python\n(.*?)```", file.read_text(), re.S)
        assert blocks
        for block in blocks:
            on_gpu = "cuda" in block and "cuda_available" not in block
            has_torch = "torch" not in block or importlib.util.find_spec("torch")
            if has_torch and (not on_gpu or turntile.cuda_available()):
                exec(block, {})


def test_docstrings_say_first_that_the_object_is_stale():
    for call in [turntile.transpose, turntile.rearrange, turntile.columns, turntile.asfortranarray, turntile.ascontiguousarray, turntile.Plan.run]:
        first = call.__doc__.splitlines()[0]
        assert "in place" in first and "stale" in first, call


def test_types_name_what_there_is():
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text())
    typed = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    public = set(turntile.__all__) - {"__version__"}
    assert set(typed) == public
    for name, node in typed.items():
        if isinstance(node, ast.ClassDef):
            # Without what a base leaves open, type checkers take the class for abstract.
            declared = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            assert set().union(*(getattr(base, "__abstractmethods__", ()) for base in getattr(turntile, name).__bases__)) <= declared
        if isinstance(node, ast.FunctionDef):
            signature = inspect.signature(getattr(turntile, name))
            given = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
            given += [node.args.kwarg] if node.args.kwarg else []
            assert [argument.arg for argument in given] == list(signature.parameters), name
    assert (PACKAGE / "py.typed").exists()


def test_an_import_brings_numpy_and_no_other_library():
    code = "import sys, turntile; print(*{name.partition('.')[0] for name in sys.modules})"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "numpy" in found
    assert not {"torch", "cupy", "jax", "numba"} & set(found)


def test_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+", turntile.__version__)
    assert importlib.metadata.version("turntile") == turntile.__version__
