"""The functions that tir-lower-packed puts in the places of declarations: each hands its arguments to the entry's code, as texts.

A packed function's arguments are described in a table of i64, one behind the other, each by its kind (tvm-ffi's type index) and: 70, a
tensor: data, dtype, rank, sizes; 1070, the same with gaps between its elements: strides too; 69, a shape: rank, sizes; 1, 2, 3, 4, 8, an
int, a bool, a float, a pointer, a text: its 64 bits.
"""
import struct
from collections.abc import Iterator, Sequence

from legato.core.dtypes import as_dtype, dlpack_dtype, numpy_dtype
from legato.core.mlir import func, ir
from legato.core.tvm_ffi_abi import BOOL, FLOAT, INT, POINTER, RAW_STR, SHAPE, STRIDED_TENSOR, TENSOR
from legato.dialects.relax.dialect import DimsAttr
from legato.dialects.relax.dims import Dim, Size, dims, from_attribute, given_symbols, parse
from legato.dialects.relax.markers import ARGUMENTS, PACKED, SIGNATURE, SIZES
from legato.dialects.tir.markers import DTYPES, TIR_PACKED
from legato.passes.memory.plan_memory.stages import result_types

DYNAMIC = ir.ShapedType.get_dynamic_size()
CALL = "llvm.func @legato.call_packed(!llvm.ptr, !llvm.ptr, i64) -> i32"
CALL_RETURNING = "llvm.func @legato.call_returning(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr, i64, i64, i64, !llvm.ptr) -> i32"
CALL_VALUE = "llvm.func @legato.call_value(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr) -> i32"
SET_SIZE = "llvm.func @legato.set_size(!llvm.ptr, i64, i64)"
FRAME_CHECK = "llvm.func @legato.frame_check(i64, i64, i64) -> i32"
FRAME_ARENA = "llvm.func @legato.frame_arena(!llvm.ptr, i64, i64) -> !llvm.ptr"
FRAME_RESULT = "llvm.func @legato.frame_result(!llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr"


