"""CUDA graphs: the launches of a call as one, on the stand-in for the driver."""
import logging

import numpy as np
import pytest
import test_cuda
import test_onnx_loops as loops
import tvm_ffi
from device_tensors import context, on_device, on_host, stream
from in_threads import in_threads
from onnx import helper
from onnx_check import assert_same, model, reference
from standin import TARGET, compiled, driver, prepared
from test_cuda import MODEL, calls, check, instance, operands

import legato

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.usefixtures("nothing_is_left")

GRAPHS = TARGET.replace("}", " graphs=true}")
ADD, CHANGE, LAUNCH = "cuGraphAddKernelNode_v2", "cuGraphExecKernelNodeSetParams_v2", "cuGraphLaunch"
NAMES = ("cuLaunchKernel", ADD, CHANGE, LAUNCH, "cuGraphInstantiateWithFlags")
KEPT = 8        # graphs of a lane


@pytest.fixture(scope="module")
def lowered():
    return prepared(legato.Module.parse(MODEL), GRAPHS)


def counts():
    return np.array([calls(name) for name in NAMES])


def test_arrays_of_the_host(lowered):
    """The first call of a set of sizes makes a graph, later ones launch it as it is: their memory is the instance's."""
    exe = instance(lowered)
    (x, w), before = operands(7), counts()
    check(exe(x, w), x, w)
    direct, nodes, changed, launched, made = counts() - before
    assert nodes >= 2 and (direct, changed, launched, made) == (0, 0, 1, 1)
    before = counts()
    for seed in range(3):
        x, w = operands(7, seed)
        check(exe(x, w), x, w)
    assert list(counts() - before) == [0, 0, 0, 3, 0]
    for n in (0, 1, 400, 7):
        x, w = operands(n)
        check(exe(x, w), x, w)


def test_tensors_of_the_device(lowered):
    """Nodes get the pointers of each call: also where memory that was freed is used again for something else."""
    exe = instance(lowered)
    kept, before = [], calls(CHANGE)
    for seed in range(4):
        x, w = operands(7, seed)
        here = on_device(x), on_device(w)
        kept.append((exe(*here), x, w))
        if seed % 2:
            results, x, w = kept.pop()
            check([on_host(one) for one in results], x, w)
            del results
    assert calls(CHANGE) > before
    for results, x, w in kept:
        check([on_host(one) for one in results], x, w)
    before = counts()
    x, w = operands(7)
    mixed = exe(x, on_device(w))
    check([on_host(one) for one in mixed], x, w)
    assert (counts() - before)[0] == 0


def test_streams_of_the_caller(lowered):
    """One graph on two streams, read in the other order."""
    exe = instance(lowered)
    pairs = [operands(20, seed) for seed in range(2)]
    made = [stream() for _ in pairs]
    results, found, here = [], None, None
    for one, (x, w) in zip(made, pairs):
        here = on_device(x), on_device(w)
        with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), one.value):
            results.append((here, exe(*here)))
    for one, (x, w), (_, found) in reversed(list(zip(made, pairs, results))):
        check([on_host(tensor, one) for tensor in found], x, w)
    del results, found, exe, here
    with context():
        for one in made:
            assert driver().cuStreamDestroy_v2(one) == 0


def test_the_number_of_graphs_is_bounded(lowered):
    """Those of the sizes that were used last are kept."""
    exe = instance(lowered)
    x, w = operands(40)
    for n in range(1, 2 * KEPT):
        exe(x[:n], w)
    live, made = driver().standin_live(), calls("cuGraphInstantiateWithFlags")
    for n in range(KEPT, 2 * KEPT):
        check(exe(x[:n], w), x[:n], w)
    assert calls("cuGraphInstantiateWithFlags") == made
    exe(x[:1], w)
    exe(x[:KEPT + 1], w)
    assert calls("cuGraphInstantiateWithFlags") == made + 1
    exe(x[:KEPT], w)
    assert calls("cuGraphInstantiateWithFlags") == made + 2
    assert driver().standin_live() == live


def test_many_threads(lowered):
    exe = instance(lowered)

    def work(seed):
        for n in (3, 17, 3):
            x, w = operands(n + seed % 3, seed)
            check(exe(x, w), x, w)

    in_threads(work, 20)


