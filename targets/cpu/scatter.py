"""Writing by index in place: the output starts as the tensor, which bufferization copies only where its old contents are read later."""
from legato.core.mlir import ir, tensor
from legato.targets.builders.pointwise import element
from legato.targets.builders.sizes import dim, dims
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import extract
from legato.targets.generic import scatter
from legato.targets.generic.indexing import place
from legato.targets.rule import kernel

DYNAMIC = ir.ShapedType.get_dynamic_size()


@kernel("relax.scatter_elements", updates=0)
def scatter_elements(k, x, indices, updates, out):
    """Updates at their own position, except for the index along the axis."""
    return scatter.scatter_elements(k, x, indices, updates, out)


@kernel("relax.scatter_nd", updates=0)
def scatter_nd(k, x, indices, updates, out):
    """Updates at tuples of indices: slices are written as a whole, unless they are combined with what is there."""
    kind, rows, depth = element(k.input_types[1]), indices.type.rank - 1, indices.type.shape[-1]
    if k.attrs["reduction"] != "none" or depth == x.type.rank:
        return scatter.scatter_nd(k, x, indices, updates, out)
    sizes, inner = [dim(x, t) for t in range(depth)], dims(x)[depth:]

    def body(here: list[ir.Value], result: ir.Value) -> ir.Value:
        named = [place(extract(indices, [*here, index_value(t)]), kind, sizes[t]) for t in range(depth)]
        return moved_slice(updates, here, result, named, inner)

    return scatter.loop_nest(dims(updates)[:rows], scatter.started(x, out), body)


def moved_slice(source: ir.Value, at: list[ir.Value], into: ir.Value, places: list[ir.Value], inner: list) -> ir.Value:
    """``into`` with the slice of ``source`` at the leading indices ``at`` written to the leading indices ``places``. ``inner``: the sizes
    of the slice."""
    static = [size if isinstance(size, int) else DYNAMIC for size in inner]
    dynamic = [size for size in inner if not isinstance(size, int)]
    type_ = ir.RankedTensorType.get(static, source.type.element_type)

    def position(indices: list[ir.Value]) -> dict[str, list]:
        ones = [1] * (len(indices) + len(inner))
        return {"static_offsets": [DYNAMIC] * len(indices) + [0] * len(inner), "static_sizes": [1] * len(indices) + static,
                "static_strides": ones}

    part = tensor.ExtractSliceOp(type_, source, at, dynamic, [], **position(at)).result
    return tensor.InsertSliceOp(part, into, places, dynamic, [], **position(places)).result


RULES = (scatter_elements, scatter_nd)
