"""matmul, convolutions and pools, executed against the ops' numpy semantics."""

import itertools
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from generic_samples import dtypes_of, normal, small, values
from one_op import Case, failures
from thoroughly import first_of


def matmul_cases():
    for dtype in dtypes_of("matmul"):
        yield Case("matmul", [small((4, 5), dtype), small((5, 3), dtype)])
        yield Case("matmul", [small((2, 4, 5), dtype), small((2, 5, 3), dtype)])
        yield Case("matmul", [small((2, 4, 5), dtype), small((5, 3), dtype)])
    shapes = [
        ((5,), (5,)),
        ((5,), (5, 3)),
        ((4, 5), (5,)),
        ((5,), (2, 5, 3)),
        ((2, 4, 5), (5,)),
        ((4, 5), (2, 5, 3)),
        ((1, 4, 5), (2, 5, 3)),
        ((2, 4, 5), (1, 5, 3)),
        ((1, 4, 5), (1, 5, 3)),
        ((2, 1, 4, 5), (3, 5, 2)),
        ((2, 1, 4, 5), (1, 3, 5, 2)),
        ((1, 3, 4, 5), (1, 3, 5, 2)),
        ((2, 3, 1, 5), (2, 3, 5, 1)),
        ((1, 1), (1, 1)),
        ((1, 5), (5, 1)),
        ((0, 5), (5, 3)),
        ((4, 0), (0, 3)),
        ((1, 1, 4, 5), (2, 3, 5, 2)),
    ]
    for a, b in shapes:
        yield Case("matmul", [normal(*a), normal(*b)])
    symbols = {"n": 4, "m": 3, "b": 2, "k": 5}
    for a, b in (
        ((["n", 5]), [5, 3]),
        (["n", "k"], ["k", "m"]),
        (["b", "n", "k"], ["b", "k", "m"]),
        (["b", 1, "n", 5], [3, 5, "m"]),
        (["b", "n", 5], [5, 3]),
        (["k"], ["b", "k", 2]),
    ):
        inputs = [normal(*(symbols[d] if isinstance(d, str) else d for d in shape)) for shape in (a, b)]
        yield Case("matmul", inputs, shapes=[a, b], symbols=symbols)


def integer_cases():
    rng = np.random.default_rng(3)

    def bytes_of(dtype, *shape):
        return rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, endpoint=True).astype(dtype)

    for a, b in itertools.product((np.uint8, np.int8), repeat=2):
        for rows, depth, columns in ((5, 7, 3), (1, 64, 40), (4, 33, 17), (0, 5, 3), (4, 0, 3), (6, 1, 1)):
            yield Case("matmul_integer", [bytes_of(a, rows, depth), bytes_of(b, depth, columns)])
        yield Case("matmul_integer", [bytes_of(a, 2, 3, 9), bytes_of(b, 9, 20)], shapes=[["b", "n", 9], [9, 20]], symbols={"b": 2, "n": 3})
        yield Case("matmul_integer", [bytes_of(a, 4, 6), bytes_of(b, 6, 8)], shapes=[["n", "k"], ["k", "m"]],
                   symbols={"n": 4, "k": 6, "m": 8})
        yield Case("matmul_integer", [bytes_of(a, 2, 1, 5, 9), bytes_of(b, 3, 4, 9)], {"kernel_layout": "OI"},
                   shapes=[["b", 1, "n", 9], [3, 4, 9]], symbols={"b": 2, "n": 5})
        yield Case("matmul_integer", [bytes_of(a, 3, 5, 9), bytes_of(b, 3, 9, 4)])
        yield Case("conv2d_integer", [bytes_of(a, 2, 5, 7, 6), bytes_of(b, 4, 5, 3, 2)], {"strides": [2, 1], "dilations": [1, 2]})
        nhwc = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
        yield Case("conv2d_integer", [bytes_of(a, 1, 6, 7, 8), bytes_of(b, 3, 3, 8, 16)], nhwc)
        grouped = {"groups": 3, "strides": [1, 2]}     # of two channels and two filters each, of one filter each, of two
        yield Case("conv2d_integer", [bytes_of(a, 2, 6, 5, 6), bytes_of(b, 6, 2, 3, 2)],
                   grouped | {"padding": [1, 0, 2, 1], "pad_value": 3})
        yield Case("conv2d_integer", [bytes_of(a, 2, 5, 6, 3), bytes_of(b, 3, 2, 1, 3)], grouped | nhwc)
        yield Case("conv2d_integer", [bytes_of(a, 2, 5, 6, 3), bytes_of(b, 6, 3, 2, 1)],
                   grouped | {"data_layout": "NHWC", "kernel_layout": "OHWI"})
        yield Case("conv2d_integer", [bytes_of(a, 2, 4, 4, 3), bytes_of(b, 1, 1, 3, 5)], nhwc, shapes=[["n", 4, 4, 3], [1, 1, 3, 5]],
                   symbols={"n": 2})