@pytest.mark.parametrize("name", ["cuGraphCreate", ADD, "cuGraphInstantiateWithFlags", LAUNCH, CHANGE])
def test_a_graph_that_fails(lowered, name):
    """The call launches kernel by kernel, so that it works, or says which launch does not; the next call has a graph again."""
    exe = instance(lowered)
    x, w = operands(5)
    if name == CHANGE:
        check([on_host(one) for one in exe(on_device(x), on_device(w))], x, w)
    here, before = (on_device(x), on_device(w)), calls("cuLaunchKernel")
    ballast = on_device(x) if name == CHANGE else None      # other memory for results
    driver().standin_fail(name.encode(), 1, 1)
    check([on_host(one) for one in exe(*here)], x, w)
    assert calls("cuLaunchKernel") > before
    before = counts()
    check(exe(x, w), x, w)
    check(exe(x, w), x, w)
    assert (counts() - before)[0] == 0
    del ballast


def test_a_launch_that_fails(lowered, monkeypatch):
    """The error is that of a call without a graph."""
    exe = instance(lowered)
    x, w = operands(300)
    monkeypatch.setenv("STANDIN_THREADS", "16")
    with pytest.raises(RuntimeError, match=r"for relax.matmul dense.* blocks of .*, and the device takes 16 threads in a block\) failed: "):
        exe(x, w)
    monkeypatch.undo()
    check(exe(x, w), x, w)
    driver().standin_fail(b"kernel", 2, 719)
    with pytest.raises(RuntimeError, match="running the model's kernels failed: CUDA_ERROR_LAUNCH_FAILED"):
        exe(x, w)
    driver().standin_reset()
    check(exe(x, w), x, w)


def test_saved(lowered, tmp_path):
    """A saved model has its graphs; a profile has times of kernels, and no graph."""
    x, w = operands(5)
    loaded = legato.load(instance(lowered).save(tmp_path / "model.legato"))
    check(loaded(x, w), x, w)
    before = counts()
    check(loaded(x, w), x, w)
    assert list(counts() - before) == [0, 0, 0, 1, 0]
    profile = legato.profile(loaded, x, w)
    assert sum("dense" in str(line) for line in str(profile).splitlines()) == 1
    assert (counts() - before)[0] > 0
    del loaded, profile


def test_copies():
    """A recurrent layer: copies of steps and states are nodes, too, and follow the memory that they are in."""
    proto, arrays = loops.layer("LSTM", 14, "bidirectional")
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "steps"
    longer = arrays | {"x": np.concatenate([arrays["x"]] * 3)}
    exe = compiled(legato.from_onnx(proto, shapes={"x": ["steps", 3, 5]}), GRAPHS)
    names = ("cuMemcpyDtoDAsync_v2", "cuLaunchKernel", "cuGraphExecMemcpyNodeSetParams")
    before = [calls(name) for name in names]
    for given in (arrays, longer, arrays):      # the second call frees what the first one's nodes work in
        assert_same(list(exe(**given)), reference(proto, given))
    direct, launched, changed = (calls(name) - one for name, one in zip(names, before))
    assert (direct, launched) == (0, 0) and changed > 0
    found = exe(**{name: on_device(array) for name, array in arrays.items()})
    assert_same([on_host(one) for one in found], reference(proto, arrays))
    del exe, found


def test_branches_have_none(caplog):
    """A branch on data, on which the host waits between launches: a warning, and the same results."""
    with caplog.at_level(logging.WARNING, "legato"):
        exe = compiled(legato.from_onnx(test_cuda.conditional()), GRAPHS)
    assert "so that the model's launches are not submitted as graphs" in caplog.text
    x, before = np.arange(1, 7, dtype=np.float32).reshape(2, 3), calls(LAUNCH)
    np.testing.assert_array_equal(exe(x), x + x)
    np.testing.assert_array_equal(exe(-x), x * x)
    assert calls(LAUNCH) == before
    del exe


def test_sizes_as_numbers():
    """What a model multiplies by a size: the size is a kernel's parameter, the same in all calls of a graph; nobody waits for it."""
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "zero"], ["n"]),
             helper.make_node("Mul", ["x", "n"], ["y"])]
    x = np.arange(12).reshape(3, 4)
    proto = model(nodes, [helper.make_tensor_value_info("x", 7, ["n", 4])], ["y"], 17, {"zero": np.array(0)})
    exe = compiled(legato.from_onnx(proto), GRAPHS)
    for given in (x, x[:2], x + 5, x[:0], x[:1], x[:2] + 1):
        waits, launched = calls("cuStreamSynchronize"), calls(LAUNCH)
        np.testing.assert_array_equal(exe(given), given * len(given))
        assert (calls("cuStreamSynchronize"), calls(LAUNCH)) == (waits + 1, launched + 1)
        here = on_device(given)
        waits = calls("cuStreamSynchronize")
        result = exe(here)
        assert calls("cuStreamSynchronize") == waits
        np.testing.assert_array_equal(on_host(result), given * len(given))
