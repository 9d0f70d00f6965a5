"""Scales and biases of normalizations that broadcast, compiled, beside onnxruntime and onnx's reference."""
import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from contrib import oracle
from onnx import helper
from onnx.reference import ReferenceEvaluator
from onnx_check import model, value
from thoroughly import first_of, sampled

import legato

RNG = np.random.default_rng(3)
TOLERANCES = {np.float16: 1e-2, ml_dtypes.bfloat16: 5e-2, np.float32: 1e-5, np.float64: 1e-12}
SHAPE = 2, 3, 4, 5
OPSETS = {"LayerNormalization": 20, "RMSNormalization": 23, "SimplifiedLayerNormalization": 20}


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def one_node(op, arrays, ranks_only=False, opset=None, constants=(), **attributes):
    """A model of one node. ``ranks_only``: each size of the inputs is a symbol of its own; ``constants``: which are initializers."""
    names = [f"i{n}" for n in range(len(arrays))]
    dims = [[f"{name}_{axis}" for axis in range(array.ndim)] if ranks_only else None for name, array in zip(names, arrays)]
    inputs = [value(name, array, sizes) for n, (name, array, sizes) in enumerate(zip(names, arrays, dims)) if n not in constants]
    kept = {names[n]: arrays[n] for n in constants}
    return model([helper.make_node(op, names, ["y"], "node", **attributes)], inputs, ["y"], opset or OPSETS[op], kept)


def compiled(proto, array):
    """The model, compiled, with an output of the array's type."""
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(array.dtype), [None] * array.ndim))
    return legato.compile(legato.from_onnx(proto))


def assert_oracles_agree(proto, exe, arrays, dtype=np.float32):
    """Compares with onnxruntime, unless the type is bf16, which it does not have, and with the reference, if that has the op."""
    found = np.asarray(exe(*arrays))
    feeds = {f"i{n}": array for n, array in enumerate(arrays)}
    expected = [] if dtype == ml_dtypes.bfloat16 else oracle(proto, feeds)
    if proto.graph.node[0].op_type != "SimplifiedLayerNormalization":
        expected += [np.asarray(one) for one in ReferenceEvaluator(proto).run(None, feeds)]
    assert expected
    for one in expected:
        assert (one.shape, one.dtype) == (found.shape, found.dtype)
        scale = np.abs(one.astype(np.float64)).max()
        np.testing.assert_allclose(found.astype(np.float64), one.astype(np.float64), rtol=0, atol=TOLERANCES[dtype] * scale)


def parameters(op, shape, dtype=np.float32):
    return [normal(*shape, dtype=dtype) for _ in range(2 if op == "LayerNormalization" else 1)]


@pytest.mark.parametrize("rank", sampled([1, 2, 3, 4], 3))
@pytest.mark.parametrize("op", OPSETS)
def test_sizes_that_are_1_at_a_call(op, rank):
    """One compiled model takes all shapes of one rank, and refuses those that do not fit."""
    fitting = [shape for shape in np.ndindex(*(2,) * rank)]
    shapes = [tuple(size if kept else 1 for kept, size in zip(which, SHAPE[-rank:])) for which in fitting]
    x = normal(*SHAPE)
    proto = one_node(op, [x, *parameters(op, shapes[-1])], ranks_only=True, axis=-2)
    exe = compiled(proto, x)
    for shape in shapes:
        assert_oracles_agree(proto, exe, [x, *parameters(op, shape)])
    for axis in range(rank):
        shape = [size + 1 if at == axis else size for at, size in enumerate(shapes[-1])]
        wrong = [x, *parameters(op, shape)]
        with pytest.raises(ValueError, match=rf"needs .*i1_{axis}"):
            exe(*wrong)
        with pytest.raises(Exception):  # noqa: B017 (a type of onnxruntime's own)
            oracle(proto, {f"i{n}": array for n, array in enumerate(wrong)})


@pytest.mark.parametrize("constant", first_of([False, True]))
@pytest.mark.parametrize("shape", sampled([(), (1,), (4, 1), (1, 1, 5), (3, 4, 5), (3, 1, 1), (2, 1, 4, 5), (2, 3, 1, 1)], 2))
def test_shapes_known_at_import(shape, constant):
    x = normal(*SHAPE)
    for op, axis in (("LayerNormalization", -1), ("LayerNormalization", 1), ("RMSNormalization", -1)):
        arrays = [x, *parameters(op, shape)]
        proto = one_node(op, arrays, constants=range(1, len(arrays)) if constant else (), axis=axis)
        assert_oracles_agree(proto, compiled(proto, x), [x] if constant else arrays)


@pytest.mark.parametrize("dtype", sampled(TOLERANCES, 2))
def test_types(dtype):
    for op in ("LayerNormalization", "RMSNormalization"):
        for shape in ((1,), (3, 1, 5)):
            arrays = [normal(*SHAPE, dtype=dtype), *parameters(op, shape, dtype)]
            proto = one_node(op, arrays, ranks_only=True, epsilon=2**-10)
            assert_oracles_agree(proto, compiled(proto, arrays[0]), arrays, dtype)


