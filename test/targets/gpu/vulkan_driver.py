"""Whether a Vulkan driver is here; the tests that need one are skipped where none is, or fail where one has to be."""
import os

import pytest

from legato.core.errors import LegatoError

NEEDED = "LEGATO_TEST_VULKAN"   # set where a missing driver is a failure


def problem() -> str | None:
    """Why no model runs on Vulkan here; None where one does."""
    from legato.runtime.vulkan.device import the_device

    try:
        the_device()
    except LegatoError as error:
        return str(error)
    return None


FOUND = problem()
needs_vulkan = pytest.mark.skipif(FOUND is not None and NEEDED not in os.environ, reason=str(FOUND))
