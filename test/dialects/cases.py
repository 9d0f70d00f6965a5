"""Cases for every relax op: operand shapes and attributes, shared by the tests of inference and semantics.

Sizes are chosen so that equal sizes belong together: a case lists those that may be replaced by symbols (``dynamic``), each by one of
its own.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from legato.dialects import relax


@dataclass(frozen=True)
class Case:
    """Operands as shapes; ``dtypes`` differ from f32 where given, by position; ``below`` bounds the values of an integer operand."""

    op: str
    shapes: tuple[tuple[int, ...], ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    dynamic: tuple[int, ...] = ()
    dtypes: dict[int, str] = field(default_factory=dict)
    below: int = 2

    def __str__(self) -> str:
        shapes, attrs = "-".join("x".join(map(str, s)) for s in self.shapes), "-".join(f"{k}={v}" for k, v in self.attrs.items())
        return f"{self.op}-{shapes}-{attrs}".replace(" ", "")

    def dtype(self, number: int, default: str = "float32") -> np.dtype:
        return np.dtype(self.dtypes.get(number, default))

    def arrays(self, seed: int = 0) -> list[np.ndarray]:
        rng = np.random.default_rng(seed)
        made = []
        for number, shape in enumerate(self.shapes):
            dtype = self.dtype(number)
            if dtype.kind == "f":
                made.append((rng.standard_normal(shape) * 2).astype(dtype))
            elif dtype.kind == "b":
                made.append(rng.integers(0, 2, shape).astype(bool))
            else:
                made.append(rng.integers(-self.below if dtype.kind == "i" else 0, self.below, shape).astype(dtype))
        return made


def counted(name: str, inferred: Any, shape: tuple[int, ...]) -> Any:
    """The inferred type of an op's result, where a size that only the data says is what it has turned out to be."""
    if name in ("size_of", "name_sizes"):
        return inferred.with_dims(shape)
    return inferred.with_dims((inferred.dims[0], shape[1])) if name == "nonzero" and len(shape) == 2 else inferred


def elementwise() -> list[Case]:
    """Two broadcasting cases for each elementwise op, in the first element type that it takes."""
    made = []
    for name, cls in relax.OPS.items():
        if not cls.ELEMENTWISE:
            continue
        dtypes = {
            n: {"float": "float32", "int": "int32", "bool": "bool"}[next(k for k in ("float", "int", "bool") if k in o.kinds)]
            for n, o in enumerate(cls.OPERANDS)
        }
        attrs = {"astype": {"dtype": "f16"}, "bitcast": {"dtype": "i32"}}.get(name, {})
        arity = len(cls.OPERANDS)
        made.append(Case(name, ((5, 7),) * arity, attrs, (5, 7), dtypes))
        made.append(Case(name, ((3, 1, 7), (5, 7), (7,))[:arity], attrs, (3, 5, 7), dtypes))
        made.append(Case(name, ((), (5, 1), (0,))[:arity], attrs, (5,), dtypes))
    return made


