"""Graphs as the source of scripts."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from legato.core import dtypes
from legato.core.locations import model_name
from legato.core.mlir import func, ir
from legato.dialects import relax, tir
from legato.dialects.relax import dims
from legato.dialects.relax.markers import ARGUMENTS, NAME, PACKED, PURE, RETURNS
from legato.frontends.script.language.types import spelled
from legato.frontends.script.printer.branches import branch
from legato.frontends.script.printer.sizes import GraphSizes
from legato.frontends.script.printer.text import NotPrintable, repr_text

ALIASES = ("builtin.unrealized_conversion_cast", "tensor.cast", "tensor.bitcast")
SKIPPED = ("tensor.empty", "tensor.dim", "tensor.extract", "func.return")
RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape")


class GraphPrinter:
    """Prints one relax function; ``callees``: the module's functions."""

    def __init__(self, function: func.FuncOp, callees: Mapping[str, func.FuncOp], indent: str):
        self.function, self.callees, self.indent = function, callees, indent
        self.sizes = GraphSizes(function)
        self.names: dict[ir.Value, str] = {}
        self.inline: dict[ir.Value, str] = {}    # what stands where it is read, once
        self.returned: dict[ir.Value, str] = {}  # names of results
        self.lines: list[str] = []

    def text(self) -> str:
        """The function's source. NotPrintable, naming the op, for what has no words."""
        function = self.function
        parameters = []
        for number, argument in enumerate(function.arguments):
            name = self.names[argument] = self.fresh(self.given("arg_attrs", number) or f"x{number}")
            parameters.append(f"{name}: {self.tensor(argument)}")
        operations = [op.operation for op in function.body.blocks[0].operations]
        results = list(operations[-1].operands)
        for number, value in enumerate(results):
            name = self.given("res_attrs", number)
            if name is not None and not name.startswith("output_"):
                self.returned[source_of(value)] = name
        for op in operations[:-1]:
            self.op(op)
        values = [self.result(v, number) for number, v in enumerate(results)]
        types = [self.tensor(v) for v in results]
        returns = types[0] if len(types) == 1 else f"R.Tuple({', '.join(types)})"
        attributes = function.attributes
        hidden = "sym_visibility" in attributes and attributes["sym_visibility"].value == "private"
        head = [f"@R.function{'(private=True)' if hidden else ''}", f"def {function.name.value}({', '.join(parameters)}) -> {returns}:"]
        symbols = [f"    {s} = T.int64()" for s in self.sizes.used]
        return "\n".join(self.indent + line for line in [*head, *symbols, *(f"    {line}" for line in self.lines),
                                                         f"    return {', '.join(values)}"]) + "\n"

    def refuse(self, what: str) -> NotPrintable:
        return NotPrintable(f"@{self.function.name.value} cannot be written as a script: {what}")

    def given(self, which: str, number: int) -> str | None:
        attributes = self.function.attributes
        found = attributes[which][number] if which in attributes else {}
        return found[NAME].value if NAME in found else None

    def fresh(self, name: str) -> str:
        name = dims.symbol_name(name)
        taken = set(self.names.values()) | {"R", "T", "I", "Module"}
        return name if name not in taken else next(f"{name}_{n}" for n in range(1, 100000) if f"{name}_{n}" not in taken)

    def read(self, value: ir.Value) -> str:
        value = source_of(value)
        if value in self.inline:
            return self.inline[value]
        if value not in self.names:
            raise self.refuse(f"it has {value.owner.name if not isinstance(value.owner, ir.Block) else 'an argument'}")
        return self.names[value]

    def result(self, value: ir.Value, number: int) -> str:
        """A returned value: by a name only where the name is the result's."""
        source = source_of(value)
        if source in self.inline or (self.given("res_attrs", number) or "") == self.names.get(source):
            return self.read(source)
        is_read = isinstance(source.owner, ir.Block) or len(list(source.uses)) > 0
        return f"R.nn.identity({self.read(source)})" if is_read else self.read(source)

    # --- ops ---

    def op(self, op: ir.Operation) -> None:
        if op.name in ALIASES and is_match(op):
            self.bind(op, f"R.match_cast({self.read(op.operands[0])}, {self.tensor(op.results[0])})")
            return
        if op.name in (*ALIASES, *SKIPPED) or (op.name.startswith("arith.") and not isinstance(op.results[0].type, ir.RankedTensorType)):
            return
        if op.name == "func.call":
            self.call(op)
        elif op.name == "scf.if":
            branch(self, op)
        elif op.name in ("relax.constant", "arith.constant"):
            self.bind(op, self.constant(op))
        elif op.name in RESHAPES:
            self.bind(op, f"R.reshape({self.read(op.operands[0])}, {self.shape(op.results[0])})")
        elif relax.op_class(op) is not None:
            self.bind(op, self.graph_op(op))
        else:
            raise self.refuse(f"it has {op.name}")

    def bind(self, op: ir.Operation, text: str) -> None:
        only = op.results[0] if len(op.results) == 1 else None
        users = [use.owner.operation.name for use in only.uses] if only is not None else []
        small = op.name in ("relax.constant", "arith.constant") and "weight" not in op.attributes and len(text) < 40
        unnamed = users == ["func.return"] and only not in self.returned
        if only is not None and ((small and len(users) == 1) or unnamed):
            self.inline[only] = text
            return
        if not op.results:
            self.lines.append(text)
            return
        for result in op.results:
            self.names[result] = self.fresh(self.returned.get(result) or (location_name(op) if only is not None else None) or "lv")
        self.lines.append(f"{', '.join(self.names[r] for r in op.results)} = {text}")

    def constant(self, op: ir.Operation) -> str:
        type_ = op.results[0].type
        dtype = spelled(dtypes.numpy_dtype(type_.element_type))
        if "weight" in op.attributes:
            return f'R.weight("{op.attributes["weight"].value}", {self.shape(op.results[0])}, "{dtype}")'
        array = dtypes.array_of(op.attributes["value"])
        if array.ndim and array.size and (array == array.flat[0]).all():
            return f'R.full({self.shape(op.results[0])}, {number_text(array.flat[0])}, "{dtype}")' if array.size > 16 else (
                f'R.const({nested(array)}, "{dtype}")')
        if array.nbytes > 4096:
            raise self.refuse(f"it has a constant of {array.nbytes} bytes; put it into the weights (relax-fold-constants does)")
        return f'R.const({nested(array)}, "{dtype}")'

    def graph_op(self, op: ir.Operation) -> str:
        name = op.name.partition(".")[2]
        values = [self.read(v) for v in op.operands]
        if op.name == "tensor.concat":
            return f"R.concat(({', '.join(values)}{',' if len(values) == 1 else ''}), axis={op.attributes['dim'].value})"
        attributes = relax.attributes_of(op)
        if name == "mod":  # TVM's words for the two remainders
            return f"R.{'mod' if attributes['fmod'] else 'floor_mod'}({', '.join(values)})"
        defaults = {n: a.default for n, a in relax.op_class(op).ATTRIBUTES.items()}
        given = [f"{n}={self.value(v)}" for n, v in attributes.items() if n in op.attributes or v != defaults[n]]
        return f"R.{name}({', '.join([*values, *given])})"

    # --- calls ---

    def call(self, op: ir.Operation) -> None:
        callee = self.callees[op.attributes["callee"].value]
        returns = RETURNS in callee.attributes
        count = len(op.results)
        operands = list(op.operands)[: len(op.operands) - (0 if returns else count)]
        outputs = [self.tensor(v) for v in op.results]
        types = outputs[0] if count == 1 else f"[{', '.join(outputs)}]" if count else "R.Tuple()"
        if PACKED in callee.attributes:
            name = callee.attributes[PACKED].value
            arguments = self.arguments(callee, operands)
            if returns:
                word = "call_pure_packed" if PURE in callee.attributes else "call_packed"
                self.bind(op, f'R.{word}({", ".join([repr_text(name), *arguments])}, sinfo_args={types})')
            else:
                self.bind(op, f"R.call_dps_packed({repr_text(name)}, {tuple_text(arguments)}, {types})")
        elif tir.is_prim_func(callee):
            tensors = [self.read(v) for v in operands if not isinstance(v.type, ir.IndexType)]
            integers = [self.sizes.integer(v) for v in operands if isinstance(v.type, ir.IndexType)]
            if None in integers:
                raise self.refuse(f"the call of @{callee.name.value} passes an integer that is computed")
            extra = f", tir_vars=R.shape([{', '.join(map(str, integers))}])" if integers else ""
            self.bind(op, f"R.call_tir(Module.{callee.name.value}, {tuple_text(tensors)}, {types}{extra})")
        else:
            raise self.refuse(f"it calls @{callee.name.value}")

    def arguments(self, callee: func.FuncOp, operands: list[ir.Value]) -> list[str]:
        """What a packed function is given: tensors, and constants where they stand among them."""
        tensors = iter([self.read(v) for v in operands])
        if ARGUMENTS not in callee.attributes:
            return list(tensors)
        return [next(tensors) if isinstance(a, ir.UnitAttr) else self.argument(a) for a in callee.attributes[ARGUMENTS]]

    def argument(self, attribute: ir.Attribute) -> str:
        if isinstance(attribute, ir.StringAttr):
            return repr_text(attribute.value)
        if isinstance(attribute, ir.ArrayAttr):
            return f"R.prim_value({self.sizes.shown(dims.from_attribute(attribute[0])[0])})"
        if isinstance(attribute, (ir.BoolAttr, ir.IntegerAttr, ir.FloatAttr)):
            return f"R.prim_value({attribute.value!r})"
        return f"R.shape([{', '.join(self.sizes.shown(s) for s in dims.from_attribute(attribute))}])"

    # --- types and values ---

    def is_call(self, value: ir.Value) -> bool:
        return not isinstance(value.owner, ir.Block) and value.owner.name == "func.call"

    def shape(self, value: ir.Value) -> str:
        sizes = [self.sizes.shown(s) for s in self.sizes.of(value)]
        return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"

    def tensor(self, value: ir.Value) -> str:
        """The type of a value, its sizes by name."""
        sizes = [str(s) if isinstance(s, int) else f'"{s}"' for s in self.sizes.of(value)]
        casts = [u.owner.operation for u in value.uses if u.owner.operation.name in ALIASES]  # which say what a plain type does not
        dtype = spelled(dtypes.numpy_dtype((casts[0].results[0] if casts and self.is_call(value) else value).type.element_type))
        return f'R.Tensor(({", ".join(sizes)}{"," if len(sizes) == 1 else ""}), "{dtype}")'

    def value(self, value: Any) -> str:
        """An attribute."""
        if isinstance(value, np.dtype):
            return f'"{spelled(value)}"'
        if isinstance(value, dims.Dim):
            return self.sizes.shown(value)
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(self.value(v) for v in value)}]"
        if isinstance(value, float):
            return number_text(np.float64(value))
        return repr_text(value) if isinstance(value, str) else repr(value)


