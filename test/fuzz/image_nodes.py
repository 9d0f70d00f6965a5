"""Random nodes on images: samplings, windows, resizes and boxes."""
from typing import Any

import numpy as np
from drawn_nodes import Array, Draw, DrawnNode, Make


def image(d: Draw, rank: int, channels: int | None = None, least: int = 1) -> Array:
    """Of random sizes, ``rank`` of them along its sides."""
    sides = [d.size(*(n for n in (1, 2, 3, 5, 8, 11) if n >= least)) for _ in range(rank)]
    return d.normal(d.size(1, 2, 3), d.width(1, 2, 3, 5, 8) if channels is None else channels, *sides)


def grid_sample(d: Draw) -> DrawnNode:
    rank = d.rng.choice((2, 2, 2, 3))
    x = image(d, rank)
    places = d.data.uniform(-1.6, 1.6, (x.shape[0], *(d.size(1, 2, 4, 7) for _ in range(rank)), rank)).astype(x.dtype)
    mode = d.rng.choice(("linear", "nearest", *(("cubic",) if rank == 2 else ())))
    return DrawnNode("GridSample", [x, places], domain="", tolerance=d.tolerance * 5, attributes={
        "mode": mode, "padding_mode": d.rng.choice(("zeros", "border", "reflection")), "align_corners": int(d.some())})


def affine_grid(d: Draw) -> DrawnNode:
    rank, batch = d.rng.choice((2, 2, 3)), d.size(1, 2, 3)
    sizes = np.array([batch, d.width(1, 3), *(d.size(1, 2, 3, 5, 8) for _ in range(rank))])
    return DrawnNode("AffineGrid", [d.normal(batch, rank, rank + 1).astype(np.float32), sizes], domain="",
                     attributes={"align_corners": int(d.some())})


def roi_align(d: Draw) -> DrawnNode:
    x = image(d, 2, least=3).astype(np.float32)
    count = d.size(1, 2, 5)
    corner = d.data.uniform(-2, 6, (count, 2))
    boxes = np.concatenate([corner, corner + d.data.uniform(0.1, 9, (count, 2))], axis=1).astype(np.float32)
    which = d.data.integers(0, x.shape[0], count)
    return DrawnNode("RoiAlign", [x, boxes, which], domain="", attributes={
        "output_height": d.width(1, 2, 3), "output_width": d.width(1, 2, 5), "sampling_ratio": d.rng.choice((0, 1, 2, 3)),
        "spatial_scale": d.rng.choice((1.0, 0.5, 1.3)), "mode": d.rng.choice(("avg", "avg", "max")),
        "coordinate_transformation_mode": d.rng.choice(("half_pixel", "output_half_pixel"))})


def max_roi_pool(d: Draw) -> DrawnNode:
    x = image(d, 2, least=3).astype(np.float32)
    count = d.size(1, 2, 5)
    corner = d.data.uniform(-3, 9, (count, 2))
    corners = np.concatenate([corner, corner + d.data.uniform(-1, 12, (count, 2))], axis=1)
    rois = np.concatenate([d.data.integers(0, x.shape[0], count)[:, None], np.round(corners * 4) / 4], axis=1).astype(np.float32)
    return DrawnNode("MaxRoiPool", [x, rois], domain="", attributes={
        "pooled_shape": [d.width(1, 2, 3, 7), d.width(1, 2, 5)], "spatial_scale": d.rng.choice((1.0, 0.5, 1.3))})


