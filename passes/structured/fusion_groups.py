"""Calls of kernels that become one kernel: their groups, and which groups may be joined."""
from dataclasses import dataclass, field
from typing import Any

from legato.core.dtypes import element_bytes
from legato.core.mlir import func, ir

MAX_CALLS = 40  # longest group, to limit registers and compile time: a residual block of a quantized model has 31


@dataclass(eq=False)
class Call:
    """A call of a kernel in main, or in a branch or loop of it. ``kind``: the kernel's class; ``group``: the group it is in; ``fresh``:
    whether its output is empty before it; ``measures``: for each size of its result that is not static, the input and the dimension that
    have it, None where there is none of some."""

    op: func.CallOp
    callee: str
    kind: str
    in_order: bool  # whether no operand is read transposed
    shape: tuple[Any, ...]  # of the one result: its static shape, and the values of its dynamic sizes
    group: "FusionGroup"
    fresh: bool
    measures: tuple[tuple[int, int], ...] | None = None

    @property
    def result(self) -> ir.Value:
        """The call's first result."""
        return self.op.results[0]

    @property
    def measured(self) -> tuple[tuple[int, int], ...] | None:
        """Where the kernel of its group reads the sizes of its result; None where they are those of the group's."""
        calls = self.group.calls
        return self.measures if calls and self.shape != calls[-1].shape else None

    # properties, because fusing another group replaces operands
    @property
    def inputs(self) -> list[ir.Value]:
        """The operands that the kernel reads."""
        return list(self.op.operation.operands)[: -len(self.op.results)]

    @property
    def outputs(self) -> list[ir.Value]:
        """The operands that the kernel writes (destinations)."""
        return list(self.op.operation.operands)[-len(self.op.results):]


@dataclass(eq=False)
class FusionGroup:
    """Calls that become one kernel, in program order; the last one's result is the group's. ``waiting``: what calls of the group read,
    and calls outside of it as well, as pairs of the reader and the call that makes it."""

    calls: list[Call] = field(default_factory=list)
    waiting: list[tuple[Call, Call]] = field(default_factory=list)

    @property
    def heavy(self) -> str | None:
        """The kind of the one call that is not elementwise, if there is one."""
        return next((c.kind for c in self.calls if c.kind != "elementwise"), None)

    def take(self, other: "FusionGroup", count: int) -> None:
        """Puts the last calls of another group, so many, in front."""
        first = len(other.calls) - count
        other.calls, taken = other.calls[:first], other.calls[first:]
        self.calls = taken + self.calls
        for call in taken:
            call.group = self
        self.waiting += [one for one in other.waiting if one[0].group is self]


def may_join(producer: Call, consumer: Call, group: FusionGroup) -> bool:
    """Whether the producer's group, which only calls of the consumer's group read, may be merged into that one."""
    if not producer.fresh:
        return False  # the kernel of the group would start from an empty tensor in place of what the output holds
    if not are_sized(producer.group.calls, group):
        return False
    theirs = producer.group.heavy
    if len(producer.group.calls) + len(group.calls) > MAX_CALLS or "opaque" in (theirs, consumer.kind):
        return False
    alone = theirs is None and group.heavy is None and consumer.kind == "elementwise"
    if not alone and not (consumer.in_order and all(call.in_order for call in (*producer.group.calls, *group.calls))):
        return False  # what is transposed is a kernel of its own
    if consumer.kind == "elementwise":
        return producer.shape == consumer.shape and (theirs is None or group.heavy is None)
    return consumer.kind == "reduction" and theirs is None and fits_prologue(producer, consumer)


def widened_at_end(given: FusionGroup, consumer: Call, group: FusionGroup) -> list[Call]:
    """The calls at the end of a group that only widen its narrowest value, element by element, for an elementwise consumer in a group that
    cannot take all of them: that one takes these, so that the narrow value is what goes through memory."""
    if consumer.kind != "elementwise" or not all(call.in_order for call in (consumer, *group.calls)):
        return []
    calls, at = given.calls, len(given.calls)
    widest = width = element_bytes(calls[-1].result.type.element_type)
    for number in range(len(calls) - 1, 0, -1):
        call, before = calls[number], calls[number - 1]
        fits = call.kind == "elementwise" and call.in_order and call.fresh and call.shape == before.shape == consumer.shape
        if not fits or [value for value in call.inputs if value.owner in {c.op.operation for c in calls}] != [before.result]:
            break
        if (bytes_ := element_bytes(before.result.type.element_type)) < width:
            width, at = bytes_, number
    together = len(calls) - at + len(group.calls)
    return calls[at:] if width < widest and together <= MAX_CALLS and are_sized(calls[at:], group) else []


def fits_prologue(producer: Call, consumer: Call) -> bool:
    """Whether a producer can be merged before a reduction: it makes what is reduced."""
    return producer.result == consumer.inputs[0]


def are_sized(calls: list[Call], group: FusionGroup) -> bool:
    """Whether the sizes of these calls' results are known inside of the kernel of a group: static, those of its result, or of inputs."""
    last = group.calls[-1]
    return all(call.result.type.has_static_shape or call.shape == last.shape or call.measures is not None for call in calls)
