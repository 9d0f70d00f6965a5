"""Profiles of compiled and loaded models: which calls they list, and the work and time of each."""
import dataclasses
import json

import numpy as np
import pytest
import tvm_ffi
from onnx import TensorProto, helper, numpy_helper

import legato
from legato.runtime.profile import CallProfile, Peaks, Profile, covered
from legato.runtime.sizes import evaluate, symbol_values
from legato.script import R, T

RNG = np.random.default_rng(0)


def model(nodes, inputs, outputs, weights=()):
    given, made = ([helper.make_tensor_value_info(name, dtype, shape) for name, (dtype, shape) in side.items()]
                   for side in (inputs, outputs))
    graph = helper.make_graph(nodes, "g", given, made, [numpy_helper.from_array(array, name) for name, array in dict(weights).items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def perceptron():
    """softmax(relu(x w + b) v), x: [n, 64]."""
    weights = {"w": (64, 96), "b": (96,), "v": (96, 32)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"], name="/fc1/MatMul"), helper.make_node("Add", ["p", "b"], ["q"], name="/fc1/Add"),
             helper.make_node("Relu", ["q"], ["r"], name="/act/Relu"), helper.make_node("MatMul", ["r", "v"], ["s"], name="/fc2/MatMul"),
             helper.make_node("Softmax", ["s"], ["y"], name="/head/Softmax")]
    return legato.from_onnx(model(nodes, {"x": (TensorProto.FLOAT, ["n", 64])}, {"y": (TensorProto.FLOAT, ["n", 32])},
                                  {name: RNG.random(shape, np.float32) for name, shape in weights.items()}))


@pytest.fixture(scope="module", params=["compiled", "loaded", "two threads"])
def executable(request, tmp_path_factory):
    exe = legato.compile(perceptron(), "llvm{threads=2}" if request.param == "two threads" else "llvm")
    if request.param == "loaded":
        path = tmp_path_factory.mktemp("profile") / "model.legato"
        exe.save(path)
        exe = legato.load(path)
    return exe


def call_of(profile, op):
    return next(call for call in profile.calls if any(op in text for text in call.ops))


@pytest.mark.parametrize("n", [1, 48])
def test_calls_have_names_work_and_times(executable, n):
    x = RNG.random((n, 64), np.float32)
    before = executable(x)
    profile = legato.profile(executable, x, runs=5, peaks=False)
    first, second, last = (call_of(profile, op) for op in ("/fc1/MatMul", "/fc2/MatMul", "/head/Softmax"))
    assert [text.split()[1] for text in first.ops] == ["/fc1/MatMul", "/fc1/Add", "/act/Relu"]
    assert first.flops == n * 96 * (2 * 64 + 1) and second.flops == n * 32 * 2 * 96
    assert first.bytes == 4 * (n * 64 + 64 * 96 + 96 + n * 96) and last.bytes == 4 * 2 * n * 32
    assert profile.symbols == {"n": n} and profile.runs == 5 and [call.count for call in profile.calls] == [1] * len(profile.calls)
    assert all(0 < call.seconds < profile.seconds for call in profile.calls)
    assert [number for number, _, _ in profile.events] == list(range(len(profile.calls)))
    ends = [time for _, *times in profile.events for time in times]
    assert ends == sorted(ends)     # calls follow each other
    np.testing.assert_array_equal(executable(x), before)


def test_calls_side_by_side_are_all_recorded():
    """The two directions of a layer run on two threads."""
    weights = {name: RNG.random((2, *shape), np.float32) - 0.5 for name, shape in {"w": (256, 64), "r": (256, 64)}.items()}
    node = helper.make_node("LSTM", ["x", "w", "r"], ["y"], name="/lstm", hidden_size=64, direction="bidirectional")
    proto = model([node], {"x": (TensorProto.FLOAT, [20, 4, 64])}, {"y": (TensorProto.FLOAT, [20, 2, 4, 64])}, weights)
    profile = legato.profile(legato.compile(legato.from_onnx(proto), "llvm{threads=2}"), np.ones((20, 4, 64), np.float32), runs=3,
                             peaks=False)
    steps = [call for call in profile.calls if call.count == 20]
    assert len(steps) >= 4 and len(profile.events) == 20 * len(steps) + len(profile.calls) - len(steps)
    assert profile.overlap >= 0 and sum(call.share for call in profile.calls) >= 0.5


def test_time_that_calls_share():
    assert covered([(0, 0, 10), (1, 5, 12), (2, 6, 8), (0, 20, 30)]) == 22 and covered([]) == 0
    calls = tuple(CallProfile(name, (name,), 2e-3, 0.5, None, None, 1) for name in "ab")
    profile = Profile(calls, 3e-3, 0.0, 1, {}, 2, None, ((0, 0, 2000), (1, 1000, 3000), (0, 3000, 4000)), overlap=1e-3)
    assert profile.undisturbed == pytest.approx(3e-3) and "of calls that ran beside others, on other threads" in str(profile)
    assert [event["tid"] for event in profile.chrome_trace()["traceEvents"]] == [0, 1, 0]
    assert "beside others" not in str(dataclasses.replace(profile, overlap=0.0))


def test_threads_are_known(executable):
    assert executable.signature.threads in (1, 2)
    assert legato.profile(executable, np.ones((1, 64), np.float32), runs=1, peaks=False).threads == executable.signature.threads


def test_more_work_takes_more_time():
    big = legato.compile(perceptron())
    profile = legato.profile(big, RNG.random((2000, 64), np.float32), runs=5, peaks=False)
    assert call_of(profile, "/fc1/MatMul").seconds > 10e-6
    assert profile.other < profile.seconds / 2
    assert sum(call.share for call in profile.calls) + profile.other / profile.undisturbed == pytest.approx(1)


def test_runs_that_are_interrupted_are_told():
    profile = legato.profile(legato.compile(perceptron()), RNG.random((8, 64), np.float32), runs=3, peaks=False)
    calm, interrupted = (dataclasses.replace(profile, seconds=profile.undisturbed * times) for times in (1, 3))
    assert "interrupts the runs" not in str(calm) and "interrupts the runs" in str(interrupted)
    assert f"{profile.undisturbed * 1e3:.3f} ms\n" in str(interrupted)


def test_convolutions_and_gathers():
    weights = {"w": RNG.random((8, 4, 3, 3), np.float32), "table": RNG.random((500, 16), np.float32)}
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], name="conv", pads=[1, 1, 1, 1], group=1),
             helper.make_node("Gather", ["table", "i"], ["z"], name="rows")]
    module = legato.from_onnx(model(nodes, {"x": (TensorProto.FLOAT, [2, 4, 10, 12]), "i": (TensorProto.INT64, ["m"])},
                                    {"y": (TensorProto.FLOAT, [2, 8, 10, 12]), "z": (TensorProto.FLOAT, ["m", 16])}, weights))
    profile = legato.profile(legato.compile(module), RNG.random((2, 4, 10, 12), np.float32), np.arange(7), runs=2, peaks=False)
    assert call_of(profile, "relax.conv2d").flops == 2 * 2 * 8 * 10 * 12 * 4 * 9
    assert call_of(profile, "rows").bytes == 7 * (8 + 2 * 4 * 16)     # not the whole table


