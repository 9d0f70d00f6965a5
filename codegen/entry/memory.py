"""Memory of main: for arenas and results."""
from legato.codegen.entry.abi import aligned_alloc, madvise
from legato.codegen.native.language import Pointer
from legato.core.cpu_table import HUGE_PAGE, LINE

MADV_HUGEPAGE = 14


def allocate(size: int) -> Pointer:
    """``size`` bytes, aligned to 64, which libc's ``free`` frees; in huge pages as far as they fill such, which take fewer
    translations of addresses, and fewer faults when they are first written. Null if out of memory."""
    if size < HUGE_PAGE:
        return aligned_alloc(LINE, size)
    block = aligned_alloc(HUGE_PAGE, size)
    if block:
        madvise(block, size & -HUGE_PAGE, MADV_HUGEPAGE)
    return block
