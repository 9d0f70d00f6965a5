"""Part of tir-lower-packed: the arguments of a packed function as a table of words (i64) in memory, one argument after the other.

The first word of an argument is its type index (core/tvm_ffi_abi.py). For a tensor, data, dtype, rank and sizes follow; for one with gaps
between its elements (STRIDED_TENSOR) also its strides; for a shape rank and sizes; for anything else its value, or its address.
codegen/entry/packed.py reads the table.
"""
import struct
from collections.abc import Mapping, Sequence

from legato.core.dtypes import as_dtype, dlpack_dtype
from legato.core.ir_helpers import index
from legato.core.mlir import arith, ir, llvm, memref
from legato.core.tvm_ffi_abi import BOOL, FLOAT, INT, POINTER, RAW_STR, SHAPE, STRIDED_TENSOR, TENSOR
from legato.dialects.relax.dialect import DimsAttr
from legato.dialects.relax.dims import Size, from_attribute

DYNAMIC = ir.ShapedType.get_dynamic_size()
Word = int | ir.Value   # a number, or an i64


def i64() -> ir.Type:
    """The type of a word."""
    return ir.IntegerType.get_signless(64)


def word(value: Word) -> ir.Value:
    """A word as an i64."""
    return arith.ConstantOp(i64(), value).result if isinstance(value, int) else value


def word_of(value: ir.Value) -> ir.Value:
    """An index as a word."""
    return arith.IndexCastOp(i64(), value).result


def words(values: Sequence[Word]) -> ir.Value:
    """Words on the stack: a ``memref<Nxi64>`` of at least one word."""
    memory = memref.AllocaOp(ir.MemRefType.get([max(1, len(values))], i64()), [], []).memref
    for at, value in enumerate(values):
        memref.StoreOp(word(value), memory, [index(at)])
    return memory


def text_address(module: ir.Module, text: str, symbol: str) -> ir.Value:
    """The address of a new zero-terminated constant of the module."""
    content = text.encode() + b"\0"
    type_ = ir.Type.parse(f"!llvm.array<{len(content)} x i8>")
    with ir.InsertionPoint(module.body):
        llvm.GlobalOp(type_, symbol, ir.Attribute.parse("#llvm.linkage<internal>"), constant=True, value=ir.StringAttr.get(content))
    return llvm.AddressOfOp(ir.Type.parse("!llvm.ptr"), symbol).result


def described(module: ir.Module, name: str, operands: Sequence[tuple[ir.Value, str]], listed: Sequence[ir.Attribute],
              sizes: Mapping[Size, ir.Value]) -> list[Word]:
    """The words of a call's arguments. ``operands``: each with the dtype that the callee sees; ``listed``: all arguments, as in
    ``relax.arguments``; ``sizes``: the values of sizes, as words; ``name``: for the symbols of the call's constants."""
    found: list[Word] = []
    given = iter(operands)
    for number, argument in enumerate(listed):
        if isinstance(argument, ir.UnitAttr):
            found += _operand(*next(given))
        elif isinstance(argument, ir.StringAttr):
            address = text_address(module, argument.value, f"legato.text.{name}.{number}")
            found += [RAW_STR, llvm.PtrToIntOp(i64(), address).result]
        elif isinstance(argument, ir.BoolAttr):
            found += [BOOL, int(argument.value)]
        elif isinstance(argument, ir.IntegerAttr):
            found += [INT, argument.value]
        elif isinstance(argument, ir.FloatAttr):
            found += [FLOAT, struct.unpack("<q", struct.pack("<d", argument.value))[0]]
        else:
            shape = from_attribute(argument if isinstance(argument, DimsAttr) else argument[0])
            values = [s if isinstance(s, int) else sizes[s] for s in shape]
            found += [SHAPE, len(values), *values] if isinstance(argument, DimsAttr) else [INT, values[0]]
    return found


def _operand(value: ir.Value, dtype: str) -> list[Word]:
    """The words of a memref, a number or a pointer."""
    if isinstance(value.type, ir.MemRefType):
        return _tensor(value, dtype)
    if dtype == "pointer":
        return [POINTER, llvm.PtrToIntOp(i64(), value).result]
    if isinstance(value.type, ir.IndexType):
        return [INT, word_of(value)]
    if isinstance(value.type, ir.FloatType):
        f64 = ir.F64Type.get()
        return [FLOAT, arith.BitcastOp(i64(), value if value.type == f64 else arith.ExtFOp(f64, value).result).result]
    extend = arith.ExtUIOp if dtype == "bool" or dtype.startswith("uint") else arith.ExtSIOp
    return [BOOL if dtype == "bool" else INT, value if value.type == i64() else extend(i64(), value).result]


def _tensor(value: ir.Value, dtype: str) -> list[Word]:
    type_ = ir.MemRefType(value.type)
    data = word_of(memref.ExtractAlignedPointerAsIndexOp(value).aligned_pointer)
    sizes: list[Word] = [size if size != DYNAMIC else word_of(memref.DimOp(value, index(axis)).result)
                         for axis, size in enumerate(type_.shape)]
    if type_.layout == ir.MemRefType.get(type_.shape, type_.element_type).layout:
        return [TENSOR, data, dlpack_dtype(dtype), type_.rank, *sizes]
    _, offset, *rest = memref.ExtractStridedMetadataOp(value).results
    shift = arith.MulIOp(word_of(offset), word(as_dtype(dtype).itemsize)).result
    strides = [word_of(stride) for stride in rest[type_.rank:]]
    return [STRIDED_TENSOR, arith.AddIOp(data, shift).result, dlpack_dtype(dtype), type_.rank, *sizes, *strides]
