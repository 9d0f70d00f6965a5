"""A CPU whose kernels are prepared by a function of its own."""
import legato
from legato.mlir import ir


def mark(kernel, machine):
    kernel.attributes["test.vector_bits"] = ir.IntegerAttr.get(ir.IndexType.get(), machine.vector_bits)


npu = legato.Target("npu", parents=("llvm",), options={"cpu": "x86-64-v3"}, prepare_function=mark)
