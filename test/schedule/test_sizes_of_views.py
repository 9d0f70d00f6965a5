"""Kernels in loops: sizes of tensors that go are computed from arguments. What read them kept reading freed memory."""
from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects import make_context
from legato.schedule.unraise import to_loops

KERNEL = """
func.func private @rows(%x: tensor<?x1x4xf32>, %out: tensor<?x4xf32> {tir.out}) -> tensor<?x4xf32> attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %flat = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x4xf32> into tensor<?x4xf32>
  %size = tensor.dim %flat, %c0 : tensor<?x4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]} ins(%flat : tensor<?x4xf32>) outs(%out : tensor<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %inside = tensor.dim %flat, %c0 : tensor<?x4xf32>
    %both = arith.addi %inside, %size : index
    %n = arith.index_cast %both : index to i32
    %f = arith.sitofp %n : i32 to f32
    %s = arith.addf %a, %f : f32
    linalg.yield %s : f32
  } -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
"""


def test_sizes_of_a_view_are_those_of_its_argument():
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(KERNEL)
        kernel = module.body.operations[0]
        to_loops(kernel)
        assert not find(module, "tensor.dim", "tensor.collapse_shape")
        buffer = find(module, "bufferization.to_buffer")[0].results[0]
        sizes = find(module, "memref.dim")
        assert sizes and all(size.operands[0] == buffer for size in sizes)
        assert module.operation.verify()
