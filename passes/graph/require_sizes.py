"""relax-require-sizes: records the conditions on main's symbols under which its inferred shapes are valid.

Shape inference accepts a symbolic end of a slice, ``n - 2`` as a size, and tensors of ``n * n * n`` elements. Whether they are valid is
known only at a call, which checks them before anything runs: the function gets the attribute ``relax.requires``, rows of an expression
that must not be negative and a text for messages, and ``relax.bytes``, rows of a number of bytes that must not exceed ``LARGEST``.

What ops in a branch or loop require of symbols that are known before it is checked where it begins: it may not run at all.
"""
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from legato.analysis.indices.sizes import always_fits, never_negative
from legato.core.diagnostics import PassFailed
from legato.core.dtypes import numpy_dtype
from legato.core.ir_helpers import everything
from legato.core.locations import describe
from legato.core.mlir import func, ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.dialects.relax.assumed import assumptions
from legato.dialects.relax.dim import lower_bound
from legato.dialects.relax.markers import NAME
from legato.dialects.relax.requirements import Requirement, require, require_here, requirements
from legato.dialects.relax.window import data_layouts
from legato.passes.graph.functions import CONSTANT, is_graph_op, relax_functions, top_ops
from legato.passes.pipeline.base import ModulePass, PassContext, option

TYPICAL = 1 << 10    # the value of a symbol where sizes are sorted


def required(size: dims.Size, text: str) -> Iterator[Requirement]:
    """The requirement ``size >= 0``, unless it always holds. Inference assumes symbols of 1 or more; a call may pass a 0."""
    if isinstance(size, dims.Dim):
        bound = lower_bound(dims.substitute(size, {name: dims.symbol(name) - 1 for name in dims.symbols(size)}))
        if bound is None or bound < 0:
            yield Requirement(size, text)


def slice_requirements(op: ir.Operation) -> Iterator[Requirement]:
    """A symbolic begin or end of a slice must be inside its axis."""
    attrs, sizes = relax.attributes_of(op.opview), dims.dims(op.operands[0].type)
    axes = attrs["axes"] if attrs["axes"] is not None else range(len(attrs["begin"]))
    name = describe(op)
    strides = attrs["strides"] or [1] * len(attrs["begin"])
    for axis, begin, end, stride in zip(axes, attrs["begin"], attrs["end"], strides):
        size = sizes[axis]
        for place, last in ((begin, size if stride > 0 else size - 1), (end, size)):
            if isinstance(place, dims.Dim) and size is not dims.UNKNOWN:
                yield from required(last - place, f"{name} needs {place} <= {last}")
                yield from required(place, f"{name} needs {place} >= 0")
    for axis, begin, stride in zip(axes, attrs["begin"], strides):
        size, taken = sizes[axis], dims.dims(op.results[0].type)[axis]
        if isinstance(size, dims.Dim) and isinstance(begin, int) and isinstance(taken, int) and taken > 0:
            needed = (max(begin, 0) if stride > 0 else 0) + (taken - 1) * abs(stride) + 1
            yield from required(size - needed, f"{name} needs {size} >= {needed}")
    for axis, begin, end in zip(axes, attrs["begin"], attrs["end"]):
        size, taken = _of_nothing(sizes[axis]), _of_nothing(dims.dims(op.results[0].type)[axis])
        if isinstance(begin, int) and isinstance(end, int) and size == 0 and taken != 0:    # its form took symbols for 1 or more
            yield from required(sizes[axis] - 1, f"{name} needs {sizes[axis]} >= 1")


def _of_nothing(size: dims.Size) -> dims.Size:
    """The value of a size with every symbol at 0; UNKNOWN where it has none."""
    try:
        return dims.substitute(size, dict.fromkeys(dims.symbols(size), 0))
    except ZeroDivisionError:
        return dims.UNKNOWN


