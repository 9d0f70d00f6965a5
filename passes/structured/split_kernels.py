"""tir-split-kernels: cuts a kernel of several contractions, or of a contraction and work that its schedule cannot take in, into kernels.

Schedules are for kernels with one contraction. A kernel written by hand, or by a user's rule, may hold an attention or a whole layer: its
pieces become kernels of their own, with intermediate results in main, and are fused again as far as that pays (``tir-fuse``).
"""
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.structured import CONTRACTION, ELEMENTWISE, REDUCTION, WINDOW, StructuredKernel, StructuredOp
from legato.core import fills
from legato.core.ir_helpers import copy, find, index, present, terminator
from legato.core.mlir import func, ir, tensor
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.relax import origins
from legato.dialects.relax.markers import OPS
from legato.dialects.tir.loops import constant_of
from legato.passes.graph.functions import Constants
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.structured.pieces import Piece, pieces_of, stands_alone
from legato.passes.structured.rearrange import rearranged, rearrangement

UNREAD = ("linalg.fill", "linalg.generic", "linalg.copy", "tensor.dim")


@dataclass(frozen=True)
class SplitKernels(ModulePass):
    """Cuts kernels with several contractions, and those whose contraction reads computed values, into one kernel for each.

    A kernel stays whole if a schedule takes it as it is, if it holds anything but structured ops, if it reads what its outputs
    held, or if nothing calls it. The report (split-kernels) names the parts of each kernel that was cut.
    """

    name: ClassVar[str] = "tir-split-kernels"

    def run(self, module: Module, context: PassContext) -> None:
        report = context.report.setdefault("split-kernels", {})
        with module.context, ir.Location.unknown():
            calls = calls_of(module.module)
            constants = Constants(module)
            for kernel in tir.schedulable(module.module):
                found = context.kernels.of(kernel)
                sites = calls.get(kernel.name.value, [])
                if not sites or not wants_cut(found) or reads_outputs(kernel):
                    continue
                pieces = pieces_of(found)
                if pieces is not None and all(size is not None for piece in pieces for v in piece.results for size in sizes(v)):
                    context.kernels.drop(kernel)
                    name = kernel.name.value
                    report[name] = Split(module.module, kernel, pieces, constants).run(sites)


def calls_of(module: ir.Module) -> dict[str, list[func.CallOp]]:
    """The calls of each function that do nothing but call it, in all functions, nested ones too."""
    calls: dict[str, list[func.CallOp]] = {}
    for op in find(module.operation, "func.call"):
        calls.setdefault(op.attributes["callee"].value, []).append(op.opview)
    plain = {"callee", OPS}
    return {name: sites for name, sites in calls.items() if all({*site.attributes} <= plain for site in sites)}


def wants_cut(kernel: StructuredKernel) -> bool:
    """Whether a kernel has an op with a schedule of its own, and no schedule takes the kernel whole."""
    work = [op for op in kernel.structured if not op.is_fill]
    kinds = {op.kind for op in work}
    if CONTRACTION in kinds:
        return kernel.contraction is None
    if WINDOW in kinds and work[0].kind == WINDOW and kinds <= {WINDOW, ELEMENTWISE}:
        return any(stands_alone(op) for op in work[1:])
    return (kinds != {ELEMENTWISE} or kernel.pads) and any(map(stands_alone, work))


def reads_outputs(kernel: func.FuncOp) -> bool:
    """Whether the kernel may read what its output arguments hold when it is called."""
    arguments = list(kernel.arguments)
    uses = [use for out in arguments[len(arguments) - tir.out_count(kernel):] for use in out.uses]
    return any(use.owner.name not in UNREAD or is_read(use.owner.operation, use.operand_number) for use in uses)


def is_read(op: ir.Operation, operand: int) -> bool:
    """Whether a structured op reads the elements of an operand."""
    if op.name == "tensor.dim":
        return False
    argument = op.regions[0].blocks[0].arguments[operand]
    return next(iter(argument.uses), None) is not None


Size = tuple[ir.Value, int] | ir.Value  # dimension of a value, or an index value


def sizes(value: ir.Value) -> Iterator[Size | None]:
    """Where the dynamic sizes of a value come from; None for one that is not known before the kernel."""
    for dim in range(value.type.rank):
        if value.type.is_dynamic_dim(dim):
            yield size_of(value, dim)


def size_of(value: ir.Value, dim: int) -> Size | None:
    """Where one size comes from: a dimension of an argument of the kernel, or an index value computed from such dimensions."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return value, dim
    if owner.name == "tensor.empty":
        size = owner.operands[[d for d in range(value.type.rank) if value.type.is_dynamic_dim(d)].index(dim)]
        return size if is_known(size) else None
    if owner.name == "tensor.cast":
        return size_of(owner.operands[0], dim)
    if owner.name.startswith("linalg.") and len(owner.operands) >= len(owner.results):
        return size_of(owner.operands[len(owner.operands) - len(owner.results) + ir.OpResult(value).result_number], dim)
    return None


def is_known(value: ir.Value) -> bool:
    """Whether an index value is computed from constants, scalar arguments and the sizes of known tensors."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return True
    if owner.name == "tensor.dim":
        place = constant_of(owner.operands[1])
        return place is not None and size_of(owner.operands[0], place) is not None
    return owner.name.startswith(("arith.", "affine.")) and all(map(is_known, owner.operands))


