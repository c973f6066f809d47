"""Runs the examples; those for a GPU report its absence."""

import pathlib
import subprocess
import sys

import pytest
import turntile

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"


def run(name):
    return subprocess.run([sys.executable, EXAMPLES / name], capture_output=True, text=True, timeout=300)


def test_memory_map():
    done = run("numpy_memmap.py")
    assert done.returncode == 0, done.stderr
    assert "(20, 3, 480, 640)" in done.stdout


@pytest.mark.parametrize("name", ["plink_bed.py", "nvfp4_weight.py"])
def test_packed(name):
    done = run(name)
    assert done.returncode == 0, done.stderr
    assert "right" in done.stdout


@pytest.mark.parametrize("name, library, words", [("moe_weight.py", "torch", "OutOfMemoryError"), ("cupy_fortran.py", "cupy", "strides (4, ")])
def test_on_a_gpu(name, library, words):
    pytest.importorskip(library)
    done = run(name)
    if turntile.cuda_available():
        assert done.returncode == 0, done.stderr
        assert words in done.stdout
    else:
        assert done.returncode == 1 and done.stderr.strip() == "there is no GPU"


def test_model_with_converted_weights():
    pytest.importorskip("torch")
    done = run("relaid_model.py")
    assert done.returncode == 0, done.stderr
    assert "4 weights converted in place and back" in done.stdout
