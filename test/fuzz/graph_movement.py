"""Growth by nodes that move elements: shapes, slices, gathers, pads."""
import numpy as np
from graph_builder import BOOL, F32, I64, Graph, Value, is_float, weighted
from onnx import numpy_helper


def _axis(g: Graph, value: Value) -> int:
    """An axis, often counted from the end."""
    axis = g.rng.randrange(value.rank)
    return axis - value.rank if g.rng.random() < 0.4 else axis


def transpose(g: Graph) -> None:
    value = g.pick(lambda v: v.rank > 0)
    if value:
        g.add("Transpose", [value], value.dtype, perm=g.rng.sample(range(value.rank), value.rank))


def reshape(g: Graph) -> None:
    """Joins neighbouring axes or splits one, by numbers, 0 and -1."""
    value = g.pick(lambda v: v.rank > 0 and not v.empty())
    if not value:
        return
    sizes = value.sizes
    target: list[int] = []
    if value.fixed():
        shape = list(value.shape)
        for _ in range(g.rng.randint(1, 2)):
            if len(shape) > 1 and g.rng.random() < 0.5:
                at = g.rng.randrange(len(shape) - 1)
                shape[at:at + 2] = [shape[at] * shape[at + 1]]
            else:
                at = g.rng.randrange(len(shape))
                factor = g.rng.choice([n for n in (1, 2, 3, 4, 8) if shape[at] % n == 0])
                shape[at:at + 1] = [factor, shape[at] // factor]
        target = shape
        if g.rng.random() < 0.4:
            target[g.rng.randrange(len(target))] = -1
    else:
        free = [axis for axis in range(value.rank) if not value.fixed(axis)]
        target = [0 if axis in free or g.rng.random() < 0.3 else sizes[axis][0] for axis in range(value.rank)]
        if len(free) == 1 and g.rng.random() < 0.6:
            rest = [sizes[axis][0] for axis in range(value.rank) if axis != free[0]]
            target = [-1, *rest] if g.rng.random() < 0.5 else [*rest[:1], -1, *rest[1:]]
    g.add("Reshape", [value, g.ints(*target)], value.dtype)


def flatten(g: Graph) -> None:
    value = g.pick(lambda v: v.rank > 0)
    if value:
        g.add("Flatten", [value], value.dtype, axis=g.rng.randint(0, value.rank))


def squeeze(g: Graph) -> None:
    value = g.pick(lambda v: v.rank > 0 and any(set(size) == {1} for size in v.sizes))
    if value:
        axes = [axis for axis, size in enumerate(value.sizes) if set(size) == {1}]
        g.add("Squeeze", [value, g.ints(*g.rng.sample(axes, g.rng.randint(1, len(axes))))], value.dtype)


def unsqueeze(g: Graph) -> None:
    value = g.pick(lambda v: v.rank < 5)
    if value:
        g.add("Unsqueeze", [value, g.ints(g.rng.randint(-1, value.rank))], value.dtype)


def concat(g: Graph) -> None:
    value = g.pick(lambda v: v.rank > 0)
    if value:
        axis = _axis(g, value)
        parts = [value]
        for _ in range(g.rng.randint(1, 2)):
            sizes = list(value.sizes)
            sizes[axis] = g.size()
            fitting = [v for v in g.values if v.dtype == value.dtype and v.rank == value.rank
                       and all(a == b for n, (a, b) in enumerate(zip(v.sizes, sizes)) if n != axis % value.rank)]
            parts.append(g.rng.choice(fitting) if fitting and g.rng.random() < 0.6 else g.fresh(value.dtype, sizes))
        g.rng.shuffle(parts)
        g.add("Concat", parts, value.dtype, axis=axis)


def split(g: Graph) -> None:
    value = g.pick(lambda v: v.rank > 0 and any(v.fixed(n) and v.shape[n] > 1 for n in range(v.rank)))
    if value:
        axis = g.rng.choice([n for n in range(value.rank) if value.fixed(n) and value.shape[n] > 1])
        cut = g.rng.randint(1, value.shape[axis] - 1)
        if g.rng.random() < 0.5:
            g.add("Split", [value, g.ints(cut, value.shape[axis] - cut)], value.dtype, value.dtype, axis=axis)
        else:
            g.add("Split", [value], value.dtype, value.dtype, axis=axis, num_outputs=2)


def slices(g: Graph) -> None:
    value = g.pick(lambda v: v.rank > 0)
    if value:
        axes = g.rng.sample(range(value.rank), g.rng.randint(1, min(2, value.rank)))
        starts = [g.rng.choice((0, 0, 1, 2, -1, -2, -3)) for _ in axes]
        ends = [g.rng.choice((1 << 40, 1 << 40, -1, 1, 3, 5)) for _ in axes]
        steps = [g.rng.choice((1, 1, 1, 2, 3, -1, -2)) for _ in axes]
        ends = [-(1 << 40) if step < 0 else end for end, step in zip(ends, steps)]
        g.add("Slice", [value, *(g.ints(*numbers) for numbers in (starts, ends, axes, steps))], value.dtype)


def pad(g: Graph) -> None:
    value = g.pick(lambda v: v.rank > 0 and v.dtype != BOOL)
    if value:
        mode = g.rng.choice(("constant", "constant", "edge", "reflect", "wrap"))
        low = -1 if mode == "constant" else 0
        ends = [g.rng.choice((0, 0, 0, 1, 2, low)) for _ in range(2 * value.rank)]
        if mode != "constant":
            smallest = [min(size) for size in value.sizes] * 2
            ends = [min(end, max(size - 1, 0)) for end, size in zip(ends, smallest)]
        number = np.float64(0.5) if is_float(value.dtype) else value.dtype.type(3)
        fill = [g.constant(np.array(number), value.dtype)] if mode == "constant" and g.rng.random() < 0.5 else []
        g.add("Pad", [value, g.ints(*ends), *fill], value.dtype, mode=mode)


def tile(g: Graph) -> None:
    value = g.pick(lambda v: v.rank > 0)
    if value:
        g.add("Tile", [value, g.ints(*(g.rng.choice((1, 1, 2, 3)) for _ in range(value.rank)))], value.dtype)


def expand(g: Graph) -> None:
    value = g.pick(lambda v: any(set(size) == {1} for size in v.sizes))
    if value:
        shape = [g.rng.choice((1, 2, 5)) if set(size) == {1} else 1 for size in value.sizes]
        g.add("Expand", [value, g.ints(*([2] if g.rng.random() < 0.3 else []), *shape)], value.dtype)


def _places(g: Graph, most: int, *shape: int) -> Value:
    """Indices below ``most``, some from the end; an input or a constant."""
    numpy = np.random.default_rng(g.rng.randrange(1 << 40))
    array = numpy.integers(-most, most, shape)
    if g.rng.random() < 0.5:
        return g.constant(array)
    made = g.input(I64, [(size,) * g.calls for size in shape], [array] * g.calls)
    g.values.remove(made)
    return made


def gather(g: Graph) -> None:
    value = g.pick(lambda v: v.rank > 0 and not v.empty())
    if value:
        axis = g.rng.randrange(value.rank)
        shape = [g.rng.choice((1, 2, 3, 5)) for _ in range(g.rng.randint(0, 2))]
        g.add("Gather", [value, _places(g, min(value.sizes[axis]), *shape)], value.dtype, axis=axis)


def gather_elements(g: Graph) -> None:
    value = g.pick(lambda v: v.rank > 0 and not v.empty())
    if value:
        axis = g.rng.randrange(value.rank)
        shape = [g.rng.choice((1, 2, 4)) if n == axis else g.rng.randint(1, min(size)) for n, size in enumerate(value.sizes)]
        g.add("GatherElements", [value, _places(g, min(value.sizes[axis]), *shape)], value.dtype, axis=axis)


def gather_nd(g: Graph) -> None:
    value = g.pick(lambda v: v.rank > 0 and not v.empty())
    if value:
        depth = g.rng.randint(1, value.rank)
        smallest = min(min(size) for size in value.sizes[:depth])
        g.add("GatherND", [value, _places(g, smallest, g.rng.choice((1, 3)), depth)], value.dtype)


def scatter(g: Graph) -> None:
    """At places that are all different, unless what is there is added up."""
    value = g.pick(lambda v: v.rank > 0 and not v.empty() and is_float(v.dtype))
    if not value:
        return
    axis = g.rng.randrange(value.rank)
    reduction = g.rng.choice(("none", "add", "max", "min", "mul"))
    count = min(min(value.sizes[axis]), 3)
    shape = [count if n == axis else g.rng.randint(1, min(size)) for n, size in enumerate(value.sizes)]
    if g.rng.random() < 0.5:
        places = np.argsort(np.random.default_rng(g.rng.randrange(1 << 30)).random(shape), axis=axis)
        g.add("ScatterElements", [value, g.constant(places), g.weight(value.dtype, *shape)], value.dtype, axis=axis, reduction=reduction)
    else:
        rows = np.array(g.rng.sample(range(min(value.sizes[0])), min(2, min(value.sizes[0]))))[:, None]
        rest = value.sizes[1:]
        updates = g.fresh(value.dtype, [(len(rows),) * g.calls, *rest])
        g.add("ScatterND", [value, g.constant(rows), updates], value.dtype, reduction=reduction)


def blocks(g: Graph) -> None:
    value = g.pick(lambda v: v.rank == 4)
    if value and value.fixed(1, 2, 3):
        if value.shape[1] % 4 == 0 and g.rng.random() < 0.6:
            g.add("DepthToSpace", [value], value.dtype, blocksize=2, mode=g.rng.choice(("DCR", "CRD")))
        elif value.shape[2] % 2 == 0 and value.shape[3] % 2 == 0:
            g.add("SpaceToDepth", [value], value.dtype, blocksize=2)


def triangle(g: Graph) -> None:
    value = g.pick(lambda v: v.rank > 1)
    if value:
        g.add("Trilu", [value, g.constant(np.array(g.rng.randint(-2, 2)))], value.dtype, upper=g.rng.randint(0, 1))


def reverse(g: Graph) -> None:
    value = g.pick(lambda v: v.rank > 1 and v.fixed(0, 1) and not v.empty())
    if value:
        lengths = g.ints(*(g.rng.randint(1, value.shape[0]) for _ in range(value.shape[1])))
        g.add("ReverseSequence", [value, lengths], value.dtype, time_axis=0, batch_axis=1)


def one_hot(g: Graph) -> None:
    value = g.pick(lambda v: v.dtype == I64 and v.rank < 3)
    if value:
        dtype = g.rng.choice((F32, I64))
        pair = g.constant(np.array([0, 2], np.float64 if is_float(dtype) else dtype), dtype)
        g.add("OneHot", [value, g.constant(np.array(g.rng.choice((1, 3, 6)))), pair], dtype, axis=g.rng.choice((-1, 0)))


def shapes(g: Graph) -> None:
    """Sizes as values, and tensors made of them."""
    value = g.pick(lambda v: v.rank > 0)
    if not value:
        return
    kind = g.rng.randrange(4)
    if kind == 0:
        g.add("Size", [value], I64)
        return
    size = g.add("Shape", [value], I64)
    if not size or kind == 1:
        return
    if kind == 2:
        one = g.add("Gather", [size[0], g.constant(np.array(g.rng.randrange(value.rank)))], I64)
        if one:
            g.add("Range", [g.constant(np.array(0)), one[0], g.constant(np.array(1))], I64)
    else:
        fill = np.array([2.5], np.float32)
        g.add("ConstantOfShape", [size[0]], F32, value=numpy_helper.from_array(fill))


def compress(g: Graph) -> None:
    """Elements that a constant chooses."""
    value = g.pick(lambda v: v.rank > 0 and not v.empty())
    if value:
        axis = g.rng.randrange(value.rank)
        chosen = g.constant(np.array([g.rng.random() < 0.5 for _ in range(min(value.sizes[axis]))]))
        g.add("Compress", [value, chosen], value.dtype, axis=axis)


MOVEMENT = weighted({transpose: 4, reshape: 4, flatten: 1, squeeze: 2, unsqueeze: 2, concat: 4, split: 2, slices: 4, pad: 3, tile: 1,
                     expand: 2, gather: 2, gather_elements: 1, gather_nd: 1, scatter: 2,
                     blocks: 1, triangle: 1, reverse: 1, one_hot: 1, shapes: 2,
                     compress: 1})
