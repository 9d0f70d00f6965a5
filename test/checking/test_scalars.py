"""Arithmetic of main, as the check evaluates it."""
from legato.checking.scalars import affine_map
from legato.core.mlir import ir
from legato.dialects import make_context


def test_affine_expressions_are_python_arithmetic():
    with make_context():
        d, e, s = ir.AffineExpr.get_dim(0), ir.AffineExpr.get_dim(1), ir.AffineExpr.get_symbol(0)
        down, up = ir.AffineExpr.get_floor_div(e, 4), ir.AffineExpr.get_ceil_div(e + s, 4)
        results = [d + e * 3, d % 5, down, up, ir.AffineExpr.get_constant(7), s]
        map_ = ir.AffineMap.get(2, 1, results)
        for a, b, c in ((9, -6, 2), (-1, 7, 0)):
            assert affine_map(map_, [a, b, c]) == [a + b * 3, a % 5, b // 4, -(-(b + c) // 4), 7, c]
