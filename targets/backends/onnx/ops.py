"""The translation of each relax op to ONNX."""
from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np
from onnx import helper

from legato.core.errors import Refusal

Write = Callable[[Any, Any], "str | Refusal"]  # (writer, op) -> the name of the result


class Export(NamedTuple):
    """``write``: the translation; ``refuse``: called before it, returns the reason if the op cannot be translated."""

    write: Write
    refuse: Callable[[Any], Refusal | None] | None = None


def plain(onnx_op: str, **names: str) -> Export:
    """A single ONNX op; ``names``: ONNX's names of the attributes, by relax's."""
    return Export(lambda w, op: w.node(onnx_op, op.inputs, op.label, **{theirs: op.attrs[ours] for ours, theirs in names.items()}))


def chain(*onnx_ops: str) -> Export:
    """Several ONNX ops of one operand, one after the other."""
    def write(w: Any, op: Any) -> str:
        x = op.inputs[0]
        for onnx_op in onnx_ops:
            x = w.node(onnx_op, [x], op.label)
        return x

    return Export(write)


def square(w: Any, op: Any) -> str:
    """x * x."""
    return w.node("Mul", [op.inputs[0], op.inputs[0]], op.label)


def silu(w: Any, op: Any) -> str:
    """x * Sigmoid(x)."""
    return w.node("Mul", [op.inputs[0], w.node("Sigmoid", op.inputs)], op.label)


def isfinite(w: Any, op: Any) -> str:
    """Not(IsNaN or IsInf)."""
    return w.node("Not", [w.node("Or", [w.node("IsNaN", op.inputs), w.node("IsInf", op.inputs)])], op.label)


def not_equal(w: Any, op: Any) -> str:
    """Not(Equal)."""
    return w.node("Not", [w.node("Equal", op.inputs)], op.label)


def mod(w: Any, op: Any) -> str:
    """Mod."""
    return w.node("Mod", op.inputs, op.label, fmod=int(op.attrs["fmod"]))


def refuse_mod(op: Any) -> Refusal | None:
    """ONNX's Mod of floats requires fmod."""
    return Refusal("for floats ONNX has fmod only") if op.types[0].dtype.kind == "f" and not op.attrs["fmod"] else None


def clip(w: Any, op: Any) -> str:
    """Clip, whose bounds are inputs."""
    dtype = op.types[0].dtype
    bounds = [w.constant(np.array(op.attrs[k], dtype)) if op.attrs[k] is not None else "" for k in ("min", "max")]
    return w.node("Clip", [op.inputs[0], *bounds], op.label)


def astype(w: Any, op: Any) -> str:
    """Cast."""
    return w.node("Cast", op.inputs, op.label, to=helper.np_dtype_to_tensor_dtype(op.result.dtype))


SUMMED = ("float16", "float32", "float64", "int32", "int64", "uint32", "uint64")


def refuse_reduction(op: Any) -> Refusal | None:
    """Only the element types that ONNX reduces."""
    return None if str(op.types[0].dtype) in SUMMED else Refusal(f"ONNX reduces no elements of {op.types[0].dtype}")


def reduction(onnx_op: str) -> Export:
    """A reduction, whose axes are an input."""
    def write(w: Any, op: Any) -> str:
        axes = op.attrs["axis"]
        if axes == []:
            return w.node("Identity", op.inputs, op.label)
        given = [] if axes is None else [w.ints(axes)]
        return w.node(onnx_op, [*op.inputs, *given], op.label, keepdims=int(op.attrs["keepdims"]))

    return Export(write, refuse_reduction)


def arg(onnx_op: str) -> Export:
    """An arg-reduction."""
    return Export(lambda w, op: w.node(onnx_op, op.inputs, op.label, axis=op.attrs["axis"], keepdims=int(op.attrs["keepdims"]),
                                      select_last_index=int(op.attrs["select_last"])))


def cumsum(w: Any, op: Any) -> str:
    """CumSum, whose axis is an input."""
    axis = w.constant(np.array(op.attrs["axis"], np.int64))
    return w.node("CumSum", [*op.inputs, axis], op.label, exclusive=int(op.attrs["exclusive"]), reverse=int(op.attrs["reverse"]))


