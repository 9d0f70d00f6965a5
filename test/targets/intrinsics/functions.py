"""Functions that compute one op of the list over arrays, for all ops and element types, in one module.

``@exp_f32_scalar(memref<?xf32>, memref<?xf32>)`` loops over numbers, ``@exp_f32_vector`` over vectors of ``LANES``.
"""
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from legato.core.mlir import arith, func, ir, memref, scf, vector
from legato.dialects.loading import make_context
from legato.targets.intrinsics.lanes import Lanes
from legato.targets.intrinsics.ops import FLOAT, OPS, SIGNED, Ufunc

LANES = 16
DTYPES = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i16": np.int16, "i32": np.int32,
    "i64": np.int64, "ui8": np.uint8, "ui16": np.uint16, "ui32": np.uint32, "ui64": np.uint64,
}
KINDS = {name: FLOAT if "f" in name else "unsigned" if name.startswith("u") else SIGNED for name in DTYPES}


@dataclass(frozen=True)
class Case:
    """One op on one element type."""

    op: Ufunc
    dtype: str

    def __str__(self) -> str:
        return f"{self.op.name}_{self.dtype}"


CASES = [Case(op, dtype) for op in OPS for dtype in DTYPES if KINDS[dtype] in op.kinds]


def element(dtype: str) -> ir.Type:
    """The type as relax means it: unsigned where it is."""
    return ir.Type.parse(dtype)


def plain(dtype: str) -> ir.Type:
    return ir.Type.parse(dtype.removeprefix("u"))


def operand_types(case: Case) -> list[ir.Type]:
    return [plain(case.dtype) if letter == "x" else ir.IntegerType.get_signless(32) for letter in case.op.operands]


def result_types(case: Case) -> list[ir.Type]:
    """What lies in memory: booleans as bytes. Found by building the op once."""
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        function = func.FuncOp("probe", ir.FunctionType.get(operand_types(case), []))
    with ir.InsertionPoint(function.add_entry_block()):
        results = case.op.build(Lanes(element(case.dtype)), *function.arguments)
        results = [results] if isinstance(results, ir.Value) else list(results)
        types = [r.type for r in results]
    return [ir.IntegerType.get_signless(8) if t == ir.IntegerType.get_signless(1) else t for t in types]


def add_function(module: ir.Module, case: Case, lanes: int) -> None:
    """The loop over arrays: of numbers (``lanes`` 0), or of vectors."""
    dynamic, index = ir.ShapedType.get_dynamic_size(), ir.IndexType.get()
    given, made = operand_types(case), result_types(case)
    types = [ir.MemRefType.get([dynamic], t) for t in [*given, *made]]
    with ir.InsertionPoint(module.body):
        function = func.FuncOp(f"{case}_{'vector' if lanes else 'scalar'}", ir.FunctionType.get(types, []))
    function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
    with ir.InsertionPoint(function.add_entry_block()):
        buffers = list(function.arguments)
        zero, step = arith.ConstantOp(index, 0).result, arith.ConstantOp(index, max(lanes, 1)).result
        loop = scf.ForOp(zero, memref.DimOp(buffers[0], zero).result, step)
        with ir.InsertionPoint(loop.body):
            at = [loop.induction_variable]
            shape = (lanes,) if lanes else None

            def wide(type_: ir.Type) -> ir.Type:
                return ir.VectorType.get([lanes], type_) if lanes else type_

            operands = [vector.LoadOp(wide(t), b, at).result if lanes else memref.LoadOp(b, at).result for t, b in zip(given, buffers)]
            results = case.op.build(Lanes(element(case.dtype), shape), *operands)
            results = [results] if isinstance(results, ir.Value) else list(results)
            for value, type_, buffer in zip(results, made, buffers[len(given):]):
                if value.type != wide(type_):
                    value = arith.ExtUIOp(wide(type_), value).result
                if lanes:
                    vector.StoreOp(value, buffer, at)
                else:
                    memref.StoreOp(value, buffer, at)
            scf.YieldOp([])
        func.ReturnOp([])


def add_value_function(module: ir.Module, case: Case, lanes: int, result: int) -> None:
    """The op on values: ``@exp_f32_scalar(f32) -> f32``, ``@exp_f32_vector(vector<4xf32>) -> ...``; one of its results."""
    types = [ir.VectorType.get([lanes], t) if lanes else t for t in operand_types(case)]
    name = f"{case}_{'vector' if lanes else 'scalar'}" + (f"_{result}" if case.op.results > 1 else "")
    with ir.InsertionPoint(module.body):
        function = func.FuncOp(name, ir.FunctionType.get(types, []))
    block = function.add_entry_block()
    with ir.InsertionPoint(block):
        results = case.op.build(Lanes(element(case.dtype), (lanes,) if lanes else None), *block.arguments)
        value = results if isinstance(results, ir.Value) else results[result]
        func.ReturnOp([value])
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, [value.type]))


def build_values(cases: list[Case], lanes: tuple[int, ...] = (0, 4)) -> ir.Module:
    """A module with the value functions of these cases."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        for case in cases:
            for one in lanes:
                with ir.Location.name(str(case)):
                    for result in range(case.op.results):
                        add_value_function(module, case, one, result)
        assert module.operation.verify()
        return module


def build(cases: list[Case], lanes: tuple[int, ...] = (0, LANES)) -> ir.Module:
    """A module with the functions of these cases."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        for case in cases:
            for one in lanes:
                with ir.Location.name(str(case)):
                    add_function(module, case, one)
        assert module.operation.verify()
        return module