def pad_requirements(op: ir.Operation) -> Iterator[Requirement]:
    """Negative pads cut off what must be there, and a reflected, repeated or edge padding reads it."""
    attrs, sizes = relax.attributes_of(op.opview), dims.dims(op.operands[0].type)
    pads, rank = attrs["pads"], len(sizes)
    for axis, size in enumerate(sizes):
        begin, end = pads[axis], pads[rank + axis]
        kept, most = size + min(begin, 0) + min(end, 0), max(begin, end)
        if most > 0 and kept is not dims.UNKNOWN:
            yield from required(kept, f"{describe(op)} cuts off {-min(begin, 0) - min(end, 0)} elements, which needs {kept} >= 0")
        if most > 0 and kept is not dims.UNKNOWN and attrs["mode"] != "constant":
            needed = {"edge": 1, "reflect": most + 1, "wrap": most}[attrs["mode"]]
            yield from required(kept - needed, f"{describe(op)} pads {most} by mode '{attrs['mode']}', which needs {kept} >= {needed}")


def index_requirements(op: ir.Operation) -> Iterator[Requirement]:
    """Nothing is taken from, or put into, an axis without elements: indices are clamped, and there is no place to clamp to."""
    attrs, sizes, indices = relax.attributes_of(op.opview), dims.dims(op.operands[0].type), dims.dims(op.operands[1].type)
    name, elements = describe(op), op.name in ("relax.gather_elements", "relax.scatter_elements")
    if op.name in ("relax.gather_nd", "relax.scatter_nd"):
        first, depth = attrs.get("batch_dims", 0), indices[-1]
        axes, count = range(first, first + depth), dims.product(indices[:-1])
    else:
        axes, count = [attrs["axis"] % len(sizes)], dims.product(indices)
    for axis in axes:
        size = sizes[axis]
        if size is not dims.UNKNOWN and count is not dims.UNKNOWN and count != 0:
            needed = size - 1 if isinstance(count, int) else (size - 1) * count
            yield from required(needed, f"{name} needs {size} >= 1" + ("" if isinstance(count, int) else f" for {count} indices"))
    for axis, (size, taken) in enumerate(zip(sizes, indices) if elements else ()):
        if axis not in axes and size is not dims.UNKNOWN and taken is not dims.UNKNOWN:
            yield from required(size - taken, f"{name} needs {size} >= {taken}, the number of indices along axis {axis}")


def extreme_requirements(op: ir.Operation) -> Iterator[Requirement]:
    """Of no elements there is no greatest one to find, unless there are no places to store it either."""
    sizes, axis = dims.dims(op.operands[0].type), relax.attributes_of(op.opview)["axis"]
    size, places = sizes[axis], dims.product(one for one in dims.dims(op.results[0].type))
    if size is not dims.UNKNOWN and places is not dims.UNKNOWN:
        yield from required((size - 1) * places, f"{describe(op)} needs {size} >= 1 along axis {axis % len(sizes)}")


def transposed_requirements(op: ir.Operation) -> Iterator[Requirement]:
    """A transposed convolution dilates its input by the strides, which takes an element."""
    strides = relax.attributes_of(op.opview)["strides"]
    for size, stride in zip(dims.dims(op.operands[0].type)[2:], strides):
        if stride > 1 and size is not dims.UNKNOWN:
            yield from required(size - 1, f"{describe(op)} needs {size} >= 1")


def window_requirements(op: ir.Operation) -> Iterator[Requirement]:
    """The formula for the number of windows holds where the window fits the axis; in ceil mode it may exceed it by less than a stride."""
    attrs, sizes = relax.attributes_of(op.opview), dims.dims(op.operands[0].type)
    strides, rank = attrs["strides"], len(attrs["strides"])
    is_pool = "kernel" in attrs
    layout = attrs.get("layout", data_layouts(rank)[0]) if is_pool else attrs["data_layout"]
    if is_pool:
        kernel = attrs["kernel"]
    else:
        kernel_sizes = dims.dims(op.operands[1].type)
        kernel = [kernel_sizes[place] for place, letter in enumerate(attrs["kernel_layout"]) if letter not in "OI"]
    for number, place in enumerate(place for place, letter in enumerate(layout) if letter not in "NC"):
        size, stride = sizes[place], strides[number]
        needed = attrs["dilations"][number] * (kernel[number] - 1) + 1 - attrs["padding"][number] - attrs["padding"][rank + number]
        if isinstance(size, dims.Dim) and not (is_pool and (stride == 1 or attrs["ceil_mode"])):
            yield from required(size - needed, f"{describe(op)} needs {size} >= {needed}, what its window takes besides the padding")


