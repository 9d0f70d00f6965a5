"""Graphs of relax ops, compiled for a CPU by the target's own pipeline and called through the entry, as a user's model is.

    net = Net("llvm{cpu=x86-64-v3}")
    x = net.input((4, "n"))
    net.output(net.op("relax.softmax", [x], axis=-1))
    y, = net.run(array)
"""
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import ml_dtypes
import numpy as np
from lowering import Lowering

from legato.core.cpu import host_name, missing_features
from legato.core.mlir import func, ir
from legato.dialects import Module, make_context, relax
from legato.dialects.relax import dims
from legato.passes.cpu.matrices.on_matrices import MatrixConvolution
from legato.passes.cpu.matrices.on_vectors import VectorConvolution
from legato.runtime import Executable

DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i1": np.bool_, "i8": np.int8,
          "i16": np.int16, "i32": np.int32, "i64": np.int64, "ui8": np.uint8, "ui16": np.uint16, "ui32": np.uint32, "ui64": np.uint64}
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
TARGETS = {cpu: f"llvm{{cpu={cpu}}}" for cpu in (host_name(), "x86-64-v3") if not missing_features(cpu, "")}

# a product of two matrices as a kernel, by its sizes
MATMUL = """
func.func private @k(%x: tensor<{m}x{k}xf32>, %w: tensor<{k}x{n}xf32>, %out: tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32> {{
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>) outs(%0 : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  return %1 : tensor<{m}x{n}xf32>
}}"""


class Net:
    """A graph under construction, compiled at the first run. Shapes hold ints and the names of dynamic sizes.

    ``first``: the stage that compiling begins after. ``"relax"`` legalizes the ops as they are written; None runs the graph passes too.
    """

    def __init__(self, target: str = "llvm", first: str | None = "relax"):
        self.target, self.first = target, first
        self.module = _empty()
        self.main = self.module.function()
        self.block = self.main.body.blocks[0]
        self.outputs: list[ir.Value] = []

    def input(self, shape: Sequence[int | str], dtype: str = "f32") -> ir.Value:
        with self.module.context, ir.Location.unknown():
            return self.block.add_argument(dims.tensor_type(shape, ir.Type.parse(dtype)), ir.Location.unknown())

    @contextmanager
    def building(self) -> Iterator[None]:
        """Ops built inside are the graph's."""
        with self.module.context, ir.Location.unknown(), ir.InsertionPoint(self.block):
            yield

    def weight(self, array: np.ndarray) -> ir.Value:
        """A constant of the weight store: what the pipeline may pack."""
        with self.building():
            return relax.weight(self.module.weights.add("w", array), array.dtype, list(array.shape))

    def op(self, name: str, operands: Sequence[ir.Value], **attributes: Any) -> ir.Value:
        """The result of an op, by its full name; its type is inferred."""
        build = relax.OPS[name.removeprefix("relax.")].build
        with self.building():
            return build(operands, **attributes) if name == "relax.concat" else build(*operands, **attributes)

    def output(self, *values: ir.Value) -> None:
        self.outputs += values

    @cached_property
    def graph(self) -> Module:
        """The module, with the types and names of main's arguments and results."""
        with self.module.context, ir.Location.unknown():
            with ir.InsertionPoint(self.block):
                func.ReturnOp(self.outputs)
            inputs, outputs = [a.type for a in self.block.arguments], [v.type for v in self.outputs]
            self.main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, outputs))
            for key, letter, count in (("arg_attrs", "x", len(inputs)), ("res_attrs", "y", len(outputs))):
                names = [ir.DictAttr.get({"relax.name": ir.StringAttr.get(f"{letter}{i}")}) for i in range(count)]
                self.main.attributes[key] = ir.ArrayAttr.get(names)
        self.module.operation.verify()
        return self.module

    @cached_property
    def lowering(self) -> Lowering:
        return Lowering(self.graph, self.target, self.first)

    def lowered(self, stage: str | None = None) -> Module:
        """The module after a stage of the target's pipeline, or at its end."""
        return self.lowering.at(stage)

    def products_in_loops(self) -> int:
        """How many kernels, and forms of them, are products in loops of their own after the stage "fused"."""
        return sum("linalg" not in kernel and "math.fma" in kernel for kernel in str(self.lowered("fused")).split("func.func "))

    @property
    def executable(self) -> Executable:
        return self.lowering.executable

    def run(self, *arrays: Any) -> list[np.ndarray]:
        """The outputs for these inputs."""
        types = [ir.RankedTensorType(a.type).element_type for a in self.block.arguments]
        given = [np.asarray(a, DTYPES[str(t)]) for a, t in zip(arrays, types, strict=True)]
        found = self.executable(*given)
        return [np.asarray(a) for a in (found if len(self.outputs) > 1 else [found])]


def _empty() -> Module:
    with make_context(), ir.Location.unknown():
        module = Module(ir.Module.create())
        with ir.InsertionPoint(module.body):
            func.FuncOp("main", ir.FunctionType.get([], [])).add_entry_block()
        return module


def single(op: str, arrays: Sequence[np.ndarray], target: str = "llvm", **attributes: Any) -> np.ndarray:
    """One op on inputs of these shapes and dtypes."""
    net = Net(target)
    net.output(net.op(op, [net.input(np.shape(a), NAMES[np.asarray(a).dtype]) for a in arrays], **attributes))
    return net.run(*arrays)[0]


def share_all(monkeypatch) -> None:
    """Lets threads share convolutions in pairs of any size."""
    for loops in (MatrixConvolution, VectorConvolution):
        monkeypatch.setattr(loops, "worth_it", 1)
