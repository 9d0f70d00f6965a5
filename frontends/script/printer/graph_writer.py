"""The state of a graph's printer: names, sizes and types. The form of each op is in a table in graph.py."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from legato.core import dtypes
from legato.core.locations import model_name
from legato.core.mlir import func, ir
from legato.dialects.relax import dims
from legato.dialects.relax.markers import NAME
from legato.frontends.script.language.types import spelled
from legato.frontends.script.printer.sizes import GraphSizes
from legato.frontends.script.printer.text import NotPrintable, repr_text

ALIASES = ("builtin.unrealized_conversion_cast", "tensor.cast", "tensor.bitcast")
CONSTANTS = ("relax.constant", "arith.constant")


class GraphWriter:
    """Writes a graph's statements line by line. ``callees``: the module's functions; ``write``: how an op is printed."""

    def __init__(self, function: func.FuncOp, callees: Mapping[str, func.FuncOp], write: Callable[["GraphWriter", ir.Operation], None]):
        self.function, self.callees, self.write = function, callees, write
        self.sizes = GraphSizes(function)
        self.lines: list[str] = []
        self.names: dict[ir.Value, str] = {}
        self.inline: dict[ir.Value, str] = {}    # expressions with a single use, written there
        self.returned: dict[ir.Value, str] = {}  # the names that results have to have

    def op(self, op: ir.Operation) -> None:
        """Writes an op. NotPrintable for an op that scripts lack."""
        self.write(self, op)

    def refuse(self, what: str) -> NotPrintable:
        """The error for a construct that scripts lack."""
        return NotPrintable(f"@{self.function.name.value} cannot be written as a script: {what}")

    def given(self, which: str, number: int) -> str | None:
        """The name of an argument (``arg_attrs``) or a result (``res_attrs``), if it has one."""
        attributes = self.function.attributes
        found = attributes[which][number] if which in attributes else {}
        return found[NAME].value if NAME in found else None

    def fresh(self, name: str) -> str:
        """``name``, or a similar name that is not taken."""
        name = dims.symbol_name(name)
        taken = set(self.names.values()) | {"R", "T", "I", "Module"}
        return name if name not in taken else next(f"{name}_{n}" for n in range(1, 100000) if f"{name}_{n}" not in taken)

    def read(self, value: ir.Value) -> str:
        """The source of a value at a use. NotPrintable for a value without a name."""
        value = source_of(value)
        if value in self.inline:
            return self.inline[value]
        if value not in self.names:
            raise self.refuse(f"it has {value.owner.name if not isinstance(value.owner, ir.Block) else 'an argument'}")
        return self.names[value]

    def bind(self, op: ir.Operation, text: str) -> None:
        """Writes an op's expression: as a line that names the results, or in place at its only use."""
        only = op.results[0] if len(op.results) == 1 else None
        users = [use.owner.operation.name for use in only.uses] if only is not None else []
        small = op.name in CONSTANTS and "weight" not in op.attributes and len(text) < 40
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

    def is_call(self, value: ir.Value) -> bool:
        """Whether a value is the result of a call."""
        return not isinstance(value.owner, ir.Block) and value.owner.name == "func.call"

    def shape(self, value: ir.Value) -> str:
        """The sizes of a tensor as a tuple."""
        sizes = [self.sizes.shown(s) for s in self.sizes.of(value)]
        return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"

    def tensor(self, value: ir.Value) -> str:
        """``R.Tensor(("n", 4), "float32")``: the type of a value."""
        sizes = [str(s) if isinstance(s, int) else f'"{s}"' for s in self.sizes.of(value)]
        # the plain type of a call's result has signless integers; the cast after it has the element type
        casts = [u.owner.operation for u in value.uses if u.owner.operation.name in ALIASES]
        dtype = spelled(dtypes.numpy_dtype((casts[0].results[0] if casts and self.is_call(value) else value).type.element_type))
        return f'R.Tensor(({", ".join(sizes)}{"," if len(sizes) == 1 else ""}), "{dtype}")'

    def value(self, value: Any) -> str:
        """An attribute's value as an argument of an op."""
        if isinstance(value, np.dtype):
            return f'"{spelled(value)}"'
        if isinstance(value, dims.Dim):
            return self.sizes.shown(value)
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(self.value(v) for v in value)}]"
        if isinstance(value, float):
            return number_text(np.float64(value))
        return repr_text(value) if isinstance(value, str) else repr(value)


def source_of(value: ir.Value) -> ir.Value:
    """The value at the start of a chain of casts between types of one tensor."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in ALIASES and not is_match(value.owner.operation):
        value = value.owner.operation.operands[0]
    return value


def is_match(cast: ir.Operation) -> bool:
    """Whether a cast states sizes that its operand's type lacks: a match_cast, which calls of the graph check."""
    given, said = cast.operands[0].type, cast.results[0].type
    if not isinstance(given, ir.RankedTensorType) or not isinstance(said, ir.RankedTensorType):
        return False
    rows = dims.dims(given), dims.dims(said)
    return all(dims.UNKNOWN not in row for row in rows) and rows[0] != rows[1]


def location_name(op: ir.Operation) -> str | None:
    """The name of an op in the model, if it is a Python name."""
    name = model_name(op)
    return name if name is not None and name.isidentifier() else None


def number_text(number: Any) -> str:
    """A number as Python source."""
    value = number.item() if hasattr(number, "item") else number
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f'float("{value}")'
    return repr(value)
