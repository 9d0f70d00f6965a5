"""pytest plugin (``-p instrumented_models``): all models that are compiled tell libtsan of their accesses; see thread_sanitizer.py."""
from collections.abc import Iterator

import pytest
from thread_sanitizer import instrumented


@pytest.fixture(scope="session", autouse=True)
def compiled_models_are_instrumented() -> Iterator[None]:
    with instrumented():
        yield
