"""The functions that replace declarations in tir-lower-packed: each passes its arguments to a function of the entry.

The entry's functions (codegen/entry/packed.py, returned.py, frame.py) are declared here and defined by tir-emit-entry. Memory is passed
between them as bare pointers.
"""
from collections.abc import Sequence

from legato.core.dtypes import numpy_dtype
from legato.core.ir_helpers import index
from legato.core.mlir import arith, func, ir, memref
from legato.core.tvm_ffi_abi import FLOAT, INT
from legato.dialects.relax.dims import Dim, Size, dims, given_symbols, parse
from legato.dialects.relax.markers import ARGUMENTS, PACKED, SIGNATURE, SIZES
from legato.dialects.tir.markers import CHIP, DTYPES, LATE_CHECK, TIR_PACKED
from legato.passes.calls.arguments import DYNAMIC, described, i64, text_address, word, word_of, words
from legato.passes.memory.plan_memory.late import ARENA, TURN
from legato.passes.memory.plan_memory.stages import result_types

# the entry's functions, with !llvm.ptr for a frame and a text
ENTRY_FUNCTIONS = {
    "legato.set_size": "(!llvm.ptr, i64, i64) -> ()",
    "legato.frame_check": "(i64, i64, i64) -> i32",
    "legato.frame_arena": "(!llvm.ptr, i64, i64) -> memref<1xi8>",
    "legato.frame_result": "(!llvm.ptr, i64, memref<1xi64>) -> memref<1xi8>",
    "legato.frame_turn": "(!llvm.ptr, i64, i64) -> memref<1xi8>",
    "legato.cuda_frame_arena": "(!llvm.ptr, i64, i64) -> memref<1xi8>",
    "legato.cuda_frame_turn": "(!llvm.ptr, i64, i64) -> memref<1xi8>",
    "legato.cuda_frame_result": "(!llvm.ptr, i64, memref<1xi64>) -> memref<1xi8>",
    "legato.memory_at": "(i64) -> memref<1xi8>",
    "legato.call_returning": "(i64, memref<1xi64>, i64, !llvm.ptr, i64, i64, i64, memref<1xi64>) -> i32",
    "legato.call_packed": "(i64, memref<1xi64>, i64) -> i32",
    "legato.call_value": "(i64, memref<1xi64>, i64, !llvm.ptr, i64, memref<1xi64>) -> i32",
}


def packed_stub(module: ir.Module, declaration: func.FuncOp, names: Sequence[str], first_row: int | None, symbols: Sequence[str]) -> None:
    """Defines the function that main calls in the place of a packed function's declaration: it takes the functions (``names``: all that
    main calls), the operands and the values of sizes, and gives a code.

    ``first_row``: None in destination-passing style; else the first of the rows that describe its results to the entry: it takes the frame
    too, and the number of the first place there that holds what comes back, and gives the results. ``symbols``: of the model, in the
    entry's order.
   """
    types = [t for t in declaration.type.inputs if not isinstance(t, ir.IndexType)]
    declared = list(declaration.attributes[SIGNATURE].value.inputs)[:len(types)] if SIGNATURE in declaration.attributes else types
    needed = [parse(text.value) for text in declaration.attributes[SIZES]] if SIZES in declaration.attributes else []
    listed = list(declaration.attributes[ARGUMENTS]) if ARGUMENTS in declaration.attributes else []
    if listed:   # in destination-passing style the outputs follow
        listed += [ir.UnitAttr.get()] * (len(types) - sum(isinstance(a, ir.UnitAttr) for a in listed))
    results = [] if first_row is None else list(declaration.type.results)
    place = [] if first_row is None else [ir.Type.parse("!llvm.ptr"), ir.IndexType.get()]
    stub = _define(module, declaration, [_functions(names), *place, *types, *[ir.IndexType.get()] * len(needed)], results)
    stub.owner.attributes[PACKED] = declaration.attributes[PACKED]
    functions, *others = stub.arguments
    operands = others[len(place):len(place) + len(types)]
    with ir.InsertionPoint(stub):
        function = memref.LoadOp(functions, [index(names.index(declaration.attributes[PACKED].value))]).result
        sizes: dict[Size, ir.Value] = {size: word_of(value) for size, value in zip(needed, others[len(place) + len(types):])}
        dtypes = [str(numpy_dtype(seen.element_type)) for seen in declared]
        listed = listed or [ir.UnitAttr.get()] * len(types)
        table = _first(words(described(module, declaration.name.value, list(zip(operands, dtypes)), listed, sizes)))
        if first_row is None:
            func.ReturnOp([_call(module, "legato.call_packed", [function, table, word(len(listed))])])
            return
        frame, slot = others[:2]
        for size in derived_sizes(declaration):
            _call(module, "legato.set_size", [frame, word(symbols.index(str(size))), sizes[size]])
        to = words([0] * sum(1 + t.rank for t in results))
        code = _call(module, "legato.call_returning", [
            function, table, word(len(listed)), frame, word_of(slot), word(first_row), word(len(results)), _first(to)])
        func.ReturnOp([code, *_returned(module, to, results)])


