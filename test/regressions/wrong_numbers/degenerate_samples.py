"""One node of every ONNX op that the importer takes, with letters for the sizes of its inputs that may be anything.

An input is a text, ``"b 3 n"`` or ``"n m:int64<3"`` (letters and numbers, dtype, the bound of its values), or an array for an input that
is a constant of the model.
"""
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SIZES = {"n": 4, "m": 3, "b": 2, "k": 5}
RNG = np.random.default_rng(0)


@dataclass(frozen=True)
class Sample:
    """A node. ``outputs``: how many of its outputs are compared; ``opset``, ``domain``: of the op."""

    op: str
    inputs: list[Any]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    opset: int = 21
    domain: str = ""

    @property
    def letters(self) -> list[str]:
        return sorted({letter for one in self.inputs if isinstance(one, str) for letter in one.split(":")[0].split() if letter in SIZES})


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def scalar(value: float, dtype: type = np.float32) -> np.ndarray:
    return np.array(value, dtype)


def each(names: str, *inputs: Any, opset: int = 21, **attributes: Any) -> list[Sample]:
    return [Sample(name, list(inputs), attributes, opset=opset) for name in names.split()]


ELEMENTWISE = [
    *each("Abs Acos Asin Asinh Atan Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish Identity LeakyRelu Mish Neg Relu "
          "Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Tan Tanh ThresholdedRelu Dropout Reciprocal Atanh "
          "Acosh Sqrt Log IsNaN IsInf", "n m"),
    *each("Add Sub Mul Div Max Min Mean Sum Pow", "n m", "m"),
    *each("Equal Less LessOrEqual Greater GreaterOrEqual", "n m", "n 1"),
    *each("And Or Xor", "n m:bool", "m:bool"), *each("Not", "n m:bool"),
    *each("BitwiseAnd BitwiseOr BitwiseXor", "n m:int32<9", "m:int32<9"), *each("BitwiseNot", "n m:int32<9"),
    *each("BitShift", "n m:uint32<9", "m:uint32<5", direction="LEFT"), *each("Mod", "n m", "m", fmod=1),
    *each("Cast", "n m", to=6), *each("CastLike", "n m", scalar(0, np.float64)),
    *each("Clip", "n m", scalar(-1), scalar(1)), *each("PRelu", "n m", "m"), *each("Where", "n m:bool", "m", "n 1"),
    *each("Swish", "n m", opset=24),
]
NORMALIZATIONS = [
    *each("Softmax LogSoftmax Hardmax", "n m", axis=1), *each("Softmax LogSoftmax Hardmax", "n m", axis=0),
    *each("LayerNormalization", "n m 6", floats(6), floats(6)), *each("RMSNormalization", "n m 6", floats(6), opset=23),
    *each("BatchNormalization", "n 3 m", floats(3), floats(3), floats(3), np.ones(3, np.float32)),
    *each("InstanceNormalization", "n 3 m 2", floats(3), floats(3)),
    *each("GroupNormalization", "n 4 m 2", floats(4), floats(4), num_groups=2),
    *each("MeanVarianceNormalization", "n m", axes=[1]),
    *each("LRN", "n 4 m 2", size=3), *each("LpNormalization", "n m", axis=1, p=2), *each("LpNormalization", "n m", axis=0, p=1),
]
REDUCTIONS = [
    *each("ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare", "n m",
          ints(1), keepdims=0),
    *each("ReduceMax ReduceMean ReduceSum", "n m k", ints(0, 2)), *each("ArgMax ArgMin", "n m", axis=1),
    *each("CumSum", "n m", scalar(1, np.int64)), *each("CumProd", "n m", scalar(1, np.int64), opset=26),
    Sample("TopK", ["n m", ints(1)], {"axis": 1}, 2), Sample("TopK", ["n m", ints(0)], {"axis": 0}, 2),
]
CONTRACTIONS = [
    *each("MatMul", "n m", "m k"), *each("MatMul", "b n m", "b m k"), *each("Gemm", "n m", "m k", "k", alpha=0.5),
    *each("Gemm", "m n", "k m", transA=1, transB=1), *each("Einsum", "b n m", "b m k", equation="bnm,bmk->bkn"),
    *each("MatMulInteger", "n m:uint8<9", "m k:uint8<9"),
    *each("QLinearMatMul", "n m:uint8<9", scalar(0.5), scalar(3, np.uint8), "m k:uint8<9", scalar(0.25), scalar(1, np.uint8), scalar(0.5),
          scalar(2, np.uint8)),
    *each("Conv", "b 4 n m", floats(6, 4, 3, 2), pads=[1, 0, 1, 1]), *each("Conv", "b 4 n", floats(6, 2, 1), group=2),
    *each("Conv", "b 4 n m", floats(4, 1, 2, 2), group=4, strides=[2, 2], pads=[1, 1, 1, 1]),
    *each("ConvInteger", "b 4 n:uint8<9", np.ones((6, 4, 2), np.uint8), pads=[1, 1]),
    *each("QLinearConv", "b 4 n:uint8<9", scalar(0.5), scalar(3, np.uint8), np.ones((6, 4, 2), np.uint8), scalar(0.25), scalar(1, np.uint8),
          scalar(0.5), scalar(2, np.uint8), pads=[1, 1]),
    *each("ConvTranspose", "b 4 n m", floats(4, 6, 3, 2)), *each("ConvTranspose", "b 4 n m", floats(4, 6, 3, 2), strides=[2, 1]),
    *each("DeformConv", "b 4 n 5", floats(6, 4, 1, 1), "b 2 n 5", opset=22),
    *each("MaxPool", "b 3 n m", kernel_shape=[2, 2], pads=[1, 0, 1, 1]),
    *each("AveragePool", "b 3 n m", kernel_shape=[2, 2], pads=[1, 0, 1, 1]),
    *each("AveragePool", "b 3 n", kernel_shape=[3], strides=[2], ceil_mode=1, count_include_pad=1, pads=[1, 1]),
    *each("LpPool", "b 3 n m", kernel_shape=[2, 1], pads=[1, 0, 0, 0]),
    *each("GlobalAveragePool GlobalLpPool GlobalMaxPool", "b 3 n m"),
]
_RNN = {"hidden_size": 3}
RECURRENT = [
    *(Sample(op, ["4 b 2", floats(1, gates * 3, 2), floats(1, gates * 3, 3), floats(1, gates * 6)], _RNN, 2)
      for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1))),
    *(Sample(op, ["1 b 2", floats(2, gates * 3, 2), floats(2, gates * 3, 3)], {**_RNN, "direction": "bidirectional"}, 2)
      for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1))),
    *(Sample(op, ["0 b 2", floats(1, gates * 3, 2), floats(1, gates * 3, 3)], _RNN, 2)
      for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1))),
]
MOVEMENTS = [
    *each("Concat", "n m", "n k", axis=1), *each("Concat", "n m", "k m", "n m", axis=0), *each("Transpose", "n m k", perm=[2, 0, 1]),
    *each("Flatten", "n m k", axis=1), *each("Reshape", "n m 4", ints(0, -1, 2), allowzero=0), *each("Reshape", "n m", ints(-1)),
    *each("Squeeze", "n 1 m", ints(1)), *each("Unsqueeze", "n m", ints(0, 3)), *each("Expand", "n 1 m", ints(2, 1, 3, 1)),
    *each("Tile", "n m", ints(2, 3)), *each("Tile", "n m", ints(0, 1)), *each("Slice", "n m", ints(1), ints(9), ints(1), ints(2)),
    *each("Slice", "n m", ints(-1), ints(-99), ints(0), ints(-1)), Sample("Split", ["n 4"], {"axis": 1, "num_outputs": 2}, 2),
    *each("Pad", "n m", ints(1, 0, 0, 2), scalar(0.5)), *each("Pad", "n m", ints(0, 1, 0, 0), mode="edge"),
    *each("Pad", "n m", ints(-1, 0, 0, 1)), *each("Trilu", "n m", scalar(0, np.int64)), *each("DepthToSpace", "b 4 n m", blocksize=2),
    *each("SpaceToDepth", "b 1 4 m", blocksize=1), *each("EyeLike", "n m"), *each("Shape Size", "n m"),
    *each("ReverseSequence", "n m", np.array([2, 1, 3], np.int64)[:1], batch_axis=0, time_axis=1),
    *each("Col2Im", "b 4 n", ints(2, 5), ints(1, 5), opset=18),
    *each("Resize", "b 2 n m", np.zeros(0, np.float32), scalar([1, 1, 2, 0.5]), mode="linear"),
    *each("Resize", "b 2 n m", np.zeros(0, np.float32), np.zeros(0, np.float32), ints(2, 2, 3, 7), mode="nearest"),
    *each("Upsample", "b 2 n m", scalar([1, 1, 2, 3]), mode="nearest", opset=9),
    *each("GridSample", "b 2 4 5", "b k 3 2"), *each("RoiAlign", "1 2 n m", "k 4", np.zeros(1, np.int64), output_height=2, output_width=2,
          sampling_ratio=2),
    *each("MaxRoiPool", "1 2 n m", np.float32([[0, 0, 1, 4, 3], [0, 5, 5, 9, 6]]), pooled_shape=[2, 3], opset=16),
    *each("DFT", "n 4 1", np.array(1, np.int64), opset=20), *each("STFT", "b 8 1", np.array(4, np.int64), floats(4)),
    *each("Compress", "n m", np.array([True, False, True]), axis=0), *each("Unique", floats(3), sorted=1),
    *each("TensorScatter", "b 5 m", "b 2 m", opset=24),
]
INDEXED = [
    *each("Gather", "n m", "k:int64<1", axis=1), *each("GatherElements", "n m", "n k:int64<1", axis=1),
    *each("GatherND", "n m", "k 1:int64<1"),
    *each("ScatterElements Scatter", "n m", "n 1:int64<1", "n 1", axis=1, opset=10),
    *each("ScatterElements", "n m", "1 m:int64<1", "1 m", axis=0, reduction="add"), *each("ScatterND", "n m", "k 1:int64<1", "k m"),
    *each("OneHot", "n m:int64<3", scalar(3, np.int64), np.array([0, 1], np.float32)), *each("NonZero", "n m"),
]
QUANTIZED = [
    *each("QuantizeLinear", "n m", scalar(0.5), scalar(3, np.uint8)),
    *each("DequantizeLinear", "n m:uint8<9", scalar(0.5), scalar(3, np.uint8)),
]
MADE = [*each("Range", scalar(0, np.int64), scalar(0, np.int64), scalar(1, np.int64)), *each("ConstantOfShape", ints(0, 3)),
        *each("ConstantOfShape", ints(1))]
