"""Ops on tensors of any meaning, of sizes that networks have and of unusual ones: ``CASES`` of ``bench.unknown_sizes``."""
from collections.abc import Iterator, Sequence

import numpy as np
from onnx import TensorProto

from .single_ops import Case, Draw, flags, given, positive, real, whole, within

ROWS = (300, 1000)      # of elementwise ops
UNARY = ("Erf", "Tan", "Atan", "Asinh", "Sinh", "Cosh", "Round", "Sign", "Reciprocal", "Softsign", "Celu", "Mish", "Gelu", "HardSwish",
         "Log", "Sqrt", "Ceil", "IsNaN", "Softplus", "Selu")
CASTS = {"f32": (np.float32, TensorProto.FLOAT), "f16": (np.float16, TensorProto.FLOAT16), "f64": (np.float64, TensorProto.DOUBLE),
         "bf16": (None, TensorProto.BFLOAT16), "i32": (np.int32, TensorProto.INT32), "i64": (np.int64, TensorProto.INT64),
         "u8": (np.uint8, TensorProto.UINT8), "bool": (np.bool_, TensorProto.BOOL)}


def boxes(count: int) -> Draw:
    """Corners y1 <= y2, x1 <= x2 of boxes, [1, count, 4]."""
    return lambda rng, dtype: np.sort(rng.random((1, count, 2, 2)), axis=2).reshape(1, count, 4).astype(np.float32)


def einsum(equation: str, *shapes: Sequence[int]) -> Case:
    """An Einsum, named by its equation."""
    return Case(equation, "Einsum", [real(*shape) for shape in shapes], (), {"equation": equation})


def _reduced() -> Iterator[Case]:
    for axis, shape in ((1, (16, 1000, 64)), (0, (1000, 64)), (2, (4, 8, 500, 32))):
        label = f"{'x'.join(map(str, shape))}@{axis}"
        for op in ("Softmax", "LogSoftmax", "Hardmax", "ArgMax"):
            yield Case(f"{op} {label}", op, [real(*shape)], (), {"axis": axis})
        yield Case(f"CumSum {label}", "CumSum", [real(*shape)], [given(axis)])
        for op in ("ReduceLogSumExp", "ReduceL2", "ReduceProd", "ReduceMax", "ReduceSumSquare", "ReduceLogSum"):
            yield Case(f"{op} {label}", op, [positive(*shape)], [given([axis])], {"keepdims": 0})
    for axis, shape in ((2, (4, 128, 768)), (0, (4096, 128)), (3, (1, 12, 128, 128)), (2, (64, 50, 50)), (1, (2000, 300))):
        label = f"{'x'.join(map(str, shape))}@{axis}"
        yield Case(f"Softmax {label}", "Softmax", [real(*shape)], (), {"axis": axis})
        for op in ("ReduceMax", "ReduceMean"):
            yield Case(f"{op} {label}", op, [real(*shape)], [given([axis])], {"keepdims": 0})
    yield Case("CumSum 64x10000@1", "CumSum", [real(64, 10000)], [given(1)])
    yield Case("CumSum 64x10000@1, reverse", "CumSum", [real(64, 10000)], [given(1)], {"reverse": 1, "exclusive": 1})
    yield Case("topk 100 of 1000000", "TopK", [real(1000000)], [given([100])], outputs=2)
    yield Case("topk 5, inner axis", "TopK", [real(32, 1000, 16)], [given([5])], {"axis": 1}, outputs=2)


def _normalized() -> Iterator[Case]:
    yield Case("layer-norm", "LayerNormalization", [real(4, 128, 768)], [real(768)] * 2, {"axis": -1})
    yield Case("layer-norm-planes", "LayerNormalization", [real(8, 64, 14, 14)], [real(64, 14, 14)], {"axis": 1})
    yield Case("rms-norm", "RMSNormalization", [real(64, 4096)], [real(4096)], {"axis": -1}, opset=23)
    yield Case("lp-norm", "LpNormalization", [real(64, 512, 49)], (), {"axis": 1, "p": 2})