class Lines:
    """The body of a function in the making; values are names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.globals: list[str] = []
        self._count = 0

    def value(self, text: str, results: int = 1) -> str:
        """A line that makes a value, or several: ``%v#0``, ``%v#1``, ..."""
        name = f"%v{self._count}"
        self._count += 1
        self.lines.append(f"  {name}{f':{results}' if results > 1 else ''} = {text}")
        return name

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def i64(self, value: "int | str") -> str:
        return self.value(f"llvm.mlir.constant({value} : i64) : i64") if isinstance(value, int) else value

    def of_index(self, value: str) -> str:
        return self.value(f"arith.index_cast {value} : index to i64")

    def words(self, values: Sequence["int | str"]) -> str:
        """The address of some i64 on the stack."""
        count = self.i64(max(1, len(values)))
        table = self.value(f"llvm.alloca {count} x i64 : (i64) -> !llvm.ptr")
        for at, value in enumerate(values):
            place = self.value(f"llvm.getelementptr {table}[{at}] : (!llvm.ptr) -> !llvm.ptr, i64")
            self.line(f"llvm.store {self.i64(value)}, {place} : i64, !llvm.ptr")
        return table

    def text(self, text: str, name: str) -> str:
        """The address of a text, as an i64."""
        escaped = "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\' else f"\\{b:02X}" for b in text.encode() + b"\0")
        self.globals.append(f'llvm.mlir.global internal constant @{name}("{escaped}")')
        at = self.value(f"llvm.mlir.addressof @{name} : !llvm.ptr")
        return self.value(f"llvm.ptrtoint {at} : !llvm.ptr to i64")

    def tensor(self, value: str, type_: ir.MemRefType, dtype: str) -> "Iterator[int | str]":
        """The row of a memref. ``dtype``: its elements' as the callee sees them."""
        is_dense = type_.layout == ir.MemRefType.get(type_.shape, type_.element_type).layout
        data = self.of_index(self.value(f"memref.extract_aligned_pointer_as_index {value} : {type_} -> index"))
        strides: list[str] = []
        if not is_dense:
            bare, rank = f"memref<{type_.element_type}>", type_.rank
            made = self.value(f"memref.extract_strided_metadata {value} : {type_} -> {', '.join([bare, *['index'] * (1 + 2 * rank)])}",
                              2 + 2 * rank)
            strides = [self.of_index(f"{made}#{2 + rank + axis}") for axis in range(rank)]
            width = self.i64(as_dtype(dtype).itemsize)
            shift = self.value(f"llvm.mul {self.of_index(f'{made}#1')}, {width} : i64")
            data = self.value(f"llvm.add {data}, {shift} : i64")
        yield TENSOR if is_dense else STRIDED_TENSOR
        yield data
        yield dlpack_dtype(dtype)
        yield type_.rank
        for axis, size in enumerate(type_.shape):
            yield size if size != DYNAMIC else self.of_index(self.value(
                f"memref.dim {value}, {self.value(f'arith.constant {axis} : index')} : {type_}"))
        yield from strides

    def scalar(self, value: str, type_: ir.Type, dtype: str) -> "Iterator[int | str]":
        """The row of a number or a pointer."""
        if dtype == "pointer":
            yield from (POINTER, self.value(f"llvm.ptrtoint {value} : !llvm.ptr to i64"))
        elif isinstance(type_, ir.IndexType):
            yield from (INT, self.of_index(value))
        elif isinstance(type_, ir.FloatType):
            wide = value if type_.width == 64 else self.value(f"arith.extf {value} : {type_} to f64")
            yield from (FLOAT, self.value(f"arith.bitcast {wide} : f64 to i64"))
        else:
            extend = "arith.extui" if dtype == "bool" or dtype.startswith("uint") else "arith.extsi"
            wide = value if type_.width == 64 else self.value(f"{extend} {value} : {type_} to i64")
            yield from (BOOL if dtype == "bool" else INT, wide)

    def memref(self, pointer: str, type_: ir.MemRefType, sizes: Sequence[str]) -> str:
        """A memref at a pointer. ``sizes``: index values of its dynamic sizes."""
        struct_ = "!llvm.struct<(ptr, ptr, i64)>"
        made = self.value(f"llvm.mlir.undef : {struct_}")
        for at, value in enumerate((pointer, pointer, self.i64(0))):
            made = self.value(f"llvm.insertvalue {value}, {made}[{at}] : {struct_}")
        bare = f"memref<{type_.element_type}>"
        bare_value = self.value(f"builtin.unrealized_conversion_cast {made} : {struct_} to {bare}")
        if not type_.rank:
            return bare_value
        given = iter(sizes)
        shape = [str(s) if s != DYNAMIC else next(given) for s in type_.shape]
        strides = ["1"]
        for size in reversed(shape[1:]):
            strides.append(self._product(size, strides[-1]))
        return self.value(f"memref.reinterpret_cast {bare_value} to offset: [0], sizes: [{', '.join(shape)}], "
                          f"strides: [{', '.join(reversed(strides))}] : {bare} to {type_}")

    def _product(self, a: str, b: str) -> str:
        if not a.startswith("%") and not b.startswith("%"):
            return str(int(a) * int(b))
        a, b = (x if x.startswith("%") else self.value(f"arith.constant {x} : index") for x in (a, b))
        return self.value(f"arith.muli {a}, {b} : index")


def arguments_table(lines: Lines, name: str, given: Sequence[tuple[str, ir.Type, str]], listed: Sequence[ir.Attribute],
                    sizes: dict[Size, str]) -> tuple[str, int]:
    """The table of a call's arguments, and their number. ``given``: operands, each with its type and the dtype that the callee sees;
    ``listed``: as in ``relax.arguments``; ``sizes``: i64 values of sizes."""
    words: list[int | str] = []
    operands = iter(given)
    for number, argument in enumerate(listed):
        if isinstance(argument, ir.UnitAttr):
            value, type_, dtype = next(operands)
            words += lines.tensor(value, type_, dtype) if isinstance(type_, ir.MemRefType) else lines.scalar(value, type_, dtype)
        elif isinstance(argument, ir.StringAttr):
            words += [RAW_STR, lines.text(argument.value, f"legato.text.{name}.{number}")]
        elif isinstance(argument, ir.BoolAttr):
            words += [BOOL, int(argument.value)]
        elif isinstance(argument, ir.IntegerAttr):
            words += [INT, argument.value]
        elif isinstance(argument, ir.FloatAttr):
            words += [FLOAT, struct.unpack("<q", struct.pack("<d", argument.value))[0]]
        else:
            shape = from_attribute(argument if isinstance(argument, DimsAttr) else argument[0])
            values = [s if isinstance(s, int) else sizes[s] for s in shape]
            words += [SHAPE, len(values), *values] if isinstance(argument, DimsAttr) else [INT, values[0]]
    return lines.words(words), len(listed)


