"""Bad accesses of kernels that check their indices (passes/cpu/check_bounds.py): a kernel reports one and returns; the call is an error.

Reports are for all instances and threads of the code, and are never taken back: a call is an error if there are more behind it than before
it. So is another one that runs at the same time, whose own kernels may be right; none passes for right that is not.
"""
from legato.codegen.entry.abi import TVMFFIErrorSetRaisedFromCStr
from legato.codegen.entry.layouts import FAULT
from legato.codegen.native.language import Text, address, pause, snprintf, stack, swap_at, value_at

REASON_BYTES = 256


def out_of_bounds(site: Text, axis: int, first: int, last: int, extent: int) -> None:
    """Reports that the code at a site used these indices of an axis of so many elements. ``axis``: -1 for elements in memory order."""
    fault = FAULT
    while swap_at(address(fault.lock), 1) != 0:
        pause()
    if fault.count == fault.shown:      # what follows a first bad access may come from it
        fault.site = site
        fault.axis = axis
        fault.first = first
        fault.last = last
        fault.extent = extent
    swap_at(address(fault.count), fault.count + 1)
    swap_at(address(fault.lock), 0)


def faults() -> int:
    """The number of reports so far."""
    return value_at(address(FAULT.count))


def refuse_access() -> int:
    """Raises the error for the first bad access that no call has made an error of. Nonzero."""
    fault = FAULT
    while swap_at(address(fault.lock), 1) != 0:
        pause()
    given = stack(Text, REASON_BYTES)
    if fault.first == fault.last:
        snprintf(given, REASON_BYTES, f"index {fault.first}")
    else:
        snprintf(given, REASON_BYTES, f"indices {fault.first} to {fault.last}")
    if fault.axis < 0:
        TVMFFIErrorSetRaisedFromCStr("IndexError", f"{fault.site} is out of bounds: {given} in memory order of {fault.extent} elements")
    else:
        TVMFFIErrorSetRaisedFromCStr(
            "IndexError", f"{fault.site} is out of bounds: {given} of axis {fault.axis}, which has {fault.extent} elements")
    fault.shown = fault.count
    swap_at(address(fault.lock), 0)
    return -1
