"""Attentions of com.microsoft, compiled, against onnxruntime."""
from typing import Any

import numpy as np
import pytest
from contrib import DOMAIN, check, model_of, oracle
from onnx import helper
from saturation import saturates
from thoroughly import first_of, sampled, thorough

import legato

RNG = np.random.default_rng(6)
B, S, N, D = 2, 5, 4, 16
FEATURES = (N, D, N * D, N * 6, N * 20)


def normal(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def mask(*shape: int) -> np.ndarray:
    """Of 0 and 1; the first key of each row is kept."""
    made = RNG.integers(0, 2, shape).astype(np.int32)
    made[..., 0] = 1
    return made


@pytest.mark.parametrize("symbolic", first_of([True, False]))
def test_multi_head_attention(symbolic):
    q, k, v = normal(B, S, N * D), normal(B, 7, N * D), normal(B, 7, N * 6)
    same = [normal(B, S, N * D) for _ in range(3)]
    how = {"symbolic": symbolic, "num_heads": N, "features": FEATURES}
    op = "MultiHeadAttention"
    check(op, [q, k, v], **how)
    check(op, [q, k, v, normal(N * (2 * D + 6))], [3], scale=0.3, **how)
    check(op, [q, k, v, None, np.array([7, 3], np.int32)], **how)
    check(op, [q, k, v, None, mask(B, 7)], mask_filter_value=-5000.0, **how)
    check(op, [q, k, v, None, mask(B, S, 7)], **how)
    check(op, [*same, None, None, None], unidirectional=1, **how)
    past = [normal(B, N, 3, D) for _ in range(2)]
    check(op, [*same, None, None, None, *past], [], ["y", "key", "value"], **how)
    check(op, [*same, normal(3 * N * D), mask(B, 8), normal(1, 1, S, 8), *past], [3], ["y", "key", "value"], unidirectional=1, **how)
    check(op, [q, normal(B, N, 7, D), normal(B, N, 7, D)], **how)


@pytest.mark.parametrize("shape", first_of([(B, N, S, 7), (1, 1, S, 7), (B, 1, S, 7)]))
@pytest.mark.parametrize("symbolic", first_of([True, False]))
def test_biases_of_scores(symbolic, shape):
    q, k, v = normal(B, S, N * D), normal(B, 7, N * D), normal(B, 7, N * 6)
    check("MultiHeadAttention", [q, k, v, None, mask(B, 7), normal(*shape)], symbolic=symbolic, num_heads=N, features=FEATURES)


def test_packed_heads():
    """As the separate ones: onnxruntime has no kernel of CPUs for these."""
    q, k, v, bias = normal(B, S, N * D), normal(B, S, N * D), normal(B, S, N * D), normal(3 * N * D)
    op, how = "MultiHeadAttention", {"num_heads": N}
    parts = [x.reshape(B, S, N, 1, D) for x in (q, k, v)]
    for more, kept in (([], []), ([bias], [3])):
        model = model_of(op, [q, k, v, *more], kept, ["y"], False, DOMAIN, **how)
        expected = oracle(model, {"i0": q, "i1": k, "i2": v})
        check(op, [np.concatenate(parts, 3), None, None, *more], kept, expected=expected, **how)
        check(op, [q, np.concatenate(parts[1:], 3), None, *more], kept, expected=expected, **how)


@pytest.mark.parametrize("symbolic", first_of([True, False]))
def test_attention(symbolic):
    x, w, bias = normal(B, S, 12), normal(12, 3 * N * D), normal(3 * N * D)
    how, op = {"symbolic": symbolic, "num_heads": N, "constants": [1, 2]}, "Attention"
    check(op, [x, w, bias], **how)
    check(op, [x, w, bias], unidirectional=1, scale=0.2, **how)
    check(op, [x, normal(12, 2 * N * D + 20), normal(2 * N * D + 20)], qkv_hidden_sizes=[N * D, N * D, 20], **how)
    for one in (np.array([4, 2], np.int32), mask(B, S), mask(B, S, S)):
        check(op, [x, w, bias, one], **how)
    check(op, [x, w, bias, mask(B, S), None, normal(1, N, S, S)], **how)
    past = normal(2, B, N, 3, D)
    check(op, [x, w, bias, None, past], outputs=["y", "present"], unidirectional=1, **how)
    check(op, [x, w, bias, mask(B, S + 3), past], outputs=["y", "present"], **how)


@pytest.mark.parametrize("symbolic", first_of([True, False]))
def test_keys_between_two_numbers(symbolic):
    """A mask that has the end of each example's keys, then the beginning of each; one of three numbers for each example, and two more."""
    x, w, bias = normal(B, S, N * D), normal(N * D, 3 * N * D) / 8, normal(3 * N * D)
    for unidirectional in (0, 1):
        between = np.array([5, 4, 0, 2], np.int32)
        check("Attention", [x, w, bias, between], [1, 2, 3], num_heads=N, unidirectional=unidirectional, symbolic=False)
    check("Attention", [x, w, bias, np.array([5, 3, 0, 5, 10, 0, 5, 10], np.int32)], [1, 2], num_heads=N)
    check("Attention", [x, w, bias, np.array([5, 3], np.int32)], [1, 2, 3], num_heads=N, symbolic=symbolic)
    with pytest.raises(legato.UnsupportedError, match="a mask of 5 numbers for 2 examples is not supported, only one or two for each"):
        legato.from_onnx(model_of("Attention", [x, w, bias, np.zeros(5, np.int32)], [1, 2], ["y"], False, DOMAIN, num_heads=N))


def test_a_bias_of_one_head_at_a_call():
    """Sizes of the bias with names of their own are those of the scores, or 1."""
    x, w = normal(B, S, N * D), normal(N * D, 3 * N * D) / 8
    for shape in ((1, 1, S, S), (B, N, S, S), (B, 1, S, S)):
        inputs = [x, w, None, None, None, normal(*shape)]
        model = model_of("Attention", inputs, [1], ["y"], False, DOMAIN, num_heads=N)
        wanted = oracle(model, {"i0": x, "i5": inputs[5]})[0]
        named = legato.from_onnx(model, shapes={"i0": ["batch", "rows", N * D], "i5": ["b", "heads", "r", "keys"]})
        np.testing.assert_allclose(legato.compile(named)(x, inputs[5]), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("symbolic", first_of([True, False]))
def test_attention_of_bytes(symbolic):
    bias, how = normal(3 * N * D), {"num_heads": N, "features": FEATURES, "tolerance": 1e-4, "symbolic": symbolic}
    x = RNG.integers(0, 256, (B, S, N * D)).astype(np.uint8)
    for dtype in (np.uint8, np.int8):
        limits, halved = np.iinfo(dtype), 2 if dtype is np.int8 and saturates() else 1      # what onnxruntime multiplies rightly here
        w, zeros = (RNG.integers(limits.min // halved, (limits.max + 1) // halved, shape).astype(dtype)
                    for shape in ((N * D, 3 * N * D), (3 * N * D,)))
        scales = [np.float32(.01), np.abs(normal(3 * N * D)) / 400]
        kept = [1, 2, 3, 4, 6, 7]
        check("QAttention", [x, w, bias, *scales, mask(B, S), np.uint8(128), zeros], kept, **how)
        check("QAttention", [x, w, bias, *scales, None, np.uint8(128), zeros, normal(2, B, N, 3, D)], kept, ["y", "present"],
              unidirectional=1, **how)
    check("QAttention", [x, w, bias, np.float32(.01), np.float32(.002)], [1, 2, 3, 4], **how)


@pytest.mark.parametrize("interleaved", first_of([0, 1]))
@pytest.mark.parametrize("symbolic", first_of([True, False]))
def test_rotary_embedding(symbolic, interleaved):
    cos, sin = (normal(20, D // 2) for _ in range(2))
    every = RNG.integers(0, 20, (B, S))
    how = {"constants": [2, 3], "interleaved": interleaved, "symbolic": symbolic, "features": (*FEATURES, N * 20)}
    check("RotaryEmbedding", [normal(B, S, N * D), np.array([3]), cos, sin], **how)
    check("RotaryEmbedding", [normal(B, N, S, D), every, cos, sin], **how)
    check("RotaryEmbedding", [normal(B, S, N * 20), every, cos, sin], num_heads=N, rotary_embedding_dim=D, **how)


def cached(rows: int, past: int, room: int | None = None, batch: int = B, shared: int = 2) -> list[Any]:
    """The first seven inputs of GroupQueryAttention: ``past`` earlier keys in a cache of ``room``; None without a cache."""
    q, k, v = normal(batch, rows, N * D), normal(batch, rows, shared * D), normal(batch, rows, shared * D)
    old = [None, None] if room is None else [normal(batch, shared, room, D) for _ in range(2)]
    total = past + rows
    return [q, k, v, *old, np.full(batch, total - 1, np.int32), np.array(total, np.int32)]


OUTPUTS, GQA = ["y", "key", "value"], {"num_heads": N, "kv_num_heads": 2}  # without its caches onnxruntime computes something else


@pytest.mark.parametrize("sections, layout", first_of([([2, 4, 2], 0), ([5, 2, 1], 0), ([3, 3, 2], 1), ([6, 1, 1], 1), ([8, 0, 0], 1)], 2))
def test_rotary_embedding_of_three_places(sections, layout):
    tables, places = [normal(9, D // 2), normal(9, D // 2)], RNG.integers(0, 9, (3, B, S))
    how = {"mrope_section": sections, "mrope_layout": layout}
    for symbolic in (False, True):
        check("MRotaryEmbedding", [normal(B, N, S, D), places, *tables], [2, 3], symbolic=symbolic, features=(*FEATURES, 3), **how)
    check("MRotaryEmbedding", [normal(B, S, N * D), places, *tables], [2, 3], num_heads=N, interleaved=1, **how)
    narrow = [normal(9, 3), normal(9, 3)]
    check("MRotaryEmbedding", [normal(B, S, N * D), places, *narrow], [2, 3], num_heads=N, rotary_embedding_dim=6, mrope_section=[1, 1, 1])
    with pytest.raises(legato.LegatoError, match=r"mrope_section = \[1, 1, 1\] must be three numbers whose sum is 8"):
        legato.from_onnx(model_of("MRotaryEmbedding", [normal(B, N, S, D), places, *tables], [2, 3], ["y"], False, DOMAIN,
                                  mrope_section=[1, 1, 1]))


@pytest.mark.parametrize("rotary", [{"do_rotary": 1}, *thorough([{}, {"do_rotary": 1, "rotary_interleaved": 1}])])
def test_group_query_attention(rotary):
    tables = [normal(30, D // 2), normal(30, D // 2)] if rotary else []
    kept = [6, 7, 8] if rotary else [6]
    for inputs in (cached(5, 0), cached(1, 6, 6), cached(5, 0, 0), cached(4, 3, 3, batch=1), cached(1, 6, 12), cached(5, 0, 12)):
        written = np.arange(inputs[3].shape[2] if inputs[3] is not None and inputs[3].shape[2] == 12 else inputs[6]) < inputs[6]
        check("GroupQueryAttention", [*inputs, *tables], kept, OUTPUTS, written=written[:, None], **GQA, **rotary)
    for room in (6, 12):
        uneven = cached(1, 6, room)
        uneven[5] = np.array([6, 3], np.int32)
        written = np.arange(max(room, 7)) <= uneven[5][:, None]
        check("GroupQueryAttention", [*uneven, *tables], kept, OUTPUTS, written=written[:, None, :, None], **GQA, **rotary)


def test_variants_of_group_query_attention():
    for inputs in (cached(5, 0), cached(1, 6, 6)):
        for more in ({"local_window_size": 3}, {"softcap": 5.0}, {"scale": 0.2}, {"smooth_softmax": 1}):
            check("GroupQueryAttention", inputs, [6], OUTPUTS, **GQA, **more)
    packed = [normal(B, 5, (N + 4) * D), None, None, None, None, np.full(B, 4, np.int32), np.array(5, np.int32)]
    check("GroupQueryAttention", packed, [6], OUTPUTS, **GQA)
    inputs = cached(1, 6, 6)
    for room in (6, 12):   # a bias has as many keys as were written, and a cache may have room for more
        written = (np.arange(max(room, 7)) < 7)[:, None]
        check("GroupQueryAttention", [*cached(1, 6, room), None, None, None, normal(B, N, 1, 7)], [6], OUTPUTS, written=written, **GQA)
    check("GroupQueryAttention", [*inputs, None, None, None, None, normal(N)], [6, 11], OUTPUTS, **GQA)


def with_mask(inputs: list[Any]) -> Any:
    """A model of GroupQueryAttention as exporters of language models write it: the total is a size of the mask, its last input."""
    model = model_of("GroupQueryAttention", inputs, [], OUTPUTS, False, DOMAIN, **GQA)
    kept = [value for value in model.graph.input if value.name != "i6"]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    model.graph.input.append(helper.make_tensor_value_info("mask", 7, ["batch", "total"]))
    shapes = {"i0": ["batch", "rows", N * D], "i1": ["batch", "rows", 2 * D], "i2": ["batch", "rows", 2 * D],
              "i3": ["batch", 2, "past", D], "i4": ["batch", 2, "past", D], "i5": ["batch"]}
    for value in model.graph.input[:-1]:
        value.CopyFrom(helper.make_tensor_value_info(value.name, value.type.tensor_type.elem_type, shapes[value.name]))
    nodes = [helper.make_node("Shape", ["mask"], ["total"], start=1, end=2), helper.make_node("Cast", ["total"], ["i6"], to=6)]
    model.graph.node.insert(0, nodes[1])
    model.graph.node.insert(0, nodes[0])
    return model


def test_symbolic_caches():
    """Lengths as exporters of language models have them: the total is a size of the mask."""
    for rows, past in ((5, 0), (1, 6)):
        inputs = cached(rows, past, past)
        model = with_mask(inputs)
        given = {f"i{n}": inputs[n] for n in range(6)} | {"mask": np.ones((B, past + rows), np.int64)}
        expected = oracle(model, given)
        for value, array in zip(model.graph.output, expected):
            value.CopyFrom(helper.make_tensor_value_info(value.name, 1, [None] * array.ndim))
        found = legato.compile(legato.from_onnx(model))(*given.values())
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.asarray(one), other, atol=1e-5)


def test_caches_in_place():
    """Caches with room for as many keys as the mask has, of which a call writes the new ones only."""
    model, room = with_mask(cached(1, 6, 6)), 12
    for value in model.graph.output:
        value.CopyFrom(helper.make_tensor_value_info(value.name, 1, None))
    shapes = {name: ["batch", 2, "total", D] for name in ("i3", "i4")}
    module = legato.donate(legato.from_onnx(model, shapes=shapes), {"i3": "key", "i4": "value"})
    lowered = str(legato.lower(module, last="bufferized").module)
    main = lowered[lowered.index("func.func @main("):]
    assert "memref.copy" not in main[:main.index("\n  }\n")]
    exe = legato.compile(module)
    for rows, past in ((5, 0), (1, 6), (3, 8)):
        inputs = cached(rows, past, past, batch=1)
        expected = oracle(with_mask(inputs), {f"i{n}": inputs[n] for n in range(6)} | {"mask": np.ones((1, past + rows), np.int64)})
        caches = [np.full((1, 2, room, D), np.nan, np.float32) for _ in range(2)]     # what is behind is not read
        for cache, old in zip(caches, inputs[3:5]):
            cache[:, :, :past] = old
        y, *found = exe(*inputs[:3], *caches, inputs[5], np.ones((1, room), np.int64))
        np.testing.assert_allclose(np.asarray(y), expected[0], atol=1e-5)
        for cache, one, other in zip(caches, found, expected[1:], strict=True):
            assert one is cache and np.isnan(cache[:, :, past + rows:]).all()
            np.testing.assert_allclose(cache[:, :, :past + rows], other, atol=1e-6)


def test_one_total_of_many_layers():
    """Each layer had a symbol of its own for it, and masks and angles of its own."""
    inputs = cached(1, 6, 6)
    model = model_of("GroupQueryAttention", inputs, [], OUTPUTS, False, DOMAIN, **GQA)
    node = helper.make_node("GroupQueryAttention", ["y", *(f"i{n}" for n in range(1, 7))], ["z", "k2", "v2"], domain=DOMAIN, **GQA)
    model.graph.node.append(node)
    model.graph.output.append(helper.make_tensor_value_info("z", 1, None))
    text = str(legato.from_onnx(model).module)
    assert text.count("relax.size_of") == 1 and text.count("total") > 1


def test_total_length_of_run_time():
    """The caches that are results have as many rows as the number says, which a call gives."""
    for inputs in (cached(1, 6, 6), cached(5, 0)):
        for shape in ((), (1,)):
            check("GroupQueryAttention", [*inputs[:6], inputs[6].reshape(shape)], outputs=OUTPUTS, **GQA)


def fused(model) -> int:
    """The attentions of a model that are one kernel."""
    kernels = legato.explain(legato.from_onnx(model), target="llvm").kernels
    return sum(kernel.kernel.startswith("fused_attention") for kernel in kernels)


@pytest.mark.parametrize("attributes", sampled([{"is_causal": 1}, {}, {"softcap": 4.0}], 3))
@pytest.mark.parametrize("symbolic", first_of([True, False]))
def test_attention_of_onnx_is_one_kernel(symbolic, attributes):
    """With its guard for rows whose keys are all masked, which are 0."""
    batch, rows, keys = ("b", "s", "t") if symbolic else (2, 40, 70)
    q, k, v = normal(2, 3, 40, 16), normal(2, 3, 70, 16), normal(2, 3, 70, 16)
    masks = {7: None, 1: np.where(RNG.random((2, 1, 40, 70)) < 0.5, normal(2, 1, 40, 70), -np.inf).astype(np.float32),
             9: RNG.random((2, 1, 40, 70)) < 0.5}
    masks[1][0, 0, 3], masks[9][0, 0, 3] = -np.inf, False
    for code, one in masks.items():
        shapes = [[batch, 3, rows, 16], [batch, 3, keys, 16], [batch, 3, keys, 16], [batch, 1, rows, keys]]
        arrays = [q, k, v] if one is None else [q, k, v, one]
        codes = [1, 1, 1, code]
        given = [helper.make_tensor_value_info(f"i{n}", codes[n], shapes[n]) for n in range(len(arrays))]
        nodes = [helper.make_node("Attention", [f"i{n}" for n in range(len(arrays))], ["y"], **attributes)]
        graph = helper.make_graph(nodes, "g", given, [helper.make_tensor_value_info("y", 1, None)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
        expected, = oracle(model, {f"i{n}": array for n, array in enumerate(arrays)})
        if one is not None:  # onnxruntime gives such rows the mean of the values
            expected[0, :, 3] = 0
        found = np.asarray(legato.compile(legato.from_onnx(model))(*arrays))
        np.testing.assert_allclose(found, expected, atol=2e-5)
        assert fused(model) == 1, (code, attributes)
