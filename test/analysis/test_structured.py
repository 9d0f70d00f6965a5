"""The classifier of kernels: kinds, forms, and how long a classification is kept."""
from dataclasses import dataclass
from typing import ClassVar

import pytest

from legato.analysis.structured import (
    CONTRACTION,
    ELEMENTWISE,
    OPAQUE,
    PARALLEL,
    REDUCTION,
    WINDOW,
    StructuredKernel,
    StructuredKernels,
    StructuredOp,
)
from legato.core.mlir import ir
from legato.dialects import tir
from legato.dialects.loading import make_context
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.pipeline import PassPipeline

MATMUL = """
func.func private @matmul(%x: tensor<4x?xf32>, %w: tensor<?x16xf32>, %b: tensor<16xf32>, %out: tensor<4x16xf32>)
    -> tensor<4x16xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<4x?xf32>, tensor<?x16xf32>) outs(%0 : tensor<4x16xf32>) -> tensor<4x16xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%1, %b : tensor<4x16xf32>, tensor<16xf32>) outs(%out : tensor<4x16xf32>) {
  ^bb0(%p: f32, %q: f32, %r: f32):
    %3 = arith.addf %p, %q : f32
    linalg.yield %3 : f32
  } -> tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
}"""

CONV = """
func.func private @conv(%x: tensor<1x9x9x3xf32>, %w: tensor<3x3x3x8xf32>, %out: tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  %1 = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<1x9x9x3xf32>, tensor<3x3x3x8xf32>) outs(%0 : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  return %1 : tensor<1x4x4x8xf32>
}"""

POOL = """
func.func private @pool(%x: tensor<1x8x8x4xf32>, %out: tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32> {
  %low = arith.constant -1.0 : f32
  %k = tensor.empty() : tensor<3x3xf32>
  %p = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %low : f32
  } : tensor<1x8x8x4xf32> to tensor<1x10x10x4xf32>
  %0 = linalg.fill ins(%low : f32) outs(%out : tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
  %1 = linalg.pooling_nhwc_max {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%p, %k : tensor<1x10x10x4xf32>, tensor<3x3xf32>) outs(%0 : tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
  return %1 : tensor<1x8x8x4xf32>
}"""


def generic(maps: str, iterators: str, body: str, inputs: int = 1) -> str:
    """A kernel of one generic on 4x4 tensors."""
    names = [f"%x{i}" for i in range(inputs)]
    types = ", ".join(["tensor<4x4xf32>"] * inputs)
    arguments = ", ".join(f"{name}: tensor<4x4xf32>" for name in [*names, "%out"])
    scalars = ", ".join(f"%{c}: f32" for c in "abc"[: inputs + 1])
    return f"""
func.func private @k({arguments}) -> tensor<4x4xf32> {{
  %0 = linalg.generic {{indexing_maps = [{", ".join(f"affine_map<{m}>" for m in maps.split(";"))}], iterator_types = [{iterators}]}}
      ins({", ".join(names)} : {types}) outs(%out : tensor<4x4xf32>) {{
  ^bb0({scalars}):
    {body}
  }} -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}}"""


TWO, THREE = '"parallel", "parallel"', '"parallel", "parallel", "reduction"'
ID = "(i, j) -> (i, j)"
KINDS = {
    "elementwise": (generic(f"{ID};{ID}", TWO, "%e = math.exp %a : f32\nlinalg.yield %e : f32"), ELEMENTWISE),
    "a transposed output": (generic(f"{ID};(i, j) -> (j, i)", TWO, "%e = math.exp %a : f32\nlinalg.yield %e : f32"), OPAQUE),
    "a gather": (generic(f"{ID};{ID}", TWO, "%i = linalg.index 0 : index\n%e = tensor.extract %x0[%i, %i] : tensor<4x4xf32>\n"
                                            "linalg.yield %e : f32"), OPAQUE),
    "a contraction": (generic("(i, j, k) -> (i, k);(i, j, k) -> (k, j);(i, j, k) -> (i, j)", THREE,
                              "%m = arith.mulf %a, %b : f32\n%s = arith.addf %c, %m : f32\nlinalg.yield %s : f32", 2), CONTRACTION),
    "a maximum": (generic("(i, j, k) -> (i, k);(i, j, k) -> (i, j)", THREE, "%m = arith.maximumf %a, %b : f32\nlinalg.yield %m : f32"),
                  REDUCTION),
    "a product read at a fixed place": (
        generic("(i, j, k) -> (i, 0);(i, j, k) -> (k, j);(i, j, k) -> (i, j)", THREE,
                "%m = arith.mulf %a, %b : f32\n%s = arith.addf %c, %m : f32\nlinalg.yield %s : f32", 2), WINDOW),
    "a matmul and its bias": (MATMUL, CONTRACTION),
    "a convolution": (CONV, CONTRACTION),
    "pooling": (POOL, WINDOW),
    "a kernel that stays as it is": (MATMUL.replace("{tir.prim_func}", "{tir.prim_func, tir.state = \"written\"}"), OPAQUE),
}