def packed_stub(declaration: func.FuncOp, names: Sequence[str], first_row: int | None, symbols: Sequence[str]) -> str:
    """The function that takes the place of a packed function's declaration. ``names``: all that main calls.

    ``first_row``: None in destination-passing style; else the first of the rows that describe its results to the entry: it takes the frame
    too, and the number of the first place there that holds what comes back; it gives a code and the results. ``symbols``: of the model, in
    the entry's order.
    """
    name = declaration.name.value
    types = [t for t in declaration.type.inputs if not isinstance(t, ir.IndexType)]
    declared = list(declaration.attributes[SIGNATURE].value.inputs)[:len(types)] if SIGNATURE in declaration.attributes else types
    needed = [parse(text.value) for text in declaration.attributes[SIZES]] if SIZES in declaration.attributes else []
    listed = list(declaration.attributes[ARGUMENTS]) if ARGUMENTS in declaration.attributes else []
    if listed:   # in destination-passing style the outputs come behind them
        listed += [ir.UnitAttr.get()] * (len(types) - sum(isinstance(a, ir.UnitAttr) for a in listed))
    results = [] if first_row is None else list(declaration.type.results)
    parameters = [f"%functions: memref<{len(names)}xi64>", *(["%frame: !llvm.ptr", "%slot: index"] if first_row is not None else []),
                  *(f"%a{i}: {t}" for i, t in enumerate(types)), *(f"%s{i}: index" for i in range(len(needed)))]
    lines = Lines()
    function = _function_of(lines, declaration.attributes[PACKED].value, names)
    sizes = {size: lines.of_index(f"%s{i}") for i, size in enumerate(needed)}
    given = [(f"%a{i}", type_, str(numpy_dtype(seen.element_type))) for i, (type_, seen) in enumerate(zip(types, declared))]
    table, count = arguments_table(lines, name, given, listed or [ir.UnitAttr.get()] * len(types), sizes)
    if first_row is None:
        code = lines.value(f"llvm.call @legato.call_packed({function}, {table}, {lines.i64(count)}) : (!llvm.ptr, !llvm.ptr, i64) -> i32")
        values = []
    else:
        for size in derived_sizes(declaration):
            number = lines.i64(symbols.index(str(size)))
            lines.line(f"llvm.call @legato.set_size(%frame, {number}, {sizes[size]}) : (!llvm.ptr, i64, i64) -> ()")
        out = lines.words([0] * sum(1 + t.rank for t in results))
        slot = lines.of_index("%slot")
        operands = [function, table, lines.i64(count), "%frame", slot, lines.i64(first_row), lines.i64(len(results)), out]
        code = lines.value(f"llvm.call @legato.call_returning({', '.join(operands)}) : "
                           "(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr, i64, i64, i64, !llvm.ptr) -> i32")
        values = list(_results(lines, out, results))
    return "\n".join([*lines.globals, *_function(name, parameters, values, results, lines, code), CALL,
                      *([CALL_RETURNING, SET_SIZE] if first_row is not None else [])])


def kernel_stub(declaration: func.FuncOp, names: Sequence[str]) -> str:
    """The function that takes the place of the declaration of a packed function that kernels call: it takes the functions and the operands,
    and gives a code, and the number that came back."""
    name, called = declaration.name.value, declaration.attributes[TIR_PACKED].value
    types, results = list(declaration.type.inputs), list(declaration.type.results)
    dtypes = [d.value for d in declaration.attributes[DTYPES]]
    listed = list(declaration.attributes[ARGUMENTS]) if ARGUMENTS in declaration.attributes else [ir.UnitAttr.get()] * len(types)
    parameters = [f"%functions: memref<{len(names)}xi64>", *(f"%a{i}: {t}" for i, t in enumerate(types))]
    lines = Lines()
    function = _function_of(lines, called, names)
    table, count = arguments_table(lines, name, [(f"%a{i}", t, d) for i, (t, d) in enumerate(zip(types, dtypes))], listed, {})
    if not results:
        code = lines.value(f"llvm.call @legato.call_packed({function}, {table}, {lines.i64(count)}) : (!llvm.ptr, !llvm.ptr, i64) -> i32")
        return "\n".join([*lines.globals, *_function(name, parameters, [], [], lines, code), CALL])
    out = lines.words([0])
    said = lines.value(f"llvm.inttoptr {lines.text(called, f'legato.name.{name}')} : i64 to !llvm.ptr")
    is_float = isinstance(results[0], ir.FloatType)
    operands = [function, table, lines.i64(count), said, lines.i64(FLOAT if is_float else INT), out]
    code = lines.value(f"llvm.call @legato.call_value({', '.join(operands)}) : "
                       "(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr) -> i32")
    number = lines.value(f"llvm.load {out} : !llvm.ptr -> {'f64' if is_float else 'i64'}")
    if results[0].width < 64:
        number = lines.value(f"arith.{'truncf' if is_float else 'trunci'} {number} : {'f64' if is_float else 'i64'} to {results[0]}")
    return "\n".join([*lines.globals, *_function(name, parameters, [number], results, lines, code), CALL_VALUE])


