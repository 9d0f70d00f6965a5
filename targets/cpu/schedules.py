"""Selection of a kernel's schedule: the first in a list that accepts it; None leaves the kernel to scalar loops."""
from collections.abc import Callable

from legato.analysis.structured import StructuredKernel
from legato.targets.cpu import contraction, default, row_kernels
from legato.targets.cpu.machine import Machine

Scheduler = Callable[[StructuredKernel, Machine], "str | None"]


def schedulers() -> tuple[Scheduler, ...]:
    """The CPU schedules, most specific first. Each returns the body of a transform sequence on ``%root``, the kernel, or None."""
    return (contraction.schedule_contraction, row_kernels.schedule, default.schedule)


def schedule(kernel: StructuredKernel, machine: Machine) -> str | None:
    """The transform script of a prim_func on a CPU; None for scalar loops."""
    return next((text for scheduler in schedulers() if (text := scheduler(kernel, machine)) is not None), None)
