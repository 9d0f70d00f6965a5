"""The steps of a schedule so far, as a transform script."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from legato.core.ir_helpers import body, copy, plain_attribute
from legato.core.mlir import ir, transform
from legato.dialects.tir.loops import before_end
from legato.dialects.tir.schedule_ops import PREFIX
from legato.schedule.script import KNOB, reached, rename_taken, sequences
from legato.schedule.state import ScheduleError

EMPTY = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @schedule(%kernel: !transform.any_op {transform.readonly}) { transform.yield }
}"""


class Trace:
    """A script that grows step by step."""

    def __init__(self, context: ir.Context):
        with context, ir.Location.unknown():
            self.module = ir.Module.parse(EMPTY)
        self.sequence = sequences(self.module)["schedule"]
        self._block = self.sequence.regions[0].blocks[0]
        self._consumed = False

    def __str__(self) -> str:
        return str(self.module)

    @property
    def kernel(self) -> ir.Value:
        """The handle to the kernel that the script is run on."""
        return self._block.arguments[0]

    def step(self, name: str, operands: Sequence[ir.Value], attributes: dict[str, Any], count: int) -> list[ir.Value]:
        """Appends one of our steps. Returns its results. ScheduleError if a replayed script has consumed the kernel's handle."""
        if self._consumed:
            raise ScheduleError("the script that was replayed has used up the kernel's handle: further steps have to stand in it")
        with self.sequence.context, ir.Location.unknown(), before_end(self._block):
            made = ir.Operation.create(PREFIX + name, [transform.AnyOpType.get()] * count, list(operands),
                                       {key: attribute_of(value) for key, value in attributes.items()})
        return list(made.results)

    def knob(self, name: str, options: Sequence[Any], selected: Any) -> ir.Value:
        """Appends a tunable parameter."""
        with self.sequence.context, ir.Location.unknown(), before_end(self._block):
            kind = ir.Type.parse("!transform.param<i64>")
            attributes = {"name": attribute_of(name), "options": ir.ArrayAttr.get([attribute_of(o) for o in options]),
                          "selected": attribute_of(selected)}
            return ir.Operation.create(KNOB, [kind], [], attributes).results[0]

    def extend(self, script: ir.Module, entry: ir.Operation) -> None:
        """Appends another script: the steps of its sequence, and the sequences that it includes."""
        all_ = sequences(script)
        others = [name for name in reached(entry.attributes["sym_name"].value, all_) if all_[name] != entry]
        rename_taken(script, {name: all_[name] for name in others}, set(sequences(self.module)))
        with self.sequence.context, ir.Location.unknown():
            for name in others:
                self.module.body.append(all_[name].clone(ip=False))
            block = entry.regions[0].blocks[0]
            with before_end(self._block):
                copy(body(block), dict(zip(block.arguments, [self.kernel])))
        if "transform.consumed" in str(entry.attributes["arg_attrs"]):
            self.sequence.attributes["arg_attrs"] = entry.attributes["arg_attrs"]
            self._consumed = True


def attribute_of(value: Any) -> ir.Attribute:
    """A Python value as an attribute of a step. ScheduleError for a value of another type."""
    if isinstance(value, ir.Attribute):
        return value
    if (plain := plain_attribute(value)) is not None:
        return plain
    if isinstance(value, ir.AffineMap):
        return ir.AffineMapAttr.get(value)
    if isinstance(value, (list, tuple)) and all(isinstance(v, int) for v in value):
        return ir.DenseI64ArrayAttr.get(list(value))
    if isinstance(value, (list, tuple)):
        return ir.ArrayAttr.get([attribute_of(v) for v in value])
    if isinstance(value, dict):
        return ir.DictAttr.get({str(k): attribute_of(v) for k, v in value.items()})
    raise ScheduleError(f"{value!r} is no text, number, truth value, nor a list or a dict of those")


