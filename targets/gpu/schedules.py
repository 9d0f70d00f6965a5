"""The default schedules that a kernel on a GPU is tried with; one that takes none of them is left to the plain mapping."""
from collections.abc import Callable, Iterator

from legato.analysis.block_kernel import BlockKernel
from legato.analysis.structured import StructuredKernel
from legato.targets.gpu import (
    attention,
    attention_matrices,
    cooperative,
    depthwise,
    dot_products,
    long_rows,
    nests,
    products,
    register_rows,
    shared_rows,
    skinny,
    tensor_cores,
    transposes,
    uneven_rows,
    warpgroups,
)
from legato.targets.gpu.machine import Gpu

Scheduler = Callable[[BlockKernel, Gpu], "str | None"]


def schedulers() -> tuple[Scheduler, ...]:
    """The GPUs' schedules, most specific first. Each returns a script (``steps.Steps``), in which the sequence has its name, or None."""
    return (attention_matrices.schedule_with_engine, attention_matrices.schedule, attention.schedule, warpgroups.schedule,
            tensor_cores.schedule, cooperative.schedule, skinny.schedule, dot_products.schedule, products.schedule, products.undivided,
            depthwise.schedule, transposes.schedule, shared_rows.schedule, long_rows.schedule, register_rows.schedule,
            uneven_rows.schedule, nests.schedule, nests.separate)


def schedules(kernel: StructuredKernel, machine: Gpu) -> Iterator[str]:
    """The transform scripts of a kernel on a GPU, best first; without any, each point of its parallel loops gets a thread."""
    if not machine.schedules or not isinstance(kernel, BlockKernel) or not kernel.is_plain:
        return
    yield from (text for scheduler in schedulers() if (text := scheduler(kernel, machine)) is not None)