class Parsed:
    """A kernel of a text, with its classification; keeps the module."""

    def __init__(self, text: str):
        with make_context():
            self.module = ir.Module.parse(text)
        self.function = self.module.body.operations[0]
        self.kernel = StructuredKernel(self.function)


@pytest.mark.parametrize("case", KINDS)
def test_kinds_of_kernels(case):
    text, kind = KINDS[case]
    assert Parsed(text).kernel.kind == kind


def test_loops_of_named_ops_and_generics():
    parsed = Parsed(MATMUL)
    _, matmul, bias = parsed.kernel.structured
    assert matmul.iterator_types == [PARALLEL, PARALLEL, REDUCTION] and matmul.extents == [4, 16, -1]
    assert matmul.loops_of(1) == [2, 1] and matmul.out_loops == [0, 1]
    assert bias.iterator_types == [PARALLEL, PARALLEL] and bias.is_pointwise and bias.loops_of(1) == [1]


def test_the_form_of_a_matmul_with_a_reader():
    parsed = Parsed(MATMUL)
    kernel = parsed.kernel
    form = kernel.contraction
    assert form is not None and form.op == kernel.structured[1].op and form.epilogue == (kernel.structured[2],)
    assert (form.rows, form.columns, form.reductions, form.weight, form.extents) == ((0,), (1,), (2,), 1, (4, 16, None))
    assert form.path == (0, 0) and form.dims == {0: 0, 1: 1} and kernel.window is None


def test_the_form_of_a_convolution():
    parsed = Parsed(CONV)
    form = parsed.kernel.contraction
    assert form is not None and form.is_window and form.decomposes
    assert (form.rows, form.columns, form.filters) == ((0, 1, 2), (3,), (4, 5)) and form.row_stride == 2


def test_the_form_of_a_padded_pooling():
    parsed = Parsed(POOL)
    kernel = parsed.kernel
    form = kernel.window
    assert form is not None and kernel.contraction is None and kernel.pads and kernel.has_strange_ops
    assert form.pad is not None and form.reader is None and form.source == kernel.function.arguments[0]
    assert form.axes[0].inside() == (1, 7) and form.axes[1].reads(0, 1) == (0, 2, 1, 0)


def test_two_contractions_have_no_heart():
    twice = MATMUL.replace("  %2 =", "  %9 = linalg.matmul ins(%x, %w : tensor<4x?xf32>, tensor<?x16xf32>) outs(%1 : tensor<4x16xf32>)"
                                     " -> tensor<4x16xf32>\n  %2 =").replace("ins(%1, %b", "ins(%9, %b")
    parsed = Parsed(twice)
    kernel = parsed.kernel
    assert kernel.heart is None and kernel.contraction is None and kernel.kind == CONTRACTION


def test_readers_and_roots():
    parsed = Parsed(MATMUL)
    kernel = parsed.kernel
    fill, matmul, bias = kernel.nests
    assert not kernel.has_strange_ops and kernel.roots == [bias]
    assert kernel.readers(fill) == [matmul] and kernel.readers(matmul) == [bias]
    assert not kernel.leaves(fill) and kernel.leaves(bias) and kernel.is_flat


@dataclass(frozen=True)
class Looks(ModulePass):
    """Notes which classification it finds; ``drops``: says that the kernel was rewritten."""

    name: ClassVar[str] = "test-looks"
    keeps_kernels: ClassVar[bool] = True
    drops: bool = False

    def run(self, module: Module, context: PassContext) -> None:
        kernel, = tir.prim_funcs(module.module)
        context.report.setdefault("seen", []).append(context.kernels.of(kernel))
        if self.drops:
            context.kernels.drop(kernel)


@dataclass(frozen=True)
class Forgets(ModulePass):
    """A pass that says nothing of kernels."""

    name: ClassVar[str] = "test-forgets"

    def run(self, module: Module, context: PassContext) -> None:
        pass


@pytest.mark.parametrize("between, same", [([], True), ([Forgets()], False), (["func.func(cse)"], False), ([Looks(drops=True)], False)])
def test_a_classification_is_kept_until_a_pass_rewrites_the_kernel(between, same):
    context = PassContext()
    with make_context() as mlir, mlir:
        module = Module(ir.Module.parse(MATMUL.replace("%out: tensor<4x16xf32>)", "%out: tensor<4x16xf32> {tir.out})")))
    PassPipeline([Looks(), *between, Looks()], extra_passes=(Looks, Forgets)).run(module, context)
    first, *_, last = context.report["seen"]
    assert (first is last) == same


def test_one_kernel_is_classified_once():
    kernels = StructuredKernels()
    parsed = Parsed(MATMUL)
    function = parsed.function
    found = kernels.of(function)
    assert kernels.of(function) is found and found.kind == CONTRACTION
    kernels.drop(function)
    assert kernels.of(function) is not found
    assert isinstance(found.op(found.ops[1]), StructuredOp) and found.op(found.ops[0]) is None