def refuse_norm(op: Any) -> Refusal | None:
    """ONNX normalizes over the last axes only."""
    axes = sorted(a % op.types[0].rank for a in op.attrs["axes"])
    rank = op.types[0].rank
    return None if axes == list(range(rank - len(axes), rank)) else Refusal("ONNX normalizes over the last axes only")


def layer_norm(w: Any, op: Any) -> str:
    """LayerNormalization."""
    axis = min(a % op.types[0].rank for a in op.attrs["axes"])
    return w.node("LayerNormalization", op.inputs, op.label, axis=axis, epsilon=op.attrs["epsilon"])


def refuse_batch_norm(op: Any) -> Refusal | None:
    """The channels must be axis 1."""
    return None if op.attrs["axis"] % op.types[0].rank == 1 else Refusal("ONNX's channels are axis 1")


def batch_norm(w: Any, op: Any) -> str:
    """BatchNormalization."""
    return w.node("BatchNormalization", op.inputs, op.label, epsilon=op.attrs["epsilon"])


def refuse_lrn(op: Any) -> Refusal | None:
    """The channels must be axis 1, and the window odd."""
    if op.attrs["size"] % 2 == 0:
        return Refusal("the engines normalize over an odd number of channels only")
    return None if op.attrs["axis"] % op.types[0].rank == 1 else Refusal("ONNX's channels are axis 1")


def lrn(w: Any, op: Any) -> str:
    """LRN."""
    return w.node("LRN", op.inputs, op.label, **{k: op.attrs[k] for k in ("size", "alpha", "beta", "bias")})


def transposed(w: Any, x: str, given: str, wanted: str) -> str:
    """``x`` transposed from one layout to another, both as letters."""
    return x if given == wanted else w.node("Transpose", [x], perm=[given.index(letter) for letter in wanted])


def conv(spatial: str) -> Export:
    """A convolution; other layouts than ONNX's are transposed."""
    data, kernel = f"NC{spatial}", f"OI{spatial}"

    def write(w: Any, op: Any) -> str:
        a = op.attrs
        x = transposed(w, op.inputs[0], a["data_layout"], data)
        k = transposed(w, op.inputs[1], a["kernel_layout"], kernel)
        y = w.node("Conv", [x, k], op.label, strides=a["strides"], pads=a["padding"], dilations=a["dilations"], group=a["groups"])
        return transposed(w, y, data, a["data_layout"])

    return Export(write)


def conv_transpose(w: Any, op: Any) -> str:
    """ConvTranspose."""
    a = op.attrs
    return w.node("ConvTranspose", op.inputs, op.label, strides=a["strides"], pads=a["padding"], dilations=a["dilations"],
                  group=a["groups"], output_padding=a["output_padding"])


def pool(onnx_op: str, spatial: str) -> Export:
    """A pool; other layouts than ONNX's are transposed."""
    data = f"NC{spatial}"

    def write(w: Any, op: Any) -> str:
        a = op.attrs
        counted = int(a["count_include_pad"]) if "count_include_pad" in a else None
        y = w.node(onnx_op, [transposed(w, op.inputs[0], a["layout"], data)], op.label, kernel_shape=a["kernel"], strides=a["strides"],
                   pads=a["padding"], dilations=a["dilations"], ceil_mode=int(a["ceil_mode"]), count_include_pad=counted)
        return transposed(w, y, data, a["layout"])

    return Export(write, refuse_pool)


def refuse_pool(op: Any) -> Refusal | None:
    """No ceil_mode together with padding, which engines treat differently."""
    a = op.attrs
    if a["ceil_mode"] and (any(a["padding"][len(a["kernel"]):]) or a.get("count_include_pad")):
        return Refusal("ONNX's ceil_mode and the engines' differ where there is padding at the end, or padding counts")
    return None


def permute(w: Any, op: Any) -> str:
    """Transpose."""
    return w.node("Transpose", op.inputs, op.label, perm=[axis % op.types[0].rank for axis in op.attrs["axes"]])


def refuse_prelu(op: Any) -> Refusal | None:
    """The slope must broadcast to x."""
    return None if op.result.dims == op.types[0].dims else Refusal("its slope broadcasts x, which ONNX's does not")




