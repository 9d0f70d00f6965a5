"""Calls of packed functions of the run time from inside kernels.

A call is a ``func.call`` of a private declaration marked ``tir.packed = "name"``, on buffers and scalars, with at most one scalar result.
``tir.dtypes`` lists the type of each operand as the callee sees it (``"float32"``, ``"uint8"``, ``"bool"``, ``"index"``, ``"pointer"``):
MLIR's types do not tell signed from unsigned. ``relax.arguments``, as for graphs, lists all arguments if some of them are constant
strings or numbers.

```mlir
func.func private @log(memref<8xf32>, index) attributes {tir.packed = "my.log", tir.dtypes = ["float32", "index"]}
func.func private @k(...) attributes {tir.prim_func, tir.state = "written"} {
  ...
  func.call @log(%buffer, %i) : (memref<8xf32>, index) -> ()
```
"""
from collections.abc import Sequence

from legato.core.errors import LegatoError
from legato.core.ir_helpers import declares
from legato.core.mlir import func, ir
from legato.dialects.relax.markers import ARGUMENTS
from legato.dialects.tir.markers import DTYPES, TIR_PACKED

SCALARS = ("bool", "index", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
           "float16", "bfloat16", "float32", "float64")
POINTER = "pointer"


def call_packed(name: str, operands: Sequence[ir.Value], dtypes: Sequence[str], arguments: Sequence[ir.Attribute] = (),
                results: Sequence[ir.Type] = ()) -> list[ir.Value]:
    """A call of the packed function ``name`` at the insertion point inside a kernel. Returns its results.

    ``arguments``: all arguments in order, ``unit`` for an operand, if some are constants. LegatoError if the declaration would be invalid
    (``check_declaration``).
    """
    top = ir.InsertionPoint.current.block.owner
    while top.operation.name != "builtin.module":
        top = top.operation.parent
    body = top.operation.regions[0].blocks[0]
    marks = {TIR_PACKED: ir.StringAttr.get(name), DTYPES: ir.ArrayAttr.get([ir.StringAttr.get(d) for d in dtypes])}
    if arguments:
        marks[ARGUMENTS] = ir.ArrayAttr.get(list(arguments))
    type_ = ir.FunctionType.get([v.type for v in operands], list(results))
    there = {op.attributes["sym_name"].value: op for op in body.operations if "sym_name" in op.attributes}
    base = symbol = "packed_" + "".join(c if c.isalnum() else "_" for c in name)
    count = 0
    while symbol in there and not declares(there[symbol], type_, marks, (TIR_PACKED, DTYPES, ARGUMENTS)):
        count += 1
        symbol = f"{base}_{count}"
    if symbol not in there:
        with ir.InsertionPoint.at_block_begin(body), ir.Location.unknown():
            made = func.FuncOp(symbol, type_, visibility="private")
        for mark, value in marks.items():
            made.attributes[mark] = value
        try:
            check_declaration(made)
        except LegatoError:
            made.operation.erase()
            raise
    return list(func.CallOp(list(results), ir.FlatSymbolRefAttr.get(symbol), list(operands)).results)


def is_packed(function: ir.OpView) -> bool:
    """Whether a function declares a packed function that kernels call."""
    return TIR_PACKED in function.attributes


def check_declaration(function: func.FuncOp) -> None:
    """The verifier of such declarations. LegatoError for operands without a dtype, types that cannot be passed, more than one
    result, or a list of arguments with another number of operands."""
    name = f"the packed function '{function.attributes[TIR_PACKED].value}' (@{function.name.value})"
    if not function.is_external:
        raise LegatoError(f"{name} is a declaration: it has no body")
    inputs, results = list(function.type.inputs), list(function.type.results)
    dtypes = [d.value for d in function.attributes[DTYPES]] if DTYPES in function.attributes else []
    if len(dtypes) != len(inputs):
        raise LegatoError(f"{name} has {len(inputs)} operands, and {DTYPES} says what {len(dtypes)} of them are")
    for number, (type_, dtype) in enumerate(zip(inputs, dtypes)):
        buffer, pointer = isinstance(type_, ir.MemRefType), str(type_) == "!llvm.ptr"
        scalar = isinstance(type_, (ir.IntegerType, ir.FloatType, ir.IndexType))
        if pointer != (dtype == POINTER) or not (pointer or ((buffer or scalar) and dtype in SCALARS)):
            raise LegatoError(f"{name}: operand {number} is {type_}, as '{dtype}'; a packed function takes buffers, scalars and pointers, "
                              f"each as {', '.join(SCALARS)} or {POINTER}")
    if len(results) > 1 or any(not isinstance(r, (ir.IntegerType, ir.FloatType)) for r in results):
        raise LegatoError(f"{name} gives one number, or nothing, not {', '.join(map(str, results))}")
    listed = list(function.attributes[ARGUMENTS]) if ARGUMENTS in function.attributes else None
    if listed is not None and sum(isinstance(a, ir.UnitAttr) for a in listed) != len(inputs):
        raise LegatoError(f"{name}: {ARGUMENTS} has {sum(isinstance(a, ir.UnitAttr) for a in listed)} places for {len(inputs)} operands")