def given_requirements(op: ir.Operation) -> Iterator[Requirement]:
    """A size that the data says is not negative."""
    for size in relax.attributes_of(op.opview)["sizes"]:
        yield Requirement(size, f"{describe(op)} needs valid operands: the size {size}, which they give, must be 0 or more")


def topk_requirements(op: ir.Operation) -> Iterator[Requirement]:
    """There are as many elements as are taken."""
    attrs, sizes = relax.attributes_of(op.opview), dims.dims(op.operands[0].type)
    size, count = sizes[attrs["axis"]], attrs["k"]
    if size is not dims.UNKNOWN:
        yield from required(size - count, f"{describe(op)} needs {size} >= {count}, the number of elements that it takes")


def broadcast_requirements(op: ir.Operation) -> Iterator[Requirement]:
    """A size that is not the wanted one must be 1."""
    shape = dims.dims(op.results[0].type)
    for axis, (size, wanted) in enumerate(zip(dims.dims(op.operands[0].type), shape[len(shape) - op.operands[0].type.rank:])):
        if isinstance(size, dims.Dim) and size != wanted:
            text = f"{describe(op)} needs {size}, its size at axis {axis}, to be 1 or {wanted}"
            yield Requirement(dims.broadcast_size(size, wanted), text, wanted)


WINDOWS = [f"relax.{name}{rank}d" for name in ("conv", "max_pool", "avg_pool", "arg_max_pool") for rank in (1, 2, 3)]
REQUIREMENTS = {**dict.fromkeys(WINDOWS, window_requirements), "relax.argmax": extreme_requirements, "relax.argmin": extreme_requirements,
                **dict.fromkeys((f"relax.conv{rank}d_transpose" for rank in (1, 2, 3)), transposed_requirements),
                "relax.strided_slice": slice_requirements, "relax.pad": pad_requirements,
                "relax.dynamic_broadcast_to": broadcast_requirements, "relax.size_of": given_requirements,
                "relax.topk": topk_requirements,
                **dict.fromkeys(("relax.take", "relax.gather_elements", "relax.gather_nd", "relax.scatter_elements", "relax.scatter_nd"),
                                index_requirements)}


def divisors(size: dims.Size) -> Iterator[dims.Dim]:
    """What an expression divides by and is not a number, the divisors in divisors too."""
    for part in size.variables() if isinstance(size, dims.Dim) else ():
        if isinstance(part, dims.DimPart):
            yield from (*divisors(part.a), *divisors(part.b))
            if part.op in ("//", "%") and isinstance(part.b, dims.Dim):
                yield part.b


def size_requirements(op: ir.Operation) -> Iterator[Requirement]:
    """No size may be negative, or divide by 0."""
    for result in op.results:
        if isinstance(result.type, ir.RankedTensorType):
            for size in dims.dims(result.type):
                for divisor in dict.fromkeys(divisors(size)):
                    bound = lower_bound(divisor, 0)
                    needed = divisor - 1 if bound is not None and bound >= 0 else divisor * divisor - 1  # or any but 0
                    yield from required(needed, f"{describe(op)} has a dimension of {size}, which needs {divisor} >= 1")
                yield from required(size, f"{describe(op)} has a dimension of {size}, which needs {size} >= 0")


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
    for size in sorted(found, key=_typical, reverse=True):
        bound = dims.magnitude(size)
        if not always_fits(bound, given) and not any(never_negative(_least_magnitude(row.size) - bound) for row in rows):
            rows.append(Requirement(size, found[size], is_bytes=True))
    return sorted(rows, key=lambda row: len(dims.nested(row.size)))     # of several that a call breaks, the message names the innermost