class Split:
    """The kernels made of one kernel's pieces."""

    def __init__(self, module: ir.Module, kernel: func.FuncOp, pieces: list[Piece], constants: Constants):
        self.module, self.kernel, self.pieces, self.constants = module, kernel, pieces, constants
        arguments = list(kernel.arguments)
        outs = arguments[len(arguments) - tir.out_count(kernel):]
        self.out_of: dict[ir.Value, ir.Value] = {}  # the output of each returned value, the first one if it is returned twice
        self.returned = list(terminator(kernel.body.blocks[0]).operands)
        for value, out in zip(self.returned, outs):
            self.out_of.setdefault(value, out)
        self.symbols = ir.SymbolTable(module.operation)
        self.names: dict[Piece, str] = {}  # of the kernels that are made

    def run(self, sites: list[func.CallOp]) -> list[str]:
        """Replaces the calls of the kernel, and the kernel. Returns the names of the new kernels."""
        for site in sites:
            with ir.InsertionPoint(site), site.location:
                self._replace(site)
        self.symbols.erase(self.kernel)
        return list(self.names.values())

    def _inputs(self, piece: Piece) -> list[ir.Value]:
        """What a piece's kernel gets as inputs; its outputs come after."""
        own = [self.out_of[v] for v in piece.results if v in self.out_of]
        return [v for v in piece.inputs if v not in own]

    def _build(self, piece: Piece) -> str:
        """Makes the kernel of one piece. Returns its name."""
        inputs = self._inputs(piece)

        def body(ins: list[ir.Value], outs: list[ir.Value]) -> list[ir.Value]:
            mapping = dict(zip(inputs, ins))
            mapping |= {self.out_of[v]: out for v, out in zip(piece.results, outs) if v in self.out_of}
            copied = copy(piece.ops, mapping)
            return [copied[value] for value in piece.results]

        name = f"{self.kernel.name.value}_{role(piece)}"
        made = tir.prim_func(self.module, name, [v.type for v in inputs], [v.type for v in piece.results], body, self.kernel.location,
                             self.symbols)
        tir.tie_outputs(made)
        end = terminator(made.body.blocks[0])
        for number, (value, out) in enumerate(tir.results_with_outputs(made)):
            if not tir.is_tied(value, out):
                with ir.InsertionPoint(end), end.location:
                    end.operands[number] = fills.copy(value, out)
        return made.name.value

    def _replace(self, site: func.CallOp) -> None:
        """Replaces one call of the kernel by calls of its pieces, at the insertion point."""
        values: dict[ir.Value, ir.Value] = dict(zip(self.kernel.arguments, site.operands))
        for piece in self.pieces:
            inputs = [values[v] for v in self._inputs(piece)]
            if (folded := self._fold(piece, inputs)) is not None:
                values[piece.results[0]] = folded
                continue
            outputs = [values[self.out_of[v]] if v in self.out_of else self._empty(v, values) for v in piece.results]
            if piece not in self.names:
                self.names[piece] = self._build(piece)
            call = func.CallOp([v.type for v in piece.results], ir.FlatSymbolRefAttr.get(self.names[piece]), [*inputs, *outputs])
            origins.inherit(call.operation, site.operation)
            values |= zip(piece.results, call.results)
        for old, value in zip(site.results, self.returned):
            old.replace_all_uses_with(values[value])
        operands = list(site.operands)
        site.operation.erase()
        self.constants.erase_unused(operands)

    def _fold(self, piece: Piece, inputs: list[ir.Value]) -> ir.Value | None:
        """The result of a piece that only moves the elements of a constant; None for any other piece."""
        array = self.constants.array(inputs[0]) if len(inputs) == 1 and piece.results[0] not in self.out_of else None
        steps = rearrangement(piece.ops, piece.inputs[0]) if array is not None else None
        if array is None or steps is None:
            return None
        return self.constants.build(rearranged(array, steps), f"{self.constants.name_of(inputs[0])}.transposed")

    def _empty(self, value: ir.Value, values: dict[ir.Value, ir.Value]) -> ir.Value:
        """A tensor for one intermediate result in the caller."""
        dynamic = (self._size(present(size), values) for size in sizes(value))
        shape = [next(dynamic) if value.type.is_dynamic_dim(d) else value.type.get_dim_size(d) for d in range(value.type.rank)]
        return tensor.EmptyOp(shape, value.type.element_type).result

    def _size(self, size: Size, values: dict[ir.Value, ir.Value]) -> ir.Value:
        """A size in the caller."""
        if isinstance(size, tuple):
            return tensor.DimOp(values[size[0]], index(size[1])).result
        if size not in values:
            op = size.owner.operation
            if op.name == "tensor.dim":
                values[size] = self._size(present(size_of(op.operands[0], present(constant_of(op.operands[1])))), values)
            else:
                known = {operand: self._size(operand, values) for operand in op.operands}
                values |= copy([op], known)
        return values[size]


def role(piece: Piece) -> str:
    """A word for what a piece computes, for its kernel's name."""
    work = [StructuredOp(op) for op in piece.ops if op.name.startswith("linalg.") and op.name != "linalg.fill"]
    if len(piece.inputs) and rearrangement(piece.ops, piece.inputs[0]) is not None:
        return "transpose"
    if piece.heart is not None and StructuredOp(piece.heart).kind != ELEMENTWISE:
        return piece.heart.name.removeprefix("linalg.").replace("generic", "contraction")
    return "reduction" if any(op.kind == REDUCTION for op in work) else "elementwise"