def test_branches_that_are_not_taken_do_not_count():
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((64,), "float32")):
        if c:
            y = R.exp(x)
        else:
            y = R.tanh(x)
        return y

    exe = legato.compile(main)
    for condition in (True, False):
        profile = legato.profile(exe, np.array(condition), np.ones(64, np.float32), runs=2, peaks=False)
        assert [call_of(profile, op).count for op in ("exp", "tanh")] == [int(condition), int(not condition)]
        assert ("@kernel_exp" in str(profile)) == condition


def test_packed_functions_and_sizes_known_late():
    tvm_ffi.register_global_func("legato.test.profile.positive", lambda x: tvm_ffi.from_dlpack(np.from_dlpack(x)[np.from_dlpack(x) > 0]),
                                 override=True)

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        m = T.int64()
        y = R.call_packed("legato.test.profile.positive", x, sinfo_args=R.Tensor((m,), "float32"))
        z = R.exp(y)
        return z

    exe = legato.compile(main)
    x = np.array([1, -1, 2], np.float32)
    profile = legato.profile(exe, x, runs=2, peaks=False)
    assert sum(call.count for call in profile.calls) == 2
    assert call_of(profile, "exp").flops is None    # it depends on data
    np.testing.assert_allclose(exe(x), np.exp([1, 2]), rtol=1e-6)


