"""Tells gcc's ThreadSanitizer of each access to memory that compiled code makes, the pool of threads and the entry included.

Instruments modules in the LLVM dialect as they are given to LLVM: a call of libtsan before each load and store, of as many bytes as it
moves (a masked one of those of its lanes that are set), and libtsan's own functions in place of atomic accesses, which order the others.
LLVM's pass for it is not in MLIR's wheel, and takes no access of more than 16 bytes. The process has libtsan loaded before all others:

    LD_PRELOAD=$(gcc -print-file-name=libtsan.so) python ...
"""
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from legato.codegen import engine, machine_code, units
from legato.codegen.entry import kept_results
from legato.core.ir_helpers import find
from legato.core.mlir import ir

SEQ_CST = 5     # of C's memory_order
SIGNATURES = {"__tsan_read_range": "void (ptr, i64)", "__tsan_write_range": "void (ptr, i64)",
              "__tsan_atomic64_load": "i64 (ptr, i32)", "__tsan_atomic64_fetch_add": "i64 (ptr, i64, i32)",
              "__tsan_atomic64_exchange": "i64 (ptr, i64, i32)",
              "__tsan_atomic64_compare_exchange_val": "i64 (ptr, i64, i64, i32, i32)"}
# operands: of the address, and of what has the type that is moved (None: the result)
PLAIN = {"llvm.load": ("read", 0, None), "llvm.store": ("write", 1, 0)}
MASKED = {"llvm.intr.masked.load": ("read", 0, 1, None), "llvm.intr.masked.store": ("write", 1, 2, 0),
          "llvm.intr.masked.gather": ("read", 0, 1, None), "llvm.intr.masked.scatter": ("write", 1, 2, 0)}
COPIES = ("llvm.intr.memcpy", "llvm.intr.memmove", "llvm.intr.memcpy.inline")
FILLS = ("llvm.intr.memset", "llvm.intr.memset.inline")
ATOMICS = ("llvm.atomicrmw", "llvm.cmpxchg")


@contextmanager
def instrumented() -> Iterator[None]:
    """Models that are compiled inside tell libtsan what they do. They keep no results: that nobody holds one any
    more is known by a count in tvm-ffi, whose atomic accesses libtsan does not see."""
    def engine_of(module: ir.Module, *operands: Any, **options: Any) -> engine.Engine:
        instrument(module)
        return engine.Engine(module, *operands, **options)

    units.forget()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_results, "LARGE", 1 << 60)
        for user in (machine_code, units):
            patch.setattr(user, "Engine", engine_of)
        yield
    units.forget()


def instrument(module: ir.Module) -> None:
    """Adds the calls to a module in the LLVM dialect. AssertionError for an atomic access that the entry does not make."""
    with module.context, ir.Location.unknown():
        declared = {op.attributes["sym_name"].value for op in module.body.operations if "sym_name" in op.attributes}
        with ir.InsertionPoint.at_block_begin(module.body):
            for name, type_ in SIGNATURES.items():
                if name not in declared:
                    module.body.append(ir.Operation.parse(f"llvm.func @{name}({type_.partition('(')[2].replace('ptr', '!llvm.ptr')}"
                                                          f"{'' if type_.startswith('void') else ' -> i64'}"))
        for op in find(module.operation, *PLAIN, *MASKED, *COPIES, *FILLS, *ATOMICS):
            with ir.InsertionPoint(op):
                _tell(op)


def _tell(op: ir.Operation) -> None:
    operands = list(op.operands)
    if op.name in ATOMICS or (op.name == "llvm.load" and ir.IntegerAttr(op.attributes["ordering"]).value):
        _replace_atomic(op)
    elif op.name in PLAIN:
        way, place, moved = PLAIN[op.name]
        _range(way, operands[place], _bytes(op.results[0].type if moved is None else operands[moved].type))
    elif op.name in MASKED:
        way, place, mask, moved = MASKED[op.name]
        _lanes(way, operands[place], operands[mask], op.results[0].type if moved is None else operands[moved].type)
    else:
        length = operands[2]
        _range("write", operands[0], length)
        if op.name in COPIES:
            _range("read", operands[1], length)