def _windows() -> list[Case]:
    made = []
    for rank in (1, 2, 3):
        last = ("N" + "DHW"[3 - rank :] + "C", "DHW"[3 - rank :] + "IO", "O" + "DHW"[3 - rank :] + "I")
        x, w = (2, 4, *(11, 9, 10)[:rank]), (6, 4, *(3, 2, 3)[:rank])
        some = {"strides": [2, 1, 3][:rank], "padding": [1, 0, 2][:rank] + [2, 1, 0][:rank], "dilations": [1, 2, 2][:rank]}
        made += [
            Case(f"conv{rank}d", (x, w), {}, (11, 9)),
            Case(f"conv{rank}d", (x, w), some, (11, 9)),
            Case(f"conv{rank}d", (x, (6, 2, *w[2:])), {**some, "groups": 2}, (11,)),
            Case(f"conv{rank}d", (x, (8, 1, *w[2:])), {"groups": 4, "strides": [2] * rank}, (11,)),
            Case(f"conv{rank}d", ((2, *x[2:], 4), (*w[2:], 4, 6)), {**some, "data_layout": last[0], "kernel_layout": last[1]}, (11, 9)),
            Case(f"conv{rank}d", ((2, *x[2:], 4), (6, *w[2:], 4)), {**some, "data_layout": last[0], "kernel_layout": last[2]}, (11, 9)),
        ]
        for kind in ("max", "avg"):
            kernel = {"kernel": [3, 2, 3][:rank]}
            options = [
                {},
                {**some, "padding": [1, 0, 2][:rank] + [2, 1, 0][:rank]},
                {"strides": [2] * rank, "ceil_mode": True},
                {**some, "ceil_mode": True},
                {"strides": [2, 3, 2][:rank], "layout": last[0]},
            ]
            if kind == "avg":
                options += [{**some, "count_include_pad": True}, {**some, "count_include_pad": True, "ceil_mode": True}]
            else:
                made += [Case(f"arg_max_pool{rank}d", (x,), {**kernel, **o}, (11, 9)) for o in options[:4]]
            made += [Case(f"{kind}_pool{rank}d", ((2, *x[2:], 4) if "layout" in o else x,), {**kernel, **o}, (11, 9)) for o in options]
    transpose = [
        {},
        {"strides": [2, 3]},
        {"strides": [2, 3], "padding": [1, 0, 1, 2], "output_padding": [1, 2]},
        {"dilations": [2, 1], "padding": [0, 1, 1, 0]},
    ]
    made += [Case("conv2d_transpose", ((2, 4, 5, 7), (4, 6, 3, 2)), o, (5, 7)) for o in transpose]
    made.append(Case("conv2d_transpose", ((2, 4, 5, 7), (4, 3, 3, 2)), {"groups": 2, "strides": [2, 2]}, (5, 7)))
    some = {"strides": [3, 2, 2], "padding": [1, 0, 1, 2, 0, 0], "output_padding": [2, 1, 0]}
    made += [Case("conv3d_transpose", ((2, 4, 5, 7, 3), (4, 3, 4, 2, 3)), o, (5, 7)) for o in ({"groups": 2}, some)]
    some = {"strides": [3], "padding": [1, 2], "output_padding": [1]}
    return made + [Case("conv1d_transpose", ((2, 4, 7), (4, 6, 5)), o, (7,)) for o in ({}, some)]


