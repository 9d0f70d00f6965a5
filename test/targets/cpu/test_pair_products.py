"""Products of two activations of bf16, whose columns are put into pairs at run time where the CPU multiplies these, against numpy."""
import shutil

import ml_dtypes
import numpy as np
import pytest
from assembly import innermost_loops
from onnx import TensorProto, helper
from thoroughly import sampled

import legato
from legato.targets.cpu.machine import Machine

BF16 = ml_dtypes.bfloat16
ROUNDED = 2.0**-8
# shapes of the factors: depths that are odd, columns around the width of vectors, tiles of rows with a rest, factors shared by a batch
SHAPES = [
    ((3, 20, 32), (3, 32, 16)), ((2, 9, 7), (2, 7, 17)), ((8, 1), (1, 16)), ((40, 33), (33, 79)), ((2, 31, 64), (2, 64, 96)),
    ((1, 27, 5), (4, 5, 31)), ((2, 3, 15, 6), (2, 3, 6, 33)), ((4, 8, 12), (12, 130)), ((2, 1, 29, 3), (1, 3, 3, 65)),
    ((64, 256), (256, 18)), ((3, 7, 8), (3, 8, 32)), ((2, 16, 9), (2, 9, 15)),      # too few rows, and columns: widened
]


def built(nodes, inputs, outputs=("y",)) -> legato.Module:
    """A model of bf16 with these inputs, each a name and its sizes."""
    given = [helper.make_tensor_value_info(name, TensorProto.BFLOAT16, shape) for name, shape in inputs]
    made = [helper.make_tensor_value_info(name, TensorProto.BFLOAT16, None) for name in outputs]
    graph = helper.make_graph(nodes, "products", given, made)
    return legato.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10).SerializeToString())


def numbers(rng, shape):
    return rng.standard_normal(shape).astype(BF16)


def check(result, expected, scale, error=""):
    """Compares with sums in f32 that are rounded once; ``scale``: the sums of absolute values."""
    found, wanted = np.asarray(result).astype(np.float32), expected.astype(np.float32)
    assert (np.abs(found - wanted) <= ROUNDED * np.abs(wanted) + 1e-5 * scale + 1e-30).all(), error


@pytest.mark.parametrize("target", ["llvm", "llvm{threads=2}", "llvm{cpu=x86-64-v3}"])
def test_shapes(target, monkeypatch):
    monkeypatch.setattr("legato.passes.cpu.matrices.panel_products.WORTH_IT", 1)
    rng, nodes, inputs, arrays = np.random.default_rng(3), [], [], []
    for k, shapes in enumerate(SHAPES):
        for name, shape in zip("ab", shapes, strict=True):
            inputs.append((f"{name}{k}", shape))
            arrays.append(numbers(rng, shape))
        nodes.append(helper.make_node("MatMul", [f"a{k}", f"b{k}"], [f"y{k}"]))
    results = legato.compile(built(nodes, inputs, [f"y{k}" for k in range(len(SHAPES))]), target)(*arrays)
    for k, result in enumerate(results):
        a, b = (one.astype(np.float32) for one in arrays[2 * k:2 * k + 2])
        check(result, a @ b, np.abs(a) @ np.abs(b), SHAPES[k])


@pytest.mark.parametrize("columns", sampled([0, 1, 16, 40, 75], 2))
@pytest.mark.parametrize("batch", [0, 1, 3])
def test_sizes_known_at_run_time(batch, columns):
    nodes = [helper.make_node("MatMul", ["a", "b"], ["m"]), helper.make_node("Relu", ["m"], ["y"])]
    rng = np.random.default_rng(4)
    a, b = numbers(rng, (batch, 13, 21)), numbers(rng, (batch, 21, columns))
    result = legato.compile(built(nodes, [("a", ["n", 13, 21]), ("b", ["n", 21, "c"])]))(a, b)
    wide = [one.astype(np.float32) for one in (a, b)]
    check(result, np.maximum(wide[0] @ wide[1], 0), np.abs(wide[0]) @ np.abs(wide[1]))


