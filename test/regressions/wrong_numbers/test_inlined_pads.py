"""reverse_compute_inline does not take a pad: the producer has no steps for the elements beyond the data."""
import pytest
from scheduled_kernels import three_steps

from legato import Schedule, ScheduleError


def test_a_pad_is_not_inlined_into_its_producer():
    sch = Schedule(three_steps)
    copy = sch.cache_read(sch.get_block("C"), 0, "global")
    sch.pad(sch.get_block("C"), [8, 8])
    pad = next(block for block in sch.get_consumers(copy) if "_pad" in repr(block))
    before = str(sch.module)
    with pytest.raises(ScheduleError, match="under a condition"):
        sch.reverse_compute_inline(pad)
    assert str(sch.module) == before
