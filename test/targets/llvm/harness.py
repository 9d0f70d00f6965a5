"""Kernels of the generic rules, fused, scheduled, lowered and called from numpy, without frontend and runtime: what the tests here share.

    net = Net(machine)
    x = net.input((4, "n"))
    net.output(net.op("relax.softmax", [x], (4, "n"), axis=-1))
    y, = net.run(array)
"""
import ctypes
from dataclasses import replace
from types import SimpleNamespace

import ml_dtypes
import numpy as np

from legato.dialects import tir
from legato.mlir import execution_engine, func, ir, tensor
from legato.passes.bufferize import bufferize
from legato.passes.collapse import collapse_kernel
from legato.passes.expand_pads import ExpandPads
from legato.passes.fuse import Fuser
from legato.passes.lower import lower
from legato.passes.schedule import apply_script
from legato.targets.generic import RULES
from legato.targets.builtin import LLVM
from legato.targets.llvm.machine import Machine
from legato.passes.split_windows import split_windows
from legato.targets.llvm.prepare import prepare
from legato.targets.llvm.schedules import schedule

DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i1": np.bool_, "i8": np.int8,
          "i16": np.int16, "i32": np.int32, "i64": np.int64, "ui8": np.uint8}


class Descriptor:
    """A memref as C interfaces take it; of an array, or empty for a result."""

    def __init__(self, array: np.ndarray | None, rank: int):
        self.array = array
        words = [0] * (3 + 2 * rank)
        if array is not None:
            strides = [s // array.itemsize for s in array.strides]
            words = [array.ctypes.data, array.ctypes.data, 0, *array.shape, *strides]
        self.words = (ctypes.c_int64 * len(words))(*words)
        self.pointer = ctypes.c_void_p(ctypes.addressof(self.words))

    def result(self, dtype: np.dtype, rank: int) -> np.ndarray:
        """A copy of the buffer that a call put here, which is freed."""
        base, data, offset = self.words[:3]
        shape = list(self.words[3:3 + rank])
        dtype = np.dtype(dtype)
        count = int(np.prod(shape))
        raw = (ctypes.c_char * (count * dtype.itemsize)).from_address(data + offset * dtype.itemsize) if count else b""
        copy = np.frombuffer(bytes(raw), dtype).reshape(shape).copy()
        ctypes.CDLL(None).free(ctypes.c_void_p(base))
        return copy


class Net:
    """A graph of relax ops, compiled at the first run. Shapes hold ints and names of dynamic sizes."""

    def __init__(self, machine: Machine | None = None, fuse: bool = True, scheduled: bool = True):
        self.machine = machine or Machine.host()
        self.fuse, self.scheduled = fuse, scheduled
        self.context = ir.Context()
        self.context.allow_unregistered_dialects = True
        self.inputs, self.ops, self.outputs = [], [], []
        self.engine = None

    def input(self, shape, dtype="f32"):
        value = SimpleNamespace(shape=tuple(shape), dtype=dtype, index=len(self.inputs), op=None)
        self.inputs.append(value)
        return value

    def op(self, name, operands, shape, dtype="f32", **attributes):
        value = SimpleNamespace(shape=tuple(shape), dtype=dtype, op=name, operands=list(operands), attributes=attributes, index=len(self.ops))
        self.ops.append(value)
        return value

    def output(self, *values):
        self.outputs += values

    # building

    def type(self, value) -> ir.RankedTensorType:
        element = {"ui8": "ui8"}.get(value.dtype, value.dtype)
        shape = [s if isinstance(s, int) else ir.ShapedType.get_dynamic_size() for s in value.shape]
        return ir.RankedTensorType.get(shape, ir.Type.parse(element))

    def build(self) -> ir.Module:
        rules = {r.op: r for r in RULES}
        module = ir.Module.create()
        memory = [tir.plain_type(self.type(v)) for v in self.inputs]
        kernels = []
        for value in self.ops:
            types, out = [self.type(v) for v in value.operands], self.type(value)
            k = SimpleNamespace(name=value.op, attrs=value.attributes, input_types=types, output_types=[out], index=None)
            rule = rules[value.op]
            kernels.append(tir.prim_func(module, f"k{value.index}_" + value.op.split(".")[1], types, [out],
                                         lambda ins, outs, rule=rule, k=k: [rule.function(k, *ins, *outs)]))
        with ir.InsertionPoint(module.body):
            main = func.FuncOp("main", ir.FunctionType.get(memory, [tir.plain_type(self.type(v)) for v in self.outputs]))
            with ir.InsertionPoint(main.add_entry_block()):
                sizes = {}
                for value, argument in zip(self.inputs, main.arguments):
                    for axis, size in enumerate(value.shape):
                        if isinstance(size, str) and size not in sizes:
                            sizes[size] = tensor.DimOp(argument, ir.Operation.create("arith.constant", [ir.IndexType.get()], [], {
                                "value": ir.IntegerAttr.get(ir.IndexType.get(), axis)}).result).result
                values = {id(v): a for v, a in zip(self.inputs, main.arguments)}
                for value, kernel in zip(self.ops, kernels):
                    extents = [[sizes[s] for s in value.shape if isinstance(s, str)]]
                    values[id(value)], = tir.call_tir(kernel.name.value, [values[id(v)] for v in value.operands], [self.type(value)], extents)
                func.ReturnOp([values[id(v)] for v in self.outputs])
        return module

    def compile(self) -> ir.Module:
        with self.context, ir.Location.unknown():
            module = self.build()
            if self.fuse:
                Fuser(module).run()
            self.fused = str(module)
            self.scripts = {}
            if self.scheduled:
                self.schedule(module)
            self.tensors = str(module)
            module.operation.verify()
            bufferize(module)
            self.buffers = str(module)
            main = next(f for f in module.body.operations if f.operation.name == "func.func" and f.name.value == "main")
            main.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
            lower(module, replace(LLVM, make_machine=lambda _: self.machine), [])
            return module

    def schedule(self, module: ir.Module) -> None:
        """What the pipeline does to kernels between fusing and bufferizing."""
        for kernel in tir.prim_funcs(module):
            collapse_kernel(kernel)
            split_windows(kernel)
        ExpandPads().run(SimpleNamespace(module=module), None)
        for kernel in tir.prim_funcs(module):
            prepare(kernel, self.machine)
            text = schedule(kernel, self.machine)
            self.scripts[kernel.name.value] = text
            if text:
                apply_script(text, kernel)

    def run(self, *arrays):
        """The outputs for these inputs."""
        if self.engine is None:
            module = self.compile()
            with self.context:
                self.engine = execution_engine.ExecutionEngine(module, opt_level=int(__import__("os").environ.get("OPT","3")))
        results = [Descriptor(None, len(v.shape)) for v in self.outputs]
        if len(results) == 1:
            first = results[0].pointer
        else:
            words = sum(len(r.words) for r in results)
            pack = (ctypes.c_int64 * words)()
            first = ctypes.c_void_p(ctypes.addressof(pack))
        inputs = [Descriptor(np.ascontiguousarray(a, DTYPES[v.dtype]).reshape(np.shape(a)), len(v.shape)) for a, v in zip(arrays, self.inputs, strict=True)]
        pointers = [first, *(d.pointer for d in inputs)]
        packed = (ctypes.c_void_p * len(pointers))(*[ctypes.addressof(p) for p in pointers])
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.engine.raw_lookup("_mlir_ciface_main"))(packed)
        if len(results) > 1:
            at = 0
            for r in results:
                r.words[:] = pack[at:at + len(r.words)]
                at += len(r.words)
        return [r.result(DTYPES[v.dtype], len(v.shape)) for r, v in zip(results, self.outputs)]