def test_a_scale_and_a_bias_of_different_ranks():
    arrays = [normal(*SHAPE), normal(5), normal(3, 1, 1)]
    for order in ((0, 1, 2), (0, 2, 1)):
        given = [arrays[n] for n in order]
        proto = one_node("LayerNormalization", given)
        assert_oracles_agree(proto, compiled(proto, arrays[0]), given)


@pytest.mark.parametrize("shape", [(4,), (3, 5), (2, 2, 3, 4, 5), (1, 1, 1, 1, 5), (2, 3, 3, 5)])
def test_shapes_that_never_broadcast(shape):
    for op in OPSETS:
        proto = one_node(op, [normal(*SHAPE), *parameters(op, shape)])
        with pytest.raises(legato.LegatoError, match=rf"its input 1 of the shape \[{shape[0]}.*\] does not broadcast to x of"):
            legato.from_onnx(proto)
        with pytest.raises(Exception):  # noqa: B017 (a type of onnxruntime's own)
            oracle(proto, {f"i{n}": array for n, array in enumerate([normal(*SHAPE), *parameters(op, shape)])})


def test_an_x_that_would_grow():
    proto = one_node("LayerNormalization", [normal(1, 4, 5), *parameters("LayerNormalization", (3, 4, 5))])
    with pytest.raises(legato.LegatoError, match="does not broadcast to x of"):
        legato.from_onnx(proto)
    given = [normal(2, 4, 5), *parameters("LayerNormalization", (3, 4, 5))]
    exe = compiled(one_node("LayerNormalization", given, ranks_only=True), given[0])
    with pytest.raises(ValueError, match="i1_0"):
        exe(normal(1, 4, 5), *given[1:])


def test_a_scale_of_the_normalized_shape_stays_an_operand_of_the_op():
    for op, name in (("LayerNormalization", "relax.layer_norm"), ("RMSNormalization", "relax.rms_norm")):
        text = str(legato.from_onnx(one_node(op, [normal(2, 5), *parameters(op, (5,))])))
        assert name in text and "relax.multiply" not in text and "broadcast" not in text


def test_a_scale_of_another_type():
    """onnxruntime converts; ONNX says that the result has the scale's type."""
    for first, second in ((np.float16, np.float32), (np.float32, np.float16)):
        arrays = [normal(3, 8, dtype=first), normal(8, dtype=second)]
        proto = one_node("SimplifiedLayerNormalization", arrays)
        assert_oracles_agree(proto, compiled(proto, arrays[1].reshape(1, 8)), arrays, np.float16)


@pytest.mark.parametrize("opset, size", [(18, 3), (21, 6)])
def test_group_norm(opset, size):
    """Before opset 21 a parameter for each group, of which those after the first were taken for those of other groups."""
    x = normal(2, 6, 4)
    for shape in ((size,), (1,), ()):
        given = [x, normal(*shape), normal(*shape)]
        proto = one_node("GroupNormalization", given, opset=opset, num_groups=3)
        assert_oracles_agree(proto, compiled(proto, x), given)
    proto = one_node("GroupNormalization", [x, normal(size), normal(size)], ranks_only=True, opset=opset, num_groups=3)
    exe = compiled(proto, x)
    for count in (size, 1):
        assert_oracles_agree(proto, exe, [x, normal(count), normal(count)])
    with pytest.raises(ValueError, match="i1_0"):
        exe(x, normal(size + 1), normal(size))
    with pytest.raises(ValueError, match="i0_1"):
        exe(normal(2, 7, 4), *(normal(7 if opset == 21 else size) for _ in range(2)))
    wrong = one_node("GroupNormalization", [x, normal(size - 1), normal(size)], opset=opset, num_groups=3)
    with pytest.raises(legato.LegatoError, match=rf"its input 1 must have the shape \[{size}\], has \[{size - 1}\]"):
        legato.from_onnx(wrong)


@pytest.mark.parametrize("constants", [(2,), (1, 2)])
def test_channels_in_one_group_that_only_a_call_knows(constants):
    arrays = [normal(2, 4, 17), normal(4), normal(4)]
    proto = one_node("GroupNormalization", arrays, ranks_only=True, opset=21, constants=constants, num_groups=1)
    proto.graph.input[0].type.tensor_type.shape.dim[2].dim_value = 17
    exe, given = compiled(proto, arrays[0]), [one for n, one in enumerate(arrays) if n not in constants]
    assert_oracles_agree(proto, exe, given)


def test_a_skip_that_is_one_row_at_a_call():
    x, gamma = normal(3, 4, 8), normal(8)
    inputs = [value("x", x, ["b", "s", 8]), value("skip", x, ["c", "t", 8])]
    node = helper.make_node("SkipSimplifiedLayerNormalization", ["x", "skip", "gamma"], ["y"], domain="com.microsoft")
    proto = model([node], inputs, ["y"], constants={"gamma": gamma})
    proto.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    exe = compiled(proto, x)
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    for skip in (normal(3, 4, 8), normal(1, 4, 8)):
        expected = np.asarray(session.run(None, {"x": x, "skip": skip})[0])
        np.testing.assert_allclose(exe(x, skip), expected, rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match="needs c"):
        exe(x, normal(2, 4, 8))