def kernel_stub(module: ir.Module, declaration: func.FuncOp, names: Sequence[str]) -> None:
    """Defines the function that kernels call instead of a packed function's declaration: it takes the functions and the operands, and
    returns a code and the resulting number."""
    called = declaration.attributes[TIR_PACKED].value
    types, results = list(declaration.type.inputs), list(declaration.type.results)
    dtypes = [d.value for d in declaration.attributes[DTYPES]]
    listed = list(declaration.attributes[ARGUMENTS]) if ARGUMENTS in declaration.attributes else [ir.UnitAttr.get()] * len(types)
    stub = _define(module, declaration, [_functions(names), *types], results)
    functions, *operands = stub.arguments
    with ir.InsertionPoint(stub):
        function = memref.LoadOp(functions, [index(names.index(called))]).result
        table = _first(words(described(module, declaration.name.value, list(zip(operands, dtypes)), listed, {})))
        if not results:
            func.ReturnOp([_call(module, "legato.call_packed", [function, table, word(len(listed))])])
            return
        to, is_float = words([0]), isinstance(results[0], ir.FloatType)
        said = text_address(module, called, f"legato.name.{declaration.name.value}")
        code = _call(module, "legato.call_value", [
            function, table, word(len(listed)), said, word(FLOAT if is_float else INT), _first(to)])
        number = memref.LoadOp(to, [index(0)]).result
        if is_float:
            number = arith.BitcastOp(ir.F64Type.get(), number).result
        if results[0].width < 64:
            number = (arith.TruncFOp if is_float else arith.TruncIOp)(results[0], number).result
        func.ReturnOp([code, number])


def entry_function(main: func.FuncOp, name: str) -> str:
    """The symbol of a function of the entry that main calls, by its name for CPUs: those for models on a device have others."""
    return f"legato.{'cuda_' if CHIP in main.attributes else ''}{name}"


def late_stub(module: ir.Module, declaration: func.FuncOp, kind: str, main: func.FuncOp) -> None:
    """Defines the function for main's requests to its frame in the middle of a call (memory/plan_memory/late.py)."""
    results = list(declaration.type.results)
    stub = _define(module, declaration, [ir.Type.parse("!llvm.ptr"), *declaration.type.inputs], results)
    with ir.InsertionPoint(stub):
        frame = stub.arguments[0]
        number, *sizes = [word_of(value) for value in list(stub.arguments)[1:]]
        if kind == LATE_CHECK:
            func.ReturnOp([_call(module, "legato.frame_check", [number, sizes[0], sizes[1] if len(sizes) == 2 else word(0)])])
            return
        if kind in (ARENA, TURN):
            memory = _call(module, entry_function(main, {ARENA: "frame_arena", TURN: "frame_turn"}[kind]), [frame, number, sizes[0]])
        else:
            memory = _call(module, entry_function(main, "frame_result"), [frame, number, _first(words(sizes))])
        address = memref.ExtractAlignedPointerAsIndexOp(memory).aligned_pointer
        missing = arith.CmpIOp(arith.CmpIPredicate.eq, address, index(0)).result
        func.ReturnOp([arith.ExtSIOp(_i32(), missing).result, _shaped(memory, results[0], [])])   # -1 if out of memory


