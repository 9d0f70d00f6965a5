"""What a graph op requires of sizes that are symbols: a slice within its axis, no size below 0, operands whose sizes are equal.

Shape inference accepts a symbolic end of a slice and ``n - 2`` as a size; whether they are valid is known only at a call.
"""
from collections.abc import Iterator

from legato.core.locations import describe
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.dialects.relax.assumed import assumptions
from legato.dialects.relax.dim_bounds import lower_bound
from legato.dialects.relax.requirements import Requirement
from legato.dialects.relax.window import data_layouts
from legato.passes.graph.functions import CONSTANT, is_graph_op


def op_requirements(op: ir.Operation) -> Iterator[Requirement]:
    """What an op requires of symbols that only a call knows."""
    yield from REQUIREMENTS[op.name](op) if op.name in REQUIREMENTS else ()
    yield from size_requirements(op)
    yield from equal_requirements(op)


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
            needed = most + 1 if attrs["mode"] == "reflect" else 1
            yield from required(kept - needed, f"{describe(op)} pads {most} by mode '{attrs['mode']}', which needs {kept} >= {needed}")


def index_requirements(op: ir.Operation) -> Iterator[Requirement]:
    """Nothing is taken from, or put into, an axis without elements: indices are clamped, and there is no place to clamp to."""
    attrs, sizes, indices = relax.attributes_of(op.opview), dims.dims(op.operands[0].type), dims.dims(op.operands[1].type)
    name, elements = describe(op), op.name in ("relax.gather_elements", "relax.scatter_elements")
    if op.name in ("relax.gather_nd", "relax.scatter_nd"):
        first, depth = attrs.get("batch_dims", 0), indices[-1]
        axes, count = range(first, first + depth), dims.product(indices[:-1])
    else:
        axes, count = [attrs.get("axis", 1) % len(sizes)], dims.product(indices)    # gather_weighted reads rows of batches
    for axis in axes:
        size = sizes[axis]
        if size is not dims.UNKNOWN and count is not dims.UNKNOWN and count != 0:
            needed = size - 1 if isinstance(count, int) else (size - 1) * count
            yield from required(needed, f"{name} needs {size} >= 1" + ("" if isinstance(count, int) else f" for {count} indices"))
    for axis, (size, taken) in enumerate(zip(sizes, indices) if elements else ()):
        if axis not in axes and size is not dims.UNKNOWN and taken is not dims.UNKNOWN:
            yield from required(size - taken, f"{name} needs {size} >= {taken}, the number of indices along axis {axis}")


def region_requirements(op: ir.Operation) -> Iterator[Requirement]:
    """Without images there are no regions of one: the numbers of images are clamped, as indices are."""
    images, regions = dims.dims(op.operands[0].type)[0], dims.dims(op.operands[1].type)[0]
    if images is not dims.UNKNOWN and regions is not dims.UNKNOWN and regions != 0:
        needed = images - 1 if isinstance(regions, int) else (images - 1) * regions
        yield from required(needed, f"{describe(op)} needs {images} >= 1 for {regions} regions")


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
                "relax.topk": topk_requirements, "relax.roi_align": region_requirements, "relax.roi_pool": region_requirements,
                **dict.fromkeys(("relax.take", "relax.gather_elements", "relax.gather_nd", "relax.gather_weighted",
                                 "relax.scatter_elements", "relax.scatter_nd"), index_requirements)}


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
