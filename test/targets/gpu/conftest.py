"""Fixtures of the tests of GPUs."""
import gc

import pytest


@pytest.fixture
def nothing_is_left():
    """No memory, context, stream, event or module of the stand-in's device outlives what needs it, and no context stays current."""
    from standin import driver

    if driver().standin_live():
        gc.collect()                # a model of an earlier test, in a cycle of an error and its traceback
    before = driver().standin_live()
    yield
    driver().standin_reset()
    assert driver().standin_live() <= before        # a model of another test may have given up what it kept
    assert driver().standin_depth() == 0