def _products() -> Iterator[Case]:
    for equation, *shapes in (("bij,bjk,bkl->bil", (8, 32, 64), (8, 64, 64), (8, 64, 16)), ("i,j->ij", (1000,), (1000,)),
                              ("ii->i", (1000, 1000)), ("bii->b", (16, 200, 200)), ("bi,ijk,bj->bk", (32, 64), (64, 64, 32), (32, 64)),
                              ("bhwc,hkc->bhwk", (4, 14, 14, 64), (14, 27, 64)), ("bhwij,bhkj->bhwik", (2, 8, 14, 14, 32), (2, 8, 14, 32)),
                              ("abcd,dbea->ce", (8, 16, 12, 10), (10, 16, 9, 8))):
        yield einsum(equation, *shapes)
    for name, a, b in (("broadcast", (8, 1, 32, 64), (1, 12, 64, 48)), ("vector-matrices", (512,), (16, 512, 128)),
                       ("matrices-vector", (64, 512, 256), (256,)), ("depth3", (20000, 3), (3, 3)), ("square", (512, 512), (512, 512)),
                       ("small-batch", (5000, 4, 4), (5000, 4, 4))):
        yield Case(f"matmul-{name}", "MatMul", [real(*a), real(*b)])
    yield Case("matmul-columns1", "MatMul", [real(2000, 300)], [real(300, 1)])
    yield Case("matmul-depth1", "MatMul", [real(2000, 1)], [real(1, 300)])
    yield Case("matmul-f64", "MatMul", [real(256, 256, dtype=np.float64)] * 2)
    yield Case("matmul-i32", "MatMul", [whole(0, 9, 128, 256, dtype=np.int32), whole(0, 9, 256, 128, dtype=np.int32)])
    yield Case("gemm-transposed", "Gemm", [real(300, 200), real(400, 300)], (), {"transA": 1, "transB": 1})
    yield Case("matmul-integer", "MatMulInteger", [whole(0, 255, 128, 768, dtype=np.uint8)], [whole(-99, 99, 768, 768, dtype=np.int8)])
    yield Case("matmul-integer-inputs", "MatMulInteger", [whole(0, 255, *shape, dtype=np.uint8) for shape in ((128, 256), (256, 128))])
    yield Case("q-matmul", "QLinearMatMul", [whole(0, 255, 128, 768, dtype=np.uint8)],
               [given(0.02, np.float32), given(3, np.uint8), whole(-99, 99, 768, 768, dtype=np.int8), given(0.02, np.float32),
                given(0, np.int8), given(0.5, np.float32), given(100, np.uint8)])
    for rows in (1, 16):
        yield Case(f"matmul-4bits-rows{rows}", "MatMulNBits", [real(rows, 1024)],
                   [whole(0, 255, 1024, 32, 16, dtype=np.uint8), positive(1024 * 32, scale=0.01, least=0)],
                   {"K": 1024, "N": 1024, "bits": 4, "block_size": 32}, domain="com.microsoft")
    yield Case("determinants", "Det", [real(1000, 8, 8)], kept=None)


def _moved() -> Iterator[Case]:
    yield Case("tile", "Tile", [real(64, 64)], [given([32, 32])])
    yield Case("expand", "Expand", [real(64, 1, 128)], [given([64, 256, 128])])
    for order, shape in (((0, 2, 1), (64, 128, 128)), ((4, 2, 0, 3, 1), (8, 12, 16, 10, 14)), ((0, 2, 1, 3), (4, 128, 12, 64))):
        yield Case(f"transpose{''.join(map(str, order))}", "Transpose", [real(*shape)], (), {"perm": order})
    yield Case("transpose-bytes", "Transpose", [whole(0, 255, 1, 1080, 1920, 3, dtype=np.uint8)], (), {"perm": (0, 3, 1, 2)})
    yield Case("concat40", "Concat", [real(1000, 3)] * 40, (), {"axis": 1})
    yield Case("concat-roll", "Concat", [real(64, 3, 1000), real(64, 997, 1000)], (), {"axis": 1})
    yield Case("split40", "Split", [real(1000, 120)], (), {"axis": 1, "num_outputs": 40}, outputs=40)
    yield Case("slice-steps", "Slice", [real(64, 1000, 100)], [given([0, 99]), given([1000, -1000]), given([1, 2]), given([3, -2])])
    yield Case("reverse", "ReverseSequence", [real(100, 64, 128)], [given([77] * 64)], {"batch_axis": 1, "time_axis": 0})
    yield Case("triangle", "Trilu", [real(16, 512, 512)], (), {"upper": 0})
    yield Case("eye", "EyeLike", [real(1000, 1000)])
    yield Case("where", "Where", [flags(64, 1, 1000), real(1, 500, 1000), real(64, 500, 1)])


