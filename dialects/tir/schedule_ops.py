"""Steps of schedules as ops of transform scripts: each is a primitive of TensorIR on handles to blocks and loops of one kernel.

    module attributes {transform.with_named_sequence} {
      transform.named_sequence @schedule(%kernel: !transform.any_op {transform.readonly}) {
        %0 = "tir.sch_get_block"(%kernel) {name = "C"} : (!transform.any_op) -> !transform.any_op
        %1:3 = "tir.sch_get_loops"(%0) : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
        %2:2 = "tir.sch_split"(%1#1) {factors = array<i64: -1, 16>} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
        "tir.sch_vectorize"(%2#1) : (!transform.any_op) -> ()
        transform.yield
      }
    }

Upstream's interpreter runs them, mixed with upstream's own ops. A step does not consume its handles: those to loops and blocks that still
exist stay valid. A step that cannot be applied is a silenceable failure and changes nothing. A step without results is applied to each
payload op of its handle; a single result is a handle to all ops found. Zeros in a list of numbers are replaced by parameters, in order:

    %tile = transform.tune.knob<"tile"> = 16 : i64 from options = [8 : i64, 16 : i64] -> !transform.param<i64>
    %2:2 = "tir.sch_split"(%1#1, %tile) {factors = array<i64: -1, 0>} : (!transform.any_op, !transform.param<i64>) -> (...)

Lookups such as ``sch_get_block`` exist beside upstream's ``structured.match`` and ``get_parent_op`` for their errors: upstream returns an
empty handle or several ops, ``sch_get_block`` fails and lists the blocks there are.
"""
from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from legato.core.mlir import ext, ir, transform
from legato.dialects.tir.dialect import Tir
from legato.dialects.tir.verify import InvalidOp, verified

PREFIX = "tir.sch_"
EXPECT = f"{PREFIX}expect"
PACK = f"{PREFIX}pack"
PARTITION = f"{PREFIX}loop_partition"
TEXT, NUMBER, NUMBERS, NUMBER_OR_TEXT = "a text", "a number", "a list of numbers", "a number or a text"
MAP, ANY, FLAG = "a map", "any", "a flag"
ATTRIBUTES = {
    "name": TEXT, "factors": NUMBERS, "sizes": NUMBERS, "tiles": NUMBERS, "thread": TEXT, "at": NUMBER_OR_TEXT, "scope": TEXT,
    "axis": NUMBER, "map": MAP, "side": TEXT, "intrinsic": TEXT, "key": TEXT, "value": ANY, "unit_loops": FLAG,
    "unconverted": FLAG, "depth_last": FLAG, "through_shared": FLAG, "slices": NUMBER,
    "order": NUMBERS, "factor": NUMBER, "offset": NUMBER, "drop_units": FLAG,
}
EXAMPLES = {TEXT: '"a"', NUMBER: "1 : i64", NUMBERS: "array<i64: 4, -1>", NUMBER_OR_TEXT: '0 : i64, or "A"',
            MAP: "affine_map<(i, j) -> (j, i)>", FLAG: "true"}
PYTHON = {TEXT: (str,), NUMBER: (int,), NUMBERS: (list,), NUMBER_OR_TEXT: (int, str), MAP: (ir.AffineMap,), FLAG: (bool,)}


@dataclass(frozen=True)
class Step:
    """One kind of step: the number of handles it takes and returns (None: any number), and its attributes. ``adds``: attributes with any
    of which it returns one more."""

    doc: str
    attributes: tuple[str, ...] = ()
    handles: int | None = 1
    gives: int | None = 0
    optional: tuple[str, ...] = ()
    numbers: str | None = None  # the attribute whose zeros stand for parameters
    adds: tuple[str, ...] = ()


