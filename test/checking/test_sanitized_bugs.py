"""Bugs put into a pass that the sanitizers catch in compiled code: an index out of bounds, and a read of memory that nobody wrote."""
import numpy as np
import pytest
from checked_models import rows

import legato
from legato.core.ir_helpers import find
from legato.core.mlir import arith, ir
from legato.passes.structured.schedule import ScheduleKernels


def later_end(loop):
    """The loop takes a step too many."""
    with ir.InsertionPoint(loop), loop.location:
        loop.operands[1] = arith.AddIOp(loop.operands[1], loop.operands[2]).result


def earlier_end(loop):
    """The loop takes a step too few."""
    with ir.InsertionPoint(loop), loop.location:
        loop.operands[1] = arith.SubIOp(loop.operands[1], loop.operands[2]).result


def compiled(monkeypatch, kernel, change, target):
    """The model, after a change of the first loop of a scheduled kernel."""
    original = ScheduleKernels.run

    def run(self, module, context):
        original(self, module, context)
        with module.context, ir.Location.unknown():
            change(next(op for f in module.functions() if kernel in f.name.value for op in find(f.operation, "scf.for")))

    monkeypatch.setattr(ScheduleKernels, "run", run)
    return legato.compile(rows(), target, cache=False)


def inputs(count=17):
    random = np.random.default_rng(0)
    return [random.random(shape, np.float32) for shape in ((count, 12), (12, 12), (12,))]


def test_a_loop_that_ends_too_late_is_an_index_out_of_bounds(monkeypatch):
    exe = compiled(monkeypatch, "softmax", later_end, "llvm{check-bounds=true}")
    said = r"'fused_softmax_multiply' .* at .shares.: .* is out of bounds: index 17 of axis 0, which has 17 elements"
    with pytest.raises(IndexError, match=said):
        exe(*inputs())


def test_a_loop_that_ends_too_early_leaves_nan(monkeypatch):
    exe = compiled(monkeypatch, "matmul", earlier_end, "llvm{fill-memory=true}")
    assert any(np.isnan(result).any() for result in exe(*inputs(100)))    # more rows than a tile has
