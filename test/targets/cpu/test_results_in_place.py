"""Results of products and convolutions in the memory of what is added to them, against numpy and onnxruntime."""
import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from harness import Net
from onnx import TensorProto, helper, numpy_helper

import legato
from legato.core.cpu import missing_features
from legato.core.views import WHOLE_VIEWS, root_of
from legato.passes.cpu.strassen import tiles
from legato.targets.cpu.machine import Machine

RNG = np.random.default_rng(7)
STRASSEN = [f"llvm{{cpu={cpu}}}" for cpu in ("x86-64-v3", "znver4") if not missing_features(cpu, "")]
PARTS = ["llvm{matmul-precision=bf16x6}", "llvm{matmul-precision=bf16x6 threads=2}"] if Machine.host().has("amx-bf16") else []
PAIRS = [cpu for cpu in ("host", "cooperlake") if cpu == "host" or not missing_features(cpu, "")] if Machine.host().multiplies_pairs else []


@pytest.fixture
def always(monkeypatch):
    """Products of all sizes are Strassen's."""
    for name in ("PAYS", "PAYS_LATER"):
        monkeypatch.setattr(tiles, name, 9)


def in_place(module):
    """The graph ops of the calls of main whose result lies in the memory of another operand."""
    main = next(op for op in module.module.body.operations if op.operation.name == "func.func" and op.name.value == "main")
    calls = [op.operation for op in main.body.blocks[0].operations if op.operation.name == "func.call"]
    found = []
    for call in calls:
        roots = [root_of(operand, WHOLE_VIEWS) for operand in call.operands]
        if len(set(roots)) < len(roots):
            found.append(str(call.attributes["callee"]).strip("@"))
    return found


class Products:
    """A graph of products by square weights with what is added to them, and its values in f64. ``x`` is its input."""

    def __init__(self, target, rows, width):
        self.net, self.width = Net(target, first=None), width
        self.x = self.net.input((rows, width))
        self.values = {self.x: RNG.standard_normal((rows, width)).astype(np.float32)}

    def product(self, left, *added, **ops):
        """The product of ``left`` by a weight, and the sum of it and others."""
        weight = (RNG.standard_normal((self.width, self.width)) / self.width**.5).astype(np.float32)
        made = self.net.op("relax.matmul", [left, self.net.weight(weight)])
        value = self.values[left].astype(np.float64) @ weight
        for one in added:
            made, value = self.net.op("relax.add", [made, one]), value + self.values[one]
        self.values[made] = value
        return made

    def op(self, name, operand, function, **attributes):
        """Another op on one operand."""
        made = self.net.op(name, [operand], **attributes)
        self.values[made] = function(self.values[operand].astype(np.float64))
        return made

    def check(self, *outputs, count):
        """Compares the outputs; so many results lie in the memory of operands."""
        self.net.output(*outputs)
        assert len(in_place(self.net.lowered("bufferized"))) == count
        for found, output in zip(self.net.run(self.values[self.x]), outputs, strict=True):
            np.testing.assert_allclose(found, self.values[output], rtol=0, atol=2e-4)


@pytest.mark.parametrize("target", [*STRASSEN, *PARTS])
@pytest.mark.parametrize("rows", [200, 197])
class TestProducts:
    """Of f32, by Strassen's algorithm or in parts."""

    def test_last_use(self, always, target, rows):
        net = Products(target, rows, 256)
        first = net.product(net.x)
        second = net.product(net.product(first), first)         # first is not read again
        third = net.product(net.product(second), second)
        net.check(net.product(third), count=2)

    def test_read_again(self, always, target, rows):
        net = Products(target, rows, 256)
        first = net.product(net.x)
        second = net.product(net.product(first), first)
        third = net.product(net.product(second), first)         # where first ends
        net.check(net.product(third, second), count=1)

    def test_factor(self, always, target, rows):
        """What is multiplied is not written; what a kernel before made of it is another matter."""
        net = Products(target, rows, 256)
        first = net.product(net.x)
        second = net.product(first, first)
        third = net.product(net.op("relax.tanh", second, np.tanh), second)
        net.check(net.product(third), count=1)

    def test_other_places(self, always, target, rows):
        """The last row for all, and rows for columns, which another kernel turns."""
        net = Products(target, 256, 256)
        first, second = net.product(net.x), net.product(net.x)
        turned = net.op("relax.permute_dims", first, np.transpose, axes=[1, 0])
        last = net.op("relax.strided_slice", second, lambda x: x[-1:], axes=[0], begin=[255], end=[256], strides=[1])
        made = net.product(net.product(net.x), last)
        net.check(net.product(made), net.product(net.product(net.product(net.x), turned)), count=1)

    def test_several(self, always, target, rows):
        """The first of what is added is an input of the model, the last is read again; a result of the model lies elsewhere."""
        net = Products(target, rows, 256)
        first, second = net.product(net.x), net.product(net.x)
        third = net.product(net.product(first), net.x, second, first)
        fourth = net.product(third, first)
        net.check(net.product(fourth), net.product(net.product(fourth), fourth), count=2)


class Convolutions:
    """A model of convolutions of 64 channels and features, whose input is ``x``. ``kernel``: the sides of windows."""

    def __init__(self, size, kernel):
        self.shape, self.kernel = [1, 64, *size], kernel
        self.nodes, self.weights = [], []

    def add(self, source, into, residual=None):
        """A convolution, to which an image is added."""
        made, name = f"{into}.c" if residual else into, f"{into}.w"
        filters = RNG.standard_normal((64, 64, self.kernel, self.kernel)) / (8 * self.kernel)
        self.weights.append(numpy_helper.from_array(filters.astype(ml_dtypes.bfloat16).astype(np.float32), name))
        self.nodes.append(helper.make_node("Conv", [source, name], [made], kernel_shape=[self.kernel] * 2, pads=[self.kernel // 2] * 4))
        if residual:
            self.nodes.append(helper.make_node("Add", [made, residual], [into]))

    def check(self, target, count):
        """Compares ``y``; so many results lie in the memory of operands."""
        inputs, outputs = ([helper.make_tensor_value_info(name, TensorProto.FLOAT, self.shape)] for name in "xy")
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        x = RNG.standard_normal(self.shape).astype(ml_dtypes.bfloat16).astype(np.float32)
        module = legato.from_onnx(model)
        assert len(in_place(legato.lower(module, target, last="bufferized"))) == count
        found = np.asarray(legato.compile(module, target)(x))
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        wanted = np.asarray(session.run(None, {"x": x})[0])
        assert np.abs(found - wanted).max() < 0.02 * np.abs(wanted).max()


@pytest.mark.parametrize("cpu", PAIRS)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("size", "kernel"), [((14, 14), 1), ((15, 13), 1), ((9, 31), 3), ((40, 40), 1)])
def test_convolutions(cpu, threads, size, kernel):
    """Of bf16. The second block adds an image that the third one adds again."""
    target = f"llvm{{matmul-precision=bf16 winograd=false threads={threads}{'' if cpu == 'host' else f' cpu={cpu}'}}}"
    net = Convolutions(size, kernel)
    net.add("x", "a")
    for before, residual, name in (("a", "a", "b"), ("b", "b", "c"), ("c", "b", "d")):
        net.add(before, f"{name}.in")
        net.add(f"{name}.in", name, residual)
    net.add("d", "y")
    net.check(target, count=2)
    net = Convolutions(size, kernel)
    net.add("x", "a")
    net.add("a", "b", "a")      # its own image
    net.add("b", "y")
    net.check(target, count=0)
