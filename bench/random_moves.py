"""Random layers that address elements: gathers and scatters, samplings of images, transposes between reshapes, sums over named axes,
reductions of several axes, and masks. Kinds of ``bench.random_layers``.
"""
from __future__ import annotations

import numpy as np
from onnx import TensorProto

from .draw import SIDES, TYPES, Draw, Layer

EINSUMS = ("bhid,bhjd->bhij", "bhij,bhjd->bhid", "bihd,bjhd->bhij", "bhij,bjhd->bihd", "bchw,bkc->bkhw", "bchw,bcw->bhw", "bhwc,hkc->bhwk",
           "bid,bjd->bij", "bij,bik->bijk", "bchw,bchw->bc", "bnd,de->bne", "bhwd,wkd->bhwk", "bld,bld->bl", "btc,bcd->btd", "bdl,dn->bdln")
RESHUFFLES = ("windows", "unwindow", "shuffle", "unshuffle", "heads", "merge", "patches", "roll", "flip", "any")


def indexing(draw: Draw) -> Layer:
    """Gathers and scatters by indices that are inputs."""
    op = draw.among(("ScatterND", "ScatterElements", "GatherND", "GatherElements", "Gather", "OneHot", "Trilu", "ReverseSequence", "Rows",
                     "Bag", "Cache"))
    if draw.precision == "bf16" and op in ("OneHot", "ReverseSequence"):    # onnx has none of bf16
        op = "Gather"
    rows, columns, count = draw.size(4, 4000), draw.size(1, 400), draw.size(1, 1000)
    columns = min(columns, 1_500_000 // rows)
    label = f"{op} {rows}x{columns}"
    if op == "OneHot":
        operands = [draw.indices(columns, count), draw.numbers(columns), draw.weight(np.array([0, 1], draw.dtype))]
        return draw.layer(f"{op} {count} of {columns}", draw.node(op, operands, axis=-1))
    if op == "Bag":
        found = draw.node("Gather", [draw.weight(draw.array(rows, columns)), draw.indices(rows, count, bag := draw.size(2, 20))])
        return draw.layer(f"{label} {count} of {bag}", draw.node("ReduceSum", [found, draw.numbers(1)], keepdims=0))
    x = draw.input(rows, columns)
    if op == "Trilu":
        return draw.layer(label, draw.node(op, [x], upper=int(draw.maybe())))
    if op == "Gather":
        return draw.layer(f"{label} {count} columns", draw.node(op, [x, draw.indices(columns, count % 100 + 1)], axis=1))
    if op == "GatherND":
        both = draw.maybe()
        indices = draw.indices(min(rows, columns) if both else rows, count, 2 if both else 1)
        return draw.layer(f"{label} {count}{' elements' if both else ' rows'}", draw.node(op, [x, indices]))
    if op == "GatherElements":
        axis = draw.among((0, 1))
        shape = (min(count, rows), columns) if axis == 0 else (rows, min(count, columns))
        return draw.layer(f"{label} {shape} axis {axis}", draw.node(op, [x, draw.indices((rows, columns)[axis], *shape)], axis=axis))
    if op == "ReverseSequence":
        cube = draw.node("Reshape", [x, draw.numbers(rows, columns, 1)])
        lengths = draw.node("Add", [draw.indices(columns, rows), draw.numbers(1)])
        return draw.layer(label, draw.node(op, [cube, lengths], batch_axis=0, time_axis=1))
    if op == "Rows":
        chosen = draw.node("NonZero", [draw.node("Greater", [draw.input(rows), draw.weight(np.array(0.5, draw.dtype))])])
        return draw.layer(label, draw.node("GatherND", [x, draw.node("Transpose", [chosen], perm=[1, 0])]))
    if op == "Cache":
        start = draw.node("Slice", [x, draw.numbers(1), draw.numbers(rows), draw.numbers(0)])
        return draw.layer(label, draw.node("Concat", [start, draw.input(1, columns)], axis=0))
    reduction = {} if draw.maybe() else {"reduction": "add"}
    count = min(count, rows)
    if op == "ScatterND":
        indices, updates = (count, 1), draw.input(count, columns)
        operands = [x, draw.indices(rows, *indices) if reduction else draw.weight(draw.rng.permutation(rows)[:count, None]), updates]
        return draw.layer(f"{label} {count} {reduction}", draw.node(op, operands, **reduction))
    ordered = np.stack([draw.rng.permutation(rows)[:count] for _ in range(columns)], 1) if count * columns < 200_000 else None
    if ordered is None:
        return draw.layer(f"{label} whole", draw.node("Identity", [x]))
    operands = [x, draw.weight(ordered), draw.input(count, columns)]
    return draw.layer(f"{label} {count} {reduction}", draw.node(op, operands, axis=0, **reduction))


def sampling(draw: Draw) -> Layer:
    """Samplings of images: by a grid, by boxes, to another size."""
    op = draw.among(("GridSample", "GridSample", "RoiAlign", "Resize", "Resize", "Resize", "MaxUnpool"))
    channels, side, other = draw.size(1, 128), draw.size(4, 80, SIDES), draw.size(4, 80, SIDES)
    channels = max(1, min(channels, 1_000_000 // max(side, other) ** 2))
    label = f"{op} {channels} of {side}"
    if op == "MaxUnpool":
        side += side % 2      # of odd sizes onnxruntime counts positions unlike ONNX
        x = draw.input(1, channels, side // 2, side // 2)
        corners = np.arange(channels)[:, None, None] * side**2 + np.arange(side // 2)[:, None] * 2 * side + np.arange(side // 2) * 2
        return draw.layer(label, draw.node(op, [x, draw.weight(corners[None]), draw.numbers(1, channels, side, side)], kernel_shape=[2, 2],
                                           strides=[2, 2]), shape=(1, channels, side, side))
    x = draw.input(1, channels, side, side)
    if op == "GridSample":
        grid = draw.node("Tanh", [draw.input(1, other, other, 2)])
        attributes = {"mode": draw.among(("linear", "linear", "nearest", "cubic")), "align_corners": int(draw.maybe()),
                      "padding_mode": draw.among(("zeros", "zeros", "border", "reflection"))}
        return draw.layer(f"{label} at {other} {attributes}", draw.node(op, [x, grid], **attributes))
    if op == "RoiAlign":
        draw.opset = 22 if draw.precision == "bf16" else 21     # onnxruntime's newest
        count, bins = draw.size(1, 100), draw.among((7, 7, 14, 3))
        corners = draw.rng.uniform(0, side / 2, (count, 2))
        boxes = np.concatenate([corners, corners + draw.rng.uniform(1, side / 2, (count, 2))], 1).astype(draw.dtype)
        attributes = {"mode": draw.among(("avg", "avg", "max")), "sampling_ratio": draw.among((0, 2, 2)),
                      "output_height": bins, "output_width": bins}
        draw.inputs["boxes"] = boxes
        return draw.layer(f"{label} {count} boxes {attributes}", draw.node(op, [x, "boxes", draw.indices(1, count)], **attributes))
    attributes = {"mode": draw.among(("nearest", "linear", "linear", "cubic")),
                  "coordinate_transformation_mode": draw.among(("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"))}
    if attributes["mode"] == "nearest":
        attributes["nearest_mode"] = draw.among(("floor", "round_prefer_floor", "ceil"))
    elif draw.maybe(0.3) and other < side:
        attributes["antialias"] = 1
    wide = draw.size(4, 80, SIDES)
    result = draw.node(op, [x, "", "", draw.numbers(1, channels, other, wide)], **attributes)
    return draw.layer(f"{label} to {other}x{wide} {attributes}", result)


def reshuffle(draw: Draw) -> Layer:
    """Reshape, transpose, reshape: windows, heads, channel shuffles, patches; rolls and flips of images."""
    op = draw.among(RESHUFFLES)
    if op == "any":
        shape = [draw.size(1, 48) for _ in range(draw.among((4, 5, 6)))]
        while np.prod(shape) > 1_500_000:
            shape[int(np.argmax(shape))] //= 2
        order = [int(i) for i in draw.rng.permutation(len(shape))]
        return draw.layer(f"{op} {shape} {order}", draw.node("Transpose", [draw.input(*shape)], perm=order))
    size, tiles, channels = draw.among((2, 4, 7, 8)), draw.size(1, 10), draw.size(1, 24) * 8
    side, groups = size * tiles, draw.among((2, 4, 8))
    while channels * side * side > 1_500_000:
        channels = max(8, channels // 16 * 8)
        side, tiles = (side, tiles) if channels > 8 else (size, 1)
    before, split, order, after = {
        "windows": ((1, side, side, channels), (1, tiles, size, tiles, size, channels), (0, 1, 3, 2, 4, 5), (-1, size * size, channels)),
        "unwindow": ((tiles**2, size**2, channels), (1, tiles, tiles, size, size, channels), (0, 1, 3, 2, 4, 5), (1, side, side, channels)),
        "shuffle": ((1, channels, side, side), (1, groups, channels // groups, side, side), (0, 2, 1, 3, 4), (1, channels, side, side)),
        "unshuffle": ((1, channels, side, side), (1, channels, tiles, size, tiles, size), (0, 1, 3, 5, 2, 4), (1, -1, tiles, tiles)),
        "heads": ((1, side**2, channels), (1, side**2, groups, channels // groups), (0, 2, 1, 3), (groups, side**2, -1)),
        "merge": ((groups, side**2, channels), (1, groups, side**2, channels), (0, 2, 1, 3), (1, side**2, -1)),
        "patches": ((1, channels, side, side), (1, channels, tiles, size, tiles, size), (0, 2, 4, 3, 5, 1), (1, tiles**2, -1)),
    }.get(op, ((1, side, side, channels), (), (), ()))
    x, label = draw.input(*before), f"{op} {before} by {size if op not in ('shuffle', 'heads', 'merge') else groups}"
    if op == "roll":
        for axis in (1, 2):
            ends = [draw.node("Slice", [x, draw.numbers(a), draw.numbers(b), draw.numbers(axis)])
                    for a, b in ((size // 2, 2**31), (0, size // 2))]
            x = draw.node("Concat", ends, axis=axis)
        return draw.layer(label, x)
    if op == "flip":
        axes = draw.among(((1,), (2,), (1, 2), (3,)))
        start, end, step = (draw.numbers(*[value] * len(axes)) for value in (-1, -2**62, -1))
        return draw.layer(f"{label} {axes}", draw.node("Slice", [x, start, end, draw.numbers(*axes), step]))
    turned = draw.node("Transpose", [draw.node("Reshape", [x, draw.numbers(*split)])], perm=order)
    return draw.layer(label, draw.node("Reshape", [turned, draw.numbers(*after)]))


def einsum(draw: Draw) -> Layer:
    """A sum of products over named axes."""
    equation = draw.among(EINSUMS)
    operands = equation.split("->")[0].split(",")
    sizes = {name: draw.size(1, 96) if name not in "bh" else draw.size(1, 16) for name in sorted(set("".join(operands)))}
    shapes = [[sizes[name] for name in operand] for operand in operands]
    return draw.layer(f"{equation} {shapes}", draw.node("Einsum", [draw.input(*shape) for shape in shapes], equation=equation))


def statistics(draw: Draw) -> Layer:
    """A reduction of several axes of up to five, at times subtracted from what it is of."""
    shape = [draw.size(1, 64) for _ in range(draw.among((3, 4, 4, 5)))]
    while np.prod(shape) > 1_500_000:
        shape[int(np.argmax(shape))] //= 2
    axes = sorted(int(axis) for axis in draw.rng.permutation(len(shape))[:draw.among((1, 2, 2, 3))])
    op = draw.among(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare",
                     "ReduceLogSumExp", "ReduceProd"))
    x = draw.input(*shape)
    if draw.maybe(0.4):
        mean = draw.node("ReduceMean", [x, draw.numbers(*axes)], keepdims=1)
        gap = draw.node("Sub", [x, mean])
        if draw.maybe():
            return draw.layer(f"centered {shape} axes {axes}", gap)
        square = draw.node("Mul", [gap, gap])
        return draw.layer(f"variance {shape} axes {axes}", draw.node("ReduceMean", [square, draw.numbers(*axes)], keepdims=0))
    return draw.layer(f"{op} {shape} axes {axes}", draw.node(op, [x, draw.numbers(*axes)], keepdims=int(draw.maybe())))


def masks(draw: Draw) -> Layer:
    """Whole numbers, comparisons and masks: positions, causal and padding masks, ids, clips, casts."""
    op = draw.among(("causal", "padding", "clip", "nonfinite", "mod", "ids", "equal", "quantize", "buckets"))
    rows, columns = draw.size(1, 800), draw.size(1, 800)
    label = f"{op} {rows}x{columns}"
    number = TYPES[draw.precision]
    low = draw.weight(np.array(-1e4, draw.dtype))
    if op == "padding":
        lengths = draw.node("Unsqueeze", [draw.indices(columns, rows), draw.numbers(1)])
        inside = draw.node("Less", [draw.weight(np.arange(columns)), lengths])
        return draw.layer(label, draw.node("Where", [inside, draw.input(rows, columns), low]))
    if op in ("ids", "equal", "buckets"):
        ids = draw.indices(50, rows, columns)
        if op == "ids":
            value = draw.node("Add", [draw.node("Mul", [ids, draw.numbers(7)]), draw.numbers(-3)])
            value = draw.node("Clip", [value, draw.weight(np.int64(0)), draw.weight(np.int64(99))])
            return draw.layer(label, draw.node("Cast", [value], to=number))
        if op == "equal":
            same = draw.node("Cast", [draw.node("Equal", [ids, draw.numbers(1)])], to=TensorProto.INT64)
            return draw.layer(label, draw.node("ReduceSum", [same, draw.numbers(1)], keepdims=0), TensorProto.INT64)
        near = draw.node("Div", [draw.node("Abs", [draw.node("Sub", [ids, draw.indices(50, 1, columns)])]), draw.numbers(3)])
        return draw.layer(label, draw.node("Min", [near, draw.numbers(11)]), TensorProto.INT64)
    x = draw.input(rows, columns)
    if op == "causal":
        upper = draw.node("LessOrEqual", [draw.weight(np.arange(columns)), draw.weight(np.arange(rows)[:, None])])
        return draw.layer(label, draw.node("Softmax", [draw.node("Where", [upper, x, low])], axis=-1))
    if op == "clip":
        return draw.layer(label, draw.node("Clip", [x, draw.weight(np.array(-1, draw.dtype)), draw.weight(np.array(1, draw.dtype))]))
    if op == "nonfinite":
        return draw.layer(label, draw.node("Where", [draw.node("IsNaN", [x]), low, x]))
    if op == "mod":
        return draw.layer(label, draw.node("Mod", [x, draw.weight(np.array(0.75, draw.dtype))], fmod=1))
    scaled = draw.node("Round", [draw.node("Mul", [x, draw.weight(np.array(16, draw.dtype))])])
    return draw.layer(label, draw.node("Cast", [scaled], to=TensorProto.INT8), TensorProto.INT8)
