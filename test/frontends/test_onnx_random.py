"""Nodes that draw random numbers: the numbers of JAX, by the seed of the call; their distributions; other ones in each node and step."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_check import model, value
from onnx_refusals import node, refuses

import legato
from legato.tools import legato_run

X = np.random.default_rng(0).standard_normal((40, 100)).astype(np.float32)
# uniform, uniform(-3, 5), normal of shape [2, 2] with jax.random.fold_in(jax.random.key(7), n) for n = 1, 2, ..., by jax 0.10.2 in x64
OF_JAX = {
    "float32": (
        [0.6751335859298706, 0.8261764049530029, 0.39398670196533203, 0.4243201017379761],
        [-1.3520164489746094, -0.932469367980957, -2.7121686935424805, 4.834010124206543],
        [-0.7344603538513184, -0.4773978590965271, 0.8121104836463928, 0.08711232244968414],
    ),
    "float64": (
        [0.7651271420906767, 0.581062493755276, 0.862701932577995, 0.4471910392827654],
        [3.9700751106871834, -1.8023715534089124, 1.9461058820264157, -0.3920572392719617],
        [-2.5928357073655297, 0.5592780224576249, -0.7591670484199077, -1.1786692302600565],
    ),
    "float16": (
        [0.7685546875, 0.3349609375, 0.5791015625, 0.06640625],
        [-1.59375, 4.421875, 1.40625, 4.1171875],
        [0.2276611328125, 0.25537109375, -0.94921875, 1.5283203125],
    ),
    "bfloat16": (
        [0.625, 0.15625, 0.34375, 0.8203125],
        [2.6875, 4.1875, 4.3125, 1.75],
        [0.142578125, 0.609375, 0.6328125, -0.76953125],
    ),
}
SEEDED = [0.5224477052688599, 0.5882447957992554, 0.8580381870269775, 0.48947393894195557]
"""jax.random.uniform of fold_in(fold_in(key(-1), 0), the bits of 2.5)"""


def compiled(proto: onnx.ModelProto, **options) -> legato.Executable:
    return legato.compile(legato.from_onnx(proto, **options))


def drawing(count: int = 1, **attributes) -> onnx.ModelProto:
    """As many nodes that draw four uniform numbers."""
    names = [f"u{number}" for number in range(count)]
    return model([node("RandomUniform", "", name, shape=[4], **attributes) for name in names], [], names)


def test_numbers_are_those_of_jax():
    nodes, names = [], []
    for name in OF_JAX:
        code = helper.np_dtype_to_tensor_dtype(np.dtype(legato.core.dtypes.as_dtype(name)))
        names += [f"{name}_u", f"{name}_v", f"{name}_z"]
        nodes += [node("RandomUniform", "", names[-3], shape=[2, 2], dtype=code),
                  node("RandomUniform", "", names[-2], shape=[2, 2], dtype=code, low=-3.0, high=5.0),
                  node("RandomNormal", "", names[-1], shape=[2, 2], dtype=code)]
    exe = compiled(model(nodes, [], names))
    results = iter(exe(random_seed=7))
    for name, (unit, moved, normal) in OF_JAX.items():
        for expected in (unit, moved):
            np.testing.assert_array_equal(np.asarray(next(results)).ravel().astype(np.float64), expected)
        np.testing.assert_allclose(np.asarray(next(results)).ravel().astype(np.float64), normal, rtol={"float32": 1e-6}.get(name, 1e-14))


def test_the_seed_is_an_input_with_a_default():
    exe = compiled(drawing(2))
    assert [one.name for one in exe.inputs] == ["random_seed"] and exe.defaults["random_seed"] == 0
    first, second = exe()
    assert not set(first) & set(second)
    for same in (exe(), exe(0), exe(np.array(0)), exe(random_seed=np.int64(0))):
        np.testing.assert_array_equal(same, [first, second])
    seeds = [1, -1, 1 << 32, -(1 << 63), (1 << 63) - 1]
    assert len({tuple(exe(seed)[0]) for seed in seeds} | {tuple(first)}) == len(seeds) + 1
    for seed in (1 << 63, -(1 << 63) - 1):
        with pytest.raises(TypeError, match=rf"argument 0 'random_seed' must be int64\[\], but {seed} was given"):
            exe(seed)


def test_a_model_that_draws_nothing_has_no_seed():
    nodes = [node("Relu", "x", "y"), node("RandomNormalLike", "x", "dead"), node("Dropout", "y r t", "z")]
    exe = compiled(model(nodes, [value("x", X)], ["z"], constants={"r": np.float32(0), "t": np.array(True)}))
    assert [one.name for one in exe.inputs] == ["x"]


def test_a_draw_is_part_of_the_kernel_that_reads_it():
    exe = compiled(model([node("RandomNormalLike", "x", "z"), node("Add", "x z", "y")], [value("x", X, ["n", 100])], ["y"]))
    _, drawing_kernel = exe.explain().kernels       # the other one is the key
    assert drawing_kernel.vectorized
    np.testing.assert_array_equal(exe(X)[:7], exe(X[:7]) - X[:7] + X[:7])


def test_names_of_the_model_are_kept():
    """An input of the seed's name, and one that is a list."""
    sequence = helper.make_tensor_sequence_value_info("random_seed", TensorProto.FLOAT, [40, 100])
    nodes = [node("ConcatFromSequence", "random_seed", "all", axis=0), node("RandomUniformLike", "all", "u"), node("Add", "all u", "y")]
    exe = compiled(model(nodes, [sequence], ["y"]), shapes={"random_seed": 2})
    assert [one.name for one in exe.inputs] == ["random_seed[0]", "random_seed[1]", "random_seed_1"]
    first, other = exe([X, X]), exe([X, X], random_seed_1=3)
    assert first.shape == (80, 100) and np.all(first >= np.tile(X, (2, 1))) and np.mean(first == other) < 0.01


