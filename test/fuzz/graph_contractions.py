"""Growth by products, convolutions, pools and quantized nodes."""
import numpy as np
from graph_builder import F16, F32, F64, I32, Graph, Value, is_float, weighted

I8, U8 = np.dtype("int8"), np.dtype("uint8")


def matmul(g: Graph) -> None:
    value = g.float_value(lambda v: v.rank > 0 and not v.empty())
    if not value:
        return
    inner = value.sizes[-1]
    fitting = [v for v in g.values if v.dtype == value.dtype and v.rank > 1 and v.sizes[-2] == inner and v.rank <= value.rank]
    fitting = [v for v in fitting if v.rank == 2 or v.sizes[:-2] == value.sizes[value.rank - v.rank:-2]]
    if fitting and g.rng.random() < 0.5:
        other = g.rng.choice(fitting)
    else:
        batch = value.sizes[:-2] if g.rng.random() < 0.4 else []
        other = g.fresh(value.dtype, [*batch, inner, g.size()] if g.rng.random() < 0.9 else [inner])
    g.add("MatMul", [value, other], value.dtype)


def gemm(g: Graph) -> None:
    value = g.float_value(lambda v: v.rank == 2 and v.dtype in (F32, F64) and not v.empty())
    if value:
        across, over = g.rng.randint(0, 1), g.rng.randint(0, 1)
        rows, inner = value.sizes if not across else value.sizes[::-1]
        columns = g.size()
        other = g.fresh(value.dtype, [columns, inner] if over else [inner, columns])
        bias = g.rng.choice(([], [columns], [rows, columns], [(1,) * g.calls]))
        more = [g.fresh(value.dtype, bias)] if bias else []
        factors = {"alpha": 0.5, "beta": 1.5} if g.rng.random() < 0.3 else {}
        g.add("Gemm", [value, other, *more], value.dtype, transA=across, transB=over, **factors)


def einsum(g: Graph) -> None:
    value = g.float_value(lambda v: v.rank in (2, 3) and v.dtype in (F32, F64) and not v.empty())
    if value:
        names = "abc"[:value.rank]
        table = dict(zip(names, value.sizes)) | {"d": g.size()}
        other = "".join(g.rng.sample(names + "d", g.rng.randint(1, 3)))
        out = "".join(g.rng.sample(names + other, len(names + other)))
        out = "".join(dict.fromkeys(out))[:g.rng.randint(0, 3)]
        g.add("Einsum", [value, g.fresh(value.dtype, [table[n] for n in other])], value.dtype, equation=f"{names},{other}->{out}")


def _image(g: Graph) -> Value | None:
    value = g.float_value(lambda v: 3 <= v.rank <= 5 and v.fixed(1) and not v.empty())
    if value and g.rng.random() < 0.8:
        return value
    rank = g.rng.choice((3, 4, 4, 4, 5))
    spatial = [(g.rng.choice((5, 6, 7, 9, 12) if rank < 5 else (3, 4, 5)),) * g.calls if g.rng.random() < 0.7 else g.size()
               for _ in range(rank - 2)]
    return g.input(g.rng.choice(list(g.floats)), [g.size(), (g.rng.choice((1, 2, 3, 4, 8)),) * g.calls, *spatial])


def _window(g: Graph, value: Value, dilated: bool = True) -> dict | None:
    """A kernel with strides, pads and dilations that fits all sizes."""
    kernel, strides, dilations, begins, ends = [], [], [], [], []
    for size in value.sizes[2:]:
        k, d = g.rng.choice((1, 2, 2, 3, 3, 5)), g.rng.choice((1, 1, 1, 2)) if dilated else 1
        begin, end = ((g.rng.randint(0, k - 1) if g.rng.random() < 0.4 else 0) for _ in range(2))
        if min(size) + begin + end < (k - 1) * d + 1:
            k, d, begin, end = 1, 1, 0, 0
        for row, number in zip((kernel, strides, dilations, begins, ends), (k, g.rng.choice((1, 1, 2, 3)), d, begin, end)):
            row.append(number)
    if min(min(size) for size in value.sizes[2:]) < 1:
        return None
    found = {"kernel_shape": kernel, "strides": strides, "pads": begins + ends}
    return found | {"dilations": dilations} if dilated else found


