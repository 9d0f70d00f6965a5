"""Bugs put into passes: each fuzzer finds its own among few programs."""
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from campaign import processor_seconds
from fuzzing import attempt, subject
from mutation.saved_files import SavedFiles

from legato import compile_cache
from legato.core.ir_helpers import find
from legato.core.mlir import arith, ir
from legato.dialects import Module
from legato.dialects.relax.markers import EXTERNAL
from legato.passes.gpu.launch_loops import LaunchLoops
from legato.passes.legalize.legalize import Legalize
from legato.passes.loops.lower_loops import LowerLoops
from legato.passes.loops.raise_loops import RaiseLoops
from legato.passes.partition.outline_external import OutlineExternal
from legato.passes.structured.fuse import Fuse


def sums_as_differences(module):
    for op in find(module.operation, "arith.addf"):
        with ir.InsertionPoint(op), op.location:
            op.results[0].replace_all_uses_with(arith.SubFOp(op.operands[0], op.operands[1]).result)
        op.erase()


def maxima_as_minima(module):
    for op in find(module.operation, "arith.maximumf", "arith.maxnumf"):
        with ir.InsertionPoint(op), op.location:
            op.results[0].replace_all_uses_with(arith.MinimumFOp(op.operands[0], op.operands[1]).result)
        op.erase()


def shorter_loops(module):
    for op in find(module.operation, "scf.for"):
        with ir.InsertionPoint(op), op.location:
            op.operands[1] = arith.SubIOp(op.operands[1], arith.ConstantOp(ir.IndexType.get(), 1).result).result


def smaller_blocks(module):
    """A thread of each block too few."""
    for op in find(module.operation, "gpu.launch"):
        with ir.InsertionPoint(op), op.location:
            op.operands[3] = arith.MaxSIOp(arith.SubIOp(op.operands[3], arith.ConstantOp(ir.IndexType.get(), 1).result).result,
                                           arith.ConstantOp(ir.IndexType.get(), 1).result).result


def swapped_inputs(module):
    """The first two inputs of a part, where they have one type."""
    declared = {f.name.value: f.type.inputs for f in module.functions() if EXTERNAL in f.attributes}
    for op in find(module.operation, "func.call"):
        inputs = declared.get(op.attributes["callee"].value, ())
        if len(inputs) > 2 and inputs[0] == inputs[1]:
            op.operands[0], op.operands[1] = op.operands[1], op.operands[0]


def swapped_in_regions(module):
    """The first two operands of kernels in branches and loops, where they have one type."""
    for around in find(module.operation, "scf.if", "scf.while"):
        for op in find(around, "func.call"):
            if len(op.operands) > 2 and op.operands[0].type == op.operands[1].type:
                op.operands[0], op.operands[1] = op.operands[1], op.operands[0]


BUGS = {
    "gpu": (LaunchLoops, smaller_blocks, range(0, 12, 3)),
    "graphs": (Legalize, maxima_as_minima, range(8, 16)),
    "kernels": (RaiseLoops, sums_as_differences, range(6)),
    "partitions": (OutlineExternal, swapped_inputs, range(12)),
    "regions": (Fuse, swapped_in_regions, range(8, 16)),
    "schedules": (LowerLoops, shorter_loops, range(6)),
}


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_found(name, monkeypatch):
    pass_class, change, seeds = BUGS[name]
    original = pass_class.run

    def run(self, module, context):
        original(self, module, context)
        with module.context, ir.Location.unknown():
            change(module)

    monkeypatch.setattr(pass_class, "run", run)
    kinds = []
    for seed in seeds:      # until one finds it
        kinds += [outcome.kind for outcome in attempt([subject(name)(seed)], seed)]
        if kinds[-1] == "wrong":
            return
    pytest.fail(f"no program finds it: {kinds}")


def test_mutated_files_find_a_reader_that_does_not_ask_for_its_file(monkeypatch):
    monkeypatch.setenv("LEGATO_CACHE", os.environ.get("LEGATO_CACHE", "off"))   # the files of the subject are made with another
    monkeypatch.setattr(compile_cache, "WORTH_IT", compile_cache.WORTH_IT)
    seed, subject = 171798691856410, SavedFiles()
    assert subject.run(seed, None) is None
    monkeypatch.setattr(Module, "load", lambda path, context=None: Module.parse(Path(path).read_bytes(), context=context))
    with pytest.raises(FileNotFoundError):   # what a worker reports
        subject.run(seed, None)


def test_the_time_of_a_program_is_the_processors():
    """What only waits, as on a busy machine, does not hang."""
    busy, idle = (subprocess.Popen([sys.executable, "-c", text]) for text in ("while True: pass", "import time; time.sleep(600)"))
    try:
        ends = time.monotonic() + 120
        while (processor_seconds(busy.pid) or 0) < 2 and time.monotonic() < ends:
            time.sleep(0.05)
        assert (processor_seconds(busy.pid) or 0) >= 2 > (processor_seconds(idle.pid) or 0)
    finally:
        for process in (busy, idle):
            process.kill()
            process.wait()
