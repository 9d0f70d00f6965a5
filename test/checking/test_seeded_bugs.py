"""Bugs put into real passes and rules: each is caught by the name of its pass and by the model's name of the op.

A row of the table is a model, the pass, the op, and a patch. The passes before that one run unchecked, then the pass alone under the check.
"""
import math

import numpy as np
import pytest
from seeding import (
    CPU,
    after,
    after_upstream,
    before,
    entry,
    filled_with,
    first,
    repeat_operand,
    replaced,
    set_attribute,
    shorter_loop,
    skip,
    swap,
    wrapped,
)

import legato
from legato.core.ir_helpers import find
from legato.core.mlir import arith, ir
from legato.passes.cpu.lower_vectors import LowerVectors
from legato.passes.cpu.slice_transfers import SliceTransfers
from legato.passes.graph.canonicalize.canonicalize import Canonicalize
from legato.passes.graph.layout.convert_layout import ConvertLayout
from legato.passes.legalize.legalize import Legalize
from legato.passes.legalize.legalize_intrinsics import LegalizeIntrinsics
from legato.passes.memory.bufferize.drop_results import DropResults
from legato.passes.memory.bufferize.prepare_main import PrepareMain
from legato.passes.memory.plan_memory import plan_memory
from legato.passes.memory.plan_memory.placement import Placement
from legato.passes.structured.collapse_dims import CollapseDims
from legato.passes.structured.fuse import Fuse
from legato.passes.structured.schedule import ScheduleKernels
from legato.targets.generic import elementwise_binary, reductions


def merged(module):
    """What an elimination of common subexpressions that overlooks operands would do."""
    one, other = first(module, "relax.add"), first(module, "relax.subtract")
    other.results[0].replace_all_uses_with(one.results[0])
    other.erase()


def other_coefficient(module):
    """Changes a coefficient of a polynomial by a thousandth."""
    for op in [op for f in module.functions() if "softmax" in f.name.value for op in find(f.operation, "arith.constant")]:
        value = op.attributes["value"]
        if isinstance(value, ir.DenseElementsAttr) and isinstance(value.type.element_type, ir.F32Type):
            number = np.array(ir.DenseFPElementsAttr(value)).flat[0]
            if 0.1 < number < 0.2:   # of x^3 in exp(x)
                op.attributes["value"] = ir.DenseElementsAttr.get_splat(
                    value.type, ir.FloatAttr.get(value.type.element_type, float(number) * 1.5))
                return
    raise AssertionError("no coefficient was found")


def all_at_zero(original):
    def place(lives):
        found = original(lives)
        return Placement(tuple(0 for _ in found.offsets), found.total, found.without_reuse)
    return place


def smaller_arena(original):
    def place(lives):
        found = original(lives)
        return Placement(found.offsets, 64, found.without_reuse)
    return place


def wrong_mask(module):
    """A mask one element too short."""
    op = first(module, "vector.constant_mask", "softmax")
    op.attributes["mask_dim_sizes"] = ir.Attribute.parse("array<i64: 11>")


def other_output(module):
    """A kernel writes over its input."""
    op = first(module, "func.call", "main", 1)
    op.operands[2] = op.operands[0]


def inverted_branch(module):
    """Swaps both ways of the comparison of a loop's index and end."""
    op = first(module, "arith.cmpi", "fused_matmul")
    op.attributes["predicate"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 5)


