"""Schedules as transform scripts: attributes as text, replay of a script's steps on a kernel."""
from typing import Any

from ...dialects.errors import LegatoError
from ...mlir import func, ir
from .primitives import run
from .state import Cell, Kernel, ScheduleError

ANY = "!transform.any_op"
PREFIX = "tir.sch_"
SEQUENCE = "schedule"


def attribute_text(value: Any) -> str:
    """An attribute as MLIR writes it."""
    if isinstance(value, ir.AffineMap):
        return f"affine_map<{value}>" if not str(value).startswith("affine_map") else str(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, (list, tuple)):
        return f"array<i64: {', '.join(map(str, value))}>" if value else "array<i64>"
    return f"{value} : i64"


def attribute_value(attribute: ir.Attribute) -> Any:
    if isinstance(attribute, (ir.StringAttr, ir.IntegerAttr)):
        return attribute.value
    if isinstance(attribute, ir.DenseI64ArrayAttr):
        return list(attribute)
    if isinstance(attribute, ir.AffineMapAttr):
        return attribute.value
    raise ScheduleError(f"a step has the attribute {attribute}: a text, a number, a list of numbers or a map is wanted")


def wrap(lines: list[str], name: str = SEQUENCE) -> str:
    """A whole script."""
    body = "".join(f"    {line}\n" for line in lines)
    return ("module attributes {transform.with_named_sequence} {\n"
            f"  transform.named_sequence @{name}(%kernel: {ANY} {{transform.readonly}}) {{\n{body}    transform.yield\n  }}\n}}\n")


def parse(text: str, context: ir.Context) -> tuple[ir.Module, ir.Operation]:
    """The module of a script, and its one sequence. LegatoError for text that is none."""
    with context, ir.Location.unknown():
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError as error:
            raise LegatoError(f"this is no schedule: {error}") from error
    found = [op.operation for op in module.body.operations if op.operation.name == "transform.named_sequence"]
    if len(found) != 1:
        raise LegatoError(f"a schedule is one transform.named_sequence; this text has {len(found)}")
    return module, found[0]


def replay(sequence: ir.Operation, kernel: func.FuncOp) -> Kernel:
    """Runs the steps of a sequence on a kernel. ScheduleError, with the step, where one is not legal or matches nothing."""
    state = Kernel(kernel)
    block = sequence.regions[0].blocks[0]
    handles: dict[ir.Value, Cell] = {block.arguments[0]: state.cell(kernel.operation)}
    for step in [op.operation for op in block.operations]:
        if step.name == "transform.yield":
            break
        if not step.name.startswith(PREFIX):
            raise ScheduleError(f"{step.name} is not a step of a schedule on loops; those are {PREFIX}*")
        attributes = {name: attribute_value(step.attributes[name]) for name in step.attributes if "." not in name}
        try:
            made = run(state, step.name.removeprefix(PREFIX), [handles[v] for v in step.operands], attributes)
        except ScheduleError as error:
            raise ScheduleError(f"{error}\n  in the step: {str(step).strip()}") from None
        if len(made) != len(step.results):
            raise ScheduleError(f"the step gives {len(made)} handles, and the script takes {len(step.results)}\n"
                                f"  in the step: {str(step).strip()}")
        handles |= dict(zip(step.results, made))
    return state