NBITS = [
    Sample("MatMulNBits", ["n 20", RNG.integers(0, 256, (5, 2, 8), np.uint8), floats(5, 2)], {"K": 20, "N": 5, "bits": 4, "block_size": 16},
           domain="com.microsoft"),
    Sample("GatherBlockQuantized", [RNG.integers(0, 256, (6, 16), np.uint8), "n m:int64<6", floats(6, 2)], {"block_size": 16},
           domain="com.microsoft"),
]
_ROW = [scalar(0.5), scalar(3, np.uint8)]  # a scale and a zero point
_U8 = "n m:uint8<9"
_BYTES = RNG.integers(0, 9, (1, 3, 12), np.uint8)
MICROSOFT = [Sample(op, inputs, attributes, domain="com.microsoft") for op, inputs, attributes in (
    ("BiasGelu", ["n m", "m"], {}), ("FastGelu", ["n m"], {}), ("FusedMatMul", ["n m", "m k"], {}), ("Gelu", ["n m"], {}),
    ("QuickGelu", ["n m"], {}), ("SkipLayerNormalization", ["b n 4", "b n 4", floats(4), floats(4)], {}),
    ("SkipSimplifiedLayerNormalization", ["b n 4", "b n 4", floats(4)], {}),
    ("EmbedLayerNormalization", ["b n:int32<4", "b n:int32<2", floats(4, 8), floats(9, 8), floats(2, 8), floats(8), floats(8)], {}),
    ("FusedGemm", ["n m", "m k", "k"], {"activation": "Relu"}), ("FusedConv", ["b 4 n m", floats(6, 4, 1, 1)], {"activation": "Relu"}),
    *((op, [_U8, *_ROW, _U8, *_ROW, *_ROW], {}) for op in ("QLinearAdd", "QLinearMul")),
    ("QLinearConcat", [*_ROW, _U8, *_ROW, "n k:uint8<9", *_ROW], {"axis": 1}),
    *((op, [_U8, *_ROW, *_ROW], {}) for op in ("QLinearSigmoid", "QLinearLeakyRelu")),
    ("QLinearAveragePool", ["b 3 n m:uint8<9", *_ROW, *_ROW], {"kernel_shape": [2, 2], "pads": [1, 0, 1, 1]}),
    ("QLinearGlobalAveragePool", ["b 3 n m:uint8<9", *_ROW, *_ROW], {}),
    ("QLinearWhere", ["n m:bool", _U8, *_ROW, "m:uint8<9", *_ROW, *_ROW], {}),
    ("QGemm", [_U8, *_ROW, "m k:uint8<9", *_ROW], {}),
    ("MatMulIntegerToFloat", [_U8, "m k:uint8<9", scalar(0.5), scalar(0.25)], {}),
    ("DynamicQuantizeMatMul", ["n m", "m k:uint8<9", scalar(0.25)], {}),
    ("MultiHeadAttention", ["b n 8", "b m 8", "b m 8"], {"num_heads": 2}),
    ("Attention", ["b n 6", floats(6, 24), floats(24)], {"num_heads": 2}),
    ("RotaryEmbedding", ["b n 8", ints(1), floats(9, 2), floats(9, 2)], {}),
    ("QuantizeLinear", ["n m", *_ROW], {}), ("DequantizeLinear", [_U8, *_ROW], {}),
)] + [Sample("SimplifiedLayerNormalization", ["n m 6", floats(6)], {})]
MICROSOFT.append(Sample("DynamicQuantizeLSTM", ["4 b 2", _BYTES[:, :2], _BYTES, floats(1, 24), *[np.zeros(0, np.float32)] * 4,
                                                *[np.array([0.25], np.float32), np.array([0], np.uint8)] * 2],
                        _RNN, 2, domain="com.microsoft"))
