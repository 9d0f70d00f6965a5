"""Random nodes on tensors whose results' sizes are data, or whose inputs are of a kind of their own."""
from typing import Any

import numpy as np
from drawn_nodes import Array, Draw, DrawnNode, Make

NUMBERS = (np.float32, np.float32, np.float64, np.int64, np.int32, np.uint8)


def few(d: Draw, shape: list[int], dtype: type | None = None) -> Array:
    """Numbers of which some are equal, and some are 0."""
    return d.data.integers(0 if dtype is np.uint8 else -2, 4, shape).astype(dtype or d.rng.choice(NUMBERS))


def non_zero(d: Draw) -> DrawnNode:
    return DrawnNode("NonZero", [few(d, d.shape(1, 4), d.rng.choice((np.float32, np.int64, np.int32, np.uint8, np.bool_)))], domain="")


def unique(d: Draw) -> DrawnNode:
    shape = d.shape(1, 3)
    x = few(d, shape, d.rng.choice((np.float32, np.int64, np.float64, np.int8)))
    attributes: dict[str, Any] = {"sorted": int(d.some(0.7))} | ({"axis": d.rng.randrange(-len(shape), len(shape))} if d.some() else {})
    outputs = ["y", *(name if d.some(0.7) else "" for name in ("first", "inverse", "counts"))]
    return DrawnNode("Unique", [x], outputs=outputs, domain="", attributes=attributes)


def determinant(d: Draw) -> DrawnNode:
    size = d.size(1, 2, 3, 4, 7)
    return DrawnNode("Det", [d.normal(*(d.shape(1, 2) if d.some() else []), size, size).astype(np.float32)], domain="", tolerance=1e-4)


def eye_like(d: Draw) -> DrawnNode:
    x = few(d, [d.size(), d.size()])
    dtype = {"dtype": d.rng.choice((1, 6, 7, 10, 11))} if d.some() else {}
    return DrawnNode("EyeLike", [x], domain="", attributes={"k": d.rng.randint(-5, 5)} | dtype)


def global_lp_pool(d: Draw) -> DrawnNode:
    x = d.normal(d.size(1, 2, 3), d.width(), *d.shape(1, 3)).astype(np.float32)
    return DrawnNode("GlobalLpPool", [x], domain="", tolerance=1e-4, attributes={"p": d.rng.choice((1, 2, 3))})


