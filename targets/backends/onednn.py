"""oneDNN as a backend: convolutions, matrix products and pooling as primitives of its C library."""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from legato.analysis.patterns import Match, composite, is_const, is_op, wildcard
from legato.core.errors import LegatoError
from legato.core.mlir import func
from legato.dialects import relax
from legato.dialects.artifacts import Blob
from legato.dialects.module import Module
from legato.dialects.relax import TensorType
from legato.targets.backend import Backend

LOADER = "legato.runtime.engines.onednn:load"


def _static_floats(match: Match) -> bool | str:
    for value in (match.root, *match.root.operands):
        if value.type is None or str(value.type.dtype) != "float32":
            return "only float32"
        if not all(isinstance(size, int) for size in value.type.dims):
            return "only sizes that are known when it is compiled"
    return True


def _conv(match: Match) -> bool | str:
    attrs = match["op"].attrs
    if attrs["data_layout"] != "NCHW" or attrs["kernel_layout"] != "OIHW":
        return f"only NCHW and OIHW, found {attrs['data_layout']} and {attrs['kernel_layout']}"
    return _static_floats(match)


def _pool(match: Match) -> bool | str:
    attrs = match["op"].attrs
    if attrs["layout"] != "NCHW" or attrs["dilations"] != [1, 1]:
        return "only NCHW without dilation"
    if attrs["ceil_mode"]:
        return "windows that stand out at the end (ceil_mode) are for the host"
    return _static_floats(match)


def _matmul(match: Match) -> bool | str:
    ranks = [operand.type.rank for operand in match["op"].operands if operand.type is not None]
    return _static_floats(match) if ranks == [2, 2] else "only two matrices"


class OneDnn(Backend):
    """oneDNN on the CPU. Weights are reordered to its preferred layout once, when the model is loaded."""

    name = "onednn"
    patterns = [
        composite("conv2d", is_op("relax.conv2d")(wildcard(), is_const()).named("op"), _conv),
        composite("pool2d", is_op("relax.max_pool2d", "relax.avg_pool2d")(wildcard()).named("op"), _pool),
        composite("matmul", is_op("relax.matmul")(wildcard(), is_const()).named("op"), _matmul),
    ]

    def codegen(self, module: Module, options: Mapping[str, str]) -> Sequence[Blob]:
        """A blob for each public function: the descriptions of its primitives, then their weights."""
        composites = {f.name.value: f for f in module.functions()}
        blobs = []
        for function in module.functions():
            if "sym_visibility" not in function.operation.attributes:
                blobs.append(Blob(_program(module, function, composites), LOADER, (function.name.value,)))
        return blobs


def _program(module: Module, function: func.FuncOp, composites: Mapping[str, func.FuncOp]) -> bytes:
    """A JSON header, preceded by its length in 8 bytes, and the weights, as runtime/engines/onednn.py reads them."""
    steps: list[dict[str, Any]] = []
    weights: list[np.ndarray] = []
    numbers: dict[Any, int] = {}
    for argument in function.arguments:
        numbers[argument] = len(numbers)

    def run(body: func.FuncOp, values: dict[Any, int]) -> list[int]:
        constants: dict[Any, np.ndarray] = {}
        for view in body.body.blocks[0].operations:
            op = view.operation
            if op.name == "func.return":
                return [values[v] for v in op.operands]
            if op.name == "relax.constant":
                constants[op.results[0]] = module.array(view)
            elif op.name == "func.call":
                inner = composites[op.attributes["callee"].value]
                made = run(inner, dict(zip(inner.arguments, (values[v] for v in op.operands))))
                values.update(zip(op.results, made))
            else:
                step = {"op": op.name.removeprefix("relax."), "attrs": relax.attributes_of(op), "x": values[op.operands[0]],
                        "x_shape": list(TensorType.of(op.operands[0].type).dims), "shape": list(TensorType.of(op.results[0].type).dims)}
                if len(op.operands) > 1:
                    array = np.ascontiguousarray(constants[op.operands[1]])
                    step["weight"] = {"shape": list(array.shape), "at": sum(w.nbytes for w in weights)}
                    weights.append(array)
                steps.append(step)
                values[op.results[0]] = len(function.arguments) + len(steps) - 1
        raise LegatoError(f"@{body.name.value} does not return")

    results = run(function, numbers)
    header = json.dumps({"inputs": len(function.arguments), "steps": steps, "results": results}).encode()
    return len(header).to_bytes(8, "little") + header + b"".join(w.tobytes() for w in weights)