def reshape(w: Any, op: Any) -> str:
    """Reshape; symbolic sizes are read from x."""
    return w.node("Reshape", [op.inputs[0], w.shape(op.result.dims, op.types[0], op.inputs[0])], op.label, allowzero=1)


def refuse_reshape(op: Any) -> Refusal | None:
    """Each symbolic size of the result must be the size of an axis of x."""
    for size in op.result.dims:
        if not isinstance(size, int) and not any(d == size for d in op.types[0].dims):
            return Refusal(f"its result has the size {size}, which no axis of its input has")
    return None


def expand(w: Any, op: Any) -> str:
    """Expand; symbolic sizes are read from x."""
    return w.node("Expand", [op.inputs[0], w.shape(op.result.dims, op.types[0], op.inputs[0])], op.label)


def arange(w: Any, op: Any) -> str:
    """The numbers of a known size, as a constant, times the step."""
    numbers = w.constant(np.arange(op.result.dims[0]).astype(op.result.dtype))
    return w.node("Add", [op.inputs[0], w.node("Mul", [numbers, op.inputs[1]])], op.label)


def refuse_arange(op: Any) -> Refusal | None:
    """The size stands in no input."""
    return None if isinstance(op.result.dims[0], int) else Refusal(f"its size is {op.result.dims[0]}, which no input has")


def col2im(w: Any, op: Any) -> str:
    """The block and its places are one axis each."""
    rank = len(op.attrs["size"])
    batch, channels, *block = op.types[0].dims[:2 + rank]
    flat = w.node("Reshape", [op.inputs[0], w.ints([batch, channels * prod(block), prod(op.types[0].dims[2 + rank:])])])
    steps = {"strides": op.attrs["strides"], "dilations": op.attrs["dilations"], "pads": op.attrs["padding"]}
    return w.node("Col2Im", [flat, w.ints(op.attrs["size"]), w.ints(block)], op.label, **steps)


def refuse_col2im(op: Any) -> Refusal | None:
    """Symbols stand in no input by themselves."""
    sizes = [*op.types[0].dims, *op.attrs["size"]]
    return None if all(isinstance(size, int) for size in sizes) else Refusal(f"its blocks and images have the sizes {sizes}")


def with_ints(onnx_op: str, attribute: str) -> Export:
    """An op whose attribute is ONNX's second input."""
    return Export(lambda w, op: w.node(onnx_op, [op.inputs[0], w.ints(op.attrs[attribute])], op.label),
                 lambda op: None if all(isinstance(v, int) for v in op.attrs[attribute]) else Refusal(f"its {attribute} are symbolic"))


def strided_slice(w: Any, op: Any) -> str:
    """Slice, whose bounds are inputs."""
    a, rank = op.attrs, op.types[0].rank
    axes = a["axes"] if a["axes"] is not None else list(range(len(a["begin"])))
    strides = a["strides"] if a["strides"] is not None else [1] * len(axes)
    bounds = [w.ints(values) for values in (a["begin"], a["end"], [x % rank for x in axes], strides)]
    return w.node("Slice", [op.inputs[0], *bounds], op.label)


def refuse_slice(op: Any) -> Refusal | None:
    """The bounds must be constant."""
    constant = all(isinstance(v, int) for v in (*op.attrs["begin"], *op.attrs["end"]))
    return None if constant else Refusal("its bounds are symbolic")


def pad(w: Any, op: Any) -> str:
    """Pad."""
    value = w.constant(np.array(op.attrs["value"], op.types[0].dtype))
    return w.node("Pad", [op.inputs[0], w.ints(op.attrs["pads"]), value], op.label, mode=op.attrs["mode"])


def trilu(upper: int) -> Export:
    """Trilu: the upper or lower triangle."""
    return Export(lambda w, op: w.node("Trilu", [op.inputs[0], w.constant(np.array(op.attrs["k"], np.int64))], op.label, upper=upper))


def block(onnx_op: str) -> Export:
    """An op with a block size."""
    return Export(lambda w, op: w.node(onnx_op, op.inputs, op.label, blocksize=op.attrs["block"], mode=op.attrs.get("mode")))


