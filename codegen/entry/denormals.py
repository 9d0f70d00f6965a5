"""Calls of models that take denormal numbers for zeros (``flush-denormals``): the calling thread does so during a call, and the threads
of the pool do as their loop's caller."""
import platform

from legato.codegen.native.language import Words, stack, store_float_mode, use_float_mode

# bits of the floating-point mode, for results and factors: of x86's MXCSR FTZ and DAZ, of Arm's FPCR FZ
FLUSH = 0x8040 if platform.machine() in ("x86_64", "AMD64") else 1 << 24


def flush_denormals(before: Words) -> None:
    """Lets this thread take denormal numbers for zeros. Stores the mode that it had."""
    before[0] = 0       # of which some processors store four bytes
    store_float_mode(before)
    mode = stack(Words)
    mode[0] = before[0] | FLUSH
    use_float_mode(mode)
