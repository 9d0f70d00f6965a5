"""Arithmetic and views of main, as the check evaluates them."""
import numpy as np

from legato.checking.buffers import Memory
from legato.checking.memory_ops import OPS
from legato.checking.scalars import affine_map
from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects import Module, make_context


def test_affine_expressions_are_python_arithmetic():
    with make_context():
        d, e, s = ir.AffineExpr.get_dim(0), ir.AffineExpr.get_dim(1), ir.AffineExpr.get_symbol(0)
        down, up = ir.AffineExpr.get_floor_div(e, 4), ir.AffineExpr.get_ceil_div(e + s, 4)
        results = [d + e * 3, d % 5, down, up, ir.AffineExpr.get_constant(7), s]
        map_ = ir.AffineMap.get(2, 1, results)
        for a, b, c in ((9, -6, 2), (-1, 7, 0)):
            assert affine_map(map_, [a, b, c]) == [a + b * 3, a % 5, b // 4, -(-(b + c) // 4), 7, c]


def test_the_metadata_of_a_bare_pointer_has_no_sizes():
    module = Module.parse("""
func.func @f(%x: memref<f32>, %y: memref<3x4xf32>) {
  %a:2 = memref.extract_strided_metadata %x : memref<f32> -> memref<f32>, index
  %b:6 = memref.extract_strided_metadata %y : memref<3x4xf32> -> memref<f32>, index, index, index, index, index
  return
}""")
    bare, whole = find(module.operation, "memref.extract_strided_metadata")
    memory = Memory.holding(np.zeros((3, 4), np.float32))
    assert OPS[bare.name](bare, memory)[1:] == (0,)
    assert OPS[whole.name](whole, memory)[1:] == (0, 3, 4, 4, 1)
