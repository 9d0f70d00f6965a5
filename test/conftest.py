"""pytest puts the folder of a conftest on the path: so tests in every folder here can import `interpret`."""
import gc
import os

from kept_bytecode import keep_bytecode

os.environ["LEGATO_CACHE"] = "off"   # tests compile
keep_bytecode(os.environ)


def pytest_collection_finish():
    """What is alive when the tests have been collected stays: garbage collections, which tests call, need not visit it again."""
    gc.collect()
    gc.freeze()
