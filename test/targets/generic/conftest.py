"""Each test draws the same random inputs, whichever tests run before it."""

import generic_samples
import pytest

STATE = generic_samples.random.bit_generator.state


@pytest.fixture(autouse=True)
def same_inputs():
    generic_samples.random.bit_generator.state = STATE
