"""Ops whose attributes, inputs or meaning changed from one version to the next, each compared with onnxruntime, static and symbolic."""
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_check import check, model, value

RANDOM = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


X, Y, IMAGE = floats(2, 3, 4), floats(3, 4), floats(2, 4, 9, 8)
MASK = X > 0
BYTES = RANDOM.integers(0, 255, (2, 4, 9, 8), np.uint8)


I64 = np.int64


class C:
    """An input that is a constant of the model."""

    def __init__(self, array, dtype=None) -> None:
        self.array = np.asarray(array, dtype)


def I(*numbers: int) -> C:  # noqa: E743
    return C(numbers, I64)


SCALE = C(0.5, np.float32), C(120, np.uint8)


def I_(number: int) -> C:
    return C(number, I64)


ROIS = np.array([[0, 0, 7, 8], [3, 2.5, 14, 16], [-2, -2, 1, 1]], np.float32)  # the last two partly outside
GRID = (RANDOM.random((2, 5, 3, 2)) * 2.8 - 1.4).astype(np.float32)  # beyond the ends, too


@dataclass
class Case:
    op: str
    opset: int
    inputs: list[Any]  # arrays, constants, None for one left out
    attributes: dict = field(default_factory=dict)
    outputs: int = 1
    dynamic: bool = True


def case(op, opsets, *inputs, outputs=1, dynamic=True, **attributes) -> list[Case]:
    return [Case(op, opset, list(inputs), attributes, outputs, dynamic) for opset in ([opsets] if isinstance(opsets, int) else opsets)]