def turned_cases():
    rng, sizes = np.random.default_rng(6), {"b": 2, "n": 3}
    for dtype in (np.float32, np.float16):
        for a, b in ([[4, 33], [17, 33]], [[2, 1, 5, 8], [3, 6, 8]], [["b", "n", 9], [20, 9]]):
            given = [[sizes[dim] if isinstance(dim, str) else dim for dim in shape] for shape in (a, b)]
            yield Case("matmul_turned", [rng.standard_normal(shape).astype(dtype) for shape in given], shapes=[a, b],
                       symbols=sizes if "n" in a else {})


def float8_cases():
    rng, sizes = np.random.default_rng(5), {"b": 2, "n": 3}
    for dtype in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
        for a, b in ([[4, 33], [17, 33]], [[2, 1, 5, 8], [3, 6, 8]], [["b", "n", 9], [20, 9]]):
            given = [[sizes[dim] if isinstance(dim, str) else dim for dim in shape] for shape in (a, b)]
            inputs = [(rng.standard_normal(shape) * 4).astype(dtype) for shape in given]
            yield Case("matmul_float8", inputs, shapes=[a, b], symbols=sizes if "n" in a else {})


def quantized_cases():
    rng = np.random.default_rng(4)
    for bits, per in ((2, 16), (4, 8), (8, 1)):
        for rows, (panels, blocks, words, width), columns in ((3, (2, 3, 2, 16), 20), (1, (1, 2, 3, 32), 32), (7, (1, 1, 4, 5), 5)):
            shape = (panels, blocks, words, width)
            low, dtype = (-128, np.int8) if bits == 8 else (-(1 << 31), np.int32)
            weight = rng.integers(low, -low, shape).astype(dtype)
            scale = rng.standard_normal((panels, blocks, width)).astype(np.float32)
            x = normal(rows, blocks * words * per)
            for zero in (np.zeros(0, np.float32), rng.integers(-8, 8, scale.shape).astype(np.int8)):
                yield Case("matmul_quantized", [x, weight, scale, zero], {"bits": bits, "columns": columns},
                           shapes=[["n", x.shape[1]], shape, scale.shape, zero.shape], symbols={"n": rows})


LAYOUTS = {
    1: ("NCW", "NWC", "OIW", ("OIW", "WIO", "OWI")),
    2: ("NCHW", "NHWC", "OIHW", ("OIHW", "HWIO", "OHWI")),
    3: ("NCDHW", "NDHWC", "OIDHW", ("OIDHW", "DHWIO", "ODHWI")),
}


def laid_out(array, source, target):
    return np.ascontiguousarray(array.transpose([source.index(letter) for letter in target]))


def convolution(rank, x, w, layout=None, kernel=None, **attrs):
    """A case from an input NC... and a kernel OI... ."""
    first, _, oi, _ = LAYOUTS[rank]
    layout, kernel = layout or first, kernel or oi
    return Case(
        f"conv{rank}d", [laid_out(x, first, layout), laid_out(w, oi, kernel)], {"data_layout": layout, "kernel_layout": kernel, **attrs}
    )


