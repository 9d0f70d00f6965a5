"""Selection of a kernel's schedule: the first in a list that accepts it; None leaves the kernel to scalar loops."""
from collections.abc import Callable

from legato.analysis.structured import StructuredKernel
from legato.targets.cpu import contraction, default, row_kernels
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.script import Script

Scheduler = Callable[[StructuredKernel, Machine], "str | None"]


def schedulers() -> tuple[Scheduler, ...]:
    """The CPU schedules, most specific first. Each returns the body of a transform sequence on ``%root``, the kernel, or None."""
    return (contraction.schedule_contraction, row_kernels.schedule, default.schedule)


def schedule(kernel: StructuredKernel, machine: Machine) -> str | None:
    """The transform script of a prim_func on a CPU; None for scalar loops."""
    return next((text for scheduler in schedulers() if (text := scheduler(kernel, machine)) is not None), unpack_alone(kernel))


def unpack_alone(kernel: StructuredKernel) -> str | None:
    """The script that copies the packed weight of a kernel which no schedule takes: there is no scalar loop of linalg.unpack."""
    if all(op.name != "linalg.unpack" for op in kernel.ops):
        return None
    script = Script()
    script.lower_unpacks()
    return script.text()
