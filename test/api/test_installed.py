"""`make test-wheel` tests the installed package, `make test` the checkout."""
import os
from pathlib import Path

import legato


def test_what_is_tested():
    assert ("site-packages" in Path(legato.__file__).parts) == ("LEGATO_TEST_WHEEL" in os.environ)
