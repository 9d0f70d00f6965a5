"""Blocks of mobile networks with convolutions rounded to bf16, against onnxruntime on a model that rounds the same numbers: what depthwise
convolutions and elementwise kernels make is bf16 where only such convolutions read it."""
import numpy as np
import onnxruntime
import pytest
from harness import share_all
from onnx import TensorProto, helper, numpy_helper
from thoroughly import first_of

import legato
from legato.targets.cpu.machine import Machine

ROUNDS = Machine.host().multiplies_pairs
pytestmark = pytest.mark.skipif(not ROUNDS, reason="wants AMX, or AVX512-BF16")


class Blocks:
    """Builds a model of blocks, with the roundings of a compiled one as casts if ``rounding``. Activations of ``x`` go by in order."""

    def __init__(self, channels: int, sizes: tuple[int, int], rounding: bool, gates: bool = False):
        self.rng, self.rounding, self.gates = np.random.default_rng(8), rounding, gates
        self.channels, self.sizes = channels, sizes
        self.nodes, self.values = [], [numpy_helper.from_array(np.float32(value), name) for value, name in ((0, "low"), (6, "high"))]

    def node(self, op: str, *inputs: str, **attributes) -> str:
        self.nodes.append(helper.make_node(op, list(inputs), [f"{op}{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def rounded(self, x: str) -> str:
        return self.node("Cast", self.node("Cast", x, to=TensorProto.BFLOAT16), to=TensorProto.FLOAT) if self.rounding else x

    def convolved(self, x: str, features: int, channels: int, size: int = 1, groups: int = 1, stride: int = 1) -> str:
        filters = (self.rng.standard_normal((features, channels // groups, size, size)) * (channels // groups * size**2) ** -0.5)
        self.values.append(numpy_helper.from_array(filters.astype(np.float32), f"w{len(self.values)}"))
        self.values.append(numpy_helper.from_array(self.rng.standard_normal(features).astype(np.float32), f"b{len(self.values)}"))
        weight, bias = self.values[-2].name, self.values[-1].name
        inputs = [x, weight] if groups > 1 else [self.rounded(x), self.rounded(weight)]
        return self.node("Conv", *inputs, bias, pads=[size // 2] * 4, strides=[stride] * 2, group=groups)

    def clipped(self, x: str) -> str:
        return self.node("Clip", x, "low", "high")

    def block(self, x: str, channels: int, features: int, stride: int, adds: bool, size: int = 3) -> str:
        wide, x = channels * 3, self.rounded(x)
        inner = self.clipped(self.convolved(x, wide, channels))
        inner = self.clipped(self.convolved(inner, wide, wide, size, wide, stride))
        if self.gates:
            pooled = self.node("GlobalAveragePool", inner)
            inner = self.node("Mul", inner, self.node("HardSigmoid", pooled))
        made = self.convolved(inner, features, wide)
        return self.node("Add", made, x) if adds else made

    def model(self, *blocks: tuple[int, int, bool, int]) -> bytes:
        """A stem, then blocks of so many features, strides, whether the input is added, and windows' sizes."""
        kept, channels = self.convolved("x", self.channels, 3, 3), self.channels
        for features, stride, adds, size in blocks:
            kept = self.block(kept, channels, features, stride, adds, size)
            channels = features
        self.nodes.append(helper.make_node("Identity", [kept], ["y"]))
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, *self.sizes])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], self.values)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()


CASES = [(16, (14, 18), ((24, 2, False, 3), (24, 1, True, 3), (40, 2, False, 5))), (24, (13, 9), ((24, 1, True, 3), (32, 2, False, 3))),
         (17, (12, 31), ((17, 1, True, 3), (33, 1, False, 5)))]


@pytest.mark.parametrize(("threads", "gates"), first_of([(2, True), (1, False)], 2))
@pytest.mark.parametrize(("channels", "sizes", "blocks"), CASES)
def test_blocks(channels, sizes, blocks, threads, gates, monkeypatch):
    share_all(monkeypatch)
    monkeypatch.setattr("legato.passes.cpu.window_loops.WORTH_IT", 1)
    monkeypatch.setattr("legato.passes.cpu.fused_windows.WORTH_IT", 1)
    session = onnxruntime.InferenceSession(Blocks(channels, sizes, True, gates).model(*blocks), providers=["CPUExecutionProvider"])
    model = legato.from_onnx(Blocks(channels, sizes, False, gates).model(*blocks))
    compiled = legato.compile(model, f"llvm{{matmul-precision=bf16,winograd=false,threads={threads}}}")
    for count in (1, 3):
        x = np.random.default_rng(count).standard_normal((count, 3, *sizes)).astype(np.float32)
        wanted = np.asarray(session.run(None, {"x": x})[0])
        error = np.abs(np.from_dlpack(compiled(x)) - wanted)
        assert error.max() < 2.0**-7 * np.abs(wanted).max() and error.mean() < 2.0**-12 * np.abs(wanted).max()


@pytest.mark.parametrize("gates", [False, True])
def test_what_is_read_by_convolutions_is_bf16(gates):
    """The result of a depthwise convolution, or of the gate behind it; not that of a convolution which something else reads, too."""
    model = Blocks(16, (14, 18), False, gates).model((24, 2, False, 3))
    lowered = str(legato.lower(legato.from_onnx(model), "llvm{cpu=znver4,matmul-precision=bf16}", last="fused"))
    kernels = [line for line in lowered.splitlines() if "func.func private" in line and ("depthwise" in line or "7x9x48" in line)]
    assert any("-> tensor<?x7x9x48xbf16>" in line for line in kernels)
    assert any("-> tensor<?x7x9x48xf32>" in line for line in kernels) == gates
