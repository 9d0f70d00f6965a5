"""Functions of the LLVM dialect that are made of parts of others, and calls of them."""
from collections.abc import Sequence

from legato.core.mlir import ir
from legato.dialects.tir.markers import PRIM_FUNC

CONSTANTS = ("llvm.mlir.constant", "llvm.mlir.zero", "llvm.mlir.poison", "llvm.mlir.undef", "llvm.mlir.addressof")
SHARED = ("target_cpu", "target_features", "passthrough", "prefer_vector_width", PRIM_FUNC)     # attributes of a function and its parts


def is_constant(value: ir.Value) -> bool:
    """Whether a value is a constant, which each function has of its own."""
    return not isinstance(value.owner, ir.Block) and value.owner.name in CONSTANTS


def declare(symbol: str, type_: str) -> ir.Operation:
    """A function, at the insertion point, without a body. ``type_``: such as ``!llvm.func<void (ptr, i64)>``."""
    i64 = ir.IntegerType.get_signless(64)
    return ir.Operation.create("llvm.func", [], [], {"sym_name": ir.StringAttr.get(symbol), "function_type": ir.TypeAttr.get(
        ir.Type.parse(type_)), "linkage": ir.Attribute.parse("#llvm.linkage<external>"), "CConv": ir.Attribute.parse("#llvm.cconv<ccc>"),
        "visibility_": ir.IntegerAttr.get(i64, 0)}, regions=1)


def declare_part(function: ir.Operation, name: str, type_: str) -> ir.Operation:
    """An internal function, at the insertion point, for a part of another one, compiled as that is. Its body is still to be made."""
    part = declare(f"{function.attributes['sym_name'].value}_{name}", type_)
    for shared in SHARED:
        if shared in function.attributes:
            part.attributes[shared] = function.attributes[shared]
    part.attributes["linkage"] = ir.Attribute.parse("#llvm.linkage<internal>")
    return part


def call(symbol: str, operands: Sequence[ir.Value], results: Sequence[ir.Type] = ()) -> ir.Operation:
    """A call, at the insertion point, of a function with one result or none."""
    attributes = {"callee": ir.FlatSymbolRefAttr.get(symbol), "fastmathFlags": ir.Attribute.parse("#llvm.fastmath<none>"),
                  "CConv": ir.Attribute.parse("#llvm.cconv<ccc>"), "TailCallKind": ir.Attribute.parse("#llvm.tailcallkind<none>"),
                  "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
                  "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0])}
    return ir.Operation.create("llvm.call", results, operands, attributes)


def short_type(type_: ir.Type) -> str:
    """A type as it is written within types of the dialect."""
    return str(type_).removeprefix("!llvm.")