CASES = [
    *case("Softmax", (7, 11, 12), X, axis=1),
    *case("Softmax", (7, 11), X),
    *case("Softmax", (7, 12), X, axis=0),
    *case("Softmax", 12, floats(2, 3, 1, 1), axis=1),
    *case("Softmax", (13, 20), X, axis=1),
    *case("Softmax", 13, X),
    *case("LogSoftmax", (7, 12), X, axis=1),
    *case("LogSoftmax", (13, 20), X, axis=0),
    *case("Hardmax", (7, 12), Y, axis=1, dynamic=False),
    *case("Hardmax", 13, X, axis=0, dynamic=False),
    *case("Hardmax", (7, 12), X, dynamic=False),
    *case("Hardmax", 12, X, axis=0, dynamic=False),
    *[c for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare",
                   "ReduceLogSumExp") for c in case(op, (7, 11), X, axes=[0, 2])],
    *case("ReduceSum", 7, X, keepdims=0),
    *case("ReduceMean", 17, X, axes=[-1], keepdims=0),
    *case("ReduceSum", (13, 18), X, I(0, -1)),
    *case("ReduceSum", 13, X, noop_with_empty_axes=1),
    *case("ReduceSum", 13, X),
    *case("ReduceMean", (18, 20), X, I(1), keepdims=0),
    *case("ReduceMax", (18, 20), X, I(1)),
    *case("ReduceL2", 18, X, noop_with_empty_axes=1),
    *case("ReduceLogSum", 18, np.abs(X), I(2)),
    *[c for op in ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp") for dtype in (np.int32, np.int64)
      for c in case(op, (11, 13), np.array([[3, 4, 30], [1, 20000, 7]], dtype), axes=[1])],
    *case("ReduceL2", 18, np.array([[3, -4], [5, 12]], np.int32), I(1)),
    *case("ReduceMax", 20, MASK, I(0), dynamic=True),
    *case("ArgMax", (7, 11, 12, 13), X, axis=1, keepdims=0),
    *case("ArgMin", 12, np.array([[1, 0, 0], [2, 2, 2]], np.float32), axis=1, select_last_index=1),
    *case("Squeeze", (7, 11), floats(1, 3, 1, 2), axes=[0, 2]),
    *case("Squeeze", 11, floats(1, 3, 1, 2), axes=[-2]),
    *case("Squeeze", (13, 21), floats(1, 3, 1, 2), I(0)),
    *case("Squeeze", (7, 13), floats(1, 3, 1, 2), dynamic=False),
    *case("Unsqueeze", (7, 11), X, axes=[0, 3]),
    *case("Unsqueeze", 11, X, axes=[-1]),
    *case("Unsqueeze", (13, 21), X, I(1, -1)),
    *case("Slice", (7, 9), X, starts=[0, 1], ends=[2, 1000], axes=[1, 2]),
    *case("Slice", 9, X, starts=[-2], ends=[-1]),
    *case("Slice", (10, 11, 13), X, I(1), I(3), I(2)),
    *case("Slice", 13, X, I(0, 0), I(2**63 - 1, 2**63 - 1), I(0, 2), I(1, 2)),
    *case("Slice", (10, 13), X, I(-1, 2), I(-(2**63), 0), I(2, 1), I(-1, -1), dynamic=False),
    *case("Slice", 13, X, I(-3), I(-1), I(1)),
    *case("Slice", 13, X, I(5), I(9), I(1), dynamic=False),
    *case("Slice", 13, X, I(-5, -9), I(-(2**63), -8), I(2, 0), I(-1, -2)),   # from before the axis backwards: the first element
    *case("Split", (7, 11), floats(6, 2), outputs=3),
    *case("Split", (7, 11, 12), floats(6, 2), outputs=2, split=[2, 4]),
    *case("Split", (13, 18), floats(6, 2), I(1, 3, 2), outputs=3),
    *case("Split", 13, floats(2, 6), outputs=2, axis=-1),
    *case("Split", 18, floats(7, 2), outputs=3, num_outputs=3, dynamic=False),
    *case("Split", 18, floats(7, 2), outputs=2, num_outputs=2),
    *case("Pad", (7, 10), X, pads=[0, 1, 0, 0, 0, 2], value=1.5),
    *case("Pad", 7, X, pads=[0, 0, -1, 0, 1, 0]),
    *case("Pad", (11, 13, 18), X, I(0, 1, 2, 0, 0, 1), C(0.5, np.float32)),
    *case("Pad", (11, 19), X, I(0, 1, 2, 0, 0, 1), mode="reflect"),
    *case("Pad", (11, 19), X, I(0, 4, 1, 2, 0, 1), mode="edge"),
    *case("Pad", 18, X, I(1, 2), C(-1, np.float32), I(-2)),
    *case("Pad", 19, X, I(0, 1, 2, 0, 0, 1), mode="wrap"),
    *case("Pad", 19, X, I(5, 0, 9, 1, 7, 4), mode="wrap"),
    *case("Pad", 13, X.astype(np.int64), I(0, 0, 1, 0, 0, 1), I(7)),
    *case("Clip", (7, 10), X, min=-0.5, max=0.5),
    *case("Clip", 7, X, max=0.25),
    *case("Clip", (11, 12, 13), X, C(-0.5, np.float32), C(0.5, np.float32)),
    *case("Clip", 13, X, None, C(0.5, np.float32)),
    *case("Clip", 13, X, np.array(-0.25, np.float32), C(0.5, np.float32)),
    *case("Clip", 13, X, C(-0.25, np.float32), np.array(0.5, np.float32)),
    *case("Clip", 12, np.arange(-5, 5), I(-2), I(3)),
    *case("Dropout", (7, 10), X, ratio=0.4),
    *case("Dropout", (12, 13, 22), X, C(0.4, np.float32)),
    *case("Dropout", (12, 13), X, outputs=2),
    *case("BatchNormalization", (7, 9, 14, 15), IMAGE, floats(4), floats(4), floats(4), np.abs(floats(4)), epsilon=1e-3),
    *case("BatchNormalization", 14, IMAGE, *(C(a) for a in (floats(4), floats(4), floats(4), np.abs(floats(4)))), momentum=0.8),
    *case("Upsample", 7, IMAGE, scales=[1.0, 1.0, 2.0, 3.0]),
    *case("Upsample", 7, IMAGE, scales=[1.0, 1.0, 2.5, 2.0], mode="linear"),
    *case("Upsample", 9, IMAGE, C([1, 1, 2, 2], np.float32), mode="nearest"),
    *case("Upsample", 9, IMAGE, C([1, 1, 2, 2], np.float32), mode="linear", dynamic=False),
    *case("Resize", 10, IMAGE, C([1, 1, 2, 2], np.float32)),
    *case("Resize", 10, IMAGE, C([1, 1, 0.5, 0.75], np.float32), mode="linear", dynamic=False),
    *case("Resize", 11, IMAGE, C([], np.float32), C([1, 1, 2, 2], np.float32), mode="linear", dynamic=False),
    *case("Resize", (13, 18, 19), IMAGE, None, C([1, 1, 2, 2], np.float32), mode="linear", dynamic=False),
    *case("Resize", 13, IMAGE, None, C([1, 1, 2, 2], np.float32), mode="nearest",
          coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
    *case("Resize", 13, IMAGE, None, C([1, 1, 3, 3], np.float32)),
    *case("Resize", 18, IMAGE, None, None, I(2, 4, 5, 13), mode="cubic", dynamic=False),
    *case("Resize", 18, IMAGE, None, None, I(12, 7), mode="linear", axes=[2, 3], coordinate_transformation_mode="align_corners",
          dynamic=False),
    *case("Reshape", (7, 13, 14), X, I(0, -1)),
    *case("Reshape", 14, floats(2, 0, 3), I(3, 0, 0), allowzero=1),
    *case("Reshape", 13, X, I(4, 3, 2), dynamic=False),
    *case("Expand", (8, 13), Y, I(2, 1, 4), dynamic=False),
    *case("Expand", 13, Y, I(5, 1, 1)),
    *case("Tile", (7, 13), X, I(2, 1, 3)),
    *case("Concat", (7, 11, 13), X, X, axis=1),
    *case("Concat", 11, X, X, axis=-1),
    *case("Flatten", (7, 9, 13), X, axis=2),
    *case("Flatten", (11, 21), X, axis=-2),
    *case("Transpose", (7, 13), X),
    *case("Transpose", 21, X, perm=[1, 0, 2]),
    *case("Gemm", (7, 11), Y, floats(5, 4), floats(5), transB=1, alpha=0.5, beta=2.0),
    *case("Gemm", 11, Y, floats(3, 2), transA=1),
    *case("Gemm", 13, Y, C(floats(4, 5)), C(floats(1, 5))),
    *case("MaxPool", (7, 8, 10, 12), IMAGE, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]),
    *case("MaxPool", (10, 12), IMAGE, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, dilations=[1, 2]),
    *case("MaxPool", 12, IMAGE, kernel_shape=[2, 2], strides=[2, 2], auto_pad="SAME_UPPER", dynamic=False),
    *case("MaxPool", 12, IMAGE, kernel_shape=[3, 3], auto_pad="SAME_LOWER"),
    *case("MaxPool", 12, floats(1, 2, 9), kernel_shape=[3], auto_pad="VALID"),
    *case("MaxPool", 12, floats(1, 2, 5, 6, 7), kernel_shape=[2, 2, 3], strides=[2, 1, 2]),
    *case("AveragePool", (7, 10, 11), IMAGE, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]),
    *case("AveragePool", (7, 11), IMAGE, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
    *case("AveragePool", (19, 22), IMAGE, kernel_shape=[3, 3], strides=[2, 3], pads=[1, 1, 0, 0], ceil_mode=1, count_include_pad=1),
    *case("AveragePool", (10, 19), IMAGE, kernel_shape=[3, 3], strides=[2, 3], ceil_mode=1),
    *case("AveragePool", 19, IMAGE, kernel_shape=[2, 2], dilations=[2, 3]),
    *case("GlobalAveragePool", 7, IMAGE),
    *case("GlobalMaxPool", 7, IMAGE),
    *case("LpPool", (7, 11), IMAGE, kernel_shape=[2, 2], p=2),
    *case("GlobalLpPool", 7, IMAGE, p=2),
    *case("Conv", (7, 11), IMAGE, C(floats(6, 2, 3, 3)), C(floats(6)), group=2, pads=[1, 0, 0, 1], strides=[2, 1], dilations=[1, 2],
          dynamic=False),
    *case("Conv", 11, IMAGE, C(floats(3, 4, 3, 2)), auto_pad="SAME_LOWER", strides=[2, 2], dynamic=False),
    *case("Conv", 11, IMAGE, C(floats(4, 1, 3, 3)), group=4, kernel_shape=[3, 3]),
    *case("Conv", 11, floats(1, 2, 9), C(floats(3, 2, 3)), C(floats(3)), pads=[2, 1]),
    *case("Conv", 11, floats(1, 2, 5, 6, 4), C(floats(3, 2, 2, 3, 2)), strides=[1, 2, 1]),
    *case("ConvTranspose", (7, 11), IMAGE, C(floats(4, 3, 3, 2)), C(floats(3)), strides=[2, 3], pads=[1, 0, 0, 1], output_padding=[1, 2]),
    *case("ConvTranspose", 11, IMAGE, C(floats(4, 2, 3, 3)), group=2, dilations=[2, 1]),
    *case("ConvTranspose", 11, IMAGE, C(floats(4, 2, 3, 3)), strides=[2, 2], auto_pad="SAME_UPPER"),
    *case("ConvTranspose", 11, IMAGE, C(floats(4, 2, 3, 3)), strides=[2, 2], output_shape=[18, 17], dynamic=False),
    *case("ConvTranspose", 11, floats(1, 2, 9), C(floats(2, 3, 3)), strides=[2]),
    *case("Gather", (7, 11, 13), X, np.array([[0, 2], [1, 0]]), axis=1),
    *case("Gather", 13, X, np.array(-1), axis=-1),
    *case("GatherND", 12, X, C([[0, 1], [1, 2]], I64)),
    *case("Scatter", 9, X, np.zeros((1, 3, 4), I64), floats(1, 3, 4), axis=0),
    *case("ScatterElements", (11, 16, 18), X, np.array([[[0, 3, 1]]], I64), floats(1, 1, 3), axis=2, dynamic=False),
    *case("ScatterElements", 16, X, np.array([[[0, 0, 1]]], I64), floats(1, 1, 3), axis=2, reduction="add", dynamic=False),
    *case("ScatterND", (11, 18), X, np.array([[1], [0]], I64), floats(2, 3, 4)),
    *case("OneHot", (9, 11), np.array([[0, 3], [-1, 7]]), C(5, I64), C([2, 9], np.float32), axis=1),
    *case("OneHot", 11, np.array([0.0, 3.0], np.float32), C(4, np.float32), C([0, 1], np.float32)),
    *case("CumSum", (11, 14), X, C(1, I64), exclusive=1, reverse=1),
    *case("TopK", 7, X, outputs=2, k=2),
    *case("TopK", 10, X, I(3), outputs=2, axis=1),
    *case("TopK", (11, 24), X.astype(np.int64), I(2), outputs=2, axis=0, largest=0),
    *case("Mod", (10, 13), np.array([-7, 7, -8]), np.array([3, -3, 8])),
    *case("Mod", 13, np.array([-7.5, 7.5], np.float32), np.array([2, -2], np.float32), fmod=1),
    *case("Pow", (7, 13), np.abs(X), C(2.5, np.float32)),
    *case("Pow", (12, 15), np.abs(X), C(3, I64)),
    *case("Pow", 13, np.array([1, 2, 3]), C(2.0, np.float32)),
    *case("Div", (7, 14), np.array([-7, 7, -8]), np.array([3, -3, 3])),
    *case("PRelu", (7, 9, 16), X, C(floats(4))),
    *case("IsInf", 10, np.array([np.inf, -np.inf, 1], np.float32), detect_negative=0),
    *case("IsInf", 10, np.array([np.inf, -np.inf, 1], np.float32), detect_positive=0),
    *case("Cast", (7, 9, 13), X, to=TensorProto.INT32),
    *case("Cast", 13, X, to=TensorProto.BOOL),
    *case("Cast", 13, MASK, to=TensorProto.FLOAT16),
    *case("Trilu", 14, X, C(1, I64), upper=0),
    *case("EyeLike", 9, Y, k=1, dtype=TensorProto.INT32, dynamic=False),
    *case("DepthToSpace", (7, 11), floats(1, 8, 2, 3), blocksize=2, dynamic=False),
    *case("DepthToSpace", 11, floats(1, 8, 2, 3), blocksize=2, mode="CRD", dynamic=False),
    *case("SpaceToDepth", (7, 13), floats(1, 2, 4, 6), blocksize=2),
    *case("LRN", (7, 13), IMAGE, size=3, alpha=0.01, beta=0.6, bias=1.5),
    *case("LpNormalization", 7, X, axis=1, p=1),
    *case("InstanceNormalization", 7, IMAGE, floats(4), floats(4), epsilon=1e-3),
    *case("LayerNormalization", 17, X, floats(4), floats(4), epsilon=1e-3),
    *case("LayerNormalization", 17, X, floats(3, 4), axis=1, outputs=3),
    *case("MeanVarianceNormalization", (9, 13), IMAGE),
    *case("Shrink", 9, X, lambd=0.5, bias=0.25),
    *case("Sum", 7, X, X, X),
    *case("Sum", (8, 13), X, Y, X),
    *case("Mean", (8, 13), X, X, Y),
    *case("Max", (8, 13), X, Y),
    *case("Min", 8, X),
    *case("Gelu", 20, X, approximate="tanh"),
    *case("Size", (7, 13), X),
    *case("Shape", (7, 13), X),
    *case("Shape", (15, 19), X, start=1, end=-1),
    *case("Einsum", 12, X, floats(2, 4, 5), equation="bij,bjk->bik"),
    *case("Einsum", 12, X, floats(4, 5), equation="...j,jk"),
    *case("Einsum", 12, X, floats(2, 3, 4), equation="bij,bij->b"),
    *case("Einsum", 12, floats(2, 3, 4, 5), floats(2, 6, 4, 5), equation="bhqd,bkqd->qbhk"),
    *case("DequantizeLinear", (10, 13), np.arange(8, dtype=np.uint8), C(0.5, np.float32), C(3, np.uint8)),
    *case("DequantizeLinear", 13, np.arange(12, dtype=np.int8).reshape(3, 4), C([0.5, 1, 2], np.float32), C([1, 2, 3], np.int8), axis=0),
    *case("QuantizeLinear", (10, 13), X, C(0.05, np.float32), C(3, np.uint8)),
    *case("DequantizeLinear", 21, C(np.arange(-8, 8).reshape(8, 2), ml_dtypes.int4), C(floats(4, 2)),
          C(np.arange(8).reshape(4, 2), ml_dtypes.int4), axis=0, block_size=2),
    *case("DequantizeLinear", 21, C(np.arange(15).reshape(3, 5), ml_dtypes.uint4), C(floats(3)), C([1, 15, 7], ml_dtypes.uint4), axis=0),
    *case("MatMulInteger", 10, np.arange(12, dtype=np.uint8).reshape(3, 4), np.arange(8, dtype=np.uint8).reshape(4, 2), C(2, np.uint8)),
    *case("MatMulInteger", 10, BYTES[0, 0], C(BYTES[0, 1].T.astype(np.int8)), C(3, np.uint8), C(np.arange(9), np.int8)),
    *case("ConvInteger", 10, BYTES, C(BYTES[:1, :, :3, :2]), C(7, np.uint8), C(120, np.uint8), pads=[1, 0, 2, 1], strides=[2, 1],
          dynamic=False),
    *case("ConvInteger", 10, BYTES, C(np.repeat(BYTES[:1, :2], 4, 0)[..., :3, :3]), group=2, dynamic=False),
    *case("QLinearConv", 10, BYTES, *SCALE, C(BYTES[:1, :, :3, :2].astype(np.int8)), C([0.02], np.float32), C([0], np.int8),
          C(900, np.float32), C(9, np.uint8), C([-4000], np.int32), dynamic=False),
    *case("QLinearConv", 10, BYTES, *SCALE, C(BYTES[:2, :, :3, :2].astype(np.int8)), C([0.02, 0.03], np.float32), C([0, 0], np.int8),
          C(700, np.float32), C(9, np.uint8), pads=[1, 1, 1, 1], dynamic=False),
    *case("QLinearMatMul", (10, 21), BYTES[0, 0], *SCALE, C(BYTES[0, 1].T), C(0.02, np.float32), C(120, np.uint8), C(9, np.float32),
          C(101, np.uint8)),
    *[c for mode in ("bilinear", "nearest", "bicubic") for padding in ("zeros", "border", "reflection") for aligned in (0, 1)
      for c in case("GridSample", 16, IMAGE, GRID, mode=mode, padding_mode=padding, align_corners=aligned, dynamic=False)],
    *case("GridSample", (20, 22), IMAGE, GRID, mode="cubic", dynamic=False),
    *case("RoiAlign", (10, 16), IMAGE, ROIS, C([0, 1, 1], I64), output_height=2, output_width=3, sampling_ratio=2, spatial_scale=0.5,
          dynamic=False),
    *case("RoiAlign", 16, IMAGE, ROIS, C([1, 0, 1], I64), output_height=4, sampling_ratio=3, dynamic=False,
          coordinate_transformation_mode="output_half_pixel"),
    *case("Col2Im", 18, floats(2, 12, 9), I(5, 4), I(2, 3), pads=[0, 1, 1, 0], strides=[2, 1], dynamic=False),
    *case("Col2Im", 18, floats(2, 8, 4), I(5, 6), I(2, 2), dilations=[3, 4], dynamic=False),
    *case("DeformConv", (19, 22), IMAGE, C(floats(6, 2, 3, 2)), floats(2, 24, 9, 8), C(floats(6)), floats(2, 12, 9, 8), group=2,
          offset_group=2, pads=[1, 0, 1, 1], dynamic=False),
    *case("DeformConv", 19, IMAGE, C(floats(3, 4, 3, 3)), floats(2, 18, 4, 3), strides=[2, 2], dilations=[1, 1], dynamic=False),
    *case("DFT", 17, floats(2, 7, 3, 1), dynamic=False),
    *case("DFT", 17, floats(2, 8, 3, 2), I_(6), axis=-2, inverse=1, dynamic=False),
    *case("DFT", 20, floats(2, 5, 2), I_(9), I_(1), dynamic=False),
    *case("DFT", 20, floats(2, 9, 1), None, I_(-2), onesided=1, dynamic=False),
    *case("STFT", 17, floats(2, 40, 1), I_(7), C(np.hanning(12), np.float32), dynamic=False),
    *case("STFT", 17, floats(2, 40, 2), I_(8), None, I_(16), onesided=0, dynamic=False),
    *case("ReverseSequence", 10, X, np.array([1, 2, 2])),
    *case("ReverseSequence", 10, X, np.array([3, 2]), batch_axis=0, time_axis=1),
    *case("DynamicQuantizeLinear", 11, X, outputs=3),
]  # fmt: skip


def proto_of(case: Case):
    """The case as a model of one node, and its inputs by name."""
    inputs, constants, names = {}, {}, []
    for index, given in enumerate(case.inputs):
        names.append("" if given is None else f"x{index}")
        if isinstance(given, C):
            constants[names[-1]] = given.array
        elif given is not None:
            inputs[names[-1]] = given
    outputs = [f"y{index}" for index in range(case.outputs)]
    node = helper.make_node(case.op, names, outputs, name="node", **case.attributes)
    return model([node], [value(name, array) for name, array in inputs.items()], outputs, case.opset, constants), inputs


@pytest.mark.parametrize("case", CASES, ids=[f"{index}-{c.op}-{c.opset}" for index, c in enumerate(CASES)])
def test_version(case):
    proto, inputs = proto_of(case)
    check(proto, inputs, case.dynamic)
