"""The metadata of a compiled model as JSON, which the runtime reads from the module or from a saved model."""
import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from legato.core.ir_helpers import find, kinds
from legato.core.mlir import ir
from legato.dialects.relax.markers import CALLERS, CONSTANT_INPUTS, INPUT_FORMS, OUTPUT_FORMS
from legato.dialects.tir.markers import CHIP, PROFILED, THREADS
from legato.passes.memory.signature import Boundary, BoundaryValue, donors, packed_functions

FORMAT = 2   # increased when older runtimes cannot read a new saved model
DONATING = 3   # of models that change arguments, which runtimes of format 2 would not protect
PACKED = 4   # of models with outputs whose number of tensors a call decides, which runtimes of format 3 cannot unpack
FORMS = {"input_forms": INPUT_FORMS, "output_forms": OUTPUT_FORMS}


def metadata(module: ir.Module, main: ir.OpView, boundary: Boundary) -> str:
    """One line of JSON: format, legato, inputs, outputs, symbols, weights, packed (functions called), callers (a description of each
    one's callers), target (cpu, features), openmp, threads, device, input_forms and output_forms (where an input or output is no
    tensor); donors (numbers of inputs, or -1, by output) if any output takes an input's memory; defaults (names of weights by those of
    inputs) and constant_inputs (names) if there are such inputs."""
    given, openmp = donors(main, boundary), openmp_ops(module)
    donating = any(number >= 0 for number in given)
    return json.dumps({
        "format": PACKED if _has_layouts(main) else DONATING if donating else FORMAT,
        "legato": _version(),
        "inputs": [_value(v) for v in boundary.inputs],
        "outputs": [_value(v) for v in boundary.outputs],
        "symbols": list(boundary.symbols),
        **({"donors": given} if donating else {}),
        "weights": [_value(v) for v in boundary.weights],
        "packed": packed_functions(main),
        **{key: _forms(main.attributes[name]) for key, name in FORMS.items() if name in main.attributes},
        **({"defaults": defaults} if (defaults := {v.name: v.default for v in boundary.inputs if v.default}) else {}),
        **({"constant_inputs": [name.value for name in main.attributes[CONSTANT_INPUTS]]} if CONSTANT_INPUTS in main.attributes else {}),
        **({"callers": [text.value for text in main.attributes[CALLERS]]} if CALLERS in main.attributes else {}),
        "target": target_of(main),
        "openmp": bool(openmp),
        "threads": threads_of(module, openmp),
        **({"device": "cuda"} if CHIP in main.attributes else {}),
    }, separators=(",", ":"))


def described_calls(profiled: ir.OpView) -> str:
    """The calls that ``@main_profiled`` records, in their order, as one line of JSON: rows of the function, its graph ops, its arithmetic
    operations and the bytes that it reads and writes. The last two are expressions of the symbols, or null."""
    rows = []
    for row in profiled.attributes[PROFILED]:
        work = [text.value for text in row["work"]] or ["?", "?"]
        rows.append([row["function"].value, [text.value for text in row["ops"]], *(None if text == "?" else text for text in work)])
    return json.dumps(rows, separators=(",", ":"))


def target_of(function: ir.OpView) -> dict[str, str]:
    """LLVM's names of the CPU and the features of an ``llvm.func``; empty if it has none."""
    attributes = function.attributes
    cpu = attributes["target_cpu"].value if "target_cpu" in attributes else ""
    listed = re.findall(r'"([^"]+)"', str(attributes["target_features"])) if "target_features" in attributes else []
    return {"cpu": cpu, "features": ",".join(listed)}


def openmp_ops(module: ir.Module) -> list[ir.Operation]:
    """The ops of the dialect omp, which are lowered to calls of the OpenMP runtime."""
    return find(module, *(op.name for op in kinds(module) if op.name.startswith("omp.")))


def threads_of(module: ir.Module, openmp: Sequence[ir.Operation]) -> int:
    """The greatest number of threads that a parallel loop asks for; 1 without such loops. ``openmp``: the module's ops of omp."""
    numbers = [op.operands[0].owner.attributes["value"].value for op in openmp if op.name == "omp.parallel" and op.operands]
    return max(numbers, default=pool_threads(module))


def pool_threads(module: ir.Module) -> int:
    """The threads of the model's own pool: what its parallel loops ask for, 1 if no loop uses the pool."""
    return max((op.attributes[THREADS].value for op in module.body.operations if THREADS in op.attributes), default=1)


def _has_layouts(main: ir.OpView) -> bool:
    """Whether an output is a sequence or optional of which a call decides how many tensors it has."""
    return OUTPUT_FORMS in main.attributes and any(len(row) == 3 for row in main.attributes[OUTPUT_FORMS])


def _forms(attribute: ir.Attribute) -> list[list]:
    return [[element.value for element in row] for row in attribute]


def _value(value: BoundaryValue) -> dict:
    return {"name": value.name, "dtype": value.dtype, "shape": list(value.shown)}


@cache
def _version() -> str:
    try:
        return version("legato")
    except PackageNotFoundError:
        return "0"