def test_elementwise_ops_and_orders():
    """A bias along the columns, a scale along the rows and an added tensor are read as the sums are written; the columns may lie along
    the first factor's rows."""
    nodes = [helper.make_node("MatMul", ["a", "b"], ["m"]), helper.make_node("Add", ["m", "bias"], ["p"]),
             helper.make_node("Mul", ["p", "scale"], ["q"]), helper.make_node("Add", ["q", "z"], ["r"]),
             helper.make_node("Relu", ["r"], ["y"]), helper.make_node("Transpose", ["b"], ["u"], perm=[0, 2, 1]),
             helper.make_node("Transpose", ["a"], ["v"], perm=[0, 2, 1]),
             helper.make_node("MatMul", ["u", "v"], ["w"])]
    shapes = {"a": (2, 18, 25), "b": (2, 25, 37), "bias": (37,), "scale": (18, 1), "z": (2, 18, 37)}
    rng = np.random.default_rng(5)
    arrays = {name: numbers(rng, shape) for name, shape in shapes.items()}
    y, w = legato.compile(built(nodes, shapes.items(), ["y", "w"]))(*arrays.values())
    a, b, bias, scale, z = (one.astype(np.float32) for one in arrays.values())

    def rounded(x):
        return x.astype(BF16).astype(np.float32)

    terms = np.abs(a) @ np.abs(b) + np.abs(bias)
    wanted = np.maximum(rounded(rounded(rounded(rounded(a @ b) + bias) * scale) + z), 0)
    assert (np.abs(np.asarray(y).astype(np.float32) - wanted) <= 4 * ROUNDED * (terms * np.abs(scale) + np.abs(z))).all()
    check(w, (a @ b).transpose(0, 2, 1), (np.abs(a) @ np.abs(b)).transpose(0, 2, 1))


@pytest.mark.parametrize("depth", [8, 9])
def test_special_values(depth):
    """NaN and infinities reach the sums of their row, or column, and no others; of an odd depth, too."""
    a, b = np.ones((10, depth), BF16), np.ones((depth, 20), BF16)
    a[3, depth - 1], a[4, 0], b[depth - 1, 6], b[0, 19] = np.nan, np.inf, -np.inf, np.nan
    result = legato.compile(built([helper.make_node("MatMul", ["a", "b"], ["y"])], [("a", a.shape), ("b", b.shape)]))(a, b)
    with np.errstate(invalid="ignore"):
        expected = a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_array_equal(np.asarray(result).astype(np.float32), expected)


@pytest.mark.parametrize(("rows", "columns"), [(8, 16), (30, 70)])
def test_pairs_are_multiplied_by_instructions(rows, columns):
    """Neither factor is widened, on CPUs with AVX512-BF16."""
    module = built([helper.make_node("MatMul", ["a", "b"], ["y"])], [("a", (2, rows, 24)), ("b", (2, 24, columns))])
    text = str(legato.lower(module, "llvm{cpu=znver4}", last="llvm"))
    assert text.count("llvm.x86.avx512bf16.dpbf16ps.512") >= rows // 2 and "kernel_matmul_elementwise" not in text
    assert Machine.named("x86-64-v4").multiplies_pairs or "dpbf16ps" not in str(legato.lower(module, "llvm{cpu=x86-64-v4}", last="llvm"))


@pytest.mark.skipif(shutil.which("objdump") is None, reason="needs objdump")
@pytest.mark.parametrize("columns", [16, 32])
def test_pairs_of_one_vector_are_repeated_as_they_are_read(columns, tmp_path):
    """A row's pair that one product takes comes from memory into all lanes by its instruction; one that two take, by its own."""
    module = built([helper.make_node("MatMul", ["a", "b"], ["y"])], [("a", (28, 64)), ("b", (64, columns))])
    legato.compile(module, "llvm{cpu=znver4}").save(tmp_path / "model.legato")
    products = [text for loop in innermost_loops(tmp_path / "model.legato") for text in loop if text.startswith("vdpbf16ps")]
    assert len(products) >= 14 and all(("{1to16}" in text) == (columns == 16) for text in products)
