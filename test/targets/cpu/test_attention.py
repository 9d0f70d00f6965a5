"""Attention as one kernel against onnxruntime, in the graphs that exporters write. All cases of a test are one model."""
import shutil

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from assembly import stack_stores
from attention_graphs import FUSED, Graph, check, check_rows_without_keys, compare_with, compiled_with, everything
from lowering import Lowering
from onnx import TensorProto, helper
from thoroughly import first_of, sampled

import legato
from legato.core import cpu
from legato.targets.cpu.machine import LEVELS

LEVELS_HERE = [f"llvm{{cpu={level}}}" for level in LEVELS if not cpu.missing_features(level, "")]


@pytest.mark.parametrize("target", first_of(LEVELS_HERE[::-1]))
def test_masks_and_layouts(target):
    check(everything(21, 39), target)


@pytest.mark.parametrize("target", sampled(LEVELS_HERE[::-1], 2))
def test_keys_after_the_last_whole_panel(target):
    """More of them than a vector has, of keys that are one block: a mask of bools is read in parts."""
    graph = Graph()
    for n in (28, 60, 63):
        graph.attention(f"{n}", 1, 20, n, 16, mask="where")
    check(graph, target)


@pytest.mark.parametrize("target", first_of(["llvm{threads=2}", "llvm{cpu=x86-64-v3}"]))
def test_symbolic_sizes(target):
    sizes = [{"b": b, "m": m, "n": n} for b, m, n in ((1, 1, 1), (2, 5, 7), (1, 33, 64), (3, 3, 530), (1, 100, 17), (2, 1, 300), (2, 5, 0))]
    check(everything("m", "n", "b", masks=("padding", "full", "where")), target, sizes)


@pytest.mark.thorough
@pytest.mark.parametrize("target", [*LEVELS_HERE, "llvm{threads=2}"])
def test_sizes(target):
    """One block and several, whole ones and parts, of keys and of queries; depths that are no multiple of a vector. Scores of a depth of 1
    are no matrix product, and not fused."""
    graph, depths = Graph(), []
    for m, n, d, e in ((12, 32, 40, 24), (13, 65, 64, 80), (16, 1030, 16, 16), (200, 300, 20, 20), (1100, 70, 8, 8), (350, 700, 128, 256),
                       (25, 90, 3, 5), (25, 90, 2, 1), (8, 64, 1, 1)):
        for layout in ("bhsd", "columns")[:1 + (n >= 64)]:
            graph.attention(f"{m}x{n}x{d}x{e}_{layout}", 2, m, n, d, e=e, layout=layout)
            depths.append(d)
    check(graph, target, fused=sum(depth > 1 for depth in depths))


def test_few_rows():
    """One by one, where keys and values lie: static numbers and one known at run time, depths that are no multiple of a vector."""
    graph = Graph()
    for m, n, d, e in ((1, 70, 64, 64), (4, 1030, 20, 100), (3, 40, 3, 5), (1, 33, 8, 8), ("m", "n", 40, 24)):
        graph.attention(f"{m}x{n}x{d}x{e}", 2, m, n, d, e=e, mask="where")
    graph.attention("grouped", 4, 1, 70, 16, group=2, mask="keys")
    graph.attention("moved", 2, 2, 70, 16, layout="bshd", last=True, scale="query")
    check(graph, "llvm", [{"m": m, "n": n} for m, n in ((1, 700), (4, 17), (5, 64), (2, 1), (7, 530), (8, 33), (9, 64))])