def tuple_text(values: list[str]) -> str:
    return f"({', '.join(values)}{',' if len(values) == 1 else ''})"


def source_of(value: ir.Value) -> ir.Value:
    """The value that casts were made of."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in ALIASES and not is_match(value.owner.operation):
        value = value.owner.operation.operands[0]
    return value


def is_match(cast: ir.Operation) -> bool:
    """Whether a cast says other sizes than the value has: what a ``match_cast`` leaves, where a call checks them."""
    given, said = cast.operands[0].type, cast.results[0].type
    if not isinstance(given, ir.RankedTensorType) or not isinstance(said, ir.RankedTensorType):
        return False
    rows = dims.dims(given), dims.dims(said)
    return all(dims.UNKNOWN not in row for row in rows) and rows[0] != rows[1]


def location_name(op: ir.Operation) -> str | None:
    name = model_name(op)
    return name if name is not None and name.isidentifier() else None


def number_text(number: Any) -> str:
    value = number.item() if hasattr(number, "item") else number
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f'float("{value}")'
    return repr(value)


def nested(array: np.ndarray) -> str:
    """A constant's elements as lists, each as short as its type allows."""
    if array.ndim:
        return f"[{', '.join(nested(a) for a in array)}]"
    item = array.item()
    if isinstance(item, float) and item == item and abs(item) != float("inf"):
        shown = str(array[()])
        return shown if "." in shown or "e" in shown else f"{shown}.0"
    return number_text(item)