def test_a_node_with_a_seed_draws_the_same_beside_other_nodes():
    alone = compiled(drawing(seed=2.5))(-1)
    np.testing.assert_array_equal(alone, np.float32(SEEDED))
    nodes = [node("RandomUniform", "", "a", shape=[4]), node("RandomUniform", "", "b", shape=[4], seed=2.5),
             node("RandomUniform", "", "c", shape=[4], seed=0.0), node("RandomUniform", "", "d", shape=[4], seed=2.5)]
    a, b, c, d = compiled(model(nodes, [], list("abcd")))(-1)
    np.testing.assert_array_equal([b, d], [alone, alone])
    assert len({*a, *b, *c}) == 12


def test_the_seed_of_dropout_is_an_integer():
    masks = []
    for seed in (0, 1, 1 << 32):
        constants = {"r": np.float32(0.5), "t": np.array(True)}
        nodes = [node("Relu", "x", "y"), node("Dropout", "y r t", "z m", seed=seed)][seed == 1:]
        masks.append(compiled(model(nodes, [value("y" if seed == 1 else "x", X)], ["m"], constants=constants))(X))
    assert all(abs(np.mean(a == b) - 0.5) < 0.03 for a, b in ((masks[0], masks[1]), (masks[1], masks[2]), (masks[0], masks[2])))


