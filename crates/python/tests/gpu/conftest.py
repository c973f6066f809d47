"""These need a GPU: without one all are skipped."""

import pathlib

import pytest
import turntile

HERE = pathlib.Path(__file__).parent


def pytest_collection_modifyitems(items):
    if not turntile.cuda_available():
        for item in items:
            if HERE in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="no GPU"))