def _replace_atomic(op: ir.Operation) -> None:
    place, *values = [_as_word(value) for value in op.operands]
    place, order = op.operands[0], _constant(SEQ_CST, 32)
    if op.name == "llvm.load":
        found = _call("__tsan_atomic64_load", [place, order])
    elif op.name == "llvm.atomicrmw":
        kind = {0: "exchange", 1: "fetch_add"}[ir.IntegerAttr(op.attributes["bin_op"]).value]
        found = _call(f"__tsan_atomic64_{kind}", [place, *values, order])
    else:
        before = _call("__tsan_atomic64_compare_exchange_val", [place, *values, order, order])
        equal = _op("llvm.icmp", [before, values[0]], _int(1), predicate=_attribute(0))
        pair = _op("llvm.mlir.poison", [], op.results[0].type)
        for number, value in enumerate((_as(before, op.operands[1].type), equal)):
            pair = _op("llvm.insertvalue", [pair, value], pair.type, position=ir.DenseI64ArrayAttr.get([number]))
        found = pair
    op.results[0].replace_all_uses_with(_as(found, op.results[0].type))
    op.erase()


def _lanes(way: str, place: ir.Value, mask: ir.Value, moved: ir.Type) -> None:
    """The lanes of a vector whose mask is set; a range of no bytes is none."""
    vector = ir.VectorType(moved)
    size, zero = _bytes(vector.element_type), _constant(0)
    for lane in range(vector.shape[0]):
        index = _constant(lane)
        is_set = _op("llvm.extractelement", [mask, index], _int(1))
        if isinstance(place.type, ir.VectorType):
            at = _op("llvm.extractelement", [place, index], _pointer())
        else:
            at = _op("llvm.getelementptr", [place], _pointer(), elem_type=ir.TypeAttr.get(vector.element_type),
                     rawConstantIndices=ir.DenseI32ArrayAttr.get([lane]))
        _range(way, at, _op("llvm.select", [is_set, size, zero], _int(64)))


def _bytes(type_: ir.Type) -> ir.Value:
    """The bytes that a load or store of a type moves."""
    if isinstance(type_, ir.VectorType):
        bits = type_.shape[0] * _bits(type_.element_type)
        return _constant((bits + 7) // 8)
    if isinstance(type_, ir.IntegerType | ir.FloatType) or type_ == _pointer():
        return _constant((_bits(type_) + 7) // 8)
    null = _op("llvm.mlir.zero", [], _pointer())
    end = _op("llvm.getelementptr", [null], _pointer(), elem_type=ir.TypeAttr.get(type_), rawConstantIndices=ir.DenseI32ArrayAttr.get([1]))
    return _op("llvm.ptrtoint", [end], _int(64))


def _bits(type_: ir.Type) -> int:
    return type_.width if isinstance(type_, ir.IntegerType | ir.FloatType) else 64


def _range(way: str, place: ir.Value, size: ir.Value) -> None:
    _call(f"__tsan_{way}_range", [place, _as(size, _int(64))])


def _as_word(value: ir.Value) -> ir.Value:
    return _as(value, _int(64))


def _as(value: ir.Value, type_: ir.Type) -> ir.Value:
    if value.type == type_:
        return value
    if isinstance(value.type, ir.IntegerType) and isinstance(type_, ir.IntegerType):
        return _op("llvm.zext", [value], type_)
    return _op("llvm.ptrtoint" if type_ == _int(64) else "llvm.inttoptr", [value], type_)


def _call(symbol: str, operands: Sequence[ir.Value]) -> Any:
    results = [] if SIGNATURES[symbol].startswith("void") else [_int(64)]
    made = ir.Operation.create("llvm.call", results, operands, {
        "callee": ir.FlatSymbolRefAttr.get(symbol), "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0])})
    return made.results[0] if results else None


def _op(name: str, operands: Sequence[ir.Value], result: ir.Type, **attributes: ir.Attribute) -> ir.Value:
    return ir.Operation.create(name, [result], operands, attributes).results[0]


def _constant(number: int, bits: int = 64) -> ir.Value:
    return _op("llvm.mlir.constant", [], _int(bits), value=ir.IntegerAttr.get(_int(bits), number))


def _attribute(number: int) -> ir.Attribute:
    return ir.IntegerAttr.get(_int(64), number)


def _int(bits: int) -> ir.Type:
    return ir.IntegerType.get_signless(bits)


def _pointer() -> ir.Type:
    return ir.Type.parse("!llvm.ptr")