def looping(trips: int | None, seed: dict) -> tuple[onnx.ModelProto, list[np.ndarray]]:
    """A loop of three steps, and as many of a loop in it, each of which draws two numbers. ``trips``: None for a number at run time."""
    flag, number, two = (helper.make_tensor_value_info("", code, dims) for code, dims in
                         ((TensorProto.BOOL, []), (TensorProto.INT64, []), (TensorProto.FLOAT, [2])))

    def named(of, *names):
        return [onnx.ValueInfoProto(name=name, type=of.type) for name in names]

    inner = helper.make_graph([node("RandomUniform", "", "u", shape=[2], **seed), node("Identity", "inner_going", "inner_on"),
                               node("Add", "inner_sum u", "inner_next")], "inner",
                              named(number, "j") + named(flag, "inner_going") + named(two, "inner_sum"),
                              named(flag, "inner_on") + named(two, "inner_next", "u"))
    drawn = helper.make_tensor_value_info("drawn", TensorProto.FLOAT, [trips or 3, 2])
    outer = helper.make_graph([helper.make_node("Loop", ["n", "", "sum"], ["next", "drawn"], body=inner), node("Identity", "going", "on")],
                              "outer", named(number, "i") + named(flag, "going") + named(two, "sum"),
                              named(flag, "on") + named(two, "next") + [drawn])
    nodes = [helper.make_node("Loop", ["n", "", "zero"], ["total", "numbers"], body=outer)]
    constants, count = {"zero": np.zeros(2, np.float32)}, np.array(3)
    if trips is None:
        return model(nodes, [value("n", count)], ["total", "numbers"], constants=constants), [count]
    return model(nodes, [], ["total", "numbers"], constants=constants | {"n": np.array(trips)}), []


@pytest.mark.parametrize("seed", [{}, {"seed": 1.5}], ids=["", "seed"])
@pytest.mark.parametrize("trips", [None, 3, 9])
def test_each_step_of_loops_draws_other_numbers(trips, seed):
    proto, arguments = looping(trips, seed)
    exe, count = compiled(proto), trips or 3
    total, numbers = exe(*arguments)
    assert numbers.shape == (count, count, 2) and len(np.unique(numbers)) == numbers.size
    np.testing.assert_allclose(numbers.sum((0, 1)), total, rtol=1e-6)
    np.testing.assert_array_equal(numbers, exe(*arguments)[1])


def test_a_loop_until_a_drawn_number_has_no_known_bound():
    """What it stacks has no room: the first draw, which an import could take for the bound, is not that of each step."""
    nodes = [node("RandomUniformLike", "ten", "u"), node("Mul", "u ten", "end"), node("Cast", "end", "whole", to=TensorProto.INT64),
             node("Add", "count one", "next"), node("Less", "next whole", "goes")]
    number, flag = (helper.make_tensor_value_info("", code, []) for code in (TensorProto.INT64, TensorProto.BOOL))
    named = [onnx.ValueInfoProto(name=name, type=of.type) for name, of in
             (("i", number), ("going", flag), ("count", number), ("goes", flag), ("next", number))]
    body = helper.make_graph(nodes, "body", named[:3], [*named[3:], helper.make_empty_tensor_value_info("end")])
    constants = {"ten": np.float32(10), "one": np.array(1), "zero": np.array(0), "true": np.array(True)}
    proto = model([helper.make_node("Loop", ["", "flag", "zero"], ["last", "ends"], body=body)], [value("flag", constants.pop("true"))],
                  ["last", "ends"], constants=constants)
    refuses(proto, "no number of steps that says how much room they take", kind=legato.UnsupportedError)


def test_the_command_line_says_that_it_cannot_compare_draws(tmp_path, capsys):
    onnx.save(model([node("RandomNormalLike", "x", "z"), node("Add", "x z", "y", "/add")], [value("x", X)], ["y"]), tmp_path / "m.onnx")
    np.save(tmp_path / "seed.npy", np.array(5))
    arguments = [str(tmp_path / "m.onnx"), "--random", "--check", "onnxruntime", "--input", f"random_seed={tmp_path / 'seed.npy'}"]
    assert legato_run.main(arguments) == 1
    assert "ABOVE 0.0001; the model draws random numbers, by 'random_seed': onnxruntime draws others" in capsys.readouterr().out


@pytest.mark.parametrize("length", [3, 20])
def test_each_step_of_a_scan_draws_other_numbers(length):
    row = helper.make_tensor_value_info("row", TensorProto.FLOAT, [2])
    body = helper.make_graph([node("RandomNormalLike", "row", "z", seed=1.0)], "body", [row], [helper.make_empty_tensor_value_info("z")])
    x = np.zeros((length, 2), np.float32)
    numbers = compiled(model([node("Scan", "x", "y", body=body, num_scan_inputs=1)], [value("x", x)], ["y"]))(x)
    assert len(np.unique(numbers)) == 2 * length