def test_table_json_and_trace(executable):
    profile = legato.profile(executable, np.ones((16, 64), np.float32), runs=3, peaks=Peaks(100.0, 10.0))
    text = str(profile)
    assert "n = 16" in text and "/fc1/MatMul, /fc1/Add, /act/Relu" in text and "of peak" in text and "outside of calls" in text
    assert "more calls" in profile.table(limit=1) and profile.table(limit=1).count("@") == 1
    data = json.loads(json.dumps(profile.json()))
    call = data["calls"][0]
    assert call["gflops"] == pytest.approx(call["flops"] / call["seconds"] / 1e9) and data["peaks"] == {"gflops": 100.0, "bandwidth": 10.0}
    events = json.loads(json.dumps(profile.chrome_trace()))["traceEvents"]
    assert [event["name"] for event in events] == [", ".join(call.ops) for call in profile.calls]
    assert all(event["dur"] > 0 for event in events)


def test_the_rate_is_of_the_calls_whose_arithmetic_is_known():
    """A backend's code, which may take most of the time, is none of them."""
    profile = legato.profile(legato.compile(perceptron()), RNG.random((64, 64), np.float32), runs=3, peaks=Peaks(100.0, 10.0))
    assert "whose arithmetic is not known" not in str(profile)
    external = dataclasses.replace(profile.calls[0], flops=None, seconds=0.75)
    others = [dataclasses.replace(call, seconds=0.001) for call in profile.calls[1:]]
    hidden = dataclasses.replace(profile, calls=[external, *others], other=0.0)
    flops = sum(call.flops or 0 for call in profile.calls[1:])
    rate = flops / (0.001 * len(profile.calls[1:])) / 1e9
    assert f"GFLOP at {rate:.0f} GFLOP/s, {rate / 100:.0%} of the peak, without the 750.000 ms in calls whose arithmetic" in str(hidden)


def test_measured_peaks():
    from legato.profiling import measured_peaks

    peaks = measured_peaks(1)
    assert 1 < peaks.gflops < 2000 and 0.5 < peaks.bandwidth < 1000


@pytest.mark.parametrize(("arguments", "error", "said"), [
    (lambda: (perceptron(), np.ones((1, 64), np.float32)), legato.LegatoError, "compiled model"),
    (lambda: (legato.compile(perceptron()), np.ones((1, 63), np.float32)), ValueError, "63"),
    (lambda: (legato.compile(perceptron()),), TypeError, "x"),
])
def test_what_cannot_be_profiled(arguments, error, said):
    with pytest.raises(error, match=said):
        legato.profile(*arguments(), runs=1, peaks=False)


def test_runs_are_at_least_one(executable):
    with pytest.raises(legato.LegatoError, match="at least one run, not 0"):
        legato.profile(executable, np.ones((1, 64), np.float32), runs=0, peaks=False)


def test_a_model_without_records_says_so():
    exe = legato.compile(perceptron(), passes={"bufferized": WithoutRecords()})
    with pytest.raises(legato.LegatoError, match="tir-profile-main"):
        legato.profile(exe, np.ones((1, 64), np.float32), runs=1, peaks=False)
    assert exe(np.ones((1, 64), np.float32)).shape == (1, 32)


class WithoutRecords(legato.ModulePass):
    name = "test-drop-profiled"

    def run(self, module, context):
        for op in list(module.module.body.operations):
            if op.operation.name == "func.func" and op.name.value in ("main_profiled", "legato.clock", "legato.record"):
                op.operation.erase()


@pytest.mark.parametrize(("text", "value"), [("n * 4 + 2", 14), ("max(n - 4, 0) // 2 % 3", 0), ("min(n, 2)", 2), ("-n + 5", 2), ("m", None),
                                             ("n // (n - 3)", None)])
def test_sizes_as_text(text, value):
    assert evaluate(text, {"n": 3}) == value


def test_symbols_of_shapes():
    assert symbol_values([(("n", "2 * m + 1", 3, "?"), (5, 9, 3, 7))]) == {"n": 5, "m": 4}
    with pytest.raises(ValueError, match="not an expression"):
        evaluate("open('x')", {})
