"""ONNX's Attention of sizes that are known only at run time, compiled, against onnx's reference: one kernel, which reads the keys and
values of grouped heads where they lie. ONNX's own tests of the op are among those of single nodes."""
import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from thoroughly import sampled

import legato
from legato.core.ir_helpers import find

RNG = np.random.default_rng(0)
SIZES = {"B": 2, "S": 19, "T": 37, "P": 11, "U": 48}


def model(mask: str = "", opset: int = 23, past: bool = False, flat: bool = False, rows: str = "S", dtype: str = "float",
          **attributes: float) -> onnx.ModelProto:
    """Eight heads of queries, two of keys; values of 24 features. ``mask``: its type; ``flat``: heads are features."""
    shapes = ("B,{},128", "B,T,32", "B,T,48") if flat else ("B,8,{},16", "B,2,T,16", "B,2,T,24")
    given = [f"{dtype}[{shape.format(rows)}] {name}" for name, shape in zip("qkv", shapes)]
    names, results = ["q", "k", "v"], [f"{dtype}[{'b,s,e' if flat else 'b,h,s,e'}] y"]
    if mask:
        given.append(f"{mask} mask")
    if past:
        given += [f"{dtype}[B,2,P,16] past_k", f"{dtype}[B,2,P,24] past_v"]
        results += [f"{dtype}[b,m,t,d] k_all", f"{dtype}[b,m,t,e] v_all"]
    names += ["mask" if mask else "", "past_k", "past_v"] if past else ["mask"] if mask else []
    attributes |= {"q_num_heads": 8, "kv_num_heads": 2} if flat else {}
    text = ", ".join(f"{name} = {value}" for name, value in attributes.items())
    outputs = ", ".join(result.split()[-1] for result in results)
    return onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["": {opset}]> g ({", ".join(given)}) => ({", ".join(results)}) {{
        {outputs} = Attention{f"<{text}>" if text else ""} ({", ".join(names)}) }}""")


def arrays(proto: onnx.ModelProto) -> dict[str, np.ndarray]:
    made = {}
    for value in proto.graph.input:
        kind = value.type.tensor_type
        values = RNG.standard_normal([one.dim_value or SIZES[one.dim_param] for one in kind.shape.dim])
        made[value.name] = values > 0 if kind.elem_type == onnx.TensorProto.BOOL else values.astype(
            onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))
    return made


def check(proto: onnx.ModelProto, tolerance: float = 2e-5) -> None:
    compiled = legato.compile(legato.from_onnx(proto), "llvm")
    kernels = [kernel for kernel in compiled.explain().kernels if kernel.kernel.startswith("fused_attention")]
    assert [kernel.form for kernel in kernels] == ["scheduled"]
    given = arrays(proto)
    if "mask" in given and given["mask"].shape[-2] > 1:
        given["mask"][..., 1, :] = False if given["mask"].dtype == bool else -np.inf   # a row that sees no key is 0
    expected, found = ReferenceEvaluator(proto).run(None, given), compiled(**given)
    for a, b in zip(expected, found if isinstance(found, tuple) else (found,), strict=True):
        np.testing.assert_allclose(np.asarray(b, np.float32), np.asarray(a, np.float32), atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("how", sampled([
    {"is_causal": 1}, {"mask": "bool[S,T]", "scale": 0.2}, {"mask": "float[B,1,S,T]", "is_causal": 1, "softcap": 3.0},
    {"mask": "float[B,8,S,T]", "flat": True}, {"past": True, "is_causal": 1, "flat": True},
    {"mask": "bool[B,1,1,U]", "past": True, "rows": "1"}, {"mask": "float[S,20]", "opset": 24, "softcap": -2.0},
    {"dtype": "float16", "is_causal": 1, "softmax_precision": 1}], 4), ids=str)
def test_grouped_heads(how):
    check(model(**how), 4e-3 if "dtype" in how else 2e-5)


def test_keys_and_values_are_not_repeated():
    """No op makes more elements of keys or values than there are."""
    module = legato.lower(legato.from_onnx(model(is_causal=1)), "llvm", last="relax")
    made = [str(op.results[0].type) for name in ("relax.broadcast_to", "relax.concat", "relax.tile")
            for op in find(module.module.operation, name)]
    assert not any("16x" in type_ or "24x" in type_ for type_ in made)


def test_what_is_left_to_the_definition():
    """Scores as an output, by the function in the op's schema."""
    proto = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 24]> g (float[B,8,S,16] q, float[B,2,T,16] k, float[B,2,T,24] v)
        => (float[b,h,s,e] y, float[b,h,s,t] scores) { y, , , scores = Attention<qk_matmul_output_mode = 1, softcap = 2.0>(q, k, v) }""")
    given = arrays(proto)
    for a, b in zip(ReferenceEvaluator(proto).run(None, given), legato.compile(legato.from_onnx(proto))(**given), strict=True):
        np.testing.assert_allclose(np.asarray(b), np.asarray(a), atol=2e-5, rtol=2e-5)


def test_a_cache_of_keys_alone():
    with pytest.raises(legato.LegatoError, match="past_key with past_value"):
        legato.from_onnx(onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 24]> g (float[1,2,3,4] q, float[1,2,3,4] k,
            float[1,2,3,4] v) => (float[b,h,s,e] y) { y = Attention(q, k, v, , k) }"""))