@pytest.mark.parametrize("n", [1300, 1280])
def test_hidden_keys_are_not_read(n):
    """-inf or finfo.min before the first and behind the last visible key: what is there may be NaN. Each row sees fewer keys than the one
    before. Also of as many keys as whole panels have, where those that are seen are none."""
    graph, names = Graph(), ("added", "where", "least", "added_least")
    for name, mask in zip(names, ("causal", "where", "least", "causal")):
        graph.attention(name, 2, "m", "n", 16, mask=mask)
    compiled = legato.compile(legato.from_onnx(graph.model), target="llvm")
    session = onnxruntime.InferenceSession(graph.model.SerializeToString(), providers=["CPUExecutionProvider"])
    for m, first, end in ((1, 0, 700), (1, 650, 1201), (1, 0, 1000), (3, 5, 9), (40, 300, n), (40, 100, 1007), (40, n - 1, n)):
        arrays = graph.arrays({"m": m, "n": n}, kept=1)
        seen = (np.arange(n) >= first) & (np.arange(n) < np.maximum(end - np.arange(m), first + 1)[:, None])
        arrays["where_where"] = arrays["least_where"] = seen[None, None]
        for name, low in (("added_mask", -np.inf), ("added_least_mask", np.finfo(np.float32).min)):
            arrays[name] = np.where(seen, arrays[name], np.float32(low))
        expected = session.run(None, arrays)
        for name in (f"{name}_{part}" for name in names for part in "kv"):   # the first vector in which one key is seen is read
            arrays[name][:, :, :first // 16 * 16] = arrays[name][:, :, end:] = np.nan
        for a, b in zip(expected, compiled(*arrays.values()), strict=True):
            np.testing.assert_allclose(np.asarray(b), np.asarray(a), atol=2e-5, err_msg=f"{m} {first} {end}")


def test_rows_whose_keys_all_have_the_least_number():
    """finfo.min for all keys of some rows of a block: these take the mean of all values, the others none of what is hidden."""
    graph = Graph()
    graph.attention("where", 2, 40, 1300, 16, mask="least")
    graph.attention("added", 2, 40, 1300, 16, mask="queries", scale="")
    compiled = legato.compile(legato.from_onnx(graph.model), target="llvm")
    session = onnxruntime.InferenceSession(graph.model.SerializeToString(), providers=["CPUExecutionProvider"])
    for rows in ([3, 17], [39], list(range(40))):
        arrays = graph.arrays(kept=1)
        seen = np.arange(1300) < 600 + np.arange(40)[:, None]
        seen[rows] = False
        arrays["where_where"][:] = seen
        arrays["added_mask"][:] = np.where(seen, arrays["added_mask"], np.finfo(np.float32).min)
        for a, b in zip(session.run(None, arrays), compiled(*arrays.values()), strict=True):
            np.testing.assert_allclose(np.asarray(b), np.asarray(a), atol=2e-5, err_msg=f"{rows}")


def test_grouped_heads():
    graph = Graph()
    graph.attention("grouped", 8, 20, 70, 16, group=4, mask="queries")
    graph.attention("transposed", 8, 20, 70, 16, group=4, mask="queries", layout="bshd", last=True)
    graph.attention("one", 4, 20, 70, 16, group=4)
    check(graph, "llvm")


def test_halves():
    graph = Graph(np.float16)
    graph.attention("static", 3, 20, 70, 32, mask="keys", layout="bshd", last=True)
    graph.attention("symbolic", 3, "m", "n", 32, mask="where")
    check(graph, "llvm", [{"m": 30, "n": 600}, {"m": 1, "n": 20}], tolerance=4e-3)


def test_brain_floats():
    """onnxruntime has no matmul of bf16: in f32, of the same numbers."""
    graph, wide = Graph(ml_dtypes.bfloat16), Graph()
    for one in (graph, wide):
        one.attention("y", 3, 20, 70, 32, mask="keys", layout="bshd", last=True)
    arrays = graph.arrays()
    session = onnxruntime.InferenceSession(wide.model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected, = session.run(None, {name: array.astype(np.float32) for name, array in arrays.items()})
    found = np.asarray(legato.compile(legato.from_onnx(graph.model), target="llvm")(*arrays.values())).astype(np.float32)
    assert np.abs(found - np.asarray(expected)).max() < 3e-2


@pytest.mark.parametrize("n", [40, 1300])
def test_rows_without_keys_and_nans(n):
    """-inf for all keys of a row, or of whole blocks: NaN where the single ops give NaN. NaN and infinities among scores and values."""
    check_rows_without_keys(n, "llvm")


@pytest.mark.parametrize("target", first_of(["llvm{threads=2}", *LEVELS_HERE[:1]]))
def test_rows_that_are_nan_count_as_zero(target):
    """Rows without keys, of NaN and of infinities, in one block of keys and in several, row by row and in tiles."""
    graph = Graph()
    for name, m, n, mask in (("one", 20, 40, "where"), ("few", 2, 70, "where"), ("blocks", 20, 1300, "queries"),
                             ("any", "m", "n", "where")):
        graph.attention(name, 4, m, n, 16, guard=True, mask=mask)
    graph.attention("grouped", 4, 20, 40, 16, guard=True, mask="queries", layout="bshd", last=True, group=2)
    sizes = [{"m": m, "n": n} for m, n in ((3, 5), (20, 1300), (1, 70), (4, 0))]
    compiled = compiled_with(graph, target)
    compare_with(graph, compiled, sizes)
    compare_with(graph, compiled, sizes, kept=0.01)
    session = onnxruntime.InferenceSession(graph.model.SerializeToString(), providers=["CPUExecutionProvider"])
    arrays = graph.arrays({"m": 20, "n": 300}, kept=1)
    for name in ("blocks", "grouped"):
        mask = arrays[f"{name}_mask"][0, 0]
        mask[2, 30], mask[3, 0], mask[4, 39], mask[5], mask[6, :39] = np.nan, np.inf, np.inf, -np.inf, -np.inf
    for name in ("one", "few", "any"):
        arrays[f"{name}_where"][0, 0, 1] = False
    arrays["one_q"][0, 1, 7], arrays["one_q"][0, 2, 8], arrays["any_k"][0, 0, 3] = np.inf, np.nan, np.nan
    for a, b in zip(session.run(None, arrays), compiled(*arrays.values()), strict=True):
        assert not np.isnan(np.asarray(a)).any()
        np.testing.assert_allclose(np.asarray(b), np.asarray(a), atol=2e-5)


def test_scores_far_below_the_maximum():
    """Exponentials that are denormal or 0, and maxima that grow from block to block of keys."""
    graph = Graph()
    graph.attention("y", 1, 16, 1400, 8, mask="queries", scale="")
    compiled = legato.compile(legato.from_onnx(graph.model), target="llvm")
    session = onnxruntime.InferenceSession(graph.model.SerializeToString(), providers=["CPUExecutionProvider"])
    arrays = graph.arrays(kept=1)
    arrays["y_mask"][:] = np.linspace(-150, 150, 1400, dtype=np.float32)
    arrays["y_mask"][0, 0, 8:] *= -1
    expected, = session.run(None, arrays)
    np.testing.assert_allclose(np.asarray(compiled(*arrays.values())), np.asarray(expected), atol=2e-5)


def test_what_is_not_fused():
    """Few queries of transposed keys, weights, results with other readers, and softmax over another axis stay kernels of their own."""
    graph = Graph()
    graph.attention("few", 2, 1, 64, 16, layout="columns")
    q, k, v = (graph.input(x, (2, 40, 40)) for x in ("a", "b", "c"))
    p = graph.node("Softmax", [graph.node("MatMul", [q, k])], axis=-1)
    across = graph.node("Softmax", [graph.node("MatMul", [q, k])], axis=1)
    weights = graph.constant(np.ones((40, 40), np.float32))
    scores = graph.node("MatMul", [q, k])
    alone, twice = (graph.node("Softmax", [scores], axis=-1) for _ in range(2))
    one = graph.node("Where", [graph.node("IsNaN", [alone]), graph.number(1), alone])
    of_scores = graph.node("Where", [graph.node("IsNaN", [scores]), graph.number(0), twice])
    fixed = graph.node("Softmax", [graph.node("MatMul", [q, weights])], axis=-1)
    for name, x, y in (("probabilities", p, k), ("read_twice", p, v), ("across", across, v), ("weights", fixed, weights),
                       ("ones", one, v), ("of_scores", of_scores, v)):
        graph.nodes.append(helper.make_node("MatMul", [x, y], [name], name=name))
        graph.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, (2, 40, 40)))
    check(graph, "llvm", fused=0)


