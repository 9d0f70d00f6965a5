"""relax-require-sizes: records the conditions on main's symbols under which its inferred shapes are valid.

Shape inference accepts a symbolic end of a slice, ``n - 2`` as a size, and tensors of ``n * n * n`` elements. Whether they are valid is
known only at a call, which checks them before anything runs: the function gets the attribute ``relax.requires``, rows of an expression
that must not be negative and a text for messages, and ``relax.bytes``, rows of a number of bytes that must not exceed ``LARGEST``.

What ops in a branch or loop require of symbols that are known before it is checked where it begins: it may not run at all.
"""
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from legato.analysis.indices.sizes import always_fits, never_negative
from legato.core.diagnostics import PassFailed
from legato.core.dtypes import numpy_dtype
from legato.core.ir_helpers import everything
from legato.core.locations import describe
from legato.core.mlir import func, ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.dialects.relax.markers import NAME
from legato.dialects.relax.requirements import Requirement, require, require_here, required_by, requirements, requiring_calls
from legato.passes.graph.functions import relax_functions, top_ops
from legato.passes.graph.op_requirements import op_requirements
from legato.passes.pipeline.base import ModulePass, PassContext, option

TYPICAL = 1 << 10    # the value of a symbol where sizes are sorted


def byte_requirements(function: func.FuncOp) -> list[Requirement]:
    """No tensor may have more than ``LARGEST`` bytes, and nothing that its sizes are computed from be greater: of those that could, the
    greatest suffice."""
    given = [_bytes(type_) for type_ in function.type.inputs if isinstance(type_, ir.RankedTensorType)]
    found: dict[dims.Dim, str] = {}
    for op in everything(function.operation):
        for result in op.results:
            if isinstance(result.type, ir.RankedTensorType) and isinstance(size := _bytes(result.type), dims.Dim):
                for part in dims.nested(size):
                    found.setdefault(part, f"{describe(op)} makes a tensor of {relax.TensorType.of(result.type)}, " + (
                        "more than 2**56 bytes" if part == size else f"whose sizes are computed from {part}, more than 2**56"))
    rows: list[Requirement] = []
    least: dict[str, list[dims.Size]] = {}      # of the rows, by symbol: one without some symbol of a bound is less for some call
    for size in sorted(found, key=_typical, reverse=True):
        bound = dims.magnitude(size)
        shared = min((least.get(name, []) for name in dims.symbols(bound)), key=len, default=[])
        if not always_fits(bound, given) and not any(never_negative(one - bound) for one in shared):
            rows.append(Requirement(size, found[size], is_bytes=True))
            below = _least_magnitude(size)
            for name in dims.symbols(below):
                least.setdefault(name, []).append(below)
    return sorted(rows, key=lambda row: len(dims.nested(row.size)))     # of several that a call breaks, the message names the innermost


def _bytes(type_: ir.RankedTensorType) -> dims.Size:
    return dims.product(size for size in dims.dims(type_)) * numpy_dtype(type_.element_type).itemsize


def _least_magnitude(size: dims.Size) -> dims.Size:
    """The sum of the absolute values of the terms that are products of symbols: a lower bound of those of all terms."""
    terms = size.terms if isinstance(size, dims.Dim) else ()
    plain = tuple((monomial, abs(factor)) for monomial, factor in terms if monomial and all(isinstance(v, str) for v in monomial))
    return dims.Dim(plain) if plain else 0


def _typical(size: dims.Size) -> int:
    return int(dims.substitute(dims.magnitude(size), dict.fromkeys(dims.symbols(size), TYPICAL)))


def unused_ops(function: func.FuncOp) -> list[ir.Operation]:
    """The graph ops whose results nothing uses but such ops."""
    found: dict[ir.Operation, None] = {}
    for op in reversed(list(everything(function.operation))):
        users = [use.owner.operation for result in op.results for use in result.uses]
        cls = relax.op_class(op)
        if cls is not None and not cls.DEFINES_SIZES and all(user in found for user in users):
            found[op] = None
    return [*reversed(found)]


def find(function: func.FuncOp, ops: Iterable[ir.Operation], giver: Mapping[str, str]) -> dict[ir.Block, list[Requirement]]:
    """The requirements of ops on the symbols of their function, without duplicates, by the block where they are checked. ``giver``: see
    ``givers``."""
    top = function.body.blocks[0]
    found: dict[ir.Block, dict[tuple[dims.Size, dims.Size | None], Requirement]] = {top: {}}
    for op in ops:
        for row in op_requirements(op):
            block = op.block if op.block != top and is_known_before(op.block, row, function) else top
            kept = found.setdefault(block, {})
            kept.setdefault((row.size, row.equal), row if row.equal is None else with_givers(row, giver))
    return {block: [row for key, row in rows.items() if block == top or key not in found[top]] for block, rows in found.items()}


def is_known_before(block: ir.Block, row: Requirement, function: func.FuncOp) -> bool:
    """Whether what a requirement is about is known in front of the branch or loop that a block is of."""
    with ir.InsertionPoint(block.owner.operation):
        return all(dims.is_defined(name, function) for size in (row.size, row.equal) if size is not None for name in dims.symbols(size))


