"""The functions and calls that bufferization works on."""
from legato.core.ir_helpers import find
from legato.core.mlir import func, ir
from legato.dialects import tir
from legato.dialects.relax.markers import DONATED
from legato.dialects.tir.markers import EXTERN
from legato.dialects.tir.packed import is_packed
from legato.passes.memory.signature import Boundary, donors


def on_tensors(module: ir.Module) -> list[func.FuncOp]:
    """The functions of ``module``, without declarations of C functions and packed functions, which take no tensors."""
    functions = [op for op in module.body.operations if op.operation.name == "func.func"]
    return [f for f in functions if EXTERN not in f.attributes and not is_packed(f)]


def calls_in(module: ir.Module) -> list[ir.Operation]:
    """Every ``func.call`` in functions of ``module`` other than kernels."""
    callers = [op for op in module.body.operations if op.operation.name == "func.func" and not tir.is_prim_func(op)]
    return [call for caller in callers for call in find(caller.operation, "func.call")]


def donated(function: func.FuncOp) -> dict[int, ir.BlockArgument]:
    """The arguments whose memory results take, by the results' numbers."""
    if DONATED not in function.attributes:
        return {}
    return {result: function.arguments[donor] for result, donor in enumerate(donors(function, Boundary.of(function))) if donor >= 0}
