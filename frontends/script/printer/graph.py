"""Graphs as Python functions."""

from collections.abc import Callable, Mapping

import numpy as np

from legato.core import dtypes
from legato.core.ir_helpers import present
from legato.core.mlir import func, ir
from legato.dialects import relax, tir
from legato.dialects.relax import dims
from legato.dialects.relax.markers import ARGUMENTS, PACKED, PURE, RETURNS
from legato.frontends.script.language.types import spelled
from legato.frontends.script.printer.branches import branch
from legato.frontends.script.printer.graph_writer import ALIASES, GraphWriter, is_match, number_text, source_of
from legato.frontends.script.printer.text import repr_text

SKIPPED = ("tensor.empty", "tensor.dim", "tensor.extract", "func.return")


def print_graph(function: func.FuncOp, callees: Mapping[str, func.FuncOp], indent: str) -> str:
    """The source of a graph's function. ``callees``: the module's functions. NotPrintable, naming the op, for an op that scripts lack."""
    writer = GraphWriter(function, callees, write)
    parameters = []
    for number, argument in enumerate(function.arguments):
        name = writer.names[argument] = writer.fresh(writer.given("arg_attrs", number) or f"x{number}")
        parameters.append(f"{name}: {writer.tensor(argument)}")
    operations = [op.operation for op in function.body.blocks[0].operations]
    results = list(operations[-1].operands)
    for number, value in enumerate(results):
        name = writer.given("res_attrs", number)
        if name is not None and not name.startswith("output_"):
            writer.returned[source_of(value)] = name
    for op in operations[:-1]:
        writer.op(op)
    values = [result(writer, v, number) for number, v in enumerate(results)]
    types = [writer.tensor(v) for v in results]
    returns = types[0] if len(types) == 1 else f"R.Tuple({', '.join(types)})"
    attributes = function.attributes
    hidden = "sym_visibility" in attributes and attributes["sym_visibility"].value == "private"
    head = [f"@R.function{'(private=True)' if hidden else ''}", f"def {function.name.value}({', '.join(parameters)}) -> {returns}:"]
    body = [*(f"{s} = T.int64()" for s in writer.sizes.used), *writer.lines, f"return {', '.join(values)}"]
    return "\n".join(indent + line for line in [*head, *(f"    {line}" for line in body)]) + "\n"


def result(writer: GraphWriter, value: ir.Value, number: int) -> str:
    """A returned value: by its name if that is the result's name too."""
    source = source_of(value)
    if source in writer.inline or (writer.given("res_attrs", number) or "") == writer.names.get(source):
        return writer.read(source)
    is_read = isinstance(source.owner, ir.Block) or len(list(source.uses)) > 0
    return f"R.nn.identity({writer.read(source)})" if is_read else writer.read(source)


# --- ops ---

def write(writer: GraphWriter, op: ir.Operation) -> None:
    """Writes an op. NotPrintable for an op that scripts lack."""
    if op.name in ALIASES and is_match(op):
        writer.bind(op, f"R.match_cast({writer.read(op.operands[0])}, {writer.tensor(op.results[0])})")
    elif op.name in (*ALIASES, *SKIPPED) or (op.name.startswith("arith.") and not isinstance(op.results[0].type, ir.RankedTensorType)):
        return
    elif op.name in OPS:
        OPS[op.name](writer, op)
    elif relax.op_class(op) is not None:
        writer.bind(op, graph_op(writer, op))
    else:
        raise writer.refuse(f"it has {op.name}")


def bind_constant(writer: GraphWriter, op: ir.Operation) -> None:
    """``x = R.const(...)``."""
    writer.bind(op, constant(writer, op))


def constant(writer: GraphWriter, op: ir.Operation) -> str:
    """A constant: its elements, or its key in the weight store. NotPrintable for a large one in the IR."""
    type_ = op.results[0].type
    dtype = spelled(dtypes.numpy_dtype(type_.element_type))
    if "weight" in op.attributes:
        return f'R.weight("{op.attributes["weight"].value}", {writer.shape(op.results[0])}, "{dtype}")'
    array = dtypes.array_of(op.attributes["value"])
    if array.ndim and array.size and (array == array.flat[0]).all():
        return f'R.full({writer.shape(op.results[0])}, {number_text(array.flat[0])}, "{dtype}")' if array.size > 16 else (
            f'R.const({nested(array)}, "{dtype}")')
    if array.nbytes > 4096:
        raise writer.refuse(f"it has a constant of {array.nbytes} bytes; put it into the weights (relax-fold-constants does)")
    return f'R.const({nested(array)}, "{dtype}")'


def reshape(writer: GraphWriter, op: ir.Operation) -> None:
    """``y = R.reshape(x, (n, 4))``."""
    writer.bind(op, f"R.reshape({writer.read(op.operands[0])}, {writer.shape(op.results[0])})")