def conv_cases():
    for dtype in dtypes_of("conv2d"):
        for layout, kernel in (("NCHW", "OIHW"), ("NHWC", "HWIO"), ("NHWC", "OHWI")):
            yield convolution(2, normal(1, 3, 6, 5, dtype=dtype), normal(4, 3, 3, 2, dtype=dtype), layout, kernel, padding=[1, 0, 1, 1])
            yield convolution(2, normal(1, 4, 6, 5, dtype=dtype), normal(4, 1, 3, 3, dtype=dtype), layout, kernel, groups=4)
            yield convolution(2, normal(1, 4, 6, 5, dtype=dtype), normal(6, 2, 3, 3, dtype=dtype), layout, kernel, groups=2)
    for rank in (1, 2, 3):
        _, last, _, kernels = LAYOUTS[rank]
        sizes, taps = (7, 6, 5)[:rank], (3, 2, 2)[:rank]
        for layout, kernel in itertools.product((LAYOUTS[rank][0], last), kernels):
            for groups, inputs, outputs in ((1, 3, 4), (2, 4, 6), (4, 4, 4), (4, 4, 8)):
                x, w = normal(2, inputs, *sizes), normal(outputs, inputs // groups, *taps)
                yield convolution(
                    rank,
                    x,
                    w,
                    layout,
                    kernel,
                    groups=groups,
                    strides=[2, 1, 1][:rank],
                    dilations=[1, 2, 1][:rank],
                    padding=[1, 0, 2][:rank] + [0, 2, 1][:rank],
                )
    yield convolution(2, normal(1, 1, 1, 1), normal(1, 1, 1, 1))
    yield convolution(2, normal(0, 2, 4, 4), normal(3, 2, 2, 2))
    x, w = normal(2, 3, 6, 5), normal(4, 3, 3, 3)
    yield Case(
        "conv2d",
        [x, w],
        {"padding": [1, 1, 1, 1], "strides": [2, 2]},
        shapes=[["n", 3, "h", "w"], w.shape],
        symbols={"n": 2, "h": 6, "w": 5},
    )
    x, w = laid_out(normal(2, 4, 6, 5), "NCHW", "NHWC"), normal(3, 3, 2, 4)
    yield Case(
        "conv2d",
        [x, w],
        {"data_layout": "NHWC", "kernel_layout": "HWIO", "groups": 2},
        shapes=[["n", "h", "w", 4], w.shape],
        symbols={"n": 2, "h": 6, "w": 5},
    )


def transposed_cases():
    for dtype in dtypes_of("conv2d_transpose"):
        yield Case("conv2d_transpose", [normal(1, 3, 4, 3, dtype=dtype), normal(3, 2, 3, 2, dtype=dtype)], {"strides": [2, 1]})
    for attrs in (
        {},
        {"padding": [1, 0, 1, 1]},
        {"strides": [2, 3], "output_padding": [1, 2], "padding": [0, 1, 1, 0]},
        {"dilations": [2, 1]},
        {"strides": [3, 2], "dilations": [2, 2], "output_padding": [2, 1], "padding": [4, 4, 4, 4]},
        {"padding": [3, 3, 2, 2]},
    ):
        for groups in (1, 2):
            yield Case("conv2d_transpose", [normal(2, 4, 5, 4), normal(4, 3, 3, 2)], {"groups": groups, **attrs})
    yield Case(
        "conv2d_transpose",
        [normal(2, 4, 5, 4), normal(4, 3, 3, 2)],
        {"strides": [2, 2], "padding": [1, 1, 1, 1]},
        shapes=[["n", 4, "h", "w"], [4, 3, 3, 2]],
        symbols={"n": 2, "h": 5, "w": 4},
    )

    yield Case("conv1d_transpose", [normal(2, 4, 7), normal(4, 3, 5)], {"strides": [3], "padding": [2, 1], "output_padding": [1]})
    yield Case("conv3d_transpose", [normal(2, 4, 3, 4, 3), normal(4, 2, 3, 2, 3)], {"strides": [2, 2, 1], "groups": 2})


WINDOWS = [
    {"kernel": [2, 3]},
    {"kernel": [3, 3], "strides": [2, 2], "padding": [1, 1, 1, 1]},
    {"kernel": [3, 2], "strides": [2, 3], "ceil_mode": True},
    {"kernel": [3, 3], "strides": [3, 2], "padding": [0, 1, 2, 1], "ceil_mode": True},
    {"kernel": [2, 2], "dilations": [2, 3]},
    {"kernel": [3, 2], "dilations": [2, 1], "padding": [2, 1, 1, 0]},
    {"kernel": [7, 6]},
    {"kernel": [2, 2], "strides": [1, 5]},
]


def pool_cases():
    for dtype in dtypes_of("arg_max_pool2d"):
        yield Case("arg_max_pool2d", [small((2, 3, 7, 6), dtype)], WINDOWS[3])
    special = np.array([[[-np.inf, -np.inf, np.nan, 1, np.inf, -np.inf, -np.inf]]], np.float32)
    yield Case("arg_max_pool1d", [special], {"kernel": [2], "padding": [1, 1]})
    for window in WINDOWS[1::2]:
        x, symbols = small((2, 3, 7, 6), np.dtype(np.float32)), {"n": 2, "h": 7, "w": 6}
        yield Case("arg_max_pool2d", [x], window)
        yield Case("arg_max_pool2d", [x], window, shapes=[["n", 3, "h", "w"]], symbols=symbols)
    for rank in (1, 3):
        yield Case(f"arg_max_pool{rank}d", [normal(2, 3, *(7, 6, 5)[:rank])],
                   {"kernel": [3, 2, 2][:rank], "strides": [2, 2, 1][:rank], "padding": [1] * (2 * rank), "ceil_mode": True})
    for kind in ("max", "avg"):
        for dtype in dtypes_of(f"{kind}_pool2d"):
            for layout in ("NCHW", "NHWC"):
                x = small((1, 2, 5, 4), dtype) if dtype.kind in "iu" else normal(1, 2, 5, 4, dtype=dtype)
                yield Case(f"{kind}_pool2d", [laid_out(x, "NCHW", layout)], {"layout": layout, **WINDOWS[1]})
        extra = ({"count_include_pad": True}, {}) if kind == "avg" else ({},)
        for window, layout, more in itertools.product(WINDOWS, ("NCHW", "NHWC"), extra):
            x = laid_out(normal(2, 3, 7, 6), "NCHW", layout)
            yield Case(f"{kind}_pool2d", [x], {"layout": layout, **window, **more})
            dynamic = {"NCHW": ["n", 3, "h", "w"], "NHWC": ["n", "h", "w", 3]}[layout]
            yield Case(f"{kind}_pool2d", [x], {"layout": layout, **window, **more}, shapes=[dynamic], symbols={"n": 2, "h": 7, "w": 6})
        for rank, layout in ((1, "NCW"), (1, "NWC"), (3, "NCDHW"), (3, "NDHWC")):
            x = laid_out(normal(2, 3, *(7, 6, 5)[:rank]), LAYOUTS[rank][0], layout)
            for more in extra:
                yield Case(
                    f"{kind}_pool{rank}d",
                    [x],
                    {
                        "layout": layout,
                        "kernel": [3, 2, 2][:rank],
                        "strides": [2, 2, 1][:rank],
                        "padding": [1] * (2 * rank),
                        "ceil_mode": True,
                        **more,
                    },
                )
    yield Case("max_pool2d", [values((1, 1, 4, 4), "float32")], {"kernel": [2, 2]})
    for padding, count in itertools.product(([0, 0], [1, 0], [0, 2]), (True, False)):    # more windows than are counted at compile time
        window = {"kernel": [3], "padding": padding, "count_include_pad": count, "ceil_mode": True}
        yield Case("avg_pool1d", [normal(1, 2, 70_001)], window)
        yield Case("avg_pool1d", [normal(1, 1, 150_000)], {**window, "strides": [2]})


def region_cases():
    """Regions of many sizes, of images whose channels are second, and last."""
    for case in regions_of_images():
        yield case
        last = [np.ascontiguousarray(np.moveaxis(case.inputs[0], 1, 3)), *case.inputs[1:]]
        shapes = case.shapes and [["b", "h", "w", 3], *case.shapes[1:]]
        yield replace(case, inputs=last, attrs={**case.attrs, "channels_last": True}, shapes=shapes)


def regions_of_images():
    """Brought to one size by points between the pixels, and by the maximum of the pixels."""
    for case in sampled_regions():
        yield case
        if case.attrs.get("mode", "avg") == "avg" and case.attrs.get("aligned", True):
            yield replace(case, op="roi_pool", attrs={name: value for name, value in case.attrs.items() if name in ("size", "scale")})


def sampled_regions():
    """In the order of rows: any, one pixel, larger than the image by far, without extent, exchanged corners."""
    first = np.abs(normal(5, 2)) * 2
    ends = np.concatenate([first[:2] + [[5.3, 2.9], [0.4, 0.6]], [[3e9, 900]], first[3:4], first[4:] - 2.2])
    regions = np.concatenate([first, ends], axis=1).astype(np.float32)
    images, symbols = np.array([0, 1, 1, -1, 0]), {"b": 2, "h": 7, "w": 6, "n": 5}
    for dtype in dtypes_of("roi_align"):
        yield Case("roi_align", [normal(2, 3, 7, 6, dtype=dtype), regions[:2].astype(dtype), images[:2]], {"size": [2, 2], "sampling": 2})
    for mode, aligned, sampling in itertools.product(("avg", "max"), (True, False), (0, 1, 3)):
        attrs = {"size": [2, 3], "mode": mode, "aligned": aligned, "sampling": sampling, "scale": 0.75}
        yield Case("roi_align", [normal(2, 3, 7, 6), regions, images.astype(np.int32)], attrs)
        shapes = [["b", 3, "h", "w"], ["n", 4], ["n"]]
        yield Case("roi_align", [normal(2, 3, 7, 6), regions, images], attrs, shapes=shapes, symbols=symbols)
        one, none = {"b": 1, "h": 1, "w": 1, "n": 1}, {"b": 1, "h": 0, "w": 4, "n": 2}
        yield Case("roi_align", [normal(1, 3, 1, 1), regions[:1], images[:1]], attrs, shapes=shapes, symbols=one)
        yield Case("roi_align", [normal(1, 3, 0, 4), regions[:2], images[:2] * 0], attrs, shapes=shapes, symbols=none)
    for far, mode in itertools.product((1.3e9, 3e38, np.inf, np.nan), ("avg", "max")):
        ends = np.array([[0.3, 0.2, far, 3.1], [-far, -far, far, far], [far, far, -far, -far]], np.float32)
        yield Case("roi_align", [normal(2, 3, 7, 6), ends, images[:3]], {"size": [2, 2], "mode": mode})
    yield Case("roi_align", [normal(2, 3, 7, 6), regions[:0], images[:0]], {"size": [2, 2]})
    yield Case("roi_align", [normal(1, 3, 0, 4), regions[:2], images[:2] * 0], {"size": [2, 2]})


@pytest.mark.parametrize("part", first_of(range(3)))
@pytest.mark.parametrize("cases", [matmul_cases, integer_cases, turned_cases, float8_cases, quantized_cases, conv_cases, transposed_cases,
                                   pool_cases, region_cases])
def test_semantics(cases, part):
    assert failures(list(cases())[part::3]) == []
