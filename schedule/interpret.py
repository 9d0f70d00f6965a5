"""Runs the steps of schedules in upstream's transform interpreter, and reports their failures.

A step that cannot be applied is a silenceable failure, so that ``alternatives`` and ``failures(suppress)`` continue; since the bindings
have no message for these, the run keeps it, and it is inserted into MLIR's diagnostics afterwards. Ops are erased by the interpreter's
rewriter, which invalidates their handles.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from legato.core.diagnostics import Diagnostic, PassFailed, position_of
from legato.core.ir_helpers import ancestors, find
from legato.core.mlir import ir, transform
from legato.core.upstream import run_on
from legato.dialects import tir
from legato.dialects.tir.schedule_ops import ANY, ATTRIBUTES, EXPECT, PREFIX, STEPS, attribute_value, is_parameter, steps_run_by
from legato.dialects.tir.walk import localize_constants
from legato.schedule.query_primitives import named
from legato.schedule.state import Kernel, ScheduleError

INTERPRETER = "transform-interpreter"
SILENT = "TransformOpInterfaceFallbackModel: silenceable failure"
GONE = "this loop or block is gone, an earlier step has put others in its place"
_Outcome = transform.DiagnosedSilenceableFailure


@dataclass(frozen=True)
class RefusedStep:
    """A step that could not be applied, and the reason."""

    step: str
    message: str
    location: ir.Location


class Interpretation:
    """One run of the interpreter: its refused steps, and the exception that ended it, if any."""

    def __init__(self) -> None:
        self.refused: list[RefusedStep] = []
        self.exception: BaseException | None = None
        self.empty: list[ir.Value] = []  # results of steps that found nothing
        self._script: tuple[ir.Block, list[ir.Operation]] | None = None  # the block of the last step, and its ops
        self._at = 0

    def apply(self, op: ir.Operation, rewriter: Any, results: Any, state: Any) -> Any:
        """Applies one step. It raises nothing, since an exception would leave the interpreter without unwinding it."""
        try:
            self._apply(op, rewriter, results, state)
        except ScheduleError as error:
            step = op.operands[0].owner.operation if op.name == EXPECT else op
            self.refused.append(RefusedStep(str(step).strip(), str(error), op.location))
            return _Outcome.SilenceableFailure
        except BaseException as error:  # including interrupts: raised again when the interpreter has returned
            error.add_note(f"in the step: {str(op).strip()}")
            self.exception = error
            return _Outcome.DefiniteFailure
        return _Outcome.Success

    def _apply(self, op: ir.Operation, rewriter: Any, results: Any, state: Any) -> None:
        name = op.name.removeprefix(PREFIX)
        handles = [v for v in op.operands if not is_parameter(v)]
        payload = [[o.operation for o in state.get_payload_ops(handle)] for handle in handles]
        if op.name == EXPECT:
            expect(op, payload[0], state)
            return
        for handle, found in zip(handles, payload):
            if not found:
                raise ScheduleError(f"{name}: {self.why_empty(handle)}")
        given = {a: op.attributes[a] for a in op.attributes if "." not in a}
        attributes = {a: value if ATTRIBUTES[a] == ANY else attribute_value(value) for a, value in given.items()}
        fill_in(op, name, attributes, state)
        from legato.schedule.primitives import run  # all steps, of which most models have none

        made: list[ir.Operation] = []
        behind_a_step = self.follows_a_step(op)
        for ops in applications(name, payload):
            kernel = kernel_of(ops, name, rewriter)
            if kernel is not None and not behind_a_step:
                localize_constants(kernel.function.operation)
            made += run(kernel, name, ops, attributes)
        give(op, name, made, results)
        if not made and len(op.results):
            self.empty.append(op.results[0])

    def why_empty(self, handle: ir.Value) -> str:
        """Why a handle is empty: it was from the beginning, or its ops are gone."""
        owner = handle.owner
        if isinstance(owner, ir.Block) or (owner.name.startswith(PREFIX) and handle not in self.empty):
            return GONE
        return f"its handle stands for nothing; it is from {str(owner).strip()}"

    def follows_a_step(self, op: ir.Operation) -> bool:
        """Whether the previous op is a step: upstream's ops may share constants between blocks, which steps do not support."""
        if self._script is None or self._script[0] != op.block:
            self._script, self._at = (op.block, [o.operation for o in op.block.operations]), 0
        operations = self._script[1]
        if operations[self._at] != op:  # steps run in order, so the next is close; a body that runs again starts over
            later = next((n for n in range(self._at, len(operations)) if operations[n] == op), None)
            self._at = later if later is not None else operations.index(op)
        return self._at > 0 and operations[self._at - 1].name.startswith(PREFIX)

    def diagnostics(self, found: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
        """MLIR's diagnostics of a failed run, with the reasons of steps inserted. Raises the exception that ended the run, if any."""
        if self.exception is not None:
            raise self.exception
        told: list[Diagnostic] = []
        for one in found:
            if not one.message:
                continue  # an empty message from the bindings about a silenceable failure
            refused = self.at(one) if one.message == SILENT else None
            if refused is None:
                told.append(one)
            else:
                step = Diagnostic("note", f"in the step: {refused.step}")
                told.append(Diagnostic(one.severity, refused.message, one.position, None, (step,)))
        if told and "all alternatives failed" in told[0].message:
            notes = tuple(Diagnostic("note", f"{r.message}; in the step: {r.step}", position_of(r.location)) for r in self.refused)
            told[0] = replace(told[0], notes=(*told[0].notes, *notes))
        return tuple(told)

    def at(self, diagnostic: Diagnostic) -> RefusedStep | None:
        """The last refused step, if the diagnostic is about it."""
        if not self.refused or position_of(self.refused[-1].location) != diagnostic.position:
            return None
        return self.refused[-1]


@contextmanager
def interpreting() -> Iterator[Interpretation]:
    """Context in which the interpreter runs our steps; yields the record of the run."""
    made = Interpretation()
    with steps_run_by(made.apply):
        yield made


def expect(op: ir.Operation, found: list[ir.Operation], state: Any) -> None:
    """The step ``expect``: ScheduleError if its handle is empty."""
    if found:
        return
    match = op.operands[0].owner.operation
    where = ", ".join(named(o) for o in state.get_payload_ops(match.operands[0])) if len(match.operands) else ""
    raise ScheduleError(f"nothing{f' in {where}' if where else ''} matches")


def fill_in(op: ir.Operation, name: str, attributes: dict[str, Any], state: Any) -> None:
    """Replaces zeros by parameters' values."""
    key = STEPS[name].numbers
    given = [a for v in op.operands if is_parameter(v) for a in state.get_params(v)]
    if key is None or not given:
        return
    for number in given:
        if not isinstance(number, ir.IntegerAttr):
            raise ScheduleError(f"{name}: a parameter is {number}; a whole number is wanted")
    zeros = attributes[key].count(0)
    if zeros != len(given):
        raise ScheduleError(f"{name}: '{key}' has {zeros} zeros for {len(given)} parameters")
    numbers = iter(given)
    attributes[key] = [next(numbers).value if n == 0 else n for n in attributes[key]]


def applications(name: str, payload: list[list[ir.Operation]]) -> list[list[ir.Operation]]:
    """The ops of each application of a step: one op of each handle, or each op of the only handle if the step has no results."""
    step = STEPS[name]
    if step.handles is None:
        return [[op for found in payload for op in found]]
    if step.handles == 1 and step.gives == 0:
        return [[op] for op in payload[0]]
    for found in payload:
        if len(found) != 1:
            raise ScheduleError(f"{name}: takes one loop or block, and its handle stands for {len(found)}: {', '.join(map(named, found))} "
                                "(transform.split_handle gives a handle to each, transform.foreach does the same to all)")
    return [[found[0] for found in payload]]


def kernel_of(ops: Sequence[ir.Operation], name: str, rewriter: Any) -> Kernel | None:
    """The kernel that contains all the ops, or the only one of a module. None for a module of several, and for no kernel."""
    if ops[0].name == "builtin.module":
        found = [f.operation for f in find(ops[0], "func.func") if tir.is_prim_func(f)]
        return Kernel(found[0].opview, rewriter.erase_op) if len(found) == 1 else None
    around = [next((one for one in (op, *ancestors(op)) if one.name == "func.func"), None) for op in ops]
    if any(f != around[0] for f in around):
        raise ScheduleError(f"{name}: takes loops and blocks of one kernel")
    if around[0] is None or not tir.is_prim_func(around[0]):
        return None
    return Kernel(around[0].opview, rewriter.erase_op)


def give(op: ir.Operation, name: str, made: list[ir.Operation], results: Any) -> None:
    """Sets the handles of a step's results."""
    wanted = len(op.results)
    if name == "rfactor":
        made = made[:wanted]
    if wanted == 1:
        results.set_ops(op.results[0], made)
        return
    if wanted != len(made):
        raise ScheduleError(f"the step gives {len(made)} handles, and the script takes {wanted}")
    for result, one in zip(op.results, made):
        results.set_ops(result, [one])


def run_interpreter(operation: ir.Operation, passes: str) -> None:
    """Runs upstream passes including the transform interpreter, whose scripts may have steps of schedules. Raises PassFailed."""
    with interpreting() as run:
        try:
            run_on(operation, passes, run.diagnostics)
        except PassFailed as failed:
            failed.pass_name = INTERPRETER if run.refused else ""
            raise