def graph_op(writer: GraphWriter, op: ir.Operation) -> str:
    """An op of relax, or of a user's dialect, with its own arguments."""
    name = op.name.removeprefix("relax.")
    values = [writer.read(v) for v in op.operands]
    if op.name == "tensor.concat":
        return f"R.concat(({', '.join(values)}{',' if len(values) == 1 else ''}), axis={op.attributes['dim'].value})"
    attributes = relax.attributes_of(op)
    if name == "mod":  # TVM's names of the two remainders
        return f"R.{'mod' if attributes['fmod'] else 'floor_mod'}({', '.join(values)})"
    defaults = {n: a.default for n, a in present(relax.op_class(op)).ATTRIBUTES.items()}
    given = [f"{n}={writer.value(v)}" for n, v in attributes.items() if n in op.attributes or v != defaults[n]]
    return f"R.{name}({', '.join([*values, *given])})"


def call(writer: GraphWriter, op: ir.Operation) -> None:
    """A call of a packed function or of a kernel. NotPrintable for other functions."""
    callee = writer.callees[op.attributes["callee"].value]
    returns = RETURNS in callee.attributes
    count = len(op.results)
    operands = list(op.operands)[: len(op.operands) - (0 if returns else count)]
    outputs = [writer.tensor(v) for v in op.results]
    types = outputs[0] if count == 1 else f"[{', '.join(outputs)}]" if count else "R.Tuple()"
    if PACKED in callee.attributes:
        name = callee.attributes[PACKED].value
        given = arguments(writer, callee, operands)
        if returns:
            word = "call_pure_packed" if PURE in callee.attributes else "call_packed"
            writer.bind(op, f'R.{word}({", ".join([repr_text(name), *given])}, sinfo_args={types})')
        else:
            writer.bind(op, f"R.call_dps_packed({repr_text(name)}, {tuple_text(given)}, {types})")
    elif tir.is_prim_func(callee):
        tensors = [writer.read(v) for v in operands if not isinstance(v.type, ir.IndexType)]
        integers = [writer.sizes.integer(v) for v in operands if isinstance(v.type, ir.IndexType)]
        if None in integers:
            raise writer.refuse(f"the call of @{callee.name.value} passes an integer that is computed")
        extra = f", tir_vars=R.shape([{', '.join(map(str, integers))}])" if integers else ""
        places = []     # of each output: the argument that it starts from, or -1
        for output in list(op.operands)[len(op.operands) - count:]:
            places.append(-1 if is_fresh(output) else len(tensors))
            tensors += [] if is_fresh(output) else [writer.read(output)]
        if any(place >= 0 for place in places):
            writer.bind(op, f"R.call_tir_inplace(Module.{callee.name.value}, {tuple_text(tensors)}, {places}, {types}{extra})")
        else:
            writer.bind(op, f"R.call_tir(Module.{callee.name.value}, {tuple_text(tensors)}, {types}{extra})")
    else:
        raise writer.refuse(f"it calls @{callee.name.value}")


def is_fresh(output: ir.Value) -> bool:
    """Whether what a call gets for an output is memory without content."""
    return not isinstance(output.owner, ir.Block) and output.owner.name == "tensor.empty"


def arguments(writer: GraphWriter, callee: func.FuncOp, operands: list[ir.Value]) -> list[str]:
    """The arguments of a packed function: tensors, and the constants among them."""
    tensors = iter([writer.read(v) for v in operands])
    if ARGUMENTS not in callee.attributes:
        return list(tensors)
    return [next(tensors) if isinstance(a, ir.UnitAttr) else argument(writer, a) for a in callee.attributes[ARGUMENTS]]


def argument(writer: GraphWriter, attribute: ir.Attribute) -> str:
    """A constant argument of a packed function."""
    if isinstance(attribute, ir.StringAttr):
        return repr_text(attribute.value)
    if isinstance(attribute, ir.ArrayAttr):
        return f"R.prim_value({writer.sizes.shown(dims.from_attribute(attribute[0])[0])})"
    if isinstance(attribute, (ir.BoolAttr, ir.IntegerAttr, ir.FloatAttr)):
        return f"R.prim_value({attribute.value!r})"
    return f"R.shape([{', '.join(writer.sizes.shown(s) for s in dims.from_attribute(attribute))}])"


def tuple_text(values: list[str]) -> str:
    """Expressions as a tuple."""
    return f"({', '.join(values)}{',' if len(values) == 1 else ''})"


def nested(array: np.ndarray) -> str:
    """A constant's elements as nested lists, each number as short as its type allows."""
    if array.ndim:
        return f"[{', '.join(nested(a) for a in array)}]"
    item = array.item()
    if isinstance(item, float) and item == item and abs(item) != float("inf"):
        shown = str(array[()])
        return shown if "." in shown or "e" in shown else f"{shown}.0"
    return number_text(item)


OPS: dict[str, Callable[[GraphWriter, ir.Operation], None]] = {
    "func.call": call, "scf.if": branch, "relax.constant": bind_constant, "arith.constant": bind_constant,
    "tensor.expand_shape": reshape, "tensor.collapse_shape": reshape,
}