def non_max_suppression(d: Draw) -> DrawnNode:
    batch, classes, count = d.size(1, 2), d.size(1, 2, 3), d.size(1, 2, 5, 9, 20)
    centered = d.some()
    first, sides = d.data.uniform(0, 4, (batch, count, 2)), d.data.uniform(0.3, 3, (batch, count, 2))
    boxes = np.concatenate([first, sides if centered else first + sides], axis=2)
    if not centered and d.some(0.3):
        boxes = boxes[..., [2, 3, 0, 1]]    # any two opposite corners
    scores = d.data.permutation(batch * classes * count).reshape(batch, classes, count) / 50
    inputs = [boxes.astype(np.float32), scores.astype(np.float32), np.array([d.rng.choice((0, 1, 3, 100))]),
              np.array([d.rng.choice((0.0, 0.3, 0.7, 1.0))], np.float32), np.array([d.rng.choice((0.0, 0.25, 5.0))], np.float32)]
    return DrawnNode("NonMaxSuppression", inputs[:d.rng.choice((3, 4, 5, 5))], d.kept(2), domain="",
                     attributes={"center_point_box": int(centered)})


def deform_conv(d: Draw) -> DrawnNode:
    groups, offset_groups = d.width(1, 1, 2), d.width(1, 1, 2)
    channels, out = groups * offset_groups * d.width(1, 2), groups * d.width(1, 2, 3)
    kernel, strides, dilations = ([d.width(*some), d.width(*some)] for some in ((1, 2, 3), (1, 1, 2), (1, 1, 2)))
    pads = [d.width(0, 1) for _ in range(4)]
    x = image(d, 2, channels, least=5).astype(np.float32)
    ends = [(size + pads[i] + pads[2 + i] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i, size in enumerate(x.shape[2:])]
    count = offset_groups * kernel[0] * kernel[1]
    inputs: list[Array | None] = [x, d.weight(out, channels // groups, *kernel).astype(np.float32),
                                  d.data.uniform(-2, 2, (x.shape[0], 2 * count, *ends)).astype(np.float32)]
    inputs.append(d.weight(out).astype(np.float32) if d.some() else None)
    inputs.append(d.data.random((x.shape[0], count, *ends)).astype(np.float32) if d.some() else None)
    while inputs[-1] is None:
        inputs.pop()
    return DrawnNode("DeformConv", inputs, d.kept(1), domain="", opset=22, tolerance=1e-4, attributes={
        "kernel_shape": kernel, "strides": strides, "dilations": dilations, "pads": pads, "group": groups, "offset_group": offset_groups})


def max_unpool(d: Draw) -> DrawnNode:
    rank = d.rng.choice((1, 2, 2, 3))
    kernel, strides = [d.width(1, 2, 3) for _ in range(rank)], [d.width(1, 2, 3) for _ in range(rank)]
    x = image(d, rank).astype(np.float32)
    ends = [(size - 1) * stride + k for size, stride, k in zip(x.shape[2:], strides, kernel)]
    each = int(np.prod(ends))
    places = np.stack([d.data.permutation(each)[:int(np.prod(x.shape[2:]))] for _ in range(x.shape[0] * x.shape[1])])
    offsets = np.arange(x.shape[0] * x.shape[1])[:, None] * each
    return DrawnNode("MaxUnpool", [x, (places + offsets).reshape(x.shape)], domain="",
                     attributes={"kernel_shape": kernel, "strides": strides})


def resize(d: Draw) -> DrawnNode:
    mode = d.rng.choice(("nearest", "linear", "linear", "cubic"))
    rank = 2 if mode == "cubic" else d.rng.choice((1, 2, 2, 3))
    x = image(d, rank, least=2).astype(d.rng.choice((np.float32, np.float32, np.float16 if mode == "nearest" else np.float32)))
    how = d.rng.choice(("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"))
    attributes: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": how}
    if mode == "nearest":
        attributes["nearest_mode"] = d.rng.choice(("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
    if mode == "cubic":
        attributes |= {"cubic_coeff_a": d.rng.choice((-0.75, -0.5)), "exclude_outside": int(d.some(0.3))}
    if mode != "nearest" and d.some(0.3):
        attributes["antialias"] = 1
    inputs: list[Array | None] = [x, None]
    if d.some():
        inputs.append(np.array([1, 1, *(d.rng.choice((0.5, 0.6, 1.0, 1.5, 2.0, 3.0, 2.7)) for _ in range(rank))], np.float32))
    else:
        inputs += [None, np.array([*x.shape[:2], *(d.size(1, 2, 3, 5, 9, 14) for _ in range(rank))])]
    fixed = [2] if inputs[2] is not None and d.some(0.7) else []
    return DrawnNode("Resize", inputs, fixed, domain="", opset=d.rng.choice((18, 19)), tolerance=1e-4, attributes=attributes)


def transposed_conv(d: Draw) -> DrawnNode:
    rank, groups = d.rng.choice((1, 2, 2, 3)), d.rng.choice((1, 1, 1, 2, 3))
    channels, out = groups * d.width(1, 2, 3, 8), d.width(1, 2, 4, 8)
    kernel, strides, dilations = ([d.width(*some) for _ in range(rank)] for some in ((1, 2, 3, 4), (1, 2, 2, 3), (1, 1, 1, 2)))
    attributes: dict[str, Any] = {"strides": strides, "dilations": dilations, "group": groups}
    if d.some(0.25):
        attributes["auto_pad"] = d.rng.choice(("SAME_UPPER", "SAME_LOWER", "VALID"))
    else:
        reach = [(k - 1) * dilation for k, dilation in zip(kernel, dilations)]
        attributes["pads"] = [d.rng.randint(0, min(2, most)) for most in (*reach, *reach)]
        attributes["output_padding"] = [d.rng.randrange(max(stride, dilation)) for stride, dilation in zip(strides, dilations)]
    x = image(d, rank, channels, least=2)
    inputs: list[Array | None] = [x, d.weight(channels, out, *kernel)]
    inputs += [d.weight(groups * out)] if d.some() else []
    return DrawnNode("ConvTranspose", inputs, d.kept(*range(1, len(inputs))), domain="", tolerance=d.tolerance * 2, attributes=attributes)


def pool(d: Draw) -> DrawnNode:
    rank, op = d.rng.choice((1, 2, 2, 3)), d.rng.choice(("MaxPool", "MaxPool", "AveragePool", "LpPool"))
    kernel, strides, dilations = ([d.width(*some) for _ in range(rank)] for some in ((1, 2, 3, 5), (1, 2, 3), (1, 1, 2)))
    attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "dilations": dilations, "ceil_mode": int(d.some(0.4))}
    attributes["pads"] = [d.rng.randrange(k) for k in (*kernel, *kernel)]
    outputs = ["y"]
    if op == "AveragePool":
        attributes["count_include_pad"] = int(d.some())
    elif op == "LpPool":
        attributes |= {"p": d.rng.choice((1, 2, 3))}
    elif d.some():
        attributes["storage_order"] = int(d.some())
        outputs.append("places")
    x = d.normal(d.size(1, 2), d.width(1, 3, 8), *(d.size(10, 11, 12, 13, 16) for _ in range(rank))).astype(np.float32)
    if op == "MaxPool" and d.some(0.2):
        x = (x * 40).astype(np.int8)
    return DrawnNode(op, [x], outputs=outputs, domain="", opset=22, attributes=attributes)


def patches(d: Draw) -> DrawnNode:
    rank = d.rng.choice((1, 2, 2, 3))
    kernel, strides, dilations = ([d.width(*some) for _ in range(rank)] for some in ((1, 2, 3), (1, 2, 3), (1, 1, 2)))
    pads = [d.width(0, 1, 2) for _ in range(2 * rank)]
    sides = [d.width(5, 6, 9) for _ in range(rank)]
    counts = [(size + pads[i] + pads[rank + i] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i, size in enumerate(sides)]
    x = d.normal(d.size(1, 2, 3), d.width(1, 2, 3) * int(np.prod(kernel)), int(np.prod(counts))).astype(np.float32)
    return DrawnNode("Col2Im", [x, np.array(sides), np.array(kernel)], [1, 2], domain="", attributes={
        "strides": strides, "dilations": dilations, "pads": pads})


IMAGE_NODES: tuple[Make, ...] = (grid_sample, affine_grid, roi_align, max_roi_pool, non_max_suppression, deform_conv, max_unpool, resize,
                                 resize, transposed_conv, pool, patches)