STEPS = {
    "get_block": Step("The block of that name in a kernel, a loop, a block or a module.", ("name",), gives=1),
    "get_loops": Step("The loops around a block, outermost first.", gives=None),
    "get_child_blocks": Step("The blocks directly in a block or a loop.", gives=None),
    "get_producers": Step("The earlier blocks that write what a block reads.", gives=None),
    "get_consumers": Step("The later blocks that read what a block writes.", gives=None),
    "get_output_blocks": Step("The blocks in a kernel, a loop or a block that write outputs of the kernel.", gives=None),
    "split": Step("Replaces a loop by nested loops; the factor -1 is inferred.", ("factors",), gives=None, numbers="factors"),
    "fuse": Step("Replaces perfectly nested loops by one.", handles=None, gives=1),
    "merge": Step("Makes one loop, with the bodies of all, of loops in nests beside each other, and of those around them.", handles=None,
                  gives=1),
    "reorder": Step("Puts loops of one nest into the given order.", handles=None),
    "loop_partition": Step("Replaces a loop by consecutive loops of so many steps; the factor -1 is inferred, and without one the last "
                           "loop, of the steps that are left, is one more.", ("factors",), gives=None, numbers="factors",
                           optional=("drop_units",)),
    "parallel": Step("Runs the iterations of the loop on several cores."),
    "vectorize": Step("Makes the iterations of the loop lanes of vectors."),
    "unroll": Step("Copies the body of the loop for each iteration."),
    "bind": Step("Makes the iterations of the loop threads of a device: blockIdx.x, threadIdx.x, ...", ("thread",)),
    "add_unit_loop": Step("Encloses a block or a loop in a loop of one iteration.", gives=1),
    "annotate": Step("Adds an annotation, for lowering, to a loop or a block.", ("key", "value")),
    "unannotate": Step("Removes an annotation.", ("key",)),
    "cache_read": Step("Makes the block (first handle) read a copy, in a scope, of a buffer (``at``: its number among the buffers read, or "
                       "its name). Later blocks (other handles) read the same copy.", ("at", "scope"), handles=None, gives=1),
    "cache_write": Step("Makes the block write a new buffer, which another block copies from.", ("at", "scope"), gives=1),
    "read_at": Step("Makes the block (first handle) read a copy of what it reads in one step of the loop, made in that step.",
                    ("at", "scope"), handles=2, gives=1),
    "write_at": Step("Makes the block (first handle) write a new buffer, of which each step of the loop copies what it has written.",
                     ("at", "scope"), handles=2, gives=1),
    "reindex": Step("Makes the block access, by plain axes, a new buffer that a new block fills from a buffer that it reads (``at``: its "
                    "number with ``side = \"read\"``, or its name), or copies to one that it writes (``\"write\"``): dimensions are the "
                    "axes that its indices depend on. Returns the new block.", ("at",), gives=1, optional=("side",)),
    "set_scope": Step("Sets the scope of a buffer that the block writes.", ("at", "scope")),
    "storage_align": Step("Makes a step along an axis of a buffer that the block writes ``offset`` elements modulo ``factor``, by a larger "
                          "allocation.", ("at", "axis", "factor", "offset")),
    "compute_at": Step("Moves the block (first handle) into the loop of its readers.", handles=2, optional=("unit_loops",)),
    "reverse_compute_at": Step("Moves the block (first handle) into the loop of what it reads.", handles=2, optional=("unit_loops",)),
    "compute_inline": Step("Replaces each read of the block's output by the computation, and erases the block."),
    "reverse_compute_inline": Step("Moves the block's computation into the block that produces its input."),
    "decompose_reduction": Step("Makes the init of the block (first handle) a block before the loop.", handles=2, gives=1),
    "decompose_padding": Step("Makes what the block (first handle) pads with a block before the loop; the block keeps what is inside.",
                              handles=2, gives=1),
    "rfactor": Step("Splits a reduction: a block accumulates each iteration of the loop into an element of its own, a second block "
                    "adds these up. Returns both blocks.", ("axis",), gives=2),
    "transform_layout": Step("Changes the layout of a buffer that the block writes (``side = \"read\"``: reads).", ("at", "map"),
                             optional=("side",)),
    "transform_block_layout": Step("Makes the results of a bijective map of the block's axes its axes, under new loops. Returns the block.",
                                   ("map",), gives=1),
    "reorder_block_iter_var": Step("Puts the block's axes into another order (``order``: their numbers).", ("order",)),
    "tile_product": Step("Computes a product in tiles of rows, columns and depth. Returns the blocks that initialize a tile of the "
                         "result, copy one of each operand, multiply, and write the result; ``through_shared``: before the last, "
                         "one more that copies the result's tile to shared memory; so does ``slices``, where that many parts of the "
                         "depth are computed apart, and the last adds them.", ("tiles",), gives=5, numbers="tiles",
                         optional=("unconverted", "depth_last", "through_shared", "slices"), adds=("through_shared", "slices")),
    "tile_attention": Step("Computes an attention in tiles of rows and keys, by its product with values. Returns the blocks, which "
                           "``Schedule.tile_attention`` lists.", ("tiles",), gives=16, numbers="tiles", optional=("unconverted",)),
    "blockize": Step("Makes the body of the loop one block, with axes for the loops around it.", gives=1),
    "tensorize": Step("Replaces the body of the loop by an intrinsic of the device.", ("intrinsic",), gives=1),
    "pad": Step("Pads the block's axes to multiples of these sizes with neutral values.", ("sizes",), numbers="sizes"),
    "pack": Step("Makes the block read a tiled copy of the buffer that it reads as number ``at``.", ("at", "tiles"), numbers="tiles"),
    "expect": Step("Fails if the handle is empty."),
}

READING = tuple(name for name in STEPS if name.startswith("get_") or name == "expect")

Runner = Callable[[ir.Operation, Any, Any, Any], Any]
_runner: ContextVar[Runner | None] = ContextVar("the runner of steps", default=None)


@contextmanager
def steps_run_by(runner: Runner) -> Iterator[None]:
    """In this context ``runner(op, rewriter, results, state)`` applies steps; it returns what ``apply`` returns."""
    token = _runner.set(runner)
    try:
        yield
    finally:
        _runner.reset(token)