def _function_of(lines: Lines, name: str, names: Sequence[str]) -> str:
    """The function's handle, from the table that main is given."""
    number = lines.value(f"arith.constant {names.index(name)} : index")
    address = lines.value(f"memref.load %functions[{number}] : memref<{len(names)}xi64>")
    return lines.value(f"llvm.inttoptr {address} : i64 to !llvm.ptr")


def _function(name: str, parameters: Sequence[str], values: Sequence[str], types: Sequence[ir.Type], lines: Lines, code: str) -> list[str]:
    all_types = ", ".join(["i32", *map(str, types)])
    return [f"func.func private @{name}({', '.join(parameters)}) -> ({all_types}) {{", *lines.lines,
            f"  return {', '.join([code, *values])} : {all_types}", "}"]


def _results(lines: Lines, out: str, types: Sequence[ir.MemRefType]) -> Iterator[str]:
    """The memrefs that the entry's code has described: for each data and sizes."""
    at = 0

    def word(kind: str) -> str:
        nonlocal at
        place = lines.value(f"llvm.getelementptr {out}[{at}] : (!llvm.ptr) -> !llvm.ptr, i64")
        at += 1
        return lines.value(f"llvm.load {place} : !llvm.ptr -> {kind}")

    for type_ in types:
        pointer, sizes = word("!llvm.ptr"), [word("i64") for _ in range(type_.rank)]
        dynamic = [lines.value(f"arith.index_cast {v} : i64 to index") for v, s in zip(sizes, type_.shape) if s == DYNAMIC]
        yield lines.memref(pointer, type_, dynamic)


def derived_sizes(declaration: func.FuncOp) -> list[Dim]:
    """The sizes of results that are no multiple of one symbol: the entry is told their values, as if they were symbols."""
    found: dict[Dim, None] = {}
    for type_ in result_types(declaration):
        linear = {axis for _, axis, *_ in given_symbols(type_)}
        found |= {size: None for axis, size in enumerate(dims(type_)) if isinstance(size, Dim) and axis not in linear}
    return list(found)


def late_stub(name: str, kind: str, type_: ir.FunctionType) -> str:
    """The function for what main asks for in the middle of a call (memory/late.py)."""
    lines = Lines()
    parameters = ["%frame: !llvm.ptr", *(f"%a{i}: index" for i in range(len(type_.inputs)))]
    number, *sizes = [lines.of_index(f"%a{i}") for i in range(len(type_.inputs))]
    if kind == "legato.late_check":
        other = sizes[1] if len(sizes) == 2 else lines.i64(0)
        code = lines.value(f"llvm.call @legato.frame_check({number}, {sizes[0]}, {other}) : (i64, i64, i64) -> i32")
        return "\n".join([*_function(name, parameters, [], [], lines, code), FRAME_CHECK])
    if kind == "legato.late_arena":
        pointer = lines.value(f"llvm.call @legato.frame_arena(%frame, {number}, {sizes[0]}) : (!llvm.ptr, i64, i64) -> !llvm.ptr")
    else:
        shape = lines.words(sizes)
        pointer = lines.value(f"llvm.call @legato.frame_result(%frame, {number}, {shape}) : (!llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr")
    none = lines.value("llvm.mlir.zero : !llvm.ptr")
    missing = lines.value(f'llvm.icmp "eq" {pointer}, {none} : !llvm.ptr')
    good, failed = (lines.value(f"llvm.mlir.constant({c} : i32) : i32") for c in (0, -1))
    code = lines.value(f"llvm.select {missing}, {failed}, {good} : i1, i32")
    memory = lines.memref(pointer, type_.results[0], [])
    return "\n".join([*_function(name, parameters, [memory], list(type_.results), lines, code),
                      FRAME_ARENA if kind == "legato.late_arena" else FRAME_RESULT])