def integer_conv(d: Draw) -> DrawnNode:
    rank, groups = d.rng.choice((1, 2, 2)), d.rng.choice((1, 1, 2))
    channels, out = groups * d.width(1, 2, 3, 8), groups * d.width(1, 2, 4, 8)
    kernel, strides, dilations = ([d.width(*some) for _ in range(rank)] for some in ((1, 2, 3), (1, 1, 2), (1, 1, 2)))
    pads = [d.width(0, 0, 1) for _ in range(2 * rank)]
    attributes = {"kernel_shape": kernel, "strides": strides, "dilations": dilations, "pads": pads, "group": groups}
    first, weight = (np.uint8, d.byte()) if d.some(0.7) else (np.int8, np.int8)
    x = d.bytes_of(first, (d.size(1, 2), channels, *(d.size(5, 7, 10) for _ in range(rank))), halved=True)
    w = d.bytes_of(weight, (out, channels // groups, *kernel), fixed=True, halved=True)
    if d.some(0.4) and first is np.uint8:
        return DrawnNode("ConvInteger", [x, w, *([d.zero(first)] if d.some() else [])], d.kept(1), domain="", attributes=attributes)
    each = d.some()
    scale, zero = (d.positive(out), np.zeros(out, weight)) if each else (d.scale(), d.zero(weight))
    bias = [d.fixed.integers(-3000, 3000, out).astype(np.int32)] if d.some() else []
    inputs = [x, d.scale(), d.zero(first), w, scale, zero, np.array(d.rng.choice((3.0, 20.0)), np.float32), d.zero(first), *bias]
    return DrawnNode("QLinearConv", inputs, d.kept(*(1, 2, 3, 4, 5, 6, 7, 8)[:len(inputs) - 1]), domain="", unit=1, attributes=attributes)


def integer_matmul(d: Draw) -> DrawnNode:
    k, n = d.width(), d.width()
    first, weight = (np.uint8, d.byte()) if d.some(0.7) else (np.int8, np.int8)
    a, b = d.bytes_of(first, (*d.shape(1, 3), k), halved=True), d.bytes_of(weight, (k, n), fixed=True, halved=True)
    if d.some(0.4) and first is np.uint8:
        zeros = [d.zero(first), d.fixed.integers(0, 9, n).astype(weight) if d.some() else d.zero(weight)] if d.some() else []
        return DrawnNode("MatMulInteger", [a, b, *zeros], d.kept(*range(1, 2 + len(zeros))), domain="")
    scale, zero = (d.positive(n), d.fixed.integers(0, 9, n).astype(weight)) if d.some() else (d.scale(), d.zero(weight))
    inputs = [a, d.scale(), d.zero(first), b, scale, zero, np.array(d.rng.choice((3.0, 20.0)), np.float32), d.zero(first)]
    return DrawnNode("QLinearMatMul", inputs, d.kept(1, 2, 3, 4, 5, 6, 7), domain="", unit=1)


def scattered(d: Draw) -> DrawnNode:
    """A cache whose rows a call replaces, from a place of each sequence on."""
    batch, heads, size, new, width = d.size(1, 2, 3), d.width(1, 2), d.size(5, 8, 9), d.size(1, 2, 4), d.width(1, 3, 8)
    circular = d.some()
    cache, update = d.normal(batch, heads, size, width), d.normal(batch, heads, new, width)
    places = d.data.integers(0, size if circular else size - new + 1, batch)
    inputs = [cache, update, *([places] if circular or d.some(0.7) else [])]
    return DrawnNode("TensorScatter", inputs, domain="", opset=24, by_reference=True,
                     attributes={"mode": "circular" if circular else "linear"})


def swish(d: Draw) -> DrawnNode:
    return DrawnNode("Swish", [d.normal(*d.shape(0, 4)) * d.dtype.type(3)], domain="", opset=24, by_reference=True, tolerance=d.tolerance,
                     attributes={"alpha": d.rng.choice((1.0, 0.5, -2.0))} if d.some() else {})


def cast_like(d: Draw) -> DrawnNode:
    target = np.zeros(d.shape(0, 2), d.rng.choice((*NUMBERS, np.float16, np.int8, np.bool_)))
    return DrawnNode("CastLike", [np.abs(few(d, d.shape(0, 3))), target], domain="")    # casts of -1.0 to uint8 are not defined


def terms(d: Draw) -> DrawnNode:
    """TfIdfVectorizer on numbers."""
    grams = [[*map(int, d.fixed.integers(0, 6, n))] for n in (1, 1, 1, 2, 2, 3)]
    grams = [list(one) for one in dict.fromkeys(map(tuple, grams))]
    grams.sort(key=len)
    counts = [sum(len(one) < n for one in grams) for n in (1, 2, 3)]
    starts = [sum(len(one) for one in grams[:count]) for count in counts]
    low = d.rng.choice((1, 1, 2))
    attributes: dict[str, Any] = {
        "mode": d.rng.choice(("TF", "IDF", "TFIDF")), "min_gram_length": low, "max_gram_length": d.rng.randint(low, 3),
        "max_skip_count": d.rng.choice((0, 0, 1, 3)), "ngram_counts": starts, "ngram_indexes": d.rng.sample(range(len(grams)), len(grams)),
        "pool_int64s": [n for one in grams for n in one]}
    if d.some():
        attributes["weights"] = [round(d.rng.uniform(0.1, 3), 2) for _ in grams]
    shape = [*([d.size(1, 2, 3)] if d.some() else []), d.size(1, 2, 5, 12)]
    return DrawnNode("TfIdfVectorizer", [d.data.integers(0, 6, shape).astype(d.rng.choice((np.int32, np.int64)))], domain="",
                     attributes=attributes)


TENSOR_NODES: tuple[Make, ...] = (non_zero, unique, unique, determinant, eye_like, global_lp_pool, integer_conv, integer_matmul, scattered,
                                  swish, cast_like, terms)
