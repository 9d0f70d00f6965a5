"""Constants of loops that are written by hand: equal ones are one op in shared_constants, at the beginning of the block."""
from legato.core.constants import constant, filled, shared_constants
from legato.core.ir_helpers import index
from legato.core.mlir import func, ir

TEXT = "func.func private @f() {\n  %0 = arith.constant 7 : i32\n  return\n}"


def test_equal_constants_are_one_op_at_the_beginning():
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(TEXT)
        function = module.body.operations[0]
        assert isinstance(function, func.FuncOp)
        block, f32, i64 = function.body.blocks[0], ir.F32Type.get(), ir.IntegerType.get_signless(64)
        vector, pair = ir.VectorType.get([4], f32), ir.VectorType.get([2], f32)
        with ir.InsertionPoint.at_block_terminator(block):
            with shared_constants(block):
                assert index(3) == index(3)
                assert index(3) != constant(ir.IntegerAttr.get(i64, 3), i64)
                assert filled(vector, ir.FloatAttr.get(f32, 1)) == filled(vector, ir.FloatAttr.get(f32, 1))
                assert filled(vector, ir.FloatAttr.get(f32, 1)) != filled(pair, ir.FloatAttr.get(f32, 1))
                assert constant(ir.FloatAttr.get(f32, 0.0), f32) != constant(ir.FloatAttr.get(f32, -0.0), f32)
            assert index(3) != index(3)
        module.operation.verify()
        assert [op.name for op in block.operations] == ["arith.constant"] * 9 + ["func.return"]
        assert str(block.operations[6].attributes["value"]) == "7 : i32"
