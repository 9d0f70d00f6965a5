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

from legato.core.mlir import arith, execution_engine, func, ir, tensor
from legato.dialects import tir
from legato.dialects.loading import make_context
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.passes.cpu.expand_pads import ExpandPads
from legato.passes.cpu.lower import lower
from legato.passes.cpu.prepare_contractions import prepare
from legato.passes.cpu.split_windows import split_windows
from legato.passes.graph.functions import relax_functions
from legato.passes.memory.bufferize.bufferize import bufferize
from legato.passes.structured.collapse_dims import collapse_kernel
from legato.passes.structured.fuse import Fuser
from legato.schedule.transform import apply_script
from legato.targets.builtin import LLVM
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.schedules import schedule
from legato.targets.generic import RULES

DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i1": np.bool_, "i8": np.int8,
          "i16": np.int16, "i32": np.int32, "i64": np.int64, "ui8": np.uint8}
MACHINES = {m.cpu: m for m in (Machine.host(), Machine.named("x86-64-v3")) if m.vector_bytes <= Machine.host().vector_bytes}


class Descriptor:
    """A memref as C interfaces take it; of an array, or empty for a result."""

    def __init__(self, array: np.ndarray | None, rank: int):
        self.array = array
        words = [0] * (3 + 2 * rank)
        if array is not None:
            words = [array.ctypes.data, array.ctypes.data, 0, *array.shape, *(s // array.itemsize for s in array.strides)]
        self.words = (ctypes.c_int64 * len(words))(*words)
        self.pointer = ctypes.c_void_p(ctypes.addressof(self.words))

    def result(self, dtype: np.dtype, rank: int) -> np.ndarray:
        """A copy of the buffer that a call put here, which is freed."""
        base, data, offset = self.words[:3]
        shape, dtype = list(self.words[3:3 + rank]), np.dtype(dtype)
        size = int(np.prod(shape)) * dtype.itemsize
        raw = ctypes.string_at(data + offset * dtype.itemsize, size) if size else b""
        ctypes.CDLL(None).free(ctypes.c_void_p(base))
        return np.frombuffer(raw, dtype).reshape(shape)


class Net:
    """A graph of relax ops, compiled at the first run. Shapes hold ints and names of dynamic sizes."""

    def __init__(self, machine: Machine | None = None):
        self.machine = machine or Machine.host()
        self.context = make_context()
        self.inputs, self.ops, self.outputs = [], [], []
        self.scripts: dict[str, str | None] = {}
        self.engine = None

    def input(self, shape, dtype="f32"):
        self.inputs.append(SimpleNamespace(shape=tuple(shape), dtype=dtype, index=len(self.inputs), op=None))
        return self.inputs[-1]

    def op(self, name, operands, shape, dtype="f32", **attributes):
        self.ops.append(SimpleNamespace(shape=tuple(shape), dtype=dtype, op=name, operands=list(operands), attributes=attributes,
                                        index=len(self.ops)))
        return self.ops[-1]

    def output(self, *values):
        self.outputs += values

    def type(self, value) -> ir.RankedTensorType:
        return dims.tensor_type(value.shape, ir.Type.parse(value.dtype))

    def build(self) -> ir.Module:
        """Main, and a kernel for each op by its rule."""
        rules = {r.op: r for r in RULES}
        module = ir.Module.create()
        kernels = []
        for value in self.ops:
            types, out = [self.type(v) for v in value.operands], self.type(value)
            k = SimpleNamespace(name=value.op, attrs=value.attributes, input_types=types, output_types=[out], index=None)
            rule = rules[value.op]
            name = f"k{value.index}_" + value.op.split(".")[1]
            kernels.append(tir.prim_func(module, name, types, [out], lambda ins, outs, rule=rule, k=k: [rule.function(k, *ins, *outs)]))
        inputs = [tir.plain_type(self.type(v)) for v in self.inputs]
        with ir.InsertionPoint(module.body):
            main = func.FuncOp("main", ir.FunctionType.get(inputs, [tir.plain_type(self.type(v)) for v in self.outputs]))
            with ir.InsertionPoint(main.add_entry_block()):
                values = {id(v): a for v, a in zip(self.inputs, main.arguments)}
                sizes = self.sizes(main.arguments)
                for value, kernel in zip(self.ops, kernels):
                    operands = [values[id(v)] for v in value.operands]
                    extents = [[sizes[s] for s in value.shape if isinstance(s, str)]]
                    values[id(value)], = tir.call_tir(kernel.name.value, operands, [self.type(value)], extents)
                func.ReturnOp([values[id(v)] for v in self.outputs])
        return module

    def sizes(self, arguments) -> dict[str, ir.Value]:
        found: dict[str, ir.Value] = {}
        for value, argument in zip(self.inputs, arguments):
            for axis, size in enumerate(value.shape):
                if isinstance(size, str) and size not in found:
                    found[size] = tensor.DimOp(argument, arith.ConstantOp(ir.IndexType.get(), axis).result).result
        return found

    def schedule(self, module: ir.Module) -> None:
        """What the pipeline does to kernels between fusing and bufferizing."""
        for kernel in tir.prim_funcs(module):
            collapse_kernel(kernel)
            prepare(kernel, self.machine)
            split_windows(kernel)
        ExpandPads().run(SimpleNamespace(module=module), None)
        for kernel in tir.prim_funcs(module):
            text = self.scripts[kernel.name.value] = schedule(kernel, self.machine)
            if text:
                apply_script(text, kernel)

    def compile(self) -> ir.Module:
        with self.context, ir.Location.unknown():
            module = self.build()
            Fuser(module, relax_functions(Module(module))).run()
            self.schedule(module)
            self.tensors = str(module)
            module.operation.verify()
            bufferize(module)
            main = next(f for f in module.body.operations if f.operation.name == "func.func" and f.name.value == "main")
            main.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
            lower(module, replace(LLVM, make_machine=lambda _: self.machine), [])
            return module

    def run(self, *arrays):
        """The outputs for these inputs."""
        if self.engine is None:
            module = self.compile()
            with self.context:
                self.engine = execution_engine.ExecutionEngine(module, opt_level=2)
        results = [Descriptor(None, len(v.shape)) for v in self.outputs]
        pack = (ctypes.c_int64 * sum(len(r.words) for r in results))()
        inputs = [Descriptor(np.ascontiguousarray(a, DTYPES[v.dtype]).reshape(np.shape(a)), len(v.shape))
                  for a, v in zip(arrays, self.inputs, strict=True)]
        pointers = [ctypes.c_void_p(ctypes.addressof(pack)), *(d.pointer for d in inputs)]
        packed = (ctypes.c_void_p * len(pointers))(*[ctypes.addressof(p) for p in pointers])
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.engine.raw_lookup("_mlir_ciface_main"))(packed)
        at = 0
        for r in results:
            r.words[:] = pack[at:at + len(r.words)]
            at += len(r.words)
        return [r.result(DTYPES[v.dtype], len(v.shape)) for r, v in zip(results, self.outputs)]


def single(op, arrays, expected, dtype="f32", shapes=None, machine=None, **attributes) -> np.ndarray:
    """One op on arrays of its inputs' dtypes; ``expected`` gives shape and dtype. ``shapes``: with names of dynamic sizes, output last."""
    net = Net(machine)
    names = {np.dtype(v): k for k, v in DTYPES.items()}
    shapes = shapes or [*(np.shape(a) for a in arrays), np.shape(expected)]
    inputs = [net.input(s, names[np.asarray(a).dtype]) for s, a in zip(shapes, arrays)]
    net.output(net.op(op, inputs, shapes[-1], names[np.asarray(expected).dtype], **attributes))
    return net.run(*arrays)[0]