def _matrices_and_norms() -> list[Case]:
    return [
        Case("matmul", ((5, 7), (7, 11)), {}, (5, 7, 11)),
        Case("matmul", ((3, 1, 5, 7), (2, 7, 11)), {}, (3, 5, 7)),
        Case("matmul", ((7,), (7,)), {}, (7,)),
        Case("matmul", ((7,), (3, 7, 11)), {}, (3, 7)),
        Case("matmul", ((3, 5, 7), (7,)), {}, (3, 5)),
        Case("matmul", ((5, 0), (0, 11)), {}, (5,)),
        Case("matmul_integer", ((5, 7), (7, 11)), {}, (5, 7, 11), {0: "uint8", 1: "int8"}, below=100),
        Case("matmul_integer", ((2, 5, 8), (8, 3)), {}, (2, 5), {0: "int8", 1: "uint8"}, below=100),
        Case("matmul_integer", ((2, 5, 8), (3, 8)), {"kernel_layout": "OI"}, (2, 5, 8), {0: "int8", 1: "uint8"}, below=100),
        Case("matmul_integer", ((2, 1, 5, 8), (3, 8, 4)), {}, (2, 3, 5, 4), {0: "uint8", 1: "int8"}, below=100),
        Case("matmul_integer", ((2, 3, 5, 8), (2, 1, 4, 8)), {"kernel_layout": "OI"}, (2, 3, 5), {0: "int8", 1: "int8"}, below=100),
        Case("matmul_turned", ((5, 7), (11, 7)), {}, (5, 7, 11)),
        Case("matmul_turned", ((2, 1, 5, 8), (3, 4, 8)), {}, (2, 3, 5)),
        Case("matmul_float8", ((5, 7), (11, 7)), {}, (5, 7, 11), {0: "float8_e4m3fn", 1: "float8_e4m3fn"}, below=9),
        Case("matmul_float8", ((2, 1, 5, 8), (3, 4, 8)), {}, (2, 3, 5), {0: "float8_e5m2", 1: "float8_e5m2"}, below=9),
        Case("conv2d_integer", ((2, 5, 9, 8), (4, 5, 3, 3)), {"strides": [2, 1], "dilations": [1, 2]}, (2, 9, 8), {0: "uint8", 1: "int8"},
             below=100),
        Case("conv2d_integer", ((2, 6, 5, 4), (3, 1, 4, 4)), {"data_layout": "NHWC", "kernel_layout": "HWIO"}, (2, 6),
             {0: "int8", 1: "int8"}, below=100),
        Case("conv2d_integer", ((2, 7, 6, 4), (3, 3, 3, 4)), {"data_layout": "NHWC", "kernel_layout": "OHWI", "padding": [1, 2, 0, 1],
                                                              "pad_value": 7}, (2, 7), {0: "uint8", 1: "int8"}, below=100),
        Case("conv2d_integer", ((2, 7, 6, 4), (6, 3, 3, 2)), {"data_layout": "NHWC", "kernel_layout": "OHWI", "groups": 2}, (2, 7),
             {0: "uint8", 1: "int8"}, below=100),
        Case("conv2d_integer", ((2, 7, 6, 4), (3, 3, 4, 8)), {"data_layout": "NHWC", "kernel_layout": "HWIO", "of_bytes": True}, (2, 7),
             {0: "int16", 1: "int16"}, below=100),
        Case("matmul_quantized", ((5, 16), (2, 2, 8, 7), (2, 2, 7), (2, 2, 7)), {"bits": 8, "columns": 9}, (5,), {1: "int8", 3: "int8"},
             below=100),
        Case("matmul_quantized", ((5, 32), (2, 2, 2, 7), (2, 2, 7), (0,)), {"bits": 4, "columns": 14}, (5,), {1: "int32"}, below=1 << 30),
        Case("matmul_quantized", ((5, 32), (1, 1, 2, 7), (1, 1, 7), (1, 1, 7)), {"bits": 2, "columns": 3}, (5,), {1: "int32"},
             below=1 << 30),
        *(Case(op, ((5, 7, 11),), {"axis": axis}, (5, 7)) for op in ("softmax", "log_softmax") for axis in (0, -1, 1)),
        Case("softmax", ((5, 0),), {}, (5,)),
        Case("layer_norm", ((5, 7, 16), (16,), (16,)), {"epsilon": 1e-12}, (5, 7)),
        Case("layer_norm", ((5, 7, 16), (7, 16), (7, 16)), {"axes": [1, 2]}, (5,)),
        Case("rms_norm", ((5, 7, 16), (16,)), {}, (5, 7)),
        Case("rms_norm", ((5, 7, 16), (7, 16)), {"axes": [-2, -1]}, (5, 7)),
        Case("instance_norm", ((5, 4, 7, 3), (4,), (4,)), {"epsilon": 1e-3}, (5, 7)),
        Case("group_norm", ((5, 4, 7, 3), (4,), (4,)), {"num_groups": 2}, (5, 7)),
        Case("lrn", ((5, 8, 7, 3),), {"size": 5, "alpha": 2e-2}, (5, 7)),
        Case("lrn", ((5, 8, 7, 3),), {"size": 4, "beta": 0.5, "bias": 2.0}, (5, 7)),
    ]


def _reductions() -> list[Case]:
    made = []
    for op in ("sum", "mean", "prod", "max", "min"):
        axes = ({}, {"axis": [1]}, {"axis": [-1, 0], "keepdims": True}, {"axis": []}, {"keepdims": True})
        made += [Case(op, ((5, 7, 3),), a, (5, 7)) for a in axes]
        made += [
            Case(op, ((5, 7, 3),), {"axis": [1]}, (5, 7), {0: dtype}, 3) for dtype in ("int32", "int64", "uint8", "float64", "float16")
        ]
        made.append(Case(op, ((5, 0),), {"axis": [1]}, (5,)))
    for op in ("argmax", "argmin"):
        options = ({"axis": 1}, {"axis": 0, "keepdims": True}, {"axis": -1, "select_last": True})
        made += [Case(op, ((5, 7, 3),), a, (5, 7), {0: "int32"}, 3) for a in options]
        made.append(Case(op, ((5, 7),), {"axis": 0}, (5, 7)))
    options = ({"axis": 0}, {"axis": 1, "exclusive": True}, {"axis": -1, "reverse": True}, {"axis": 1, "exclusive": True, "reverse": True})
    made += [Case(op, ((5, 7),), a, (5, 7)) for op in ("cumsum", "cumprod") for a in options]
    made.append(Case("cumsum", ((5, 7),), {"axis": 1}, (5,), {0: "int32"}, 9))
    options = ({"k": 3}, {"k": 7, "largest": False}, {"k": 2, "axis": 0}, {"k": 0})
    made += [Case("topk", ((5, 7),), a, () if a.get("axis") == 0 else (5,)) for a in options]
    boxes = ((2, 11, 4), (2, 3, 11), (2, 3, 11), ())
    made += [Case("non_max_suppression", boxes, {"k": k}, (3, 11), {2: "bool"}) for k in (4, 0, 20)]
    regions = ({"size": [2, 3]}, {"size": [1, 2], "sampling": 2, "scale": 0.5, "mode": "max"},
               {"size": [3, 1], "aligned": False, "scale": 3.0, "mode": "max"}, {"size": [2, 2], "sampling": 3, "aligned": False})
    made += [Case("roi_align", ((2, 3, 5, 7), (11, 4), (11,)), options, (3, 5, 7, 11), {2: "int64"}) for options in regions]
    made.append(Case("roi_align", ((2, 5, 7, 3), (11, 4), (11,)), {"size": [2, 3], "channels_last": True}, (3, 5, 7, 11), {2: "int64"}))
    made += [Case("roi_pool", ((2, 3, 5, 7), (11, 4), (11,)), {"size": [2, 3], "scale": scale}, (3, 5, 7, 11), {2: "int64"})
             for scale in (1.0, 2.6)]
    made.append(Case("roi_pool", ((2, 5, 7, 3), (11, 4), (11,)), {"size": [3, 1], "channels_last": True}, (3, 5, 7, 11), {2: "int64"}))
    made.append(Case("topk", ((5, 7, 3),), {"k": 4, "axis": 1}, (5, 3), {0: "int32"}, 3))
    return made


