"""Selection of a kernel's default schedule on a GPU: the first in a list that accepts it; None leaves it to the plain mapping."""
from collections.abc import Callable

from legato.analysis.block_kernel import BlockKernel
from legato.analysis.structured import StructuredKernel
from legato.targets.gpu import attention, depthwise, nests, products, tensor_cores, transposes
from legato.targets.gpu.machine import Gpu

Scheduler = Callable[[BlockKernel, Gpu], "str | None"]


def schedulers() -> tuple[Scheduler, ...]:
    """The GPUs' schedules, most specific first. Each returns a script (``steps.Steps``), in which the sequence has its name, or None."""
    return (attention.schedule, tensor_cores.schedule, products.schedule, depthwise.schedule, transposes.schedule, nests.schedule)


def schedule(kernel: StructuredKernel, machine: Gpu) -> str | None:
    """The transform script of a kernel on a GPU; None for one thread for each point of its parallel loops."""
    if not machine.schedules or not isinstance(kernel, BlockKernel) or not kernel.is_plain:
        return None
    return next((text for scheduler in schedulers() if (text := scheduler(kernel, machine)) is not None), None)
