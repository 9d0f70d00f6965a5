"""A module at the stage ``spirv`` as the bytes that ``runtime.engines.vulkan`` loads."""
import base64
import json
from typing import Any

import numpy as np

from legato.codegen.launch_plan import Plan, size_steps
from legato.codegen.spirv import binaries
from legato.core.dtypes import array_of
from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects.artifacts import Blob
from legato.dialects.module import Module
from legato.dialects.relax.dims import UNKNOWN
from legato.dialects.relax.markers import SYMBOL, WEIGHT
from legato.dialects.tir.markers import ARENA, OUT
from legato.passes.memory.signature import Boundary, BoundaryValue

LOADER = "legato.runtime.engines.vulkan:load"
STATE = "legato.runtime.engines.vulkan:prepare"
MAIN = "main"


def blob(module: Module) -> Blob:
    """The artifact of a lowered module whose main launches kernels. UnsupportedError for what its plan cannot do."""
    main = module.function(MAIN)
    boundary = Boundary.of(main)
    plan = Plan(module)
    program, calls = plan.of(MAIN), plan.calls
    outputs = [output(value, boundary) for value in boundary.outputs]
    allocates = any(one["late"] for one in outputs)     # its results: main_sizes has the early sizes behind the arena's
    sizes = size_steps(plan, 1 + sum(one["rank"] for one in outputs if allocates and not one["late"]))
    described = {
        "main": program, "calls": calls, "sizes": sizes, "arguments": [argument(main, i) for i in range(len(main.arguments))],
        "shapes": [list(value.shown) for value in boundary.inputs], "symbols": list(boundary.symbols), "outputs": outputs,
        "kernels": {name: base64.b64encode(code).decode() for name, code in binaries(module).items()},
        "constants": {op.attributes["sym_name"].value: base64.b64encode(constant_bytes(op)).decode()
                      for op in find(module.operation, "memref.global")},
    }
    weights = {value.name: np.asarray(module.weights[value.name]) for value in boundary.weights}
    return Blob(json.dumps(described).encode(), LOADER, state=STATE, weights=weights)


def output(value: BoundaryValue, boundary: Boundary) -> dict[str, Any]:
    """What a result of main is. ``late``: its sizes depend on data."""
    return {"dtype": value.dtype, "rank": len(value.shape), "late": UNKNOWN not in value.shape and boundary.is_late(value.shape)}


def constant_bytes(op: ir.Operation) -> bytes:
    """The data of a memref.global; truth values as bytes."""
    return np.ascontiguousarray(array_of(ir.DenseElementsAttr(op.attributes["initial_value"]))).tobytes()


def argument(main: Any, number: int) -> dict[str, Any]:
    """What an argument of main is: ``kind``: input, weight, output, arena or symbol; ``name``: of a weight or symbol; ``sizes``: of a
    buffer, where they are constant."""
    attributes = ir.DictAttr(ir.ArrayAttr(main.attributes["arg_attrs"])[number])
    type_ = main.arguments[number].type
    found: dict[str, Any] = {"sizes": list(ir.MemRefType(type_).shape)} if isinstance(type_, ir.MemRefType) else {}
    for mark, kind in ((WEIGHT, "weight"), (SYMBOL, "symbol")):
        if mark in attributes:
            return found | {"kind": kind, "name": ir.StringAttr(attributes[mark]).value}
    return found | {"kind": "output" if OUT in attributes else "arena" if ARENA in attributes else "input"}