def _indexed() -> Iterator[Case]:
    yield Case("gather-rows", "Gather", [real(10000, 64), whole(0, 10000, 5000)])
    yield Case("gather-columns", "Gather", [real(64, 10000), whole(0, 10000, 500)], (), {"axis": 1})
    yield Case("gather-elements", "GatherElements", [real(500, 512), whole(0, 512, 500, 512)], (), {"axis": 1})
    yield Case("gather-nd", "GatherND", [real(64, 64, 64), whole(0, 64, 5000, 2)])
    yield Case("scatter-elements", "ScatterElements", [real(500, 512), whole(0, 500, 500, 512), real(500, 512)], (), {"axis": 0})
    yield Case("scatter-elements-add", "ScatterElements", [real(500, 512), whole(0, 512, 500, 512), real(500, 512)], (),
               {"axis": 1, "reduction": "add"})
    yield Case("scatter-nd", "ScatterND", [real(10000, 64), whole(0, 10000, 5000, 1), real(5000, 64)])
    for reduction in ("add", "max"):
        yield Case(f"scatter-nd-{reduction}", "ScatterND", [real(1000, 64), whole(0, 1000, 5000, 1), real(5000, 64)], (),
                   {"reduction": reduction})
    yield Case("one-hot", "OneHot", [whole(0, 1000, 512)], [given(1000), given([0.0, 1.0])])
    yield Case("nonzero", "NonZero", [flags(1000, 1000)])
    yield Case("compress", "Compress", [real(10000, 64), flags(10000)], (), {"axis": 0})
    yield Case("unique", "Unique", [whole(0, 5000, 100000)], (), {"sorted": 1}, outputs=4, kept=None)
    yield Case("unique-floats", "Unique", [real(100000)], (), {"sorted": 1}, kept=None)
    yield Case("suppression", "NonMaxSuppression", [boxes(5000), lambda rng, _: rng.random((1, 1, 5000)).astype(np.float32)],
               [given([200]), given([0.5], np.float32), given([0.3], np.float32)])


def _elementwise() -> Iterator[Case]:
    for op in UNARY:
        yield Case(op, op, [positive(*ROWS, scale=0.3)])
    for op, low, high in (("Acosh", 1.1, 3), ("Atanh", -0.9, 0.9), ("Acos", -0.9, 0.9), ("Asin", -0.9, 0.9)):
        yield Case(op, op, [within(low, high, *ROWS)])
    yield Case("Not", "Not", [flags(*ROWS)])
    yield Case("BitwiseNot", "BitwiseNot", [whole(0, 99, *ROWS)])
    for op in ("PRelu", "Div", "Max"):
        yield Case(op, op, [real(*ROWS)] * 2)
    yield Case("Mod", "Mod", [real(*ROWS)] * 2, (), {"fmod": 1})
    yield Case("Pow", "Pow", [positive(*ROWS)] * 2)
    yield Case("Pow by 2.4", "Pow", [positive(*ROWS)], [given(2.4)])
    yield Case("Pow of i64", "Pow", [whole(0, 9, *ROWS), whole(0, 5, *ROWS)])
    for op in ("Mod", "Div"):
        yield Case(f"{op} of i64", op, [whole(0, 10**6, *ROWS), whole(1, 1000, *ROWS)])
    yield Case("BitShift", "BitShift", [whole(0, high, *ROWS, dtype=np.uint64) for high in (99, 9)], (), {"direction": "LEFT"})
    yield Case("Less", "Less", [real(*ROWS), real(1, ROWS[1])])
    yield Case("And", "And", [flags(*ROWS)] * 2)
    for op in ("Sum", "Mean"):
        yield Case(f"{op} of 5", op, [real(*ROWS)] * 5)
    for pair in ("f32 i64", "f32 u8", "i64 f32", "f32 f16", "f16 f32", "f32 bf16", "u8 f32", "f64 f32", "bool f32", "f32 bool", "f32 i32"):
        a, b = pair.split()
        yield Case(f"Cast {a} to {b}", "Cast", [_counted(CASTS[a][0])], (), {"to": CASTS[b][1]})
    yield Case("quantize", "QuantizeLinear", [real(*ROWS)], [given(0.02), given(3, np.uint8)])
    yield Case("dequantize-rows", "DequantizeLinear", [whole(0, 255, *ROWS, dtype=np.uint8)],
               [positive(ROWS[0], least=0.01), given([0] * ROWS[0], np.uint8)], {"axis": 0})
    yield Case("quantize-dynamically", "DynamicQuantizeLinear", [real(*ROWS, dtype=np.float32)], outputs=3)
    yield Case("gelu 4x128x3072", "Gelu", [real(4, 128, 3072)])


def _counted(dtype: type) -> Draw:
    return lambda rng, _: (np.abs(rng.standard_normal(ROWS)) * 20).astype(dtype)


CASES = (*_reduced(), *_normalized(), *_products(), *_moved(), *_indexed(), *_elementwise())