class _Runs(transform.TransformOpInterface):
    """Upstream's hook for running a step. It calls the runner that ``steps_run_by`` has set: the primitives belong to a higher layer."""

    @staticmethod
    def apply(op: ir.OpView, rewriter: Any, results: Any, state: Any) -> Any:
        runner = _runner.get()
        if runner is None:
            op.operation.location.emit_error(f"{op.operation.name} is run by legato.Schedule, tir-apply-schedules and legato-opt only")
            return transform.DiagnosedSilenceableFailure.DefiniteFailure
        return runner(op.operation, rewriter, results, state)

    @staticmethod
    def allow_repeated_handle_operands(op: ir.OpView) -> bool:
        return True


class _Effects(ir.MemoryEffectsOpInterface):
    @staticmethod
    def get_effects(op: ir.OpView, effects: Any) -> None:
        transform.only_reads_handle(op.op_operands, effects)
        transform.produces_handle(op.results, effects)
        if op.operation.name.removeprefix(PREFIX) in READING:
            transform.only_reads_payload(effects)
        else:
            transform.modifies_payload(effects)


def is_parameter(value: ir.Value) -> bool:
    """Whether a value of a script is a parameter (a number) and not a handle."""
    return str(value.type).startswith(("!transform.param", "!transform.any_param"))


def attribute_value(attribute: ir.Attribute) -> Any:
    """The Python value of a step's attribute: string, number, list of numbers or map; other attributes as they are."""
    if isinstance(attribute, (ir.StringAttr, ir.BoolAttr, ir.IntegerAttr, ir.AffineMapAttr)):
        return attribute.value
    return list(attribute) if isinstance(attribute, ir.DenseI64ArrayAttr) else attribute


def _check(operation: ir.Operation, step: Step) -> None:
    handles = [v for v in operation.operands if not is_parameter(v)]
    if step.handles is not None and len(handles) != step.handles:
        raise InvalidOp(f"takes {step.handles} handle{'s' if step.handles != 1 else ''}, has {len(handles)}")
    if not handles:
        raise InvalidOp("takes handles, has none")
    given = len(operation.results)
    gives = None if step.gives is None else step.gives + any(name in operation.attributes for name in step.adds)
    if gives is not None and given != gives and not (gives > 1 and given == 1):
        raise InvalidOp(f"gives {gives} handle{'s' if gives != 1 else ''}, has {given} results")
    known = (*step.attributes, *step.optional)
    for name in operation.attributes:
        if name not in known and "." not in name:
            raise InvalidOp(f"has no attribute '{name}'" + (f"; it has: {', '.join(known)}" if known else ""))
    for name in known:
        if name not in operation.attributes:
            if name in step.attributes:
                raise InvalidOp(f"needs the attribute '{name}'")
            continue
        value, wanted = attribute_value(operation.attributes[name]), ATTRIBUTES[name]
        if wanted != ANY and (not isinstance(value, PYTHON[wanted]) or (isinstance(value, bool) and wanted != FLAG)):
            raise InvalidOp(f"'{name}' is {wanted} ({EXAMPLES[wanted]}), not {operation.attributes[name]}")
    if "factors" in known:
        factors = attribute_value(operation.attributes["factors"])
        loops = len(factors) + (operation.name == PARTITION and -1 not in factors)
        if given not in (1, loops):
            each = ", one for each factor" if loops == len(factors) else ""
            raise InvalidOp(f"gives {loops} loops{each}, has {given} results")
    parameters = len(operation.operands) - len(handles)
    places = attribute_value(operation.attributes[step.numbers]).count(0) if step.numbers else 0
    if parameters and not places:
        raise InvalidOp(f"has a parameter, but no 0 in '{step.numbers}' that it would stand for" if step.numbers else "takes no parameters")
    if places and not parameters:
        raise InvalidOp(f"has a 0 in '{step.numbers}', and no parameter to stand there")


def _define(name: str, step: Step) -> None:
    def check(self: Any) -> None:
        _check(self.operation, step)

    several = Sequence[ext.Operand[Any]]
    operands = {"handle": ext.Operand[Any], "numbers": several} if step.numbers else {"handles": several}
    named = [f"`{a}` ({ATTRIBUTES[a]})" for a in step.attributes] + [f"`{a}` ({ATTRIBUTES[a]}, optional)" for a in step.optional]
    doc = "\n\n".join([step.doc, *([f"Attributes: {', '.join(named)}."] if named else [])])
    body = {"__doc__": doc, "__module__": __name__, "check": check,
            "__annotations__": {**operands, "made": Sequence[ext.Result[Any]]}}
    title = "".join(part.capitalize() for part in name.split("_"))
    traits = {"name": f"sch_{name}", "traits": [_Runs, _Effects]}
    made = types.new_class(f"{title}Step", (Tir.Operation,), traits, lambda n: n.update(body))
    made._ODS_OPERAND_SEGMENTS = made._ODS_RESULT_SEGMENTS = None
    verified(made)


for _name, _step in STEPS.items():
    _define(_name, _step)