def _bytes(type_: ir.RankedTensorType) -> dims.Size:
    return dims.product(size for size in dims.dims(type_)) * numpy_dtype(type_.element_type).itemsize


def _least_magnitude(size: dims.Size) -> dims.Size:
    """The sum of the absolute values of the terms that are products of symbols: a lower bound of those of all terms."""
    terms = size.terms if isinstance(size, dims.Dim) else ()
    plain = [dims.Dim(((monomial, abs(factor)),)) for monomial, factor in terms if monomial and all(isinstance(v, str) for v in monomial)]
    return sum(plain[1:], start=plain[0]) if plain else 0


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


def op_requirements(op: ir.Operation) -> Iterator[Requirement]:
    """What an op requires of symbols that only a call knows."""
    yield from REQUIREMENTS[op.name](op) if op.name in REQUIREMENTS else ()
    yield from size_requirements(op)
    yield from equal_requirements(op)


def find(function: func.FuncOp, ops: Iterable[ir.Operation]) -> dict[ir.Block, list[Requirement]]:
    """The requirements of ops on the symbols of their function, without duplicates, by the block where they are checked."""
    top = function.body.blocks[0]
    found: dict[ir.Block, dict[tuple[dims.Size, dims.Size | None], Requirement]] = {top: {}}
    giver = givers(function)
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
    attributes = function.arg_attrs if "arg_attrs" in function.operation.attributes else [{}] * len(function.arguments)
    for number, (argument, attribute) in enumerate(zip(function.arguments, attributes)):
        name = attribute[NAME].value if NAME in attribute else f"argument {number}"
        for symbol, axis, *_ in dims.given_symbols(argument.type):
            found.setdefault(symbol, f"dimension {axis} of '{name}'")
    return found


def with_givers(row: Requirement, giver: Mapping[str, str]) -> Requirement:
    """The requirement, with where its symbols come from in its text."""
    both = [size for size in (row.size, row.equal) if size is not None]
    names = sorted({name for size in both for name in dims.symbols(size) if name in giver})
    return replace(row, text=f"{row.text}; {', '.join(f'{name} is {giver[name]}' for name in names)}") if names else row


def equal_requirements(op: ir.Operation) -> Iterator[Requirement]:
    """Sizes that inference took to be equal must be."""
    if not is_graph_op(op) or op.name == CONSTANT:
        return
    shapes = [value.type for value in (*op.operands, *op.results) if isinstance(value.type, ir.RankedTensorType)]
    if all(shape.has_static_shape for shape in shapes):
        return      # inference has compared the numbers
    with assumptions() as stated:
        relax.infer_op(op)
    for found, wanted, what in stated:
        yield Requirement(found, f"{describe(op)} needs {found} to be {wanted}, {what}", wanted)


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
                if self.unused:
                    given = givers(function)
                    found = find(function, unused_ops(function))
                    found = {block: [row for row in rows if row.known_by(given)] for block, rows in found.items()}
                    sizes = [row for row in requirements(function) if row.is_bytes]
                else:
                    check_counts(function)
                    found, sizes = find(function, everything(function.operation)), byte_requirements(function)
                found = {block: [row for row in rows if (row.size, row.equal) not in stated] for block, rows in found.items()}
                require(function, [*stated.values(), *found.pop(function.body.blocks[0]), *sizes])
                for block, rows in found.items():
                    require_in_region(function, block, rows)


def require_in_region(function: func.FuncOp, block: ir.Block, rows: Iterable[Requirement]) -> None:
    """Has the block of a branch or loop check requirements where it begins."""
    with ir.InsertionPoint.at_block_begin(block):
        for row in rows:
            require_here(function, row)
