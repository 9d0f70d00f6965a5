"""Kernels on GPUs, under the targets' own schedules or random steps with threads and shared memory, against the kernels' own oracles.

Launches run on the CPU as ``legato.check`` runs them, in both orders of their threads, or on a Vulkan device where one is here.
"""
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import numpy as np
from fuzzing import OK, Arrays, Function, InvalidProgramError, Outcome
from joined import names_of
from kernel_programs import kernel
from random_steps import STEPS
from schedule_programs import ATTACHES, Steps, schedule

import legato
from legato import Schedule, ScheduleError
from legato.checking.errors import Misbehaved
from legato.checking.inputs import given_sample
from legato.checking.states import CheckedState, KeptResults
from legato.core.errors import LegatoError
from legato.dialects import make_context
from legato.targets.catalog import Catalog

EMULATED = "nvvm{approx=true}"
THREADS = ("blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y", "threadIdx.z")
MOST_THREADS = 32   # of a loop that is bound as it is
SCOPES = ("shared", "shared", "local", "global")


def _axis(random: Random, loop: Any, around: Sequence[Any]) -> str:
    """An axis for a loop, mostly one that no loop around the block has: blocks for those that are long, or of unknown length."""
    free = [name for name in THREADS if random.random() < 0.1 or name not in (one.operation.opview.thread for one in around)]
    short = loop.extent is not None and loop.extent <= MOST_THREADS
    return random.choice([name for name in free if short or name.startswith("block")] or THREADS)


OF_GPU = {
    **{name: STEPS[name] for name in ("split", "fuse", "reorder", "unroll", *ATTACHES, "decompose_reduction", "rfactor", "add_unit_loop",
                                      "transform_layout", "pad", "tile_product", "vectorize", "reindex", "transform_block_layout",
                                      "storage_align", "loop_partition", "decompose_padding")},
    "bind": lambda s, r, b, loop, around: s.bind(loop, _axis(r, loop, around)),
    "cache_read": lambda s, r, b, loop, around: s.cache_read(b, r.randrange(2), r.choice(SCOPES)),
    "cache_write": lambda s, r, b, loop, around: s.cache_write(b, 0, r.choice(SCOPES)),
    "set_scope": lambda s, r, b, loop, around: s.set_scope(b, 0, r.choice(SCOPES)),
}


def mapped(sch: Schedule, block: Any, random: Random) -> None:
    """Binds some of the loops around a block, where they are none of threads, as far as that is legal."""
    loops = sch.get_loops(block)
    if not loops or any(loop.operation.opview.thread for loop in loops):
        return
    try:
        outer = sch.fuse(*loops[: random.randint(1, min(2, len(loops)))])
        outer, inner = sch.split(outer, [None, random.choice((3, 8, 16, 32, 64))])
        sch.bind(outer, "blockIdx.x")
        sch.bind(inner, random.choice(("threadIdx.x", "threadIdx.x", "threadIdx.y")))
    except ScheduleError:   # a reduction, a block with statements around it, ...
        return


def _results(sch: Schedule, random: Random) -> None:
    if random.random() < 0.6:
        mapped(sch, sch.get_output_blocks()[0], random)


def _rest(sch: Schedule, random: Random) -> None:
    """What is in no launch becomes one."""
    for block in [*sch.get_output_blocks(), *(p for b in sch.get_output_blocks() for p in sch.get_producers(b))]:
        if repr(block) != "<gone>":
            mapped(sch, block, random)


STEPS_OF_GPU = Steps(OF_GPU, [*OF_GPU, *ATTACHES, "bind", "bind", "cache_read", "cache_write"], _results, _rest)


@cache
def has_vulkan() -> bool:
    """Whether a device and its driver are here."""
    from legato.runtime.vulkan.device import the_device

    try:
        the_device()
    except LegatoError:
        return False
    return True


def _by_emulation(module: legato.Module) -> Callable[[Arrays], list[np.ndarray]]:
    """The launches for NVIDIA's GPUs, run on the CPU."""
    lowered = legato.lower(module, EMULATED, last="outlined")
    context = legato.PassContext(resolve_target=Catalog().resolve)
    state = CheckedState(lowered, KeptResults(), context, EMULATED)
    main = state.main
    assert main is not None
    samples = []   # a state knows its runs by them

    def call(given: Arrays) -> list[np.ndarray]:
        samples.append(given_sample(main, [*given.values()]))
        return state.run(samples[-1]).results

    return call


def _on_vulkan(module: legato.Module) -> Callable[[Arrays], list[np.ndarray]]:
    executable = legato.compile(module, "vulkan")

    def call(given: Arrays) -> list[np.ndarray]:
        found = executable(*given.values())
        return [one if isinstance(one, np.ndarray) else np.from_dlpack(one) for one in (found if len(executable.outputs) > 1 else [found])]

    return call


@dataclass
class GpuProgram:
    """A kernel for a GPU. ``vulkan``: on a device, where one is here."""

    base: Function
    vulkan: bool

    @property
    def features(self) -> Counter[str]:
        return self.base.features

    def files(self) -> Mapping[str, str | bytes]:
        return self.base.files()

    def run(self, target: str) -> Outcome:
        del target
        context = make_context()
        try:
            module = self.base.build(context)
        except LegatoError as error:
            return Outcome("refused", str(error))
        inputs, outputs = names_of(module)
        way = _on_vulkan if self.vulkan and has_vulkan() else _by_emulation
        self.features[f"way {way.__name__.strip('_')}"] += 1
        try:
            run = way(module)
        except LegatoError as error:
            return Outcome("refused", str(error))
        for number, call in enumerate(self.base.calls):
            given = {name: call[name] for name in inputs}
            try:
                difference = self.base.verify(number, given, dict(zip(outputs, run(given), strict=True)))
            except Misbehaved as error:
                return Outcome("wrong", f"{way.__name__}; call {number}: {error}")
            except InvalidProgramError as error:
                return Outcome("invalid", str(error))
            if difference:
                return Outcome("wrong", f"{way.__name__}; call {number}: {[a.shape for a in given.values()]}\n{difference}")
        return OK


def gpu(seed: int) -> GpuProgram:
    """A program by its number: each third under the target's own schedules, each fourth on Vulkan."""
    return GpuProgram(kernel(seed // 3) if seed % 3 == 0 else schedule(seed, STEPS_OF_GPU), seed % 4 == 3)