BUGS = {
    # graph passes
    "a wrong sign": ("rows", "relax-canonicalize", 'relax.subtract "gap"', after(Canonicalize, swap("relax.subtract"))),
    "an op folded away": ("rows", "relax-canonicalize", 'relax.max "highest"', after(Canonicalize, skip("relax.negative"))),
    "an operand twice": ("rows", "relax-canonicalize", 'relax.less "smaller"', after(Canonicalize, repeat_operand("relax.less"))),
    "ops merged that differ": ("rows", "cse", 'relax.softmax "shares"', after_upstream("cse", merged)),
    "the wrong axis": ("rows", "relax-canonicalize", 'relax.softmax "shares"', after(
        Canonicalize, set_attribute("relax.softmax", "axis", "0 : i64"))),
    "a wrong permutation of a layout": ("image", "relax-convert-layout", None, after(
        ConvertLayout, set_attribute("relax.permute_dims", "axes", "array<i64: 0, 3, 2, 1>"))),
    # rules
    "a subtraction the wrong way round": ("rows", "relax-legalize", 'relax.subtract "gap"', entry(
        elementwise_binary._ARITHMETIC, "relax.subtract", lambda e, a, b: e.sub(b, a))),
    "greater for less": ("rows", "relax-legalize", 'relax.less "smaller"', entry(elementwise_binary._COMPARISONS, "relax.less", "gt")),
    "unsigned as signed": ("image", "relax-legalize", 'relax.maximum "greatest"', entry(
        elementwise_binary._ARITHMETIC, "relax.maximum", lambda e, a, b: arith.maxsi(a, b))),
    "a signed conversion of bytes": ("image", "relax-legalize", 'relax.astype "numbers"', after(
        Legalize, replaced("arith.uitofp", "arith.sitofp"))),
    "a maximum that begins at 0": ("rows", "relax-legalize", 'relax.max "highest"', after(Legalize, filled_with(0.0, "kernel_max"))),
    "a mean divided by one too many": ("rows", "relax-legalize", 'relax.mean "average"', wrapped(
        reductions, "count", lambda original: lambda x, axes, e: e.add(original(x, axes, e), e.const(1)))),
    "a softmax divided by nothing": ("rows", "relax-legalize", 'relax.softmax "shares"', after(Legalize, skip("arith.divf", "softmax", 1))),
    "a softmax that overflows": ("rows", "relax-legalize", 'relax.softmax "shares"', after(Legalize, skip("arith.subf", "softmax"))),
    "a wrong reciprocal": ("rows", "relax-legalize", 'relax.softmax "shares"', after(Legalize, swap("arith.divf", "softmax"))),
    "a broadcast along the wrong axis": ("square", "relax-legalize", 'relax.add "biased"', after(Legalize, set_attribute(
        "linalg.generic", "indexing_maps", "[affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>]",
        "kernel_add"))),
    "a transpose that does nothing": ("square", "relax-legalize", 'relax.permute_dims "turned"', after(Legalize, set_attribute(
        "linalg.transpose", "permutation", "array<i64: 0, 1>"))),
    "a dropped product": ("rows", "relax-legalize", 'relax.matmul "product"', after(Legalize, skip("linalg.matmul", "matmul", 2))),
    "a missing initialization": ("rows", "relax-legalize", 'relax.matmul "product"', after(Legalize, skip("linalg.fill", "matmul", 1))),
    # kernels on tensors
    "swapped operands of a call": ("rows", "tir-fuse", 'relax.subtract "gap"', after(Fuse, swap("func.call", "main", number=1))),
    "a lost factor": ("rows", "tir-collapse-dims", 'relax.multiply "mixed"', after(CollapseDims, skip("arith.mulf", "softmax"))),
    "a loop that ends a tile early": ("rows", "tir-schedule", 'relax.add "biased"', after(ScheduleKernels, shorter_loop("matmul"))),
    "a reduction that ends early": ("rows", "tir-schedule", 'relax.mean "average"', after(ScheduleKernels, shorter_loop("mean", 1))),
    "a row that is left out": ("rows", "tir-schedule", 'relax.multiply "mixed"', after(ScheduleKernels, shorter_loop("softmax"))),
    "a wrong tail mask": ("rows", "tir-schedule", 'relax.multiply "mixed"', after(ScheduleKernels, wrong_mask)),
    # memory
    "an overlapping plan": ("rows", "tir-plan-memory", None, wrapped(plan_memory, "place", all_at_zero)),
    "an arena that is too small": ("rows", "tir-plan-memory", None, wrapped(plan_memory, "place", smaller_arena)),
    "swapped results": ("square", "tir-prepare-main", None, after(PrepareMain, swap("func.return", "main", (0, 2)))),
    "an output of another kernel": ("rows", "tir-drop-results", None, after(DropResults, other_output)),
    # down to LLVM
    "a wrong coefficient": ("rows", "tir-legalize-intrinsics", 'relax.multiply "mixed"', after(LegalizeIntrinsics, other_coefficient)),
    "a vector the wrong way round": ("rows", "tir-lower-vectors", 'relax.subtract "gap"', after(
        LowerVectors, swap("arith.subf", "subtract"))),
    "a lost sign": ("rows", "tir-slice-transfers", 'relax.max "highest"', after(SliceTransfers, skip("arith.negf", "negative"))),
    "a branch the wrong way": ("rows", "convert-scf-to-cf", None, after_upstream("convert-scf-to-cf", inverted_branch)),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_is_caught_by_name(bug, monkeypatch):
    model, name, op, patch = BUGS[bug]
    module, text = before(model, name)
    patch(monkeypatch)
    monkeypatch.setattr("legato.checking.checker.SLOW", math.inf)     # on a busy machine, too, all sizes are tried
    with pytest.raises(legato.CheckFailed) as caught:
        legato.check(module, text, target=CPU, samples=4)
    assert caught.value.pass_name == name
    assert op is None or caught.value.op == op, str(caught.value)


def test_without_a_bug_nothing_is_found():
    """What the rows above begin with, and the same passes, are right."""
    for model, name in {(model, name) for model, name, _, _ in BUGS.values()}:
        module, text = before(model, name)
        report = legato.check(module, text, target=CPU, samples=2)
        assert not report.notes and not report.unchecked