UNARY = {
    "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan",
    "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh", "erf": "Erf",
    "sigmoid": "Sigmoid", "relu": "Relu", "softplus": "Softplus", "softsign": "Softsign", "hard_swish": "HardSwish", "mish": "Mish",
    "abs": "Abs", "negative": "Neg", "sign": "Sign", "ceil": "Ceil", "floor": "Floor", "round": "Round", "reciprocal": "Reciprocal",
    "isnan": "IsNaN", "isinf": "IsInf", "logical_not": "Not",
}
BINARY = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "power": "Pow", "maximum": "Max", "minimum": "Min",
    "equal": "Equal", "less": "Less", "less_equal": "LessOrEqual", "greater": "Greater", "greater_equal": "GreaterOrEqual",
    "logical_and": "And", "logical_or": "Or", "logical_xor": "Xor", "where": "Where", "matmul": "MatMul",
}
TABLE: dict[str, Export] = {f"relax.{name}": entry for name, entry in {
    **{name: plain(op) for name, op in {**UNARY, **BINARY}.items()},
    "rsqrt": chain("Sqrt", "Reciprocal"), "square": Export(square), "silu": Export(silu), "isfinite": Export(isfinite),
    "gelu": plain("Gelu", approximate="approximate"), "leaky_relu": plain("LeakyRelu", alpha="alpha"), "elu": plain("Elu", alpha="alpha"),
    "selu": plain("Selu", alpha="alpha", gamma="gamma"), "celu": plain("Celu", alpha="alpha"),
    "hard_sigmoid": plain("HardSigmoid", alpha="alpha", beta="beta"), "thresholded_relu": plain("ThresholdedRelu", alpha="alpha"),
    "prelu": Export(plain("PRelu").write, refuse_prelu), "not_equal": Export(not_equal), "mod": Export(mod, refuse_mod),
    "clip": Export(clip), "astype": Export(astype),
    "sum": reduction("ReduceSum"), "mean": reduction("ReduceMean"), "prod": reduction("ReduceProd"), "max": reduction("ReduceMax"),
    "min": reduction("ReduceMin"), "argmax": arg("ArgMax"), "argmin": arg("ArgMin"), "cumsum": Export(cumsum),
    "softmax": plain("Softmax", axis="axis"), "log_softmax": plain("LogSoftmax", axis="axis"),
    "layer_norm": Export(layer_norm, refuse_norm), "batch_norm": Export(batch_norm, refuse_batch_norm), "lrn": Export(lrn, refuse_lrn),
    "instance_norm": plain("InstanceNormalization", epsilon="epsilon"),
    "conv1d": conv("W"), "conv2d": conv("HW"), "conv3d": conv("DHW"),
    **{f"conv{rank}d_transpose": Export(conv_transpose) for rank in (1, 2, 3)},
    "max_pool1d": pool("MaxPool", "W"), "max_pool2d": pool("MaxPool", "HW"), "max_pool3d": pool("MaxPool", "DHW"),
    "avg_pool1d": pool("AveragePool", "W"), "avg_pool2d": pool("AveragePool", "HW"), "avg_pool3d": pool("AveragePool", "DHW"),
    "take": plain("Gather", axis="axis"), "gather_elements": plain("GatherElements", axis="axis"),
    "gather_nd": plain("GatherND", batch_dims="batch_dims"),
    "scatter_elements": plain("ScatterElements", axis="axis", reduction="reduction"),
    "scatter_nd": plain("ScatterND", reduction="reduction"),
    "reshape": Export(reshape, refuse_reshape), "permute_dims": Export(permute),
    "expand_dims": with_ints("Unsqueeze", "axis"), "squeeze": with_ints("Squeeze", "axis"),
    "arange": Export(arange, refuse_arange), "col2im": Export(col2im, refuse_col2im),
    "broadcast_to": Export(expand, refuse_reshape), "tile": with_ints("Tile", "repeats"),
    "strided_slice": Export(strided_slice, refuse_slice), "pad": Export(pad), "triu": trilu(1), "tril": trilu(0),
    "depth_to_space": block("DepthToSpace"), "space_to_depth": block("SpaceToDepth"),
}.items()}
TABLE["tensor.concat"] = plain("Concat", axis="axis")