def test_branches_and_calls_of_functions_draw_other_numbers():
    draw = helper.make_function("own", "Draw", ["x"], ["u"], [helper.make_node("RandomUniformLike", ["x"], ["u"])],
                                [helper.make_opsetid("", 20)])
    graphs = [helper.make_graph([helper.make_node("Draw", ["x"], [name], domain="own")], name, [],
                                [helper.make_tensor_value_info(name, TensorProto.FLOAT, [40, 100])]) for name in ("one", "other")]
    nodes = [node("If", "flag", "y", then_branch=graphs[0], else_branch=graphs[1]),
             helper.make_node("Draw", ["x"], ["a"], domain="own"), helper.make_node("Draw", ["x"], ["b"], domain="own")]
    proto = model(nodes, [value("x", X), value("flag", np.array(True))], ["y", "a", "b"])
    proto.functions.append(draw)
    proto.opset_import.append(helper.make_opsetid("own", 1))
    exe = compiled(proto)
    drawn = [np.asarray(one) for flag in (True, False) for one in exe(X, np.array(flag))]
    np.testing.assert_array_equal(drawn[1:3], drawn[4:])
    for number, one in enumerate(drawn[:4]):
        for other in drawn[:number]:
            assert np.mean(one == other) < 0.01 and abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 0.06


def test_moments():
    """Of 200,000 numbers, within 4 standard errors; no uniform number is the upper bound, and few numbers are equal."""
    names, count = ["u", "z", "narrow", "wide"], 200_000
    nodes = [node("RandomUniform", "", "u", shape=[count], low=2.0, high=4.0),
             node("RandomNormal", "", "z", shape=[count], mean=-1.0, scale=3.0),
             node("RandomUniform", "", "narrow", shape=[count], low=1.0, high=float(np.nextafter(np.float32(1), np.float32(2)))),
             node("RandomUniform", "", "wide", shape=[count], low=-3e38, high=3e38)]
    for seed in (0, 5):
        u, z, narrow, wide = (np.asarray(one).astype(np.float64) for one in compiled(model(nodes, [], names))(seed))
        error = 4 / np.sqrt(count)
        assert abs(u.mean() - 3) < error * np.sqrt(1 / 3) and abs(u.var() - 1 / 3) < error * np.sqrt(4 / 45)
        assert u.min() >= 2 and u.max() < 4
        assert abs(z.mean() + 1) < error * 3 and abs(z.std() - 3) < error * 3 / np.sqrt(2)
        assert abs(np.mean(((z + 1) / 3) ** 4) - 3) < error * np.sqrt(96) and len(np.unique(z)) > count * 0.98
        assert set(narrow) == {1.0} and np.isfinite(wide).all() and abs(wide.mean()) < error * 3e38 and np.abs(wide).max() < 3e38
        assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < error and abs(np.corrcoef(u, z)[0, 1]) < error


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_bernoulli(dtype):
    chances = np.tile(np.array([0, 0.25, 0.9, 1, np.nan], dtype), (20_000, 1))
    proto = model([node("Bernoulli", "p", "y", dtype=TensorProto.BOOL)], [value("p", chances, ["n", 5])], ["y"])
    drawn = compiled(proto)(chances)
    assert drawn.dtype == bool
    np.testing.assert_allclose(drawn.mean(0)[1:3], [0.25, 0.9], atol=0.0125)
    np.testing.assert_array_equal(drawn.mean(0)[[0, 3, 4]], [0, 1, 0])