ATTENTIONS = [Sample("Attention", ["b 4 n 8", "b 2 m 8", "b 2 m 8"], {"is_causal": 1}, opset=23),
              Sample("Attention", ["b 4 n 8", "b 2 m 8", "b 2 m 8", "n m"], {}, opset=23)]

SAMPLES = [*ELEMENTWISE, *NORMALIZATIONS, *REDUCTIONS, *CONTRACTIONS, *RECURRENT, *MOVEMENTS, *INDEXED, *QUANTIZED, *MADE, *NBITS,
           *MICROSOFT, *ATTENTIONS]
OWN = ("Erfc", "Erfinv", "Expm1", "Lgamma", "Log10", "Log1p", "Log2", "Trunc")
ELSEWHERE = {**dict.fromkeys((f"legato.{op}" for op in OWN), "onnxruntime has none of this domain: test_generic_elementwise"),
             "com.microsoft.GroupQueryAttention": "the number of its keys is an input: test_onnx_microsoft_attention",
             "com.microsoft.QLinearSoftmax": "onnxruntime returns no tensor for no elements: test_onnx_microsoft_quantized",
             **dict.fromkeys(("AffineGrid", "Det", "MelWeightMatrix", "TfIdfVectorizer"), "test_onnx_features"),
             **{f"ai.onnx.ml.{name}": "test_onnx_features" for name in ("ArrayFeatureExtractor", "Binarizer")},
             **{f"ai.onnx.ml.{name}": "test_onnx_classical" for name in (
                 "FeatureVectorizer", "Imputer", "LabelEncoder", "LinearClassifier", "LinearRegressor", "Normalizer", "OneHotEncoder",
                 "SVMClassifier", "SVMRegressor", "Scaler", "TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor", "ZipMap")},
             **{f"ai.onnx.preview.training.{name}": "test_onnx_features" for name in ("Adagrad", "Adam", "Momentum")},
             **{f"Sequence{name}": "test_onnx_sequences" for name in ("At", "Construct", "Empty", "Erase", "Insert", "Length")},
             **dict.fromkeys(("ConcatFromSequence", "SplitToSequence", "Optional", "OptionalGetElement", "OptionalHasElement"),
                             "test_onnx_sequences"),
             **dict.fromkeys(("NonMaxSuppression", "MaxUnpool"), "test_onnx_detection"),
             **dict.fromkeys(("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"),
                             "onnxruntime draws others: test_onnx_random"),
             **dict.fromkeys(("Affine", "Crop", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh"), "test_onnx_before_opset_7"),
             **{f"com.microsoft.{name}": "test_onnx_microsoft_tensors" for name in (
                 "BiasAdd", "BiasSplitGelu", "CDist", "CropAndResize", "ExpandDims", "GatherND", "GridSample", "GroupNorm", "Inverse",
                 "MatMulInteger16", "NGramRepeatBlock", "NhwcConv", "NhwcMaxPool", "Pad", "QLinearConv", "Range", "SkipGroupNorm", "Trilu",
                 "UnfoldTensor", "Unique")},
             **{f"com.microsoft.{name}": "test_onnx_microsoft_experts" for name in ("MoE", "QMoE")},
             "com.microsoft.MatMulBnb4": "test_onnx_nbits",
             **{f"com.microsoft.{name}": "test_onnx_microsoft_attention" for name in ("MRotaryEmbedding", "QAttention")},
             "com.microsoft.QEmbedLayerNormalization": "test_onnx_microsoft",
             "Constant": "has no inputs", "BitCast": "takes constants only",
             "If": "sizes of branches: test_onnx_compiled", "Loop": "test_onnx_loops", "Scan": "test_onnx_loops"}
