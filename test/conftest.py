"""What all tests share: no cache, byte code that is kept, and which tests are left to `pytest --thorough`.

pytest puts the folder of a conftest on the path: so tests in every folder here can import `interpret`.
"""
import gc
import os
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from kept_bytecode import keep_bytecode

os.environ["LEGATO_CACHE"] = "off"   # tests compile
keep_bytecode(os.environ)
gc.set_threshold(50_000)             # thousands of test modules' objects are alive: visiting them often takes some 4% of the time
GENERATORS: list[np.random.Generator] = []    # of helpers that tests share


def pytest_addoption(parser: pytest.Parser):
    parser.addoption("--thorough", action="store_true", help="also run the tests marked thorough: further targets, sizes, models and seeds")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]):
    if not config.getoption("--thorough"):
        left = [item for item in items if item.get_closest_marker("thorough")]
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]
        config.hook.pytest_deselected(items=left)


def pytest_collection_finish():
    """What is alive when the tests have been collected stays: garbage collections, which tests call, need not visit it again."""
    here = str(Path(__file__).parent)
    for name, module in list(sys.modules.items()):
        if not name.startswith("test_") and str(getattr(module, "__file__", None) or "").startswith(here):
            GENERATORS.extend(generators(module))
    gc.collect()
    gc.freeze()


def generators(module: object) -> list[np.random.Generator]:
    return [value for value in vars(module).values() if isinstance(value, np.random.Generator)]


@pytest.fixture(autouse=True)
def random_numbers(request: pytest.FixtureRequest):
    """A test draws numbers of its own from the generators of modules, the same in every run, on any worker, after any other test."""
    seed = zlib.crc32(request.node.nodeid.encode())
    np.random.seed(seed)
    for generator in [*GENERATORS, *generators(request.module)]:
        generator.bit_generator.state = np.random.PCG64(seed).state