@pytest.mark.parametrize("size, order", [("b", [0, 1, 3, 2]), (2, [0, 3, 1, 2])])
def test_results_that_are_transposed(size, order):
    """Channels before positions, as convolutions read them (SqueezeBERT): columns of values are no neighbours in the result."""
    tensors = ", ".join(f"float[{size}, 12, 4, 8] {name}0" for name in "qkv")
    model = onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["": 18]>
      g ({tensors}, float[{size}, 1, 12, 12] mask) => (float[w, x, y, z] result) {{
        q = Transpose<perm = [0, 2, 1, 3]>(q0) k = Transpose<perm = [0, 2, 3, 1]>(k0) v = Transpose<perm = [0, 2, 1, 3]>(v0)
        scores = MatMul(q, k) masked = Add(scores, mask) p = Softmax<axis = -1>(masked) o = MatMul(p, v)
        result = Transpose<perm = {order}>(o) }}""")
    rng = np.random.default_rng(0)
    arrays = {f"{name}0": rng.standard_normal((2, 12, 4, 8)).astype(np.float32) for name in "qkv"}
    arrays["mask"] = rng.standard_normal((2, 1, 12, 12)).astype(np.float32)
    expected, = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, arrays)
    found = legato.compile(legato.from_onnx(model), target="llvm")(**arrays)
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), atol=2e-5)


def test_option():
    """fuse-attention=false leaves the kernels one by one, with the same results."""
    check(everything(21, 39), "llvm{fuse-attention=false}", fused=0)


def test_names():
    """Explanations name the ops that became one kernel, by the model's names."""
    graph = Graph()
    graph.attention("y", 2, 20, 64, 16, mask="keys", layout="bshd", last=True)
    kernel, = legato.explain(legato.from_onnx(graph.model), target="llvm").kernels
    assert kernel.kernel == FUSED and kernel.form == "scheduled"
    assert [op.split()[0] for op in kernel.ops] == [
        *["relax.permute_dims"] * 3, "relax.matmul", "relax.multiply", "relax.add", "relax.softmax", "relax.matmul", "relax.permute_dims"]
    assert kernel.ops[6] == "relax.softmax Softmax6"


