"""Kernels under schedules of random steps, against numpy: a step that is refused leaves the kernel as it was, and the trace replays."""
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from fuzzing import Arrays, Function, typed
from kernel_programs import kernel_of, parameter
from random_steps import STEPS
from scheduled_kernels import REFERENCES
from statement_chains import NAMES, statement_chain

import legato
from legato import Schedule, ScheduleError
from legato.core.mlir import ir
from legato.frontends.script.functions import PrimFunc

SHAPES = {"matmul_relu": [(16, 24), (24, 32)], "three_steps": [(30, 40)], "read_twice": [(30, 40)], "row_sum": [(8, 96)], "blur": [(34,)],
          "padded": [(8, 8)]}
ATTACHES = ("compute_at", "reverse_compute_at", "compute_inline", "reverse_compute_inline")
WEIGHTED = [*STEPS, *ATTACHES, "split", "reorder"]


@dataclass(frozen=True)
class Steps:
    """``table``: the steps by name; ``names``: what is chosen from; ``before``, ``after``: what is done to the kernel before and after the
    random steps."""

    table: Mapping[str, Callable[..., Any]]
    names: Sequence[str]
    before: Callable[[Schedule, Random], None] = lambda sch, random: None
    after: Callable[[Schedule, Random], None] = lambda sch, random: None


OF_CPU = Steps(STEPS, WEIGHTED)


def alive(handles: Sequence[Any]) -> list[Any]:
    """The handles whose block is still there."""
    return [handle for handle in handles if repr(handle) != "<gone>"]


def scheduled(module: legato.Module, seed: int, taken: Counter[str], steps: Steps = OF_CPU) -> Schedule:
    """The kernel of the module under random steps. ``taken``: counts those that were not refused. AssertionError for one that was, and
    changed the kernel."""
    r, sch = Random(f"steps {seed}"), Schedule(module)
    steps.before(sch, r)
    known = sch.get_child_blocks(sch.get_loops(sch.get_output_blocks()[0])[0])
    for _ in range(r.randint(2, 12)):
        found = alive([*known, *(p for b in alive(known) for p in sch.get_producers(b))])
        if not found:
            break
        block = r.choice(found)
        around = sch.get_loops(block)
        loops = [*around, *sch.get_loops(r.choice(found))]
        if not around:
            break
        name, before = r.choice(steps.names), str(sch.module)
        try:
            made = steps.table[name](sch, r, block, r.choice(loops), around)
        except ScheduleError as error:
            assert str(sch.module) == before, f"{name} was refused, and changed the kernel: {error}"
            taken["refused step"] += 1
            continue
        taken[f"step {name}"] += 1
        known = [*found, *([made] if hasattr(made, "operation") and made.operation.name == "tir.block" else [])][-8:]
    steps.after(sch, r)
    return sch


def schedule(seed: int, steps: Steps = OF_CPU) -> Function:
    """A kernel and its schedule by number: one of six kernels, or a random chain of statements."""
    numpy = np.random.default_rng(seed)
    if seed % 3 == 0:
        kernel = Random(seed).choice([*REFERENCES])
        text, reference = "", REFERENCES[kernel]

        def want(given: Arrays) -> list[np.ndarray]:
            return [reference(*given.values())]

        arrays = {name: (numpy.random(size) - 0.5).astype(np.float32) for name, size in zip("AB", SHAPES[kernel.__name__])}
    else:
        chain = statement_chain(seed)
        text = re.sub(r"\b(n|m|k)\b", rf"\g<1>{seed}", chain.text) if f"{NAMES[0]}, {NAMES[1]}" in chain.text else chain.text
        kernel = None
        arrays = {name: numpy.standard_normal(shape, np.float32) for name, shape in chain.shapes.items()}

        def want(given: Arrays) -> list[np.ndarray]:
            return chain.reference({parameter(name): array for name, array in given.items()})

    taken: Counter[str] = Counter()
    files: dict[str, str | bytes] = {"kernel.py": f"# {kernel.__name__ if kernel else 'chain'}, steps of seed {seed}\n{text}\n"}

    def start(context: ir.Context) -> legato.Module:
        return (kernel if isinstance(kernel, PrimFunc) else kernel_of(text)).module(context)

    def build(context: ir.Context) -> legato.Module:
        taken.clear()
        sch = scheduled(start(context), seed, taken, steps)
        files["steps.mlir"] = sch.trace
        assert sch.module.operation.verify()
        again = Schedule(start(context)).replay(sch.trace)
        assert str(again) == str(sch), "the trace replays to another kernel"
        return sch.module

    def verify(call: int, given: Arrays, found: Arrays) -> str:
        del call
        for (name, array), expected in zip(found.items(), want(given), strict=True):
            difference = typed(name, array, expected)
            if not difference and not np.allclose(array, expected, rtol=1e-3, atol=1e-4 * max(1.0, np.abs(expected).max(initial=0))):
                difference = f"output {name}: by {np.abs(array - expected).max()}"
            if difference:
                return difference
        return ""

    spelled = {spelling: array for name, array in arrays.items() for spelling in (name, f"{name}_")}
    return Function(build, [spelled], verify, files, taken)