def _shapes() -> list[Case]:
    return [
        Case("reshape", ((5, 7, 12),), {"shape": [5, 7, 3, 4]}, (5, 7)),
        Case("reshape", ((5, 7, 12),), {"shape": [35, -1]}),
        Case("reshape", ((5, 7, 12),), {"shape": [-1, 12]}, (5, 7)),
        Case("reshape", ((),), {"shape": [1, 1]}),
        Case("reshape", ((0, 3),), {"shape": [3, 0]}),
        Case("permute_dims", ((5, 7, 3),), {"axes": [2, 0, 1]}, (5, 7)),
        Case("permute_dims", ((5, 7, 3),), {"axes": [0, -1, 1]}, (5, 7)),
        Case("expand_dims", ((5, 7),), {"axis": [0, -1]}, (5, 7)),
        Case("expand_dims", ((),), {"axis": [0]}),
        Case("squeeze", ((5, 1, 7, 1),), {"axis": [1, -1]}, (5, 7)),
        Case("broadcast_to", ((5, 1),), {"shape": [3, 5, 7]}, (5,)),
        *(Case("arange", ((), ()), {"shape": [n]}, (), dict.fromkeys((0, 1), dtype), 9) for n in (7, 0) for dtype in ("float32", "int64")),
        *(Case("random_bits", ((),), {"shape": shape, "dtype": dtype}, (), {0: "uint64"}, 1 << 63)
          for shape in ([5, 7], [], [0, 3]) for dtype in ("ui32", "ui64")),
        Case("fold_in", ((), ()), {}, (), dict.fromkeys((0, 1), "uint64"), 1 << 63),
        Case("col2im", ((2, 3, 2, 4),), {"size": [5], "strides": [1], "padding": [0, 0], "dilations": [1]}),
        Case("col2im", ((1, 2, 2, 3, 3, 2),), {"size": [6, 4], "strides": [2, 3], "padding": [0, 1, 1, 2], "dilations": [2, 1]}),
        Case("dynamic_broadcast_to", ((5, 1),), {"shape": [3, 5, 7]}, (5,)),
        Case("tile", ((5, 7),), {"repeats": [2, 3]}, (5, 7)),
        Case("tile", ((5, 7),), {"repeats": [0, 1]}, (5, 7)),
        Case("concat", ((5, 7), (5, 3)), {"axis": 1}, (5, 7, 3)),
        Case("concat", ((5, 7), (5, 7), (5, 1)), {"axis": -1}, (5, 7)),
        Case("concat", ((5, 7), (0, 7)), {"axis": 0}, (5, 7)),
        *(
            Case("strided_slice", ((5, 7),), a, (5, 7))
            for a in (
                {"begin": [1], "end": [-1], "axes": [1]},
                {"begin": [0, 1], "end": [2**63 - 1, 2**31 - 1]},
                {"begin": [-1], "end": [2**62]},
                {"begin": [-1], "end": [-(2**63)], "strides": [-1], "axes": [1]},
                {"begin": [0], "end": [1], "axes": [-1]},
                {"begin": [0], "end": [3]},
                {"begin": [1], "end": [100], "strides": [3], "axes": [1]},
                {"begin": [3], "end": [1]},
                {"begin": [-100], "end": [2]},
                {"begin": [100], "end": [0], "strides": [-2], "axes": [1]},
                {"begin": [9], "end": [100]},
            )
        ),
        Case("pad", ((5, 7),), {"pads": [1, 2, 3, 0], "value": 1.5}, (5, 7)),
        Case("pad", ((5, 7),), {"pads": [1, -2, -3, 4]}, (5, 7)),
        *(Case("pad", ((5, 7),), {"pads": [1, 2, 3, 0], "mode": mode}, (5, 7)) for mode in ("reflect", "edge", "wrap")),
        *(Case(op, ((3, 5, 7),), {"k": k}, (3, 5)) for op in ("triu", "tril") for k in (0, 2, -1)),
        *(Case("depth_to_space", ((5, 8, 7, 3),), {"block": 2, "mode": mode}, (5, 7)) for mode in ("DCR", "CRD")),
        Case("space_to_depth", ((5, 3, 8, 6),), {"block": 2}, (5, 3)),
    ]


