"""What all tests share: no cache, byte code that is kept, and which tests are left to `pytest --thorough`.

pytest puts the folder of a conftest on the path: so tests in every folder here can import `interpret`.
"""
import gc
import os

import pytest
from kept_bytecode import keep_bytecode

os.environ["LEGATO_CACHE"] = "off"   # tests compile
keep_bytecode(os.environ)
gc.set_threshold(50_000)             # thousands of test modules' objects are alive: visiting them often takes some 4% of the time


def pytest_addoption(parser: pytest.Parser):
    parser.addoption("--thorough", action="store_true", help="also run the tests marked thorough: further targets, sizes, models and seeds")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]):
    if not config.getoption("--thorough"):
        left = [item for item in items if item.get_closest_marker("thorough")]
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]
        config.hook.pytest_deselected(items=left)


def pytest_collection_finish():
    """What is alive when the tests have been collected stays: garbage collections, which tests call, need not visit it again."""
    gc.collect()
    gc.freeze()