@pytest.mark.parametrize("shape", [[5, 4], ["rows", "classes"]], ids=str)
def test_multinomial(shape):
    inf, nan = np.inf, np.nan
    logits = np.array([[0, 1, -inf, 2], [-inf, -inf, 9, -inf], [nan, 1e4, 1e4, -1e4], [inf, 5, inf, -inf], [-inf] * 4], np.float32)
    proto = model([node("Multinomial", "x", "y", sample_size=20_000, dtype=TensorProto.INT64)], [value("x", logits, shape)], ["y"])
    drawn = compiled(proto)(logits)
    shares = np.stack([np.bincount(row, minlength=4) for row in drawn]) / 20_000
    weights = np.exp([0, 1, -inf, 2])
    expected = np.array([weights / weights.sum(), [0, 0, 1, 0], [0, 0.5, 0.5, 0], [0.5, 0, 0.5, 0], [0.25] * 4])
    np.testing.assert_allclose(shares, expected, atol=0.0142)
    np.testing.assert_array_equal(shares[expected == 0], 0)
    assert drawn.dtype == np.int64 and drawn.shape == (5, 20_000)


def test_many_classes():
    """Classes of a weight of 0 are never drawn, though the running sums are rounded."""
    rng = np.random.default_rng(3)
    logits = np.where(rng.random((1, 5000)) < 0.5, -np.inf, rng.standard_normal((1, 5000))).astype(np.float32)
    drawn = compiled(model([node("Multinomial", "x", "y", sample_size=3000)], [value("x", logits)], ["y"]))(logits)
    assert drawn.dtype == np.int32 and np.isfinite(logits[0, drawn]).all() and drawn.min() < 50 and drawn.max() > 4950


@pytest.mark.parametrize("known", ["ratio training", "ratio", "training", ""])
def test_dropout_in_training(known):
    given = {"ratio": np.float32(0.3), "training": np.array(True)}
    constants = {name: array for name, array in given.items() if name in known}
    inputs = [value("x", X), *(value(name, array) for name, array in given.items() if name not in known)]
    exe = compiled(model([node("Dropout", "x ratio training", "y mask")], inputs, ["y", "mask"], constants=constants))
    for ratio, trains in ((0.3, True), (0.0, True), (1.0, True), (0.3, False)):
        call = {name: array for name, array in (("ratio", np.float32(ratio)), ("training", np.array(trains))) if name not in known}
        if len(call) == 2 or (ratio, trains) == (0.3, True) or (ratio == 0.3 and "training" in call) or (trains and "ratio" in call):
            y, mask = exe(X, **{name: np.asarray(array) for name, array in call.items()})
            share = ratio if trains else 0
            assert mask.dtype == bool and abs(mask.mean() - (1 - share)) < (0.03 if 0 < share < 1 else 1e-9)
            np.testing.assert_allclose(y, np.where(mask, X / np.float32(1 - share or 1), 0), rtol=1e-6)


def test_what_is_no_draw():
    refuses(model([node("RandomUniform", "", "y", shape=[-1])], [], ["y"]), "there is no tensor of the shape [-1]")
    refuses(model([node("RandomNormal", "", "y", shape=[2], dtype=TensorProto.INT32)], [], ["y"]), "its numbers are floats, not i32")
    integers = value("x", np.zeros((2, 3), np.int64))
    refuses(model([node("RandomNormalLike", "x", "y")], [integers], ["y"]), "its numbers are floats, not i64")
    refuses(model([node("Multinomial", "x", "y")], [value("x", np.zeros((2, 0), np.float32))], ["y"]), "it needs a class to draw")
    refuses(model([node("Multinomial", "x", "y")], [value("x", np.zeros(2, np.float32))], ["y"]), "must have 2 dimensions")


def test_empty_tensors():
    x = np.zeros((0, 3), np.float32)
    nodes = [node("RandomNormalLike", "x", "a"), node("Bernoulli", "x", "b"), node("Multinomial", "x", "c")]
    a, b, c = compiled(model(nodes, [value("x", x, ["n", 3])], list("abc")))(x)
    assert (a.shape, b.shape, c.shape) == ((0, 3), (0, 3), (0, 1))