def _indices() -> list[Case]:
    i64 = {1: "int64"}
    return [
        Case("take", ((5, 7), (3, 4)), {}, (7, 3), i64, 5),
        Case("take", ((5, 7), (3,)), {"axis": -1}, (5, 3), {1: "int32"}, 5),
        Case("take", ((5, 7), ()), {"axis": 1}, (5,), i64, 5),
        Case("take", ((5, 7), (0,)), {}, (7,), i64, 5),
        Case("gather_elements", ((5, 7), (5, 3)), {"axis": 1}, (5, 3), i64, 5),
        Case("gather_elements", ((5, 7), (2, 3)), {"axis": 0}, (), i64, 5),
        Case("gather_nd", ((5, 7, 3), (4, 2)), {}, (7, 3), i64, 3),
        Case("gather_nd", ((5, 7, 3), (5, 4, 1)), {"batch_dims": 1}, (5, 3), i64, 3),
        Case("gather_nd", ((5, 7, 3), (3,)), {}, (5,), i64, 3),
        Case("gather_weighted", ((2, 5, 7), (2, 4, 11), (2, 4, 11)), {}, (2, 7, 11), i64, 5),
        Case("gather_weighted", ((1, 5, 3), (1, 2, 6), (1, 2, 6)), {}, (3, 6, 2), {1: "int32"}, 5),
        Case("nonzero", ((5, 7),), {"size": "m"}, (), {0: "int64"}),
        Case("nonzero", ((3, 2, 4),), {"size": "m"}, (), {0: "bool"}),
        Case("nonzero", ((6,),), {"size": "m"}),
        Case("size_of", ((3,),), {"sizes": ["k", "l", "m"]}, (), {0: "uint8"}),
        Case("size_of", ((),), {"sizes": ["m"]}, (), {0: "uint64"}),
        Case("name_sizes", ((3, 4),), {"sizes": ["named", 4]}),
        Case("one_hot", ((5, 7),), {"depth": 3}, (5, 7), {0: "int64"}, 4),
        Case("one_hot", ((5, 7),), {"depth": 3, "axis": 0, "dtype": "i32"}, (5, 7), {0: "int32"}, 4),
        Case("scatter_elements", ((5, 7), (2, 3), (2, 3)), {"axis": 1, "reduction": "add"}, (5, 7), i64, 5),
        Case("scatter_elements", ((5, 7), (1, 7), (1, 7)), {"axis": 0}, (7,), i64, 5),
        *(Case("scatter_elements", ((5, 7), (2, 3), (2, 3)), {"reduction": r}, (7,), i64, 5) for r in ("mul", "max", "min")),
        Case("scatter_nd", ((5, 7, 3), (1, 2), (1, 3)), {}, (5, 7), i64, 5),
        Case("scatter_nd", ((5, 7, 3), (4, 1), (4, 7, 3)), {"reduction": "add"}, (7, 3), i64, 5),
    ]


def _batch_norm() -> list[Case]:
    parameters = ((4,),) * 4
    return [
        Case("batch_norm", ((5, 4, 7, 3), *parameters), {"epsilon": 1e-3}, (5, 7)),
        Case("batch_norm", ((5, 7, 4), *parameters), {"axis": -1}, (5, 7)),
    ]


CASES = elementwise() + _windows() + _matrices_and_norms() + _batch_norm() + _reductions() + _shapes() + _indices()