def derived_sizes(declaration: func.FuncOp) -> list[Dim]:
    """The sizes of results that are not a multiple of one symbol: main passes their values to the entry, as if they were symbols."""
    found: dict[Dim, None] = {}
    for type_ in result_types(declaration):
        linear = {axis for _, axis, *_ in given_symbols(type_)}
        found |= {size: None for axis, size in enumerate(dims(type_)) if isinstance(size, Dim) and axis not in linear}
    return list(found)


def _i32() -> ir.Type:
    return ir.IntegerType.get_signless(32)


def _functions(names: Sequence[str]) -> ir.Type:
    """The type of the table of functions."""
    return ir.MemRefType.get([len(names)], i64())


def _define(module: ir.Module, declaration: func.FuncOp, inputs: Sequence[ir.Type], results: Sequence[ir.Type]) -> ir.Block:
    """The body of a new function of the declaration's name, which returns a code before its results."""
    with ir.InsertionPoint(module.body):
        made = func.FuncOp(declaration.name.value, ir.FunctionType.get(list(inputs), [_i32(), *results]), visibility="private")
    return made.add_entry_block()


def _call(module: ir.Module, name: str, operands: Sequence[ir.Value]) -> ir.Value | None:
    """A call of a function of the entry, which is declared at its first use."""
    type_ = ir.FunctionType(ir.Type.parse(ENTRY_FUNCTIONS[name]))
    if not any(isinstance(op, func.FuncOp) and op.name.value == name for op in module.body.operations):
        with ir.InsertionPoint(module.body):
            func.FuncOp(name, type_, visibility="private").attributes["llvm.bareptr"] = ir.UnitAttr.get()
    results = func.CallOp(list(type_.results), ir.FlatSymbolRefAttr.get(name), list(operands)).results
    return results[0] if len(results) else None


def _first(memory: ir.Value) -> ir.Value:
    """The address of words in the form of a bare pointer: a memref of the first one."""
    return memref.ReinterpretCastOp(ir.MemRefType.get([1], i64()), memory, [], [], [], [0], [1], [1]).result


def _returned(module: ir.Module, to: ir.Value, types: Sequence[ir.MemRefType]) -> list[ir.Value]:
    """The memrefs of results whose data and sizes the entry has stored."""
    found, at = [], 0
    for type_ in types:
        data, *sizes = [memref.LoadOp(to, [index(at + i)]).result for i in range(1 + type_.rank)]
        at += 1 + type_.rank
        dynamic = [arith.IndexCastOp(ir.IndexType.get(), v).result for v, s in zip(sizes, type_.shape) if s == DYNAMIC]
        found.append(_shaped(_call(module, "legato.memory_at", [data]), type_, dynamic))
    return found


def _shaped(memory: ir.Value, type_: ir.MemRefType, dynamic: Sequence[ir.Value]) -> ir.Value:
    """Memory as a dense memref of a type. ``dynamic``: the values of its dynamic sizes."""
    scalar = memref.ViewOp(ir.MemRefType.get([], type_.element_type), memory, index(0), []).result
    if not type_.rank:
        return scalar
    given = iter(dynamic)
    sizes = [next(given) if size == DYNAMIC else size for size in type_.shape]
    strides: list[int | ir.Value] = [1]
    for size in reversed(sizes[1:]):
        strides.insert(0, _product(size, strides[0]))
    static = [[v if isinstance(v, int) else DYNAMIC for v in values] for values in (sizes, strides)]
    values = [[v for v in numbers if not isinstance(v, int)] for numbers in (sizes, strides)]
    return memref.ReinterpretCastOp(type_, scalar, [], values[0], values[1], [0], static[0], static[1]).result


def _product(a: int | ir.Value, b: int | ir.Value) -> int | ir.Value:
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    return arith.MulIOp(*(index(v) if isinstance(v, int) else v for v in (a, b))).result