@pytest.mark.skipif(shutil.which("objdump") is None, reason="needs objdump")
@pytest.mark.parametrize("threads", [1, 2])
def test_sums_stay_in_registers(threads, tmp_path):
    """Of tiles of the products, whatever softmax has in registers. Of each of three attentions, two products at least are seen."""
    graph = Graph()
    for name, n, depth in (("few", 128, 64), ("some", 512, 64), ("many", 1400, 80)):
        graph.attention(name, 4, n, n, depth)
    model = tmp_path / "model.legato"
    legato.compile(legato.from_onnx(graph.model), f"llvm{{cpu=x86-64-v4 threads={threads}}}").save(model)
    stores = stack_stores(model, range(20, 32))
    assert len(stores) >= 6 and not any(stores)


def test_threads_take_blocks_in_turns():
    """Each takes the next block of its own part when it has done one, then others': there is a counter for each, in a line of its own.
    Results are those of one thread, to the bit, also of fewer blocks than threads."""
    graph = Graph()
    graph.attention("few", 1, 300, 300, 32)
    graph.attention("many", 5, 700, 400, 32)
    graph.attention("symbolic", 3, "m", 300, 32, mask="where")
    module = legato.from_onnx(graph.model)
    shared = Lowering(module, "llvm{threads=3}")
    lowered = str(shared.at("scheduled"))
    assert lowered.count("memref.atomic_rmw addi") >= 3 and lowered.count("memref.alloc() {alignment = 64 : i64} : memref<24xi64>") >= 3
    inputs = graph.arrays({"m": 650})
    wanted = legato.compile(module, "llvm{threads=1}")(**inputs)
    for _ in range(5):
        for one, want in zip(shared.executable(**inputs), wanted, strict=True):
            np.testing.assert_array_equal(one, want)