def conv(g: Graph) -> None:
    value = _image(g)
    attributes = value and _window(g, value)
    if not value or not attributes:
        return
    channels = value.shape[1]
    group = g.rng.choice([n for n in range(1, channels + 1) if channels % n == 0])
    filters = group * g.rng.choice((1, 1, 2, 3))
    weight = g.weight(value.dtype, filters, channels // group, *attributes["kernel_shape"])
    bias = [g.weight(value.dtype, filters)] if g.rng.random() < 0.5 else []
    if g.rng.random() < 0.2:
        padded = any(attributes.pop("pads"))    # without its padding, the window may not fit
        attributes |= {"auto_pad": g.rng.choice(("SAME_UPPER", "SAME_LOWER") if padded else ("SAME_UPPER", "SAME_LOWER", "VALID"))}
        if attributes["auto_pad"] != "VALID":
            attributes["dilations"] = [1] * (value.rank - 2)
    made = g.add("Conv", [value, weight, *bias], value.dtype, group=group, **attributes)
    if made and g.rng.random() < 0.5:
        g.add(g.rng.choice(("Relu", "Sigmoid", "HardSwish")), made, value.dtype)


def conv_transpose(g: Graph) -> None:
    value = _image(g)
    if not value or value.rank > 4 or value.dtype not in (F32, F64):
        return
    channels = value.shape[1]
    group = g.rng.choice([n for n in (1, 1, 2, channels) if channels % n == 0])
    kernel = [g.rng.choice((1, 2, 3)) for _ in range(value.rank - 2)]
    strides = [g.rng.choice((1, 2, 3)) for _ in kernel]
    extra = [g.rng.randrange(stride) for stride in strides] if g.rng.random() < 0.3 else [0] * len(kernel)
    pads = [g.rng.randint(0, k - 1) if g.rng.random() < 0.3 else 0 for k in kernel] * 2
    weight = g.weight(value.dtype, channels, g.rng.choice((1, 2, 3)), *kernel)
    g.add("ConvTranspose", [value, weight], value.dtype, group=group, strides=strides, pads=pads, output_padding=extra, kernel_shape=kernel)


def pool(g: Graph) -> None:
    value = _image(g)
    op = g.rng.choice(("MaxPool", "AveragePool", "LpPool"))
    attributes = value and _window(g, value, dilated=op == "MaxPool")
    if value and attributes:
        if op == "AveragePool":
            attributes["count_include_pad"] = g.rng.randint(0, 1)
        elif op == "LpPool":
            attributes["p"] = g.rng.choice((1, 2))
        if op != "LpPool" and g.rng.random() < 0.2 and not any(attributes["pads"]):
            attributes["ceil_mode"] = 1
        g.add(op, [value], value.dtype, **attributes)


def global_pool(g: Graph) -> None:
    value = _image(g)
    if value and not value.empty():
        g.add(g.rng.choice(("GlobalAveragePool", "GlobalMaxPool")), [value], value.dtype)


def resize(g: Graph) -> None:
    value = g.float_value(lambda v: v.rank == 4 and v.dtype in (F32,) and not v.empty())
    if value:
        mode = g.rng.choice(("nearest", "linear", "cubic"))
        scales = np.array([1, 1, g.rng.choice((2.0, 0.5, 1.5)), g.rng.choice((2.0, 3.0, 1.0))], np.float32)
        how = g.rng.choice(("half_pixel", "asymmetric", "align_corners"))
        nearest = {"nearest_mode": g.rng.choice(("floor", "round_prefer_floor"))} if mode == "nearest" else {}
        g.add("Resize", [value, None, g.constant(scales, F32)], value.dtype, mode=mode, coordinate_transformation_mode=how, **nearest)


def _bytes(g: Graph, dtype: np.dtype, *shape: int) -> Value:
    numpy = np.random.default_rng(g.rng.randrange(1 << 40))
    info = np.iinfo(dtype)
    array = numpy.integers(info.min, info.max + 1, shape).astype(dtype)
    if g.rng.random() < 0.6:
        return g.constant(array)
    return g.input(dtype, [(size,) * g.calls for size in shape], [array] * g.calls)


def quantize(g: Graph) -> None:
    """A value as bytes, and back."""
    value = g.float_value(lambda v: v.dtype == F32)
    if value:
        dtype = g.rng.choice((I8, U8))
        scale = g.constant(np.array(g.rng.choice((0.05, 0.125, 0.3)), np.float32).astype(np.float64), F32)
        zero = g.constant(np.array(g.rng.choice((0, 3)) + (128 if dtype == U8 else 0), dtype))
        made = g.add("QuantizeLinear", [value, scale, zero], dtype)
        if made and g.rng.random() < 0.7:
            g.add("DequantizeLinear", [made[0], scale, zero], F32)


def integer_product(g: Graph) -> None:
    value = g.pick(lambda v: v.dtype in (I8, U8) and v.rank > 1 and v.fixed(v.rank - 1) and not v.empty())
    left = value or _bytes(g, g.rng.choice((I8, U8)), g.rng.choice((1, 3, 5)), g.rng.choice((1, 4, 9)))
    right = _bytes(g, g.rng.choice((I8, U8)), left.shape[-1], g.rng.choice((1, 4, 7, 16)))
    zeros = [g.constant(np.array(g.rng.choice((0, 5)), one.dtype)) for one in (left, right)] if g.rng.random() < 0.5 else []
    made = g.add("MatMulInteger", [left, right, *zeros], I32)
    if made and g.rng.random() < 0.6:
        floats = g.add("Cast", made, F32, to=1)
        if floats:
            g.add("Mul", [floats[0], g.constant(np.array(0.01, np.float32).astype(np.float64), F32)], F32)


def dequantized_product(g: Graph) -> None:
    """x times a weight of bytes with a scale for each column, as quantizers write it."""
    value = g.float_value(lambda v: v.dtype == F32 and v.rank > 1 and v.fixed(v.rank - 1) and not v.empty())
    if value:
        columns = g.rng.choice((1, 4, 7, 16))
        weight = g.constant(g.numbers((value.shape[-1], columns), I8))
        scale = g.constant(np.abs(g.numbers((columns,), F32)).astype(np.float32).astype(np.float64) + 0.125, F32)
        made = g.add("DequantizeLinear", [weight, scale], F32, axis=1)
        if made:
            g.add("MatMul", [value, made[0]], F32)


def attention(g: Graph) -> None:
    """softmax(q k^T / s + mask) v, as exporters write it."""
    value = g.float_value(lambda v: v.rank in (3, 4) and v.dtype in (F32, F16) and v.fixed(v.rank - 1) and not v.empty())
    if not value:
        return
    keys = [*value.sizes[:-2], g.size(), value.sizes[-1]]
    k, v = g.fresh(value.dtype, keys), g.fresh(value.dtype, keys)
    order = [*range(value.rank - 2), value.rank - 1, value.rank - 2]
    turned = g.add("Transpose", [k], value.dtype, perm=order)
    scores = turned and g.add("MatMul", [value, turned[0]], value.dtype)
    scaled = scores and g.add("Mul", [scores[0], g.constant(np.array(0.5), value.dtype)], value.dtype)
    if scaled and g.rng.random() < 0.5:
        scaled = g.add("Add", [scaled[0], g.of_shape(scaled[0])], value.dtype)
    weights = scaled and g.add("Softmax", [scaled[0]], value.dtype, axis=-1)
    if weights and is_float(value.dtype):
        g.add("MatMul", [weights[0], v], value.dtype)


CONTRACTING = weighted({matmul: 6, gemm: 2, einsum: 1, conv: 5, conv_transpose: 1, pool: 3, global_pool: 1, resize: 1, quantize: 2,
                        integer_product: 2, dequantized_product: 1, attention: 2})