def givers(function: func.FuncOp) -> dict[str, str]:
    """Where each symbol of the arguments comes from, for messages."""
    found: dict[str, str] = {}
    seen: set[ir.Type] = set()
    attributes = function.arg_attrs if "arg_attrs" in function.operation.attributes else [{}] * len(function.arguments)
    for number, (argument, attribute) in enumerate(zip(function.arguments, attributes)):
        name = attribute[NAME].value if NAME in attribute else f"argument {number}"
        if argument.type in seen:
            continue
        seen.add(argument.type)
        for symbol, axis, *_ in dims.given_symbols(argument.type):
            found.setdefault(symbol, f"dimension {axis} of '{name}'")
    return found


def with_givers(row: Requirement, giver: Mapping[str, str]) -> Requirement:
    """The requirement, with where its symbols come from in its text."""
    both = [size for size in (row.size, row.equal) if size is not None]
    names = sorted({name for size in both for name in dims.symbols(size) if name in giver})
    return replace(row, text=f"{row.text}; {', '.join(f'{name} is {giver[name]}' for name in names)}") if names else row


def check_counts(function: func.FuncOp) -> None:
    """PassFailed where a symbol for how many elements an op finds is given by something else, too: the two may differ at a call."""
    known = {name for type_ in function.type.inputs if isinstance(type_, ir.RankedTensorType) for name, *_ in dims.given_symbols(type_)}
    given: dict[str, ir.Operation] = {}
    for op in top_ops(function):
        for name in _given_names(op):
            other = given.setdefault(name, op)
            if name in known or other.operands[0] != op.operands[0]:
                who = "an argument" if name in known else describe(other)
                raise PassFailed(f"{describe(op)} gives the size '{name}', which {who} gives, too: name it differently", op)


def _given_names(op: ir.Operation) -> list[str]:
    """The symbols that an op of the graph defines by its data."""
    attrs = relax.attributes_of(op.opview) if op.name in ("relax.nonzero", "relax.size_of", "relax.name_sizes") else {}
    if op.name == "relax.name_sizes":
        known = dims.dims(op.operands[0].type)
        return [str(size) for size, old in zip(attrs["sizes"], known) if size != old and isinstance(size, dims.Dim)]
    return [attrs["size"]] if "size" in attrs else [str(size) for size in attrs.get("sizes", ())]


class ErasedRequirements:
    """Keeps which sizes of main's arguments ops need to be equal, before a pass erases them, as it does with the branch that a ``where`` by
    a constant never takes: that it broadcasts to the other one is checked at calls as before."""

    def __init__(self, function: func.FuncOp) -> None:
        self._function = function

    @cached_property
    def _givers(self) -> dict[str, str]:
        return givers(self._function)

    def keep(self, op: ir.Operation) -> None:
        """Records which sizes an op needs to be equal, unless that is recorded."""
        if all(value.type.has_static_shape for value in (*op.operands, *op.results) if isinstance(value.type, ir.RankedTensorType)):
            return
        function = self._function
        found = {block: [row for row in rows if row.equal is not None and row.known_by(self._givers)]
                 for block, rows in find(function, [op], self._givers).items()}
        stated = requirements(function)
        recorded = {(row.size, row.equal) for row in stated}
        more = [row for row in found.pop(function.body.blocks[0]) if (row.size, row.equal) not in recorded]
        if more:
            require(function, [*stated, *more])
        for block, rows in found.items():
            require_in_region(function, block, [row for row in rows if (row.size, row.equal) not in recorded])


@dataclass(frozen=True)
class RequireSizes(ModulePass):
    """Records the sizes that the graph's ops do not support (a slice beyond its axis, a negative size, two that are not equal, a tensor
    larger than any memory), to be checked at each call."""

    name = "relax-require-sizes"

    unused: bool = option(False, "only of ops whose results are unused, before they vanish: their sizes may be used")

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for function in relax_functions(module):
                stated = {(row.size, row.equal): row for row in requirements(function) if not row.is_bytes}
                given = givers(function)
                if self.unused:
                    found = find(function, unused_ops(function), given)
                    found = {block: [row for row in rows if row.known_by(given)] for block, rows in found.items()}
                    sizes = [row for row in requirements(function) if row.is_bytes]
                else:
                    check_counts(function)
                    found, sizes = find(function, everything(function.operation), given), byte_requirements(function)
                found = {block: [row for row in rows if (row.size, row.equal) not in stated] for block, rows in found.items()}
                require(function, [*stated.values(), *found.pop(function.body.blocks[0]), *sizes])
                for block, rows in found.items():
                    require_in_region(function, block, rows)


def require_in_region(function: func.FuncOp, block: ir.Block, rows: Iterable[Requirement]) -> None:
    """Has the block of a branch or loop check requirements where it begins, but for those that it checks already."""
    checked = [required_by(call).attribute() for call in requiring_calls(block.owner) if call.block == block]
    with ir.InsertionPoint.at_block_begin(block):
        for row in rows:
            if row.attribute() not in checked:
                require_here(function, row)
