"""Fixtures of the tests of GPUs."""
import pytest


@pytest.fixture
def nothing_is_left():
    """No memory, context, stream, event or module of the stand-in's device outlives what needs it, and no context stays current."""
    from standin import driver

    before = driver().standin_live()
    yield
    driver().standin_reset()
    assert (driver().standin_live(), driver().standin_depth()) == (before, 0)
