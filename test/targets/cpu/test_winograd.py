"""Convolutions by Winograd's algorithm against onnxruntime, compiled as users do. All cases of a test are one model."""
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import onnxruntime
import pytest
from lowering import Lowering
from onnx import ModelProto, TensorProto, helper, numpy_helper
from thoroughly import first_of, sampled, thorough

import legato
from legato.core import cpu
from legato.passes.cpu.winograd_convolutions import WinogradConvolutions
from legato.passes.pipeline.base import PassContext
from legato.targets.catalog import Catalog
from legato.targets.cpu import winograd
from legato.targets.cpu.machine import LEVELS

LEVELS_HERE = [f"llvm{{cpu={level}}}" for level in LEVELS[1:] if not cpu.missing_features(level, "")]
EITHER = (".winograd", ".panels")    # suffixes of filters that are transformed at compile time, and in the kernel
DEEP = [(20, 3), (64, 1)]     # channels, and threads
RNG = np.random.default_rng(3)


@dataclass
class Graph:
    """A model of several convolutions, and the arrays of its inputs."""

    nodes: list = field(default_factory=list)
    constants: list = field(default_factory=list)
    inputs: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    arrays: dict = field(default_factory=dict)

    def input(self, shape: Sequence[int], names: Sequence[str | int]) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, list(names)))
        self.arrays[name] = RNG.standard_normal(shape).astype(np.float32)
        return name

    def constant(self, array: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(array.astype(np.float32), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def node(self, op: str, *inputs: str, **attributes) -> str:
        self.nodes.append(helper.make_node(op, list(inputs), [f"v{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def conv(self, shape: Sequence[int], features: int, pads: Sequence[int] = (), epilogue: str = "relu",
             names: Sequence[str | int] = (), **attributes) -> None:
        """``pads``: 1 on each side where there are none; ``names``: the input's shape with names of its symbolic sizes."""
        channels, rank = shape[1] // attributes.get("group", 1), len(shape) - 2
        pads = pads or [1] * 2 * rank
        weight = self.constant(RNG.standard_normal((features, channels, *[3] * rank)) * (3 ** rank * channels) ** -0.5)
        x = self.input(shape, names or shape)
        y = self.node("Conv", x, weight, self.constant(RNG.standard_normal(features)), pads=list(pads), **attributes)
        if "residual" in epilogue:
            sizes = [size + low + high - 2 for size, low, high in zip(shape[2:], pads, pads[rank:])]
            names_of = [f"{name}_{axis}" if isinstance(name, str) else size for axis, (name, size) in
                        enumerate(zip((names or shape)[2:], sizes, strict=True))]
            y = self.node("Add", y, self.input((shape[0], features, *sizes), ((names or shape)[0], features, *names_of)))
        if "relu" in epilogue:
            y = self.node("Relu", y)
        if "gelu" in epilogue:
            y = self.node("Gelu", y)
        if "scaled" in epilogue:
            y = self.node("Mul", y, self.constant(RNG.standard_normal((features, *[1] * rank))))
        self.outputs.append(self.node("Identity", y))

    def model(self) -> ModelProto:
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in self.outputs]
        graph = helper.make_graph(self.nodes, "convolutions", self.inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


    def in_integers(self) -> None:
        """Makes all inputs small integers, filters those times 4, and what may scale filters powers of two: their transforms for tiles of
        2 x 2 are exact in bf16."""
        for name, array in self.arrays.items():
            self.arrays[name] = RNG.integers(-9, 10, array.shape).astype(np.float32)
        for constant in self.constants:
            shape = tuple(constant.dims)
            if len(shape) > 1:
                numbers = 4 * RNG.integers(-3, 4, shape) if len(shape) > 3 and shape[1] > 1 else 2.0 ** RNG.integers(-2, 3, shape)
                constant.CopyFrom(numpy_helper.from_array(numbers.astype(np.float32), constant.name))


def check(graph: Graph, target: str, chosen: int, calls: Sequence[dict[str, np.ndarray]] = (), suffixes: Sequence[str] = EITHER,
          tolerance: float = 2e-5) -> list[np.ndarray]:
    """``chosen``: how many of the convolutions are computed by the algorithm; ``suffixes``: of their filters; ``tolerance``: for errors,
    by the greatest result. Returns the results of the last call."""
    model = graph.model()
    lowering = Lowering(legato.from_onnx(model), target)
    fused = str(lowering.at("fused"))
    assert sum(fused.count(f'{suffix}"') for suffix in suffixes) == chosen
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    exe, found = lowering.executable, []
    for arrays in calls or [graph.arrays]:
        expected = [np.asarray(value) for value in session.run(None, arrays)]
        results = exe(*arrays.values())
        found = [np.from_dlpack(value) for value in (results if isinstance(results, tuple | list) else [results])]
        for number, (value, wanted) in enumerate(zip(found, expected, strict=True)):
            assert value.shape == wanted.shape, number
            assert np.abs(value - wanted).max() < tolerance * np.abs(wanted).max(), f"{number}: {np.abs(value - wanted).max():.1e}"
    return found


def everything() -> Graph:
    """Sizes around tiles of 2 and 4, segments of 14 tiles and vectors of 8 and 16 elements; all kinds of padding; batches."""
    g = Graph()
    g.conv((1, 64, 28, 28), 64)
    g.conv((1, 32, 17, 61), 63, epilogue="")
    g.conv((1, 33, 13, 14), 32, (1, 2, 0, 1), epilogue="residual relu")
    g.conv((2, 48, 15, 9), 65, (0, 0, 0, 0))
    g.conv((3, 65, 7, 7), 64, (2, 2, 2, 2), epilogue="scaled")
    g.conv((1, 96, 22, 11), 96, epilogue="gelu")
    g.conv((4, 40, 3, 30), 72, epilogue="residual")
    g.conv((1, 31, 23, 24), 47, (0, 1, 2, 0), epilogue="relu scaled")
    g.conv((1, 32, 5, 17, 14), 48, epilogue="residual relu")
    g.conv((2, 48, 7, 13, 12), 64, (2, 0, 1, 0, 1, 2), epilogue="scaled", strides=[2, 1, 1], dilations=[2, 1, 1])
    return g


@pytest.mark.parametrize("target", first_of(LEVELS_HERE[::-1]))
def test_sizes_paddings_and_epilogues(target):
    check(everything(), target, 10)


def take_only(monkeypatch, order: str, factor: str = "f32") -> None:
    """Lets all convolutions be computed in this order."""
    candidates, panels = winograd._candidates, winograd._panels
    monkeypatch.setattr(winograd, "_candidates", lambda *arguments: (
        found for found in candidates(*arguments) if (found[1].order, found[1].factor) == (order, factor)))
    monkeypatch.setattr(winograd, "_panels", panels if order == "panels" else lambda *_: (float("inf"), None))
    monkeypatch.setattr(winograd, "MANY", 0)
    monkeypatch.setattr(winograd, "WORTH_IT", 1)
    monkeypatch.setattr(winograd, "GAIN", float("inf"))


@pytest.mark.parametrize("order, threads", first_of([("blocks", 3), ("points", 1), ("points", 3), ("blocks", 1)], 2))
def test_orders(order, threads, monkeypatch):
    """Blocks of which each is computed by all threads, point by point, and by one of them, panel by panel."""
    take_only(monkeypatch, order)
    check(everything(), f"llvm{{threads={threads}}}", 10)


@pytest.mark.parametrize("target, deep, threads", [
    *first_of(((target, *DEEP[number % 2]) for number, target in enumerate(LEVELS_HERE[::-1])), 3),
    *thorough([(target, *DEEP[1 - number % 2]) for number, target in enumerate(LEVELS_HERE[::-1])], 3)])
def test_filters_that_the_kernel_transforms(target, deep, threads, monkeypatch):
    """Panel by panel, also of channels in several parts, the last of which is shorter."""
    take_only(monkeypatch, "panels")
    monkeypatch.setattr(winograd, "DEEP", deep)
    check(everything(), f"{target[:-1]} threads={threads}}}", 10, suffixes=[".panels"])


@pytest.mark.skipif(bool(cpu.missing_features("cooperlake", "")), reason="wants AVX512-BF16")
@pytest.mark.parametrize("order, threads", [("points", 3), *thorough([("blocks", 1)], 2)])
def test_pairs_of_bf16(order, threads, monkeypatch):
    """With factors rounded to bf16, tiles of 2 x 2 are multiplied in pairs of channels: exactly where these are, else within 1 in 128."""
    take_only(monkeypatch, order, "bf16")
    target = f"llvm{{cpu=cooperlake matmul-precision=bf16 threads={threads}}}"
    graph = everything()
    check(graph, target, 10, suffixes=[".winograd.bf16"], tolerance=2**-7)
    graph.in_integers()
    check(graph, target, 10, suffixes=[".winograd.bf16"])


@pytest.mark.skipif(bool(cpu.missing_features("cooperlake", "")), reason="wants AVX512-BF16")
def test_pairs_of_images_of_symbolic_sizes(monkeypatch):
    monkeypatch.setattr(winograd, "GAIN", float("inf"))
    g = Graph()
    g.conv((1, 33, 5, 6), 40, names=("n", 33, "h", "w"))
    g.in_integers()
    calls = []
    for n, h, w in ((1, 1, 1), (2, 5, 6), (3, 30, 17)):
        calls.append({name: RNG.integers(-9, 10, (n, 33, h, w)).astype(np.float32) for name in g.arrays})
    check(g, "llvm{cpu=cooperlake matmul-precision=bf16}", 1, calls, [".winograd.bf16"])


@pytest.mark.parametrize("side, features, threads, loops", [(56, 64, 2, 1), (20, 512, 4, 3)])
def test_few_blocks_are_shared(side, features, threads, loops):
    """Where there are blocks for all threads, each takes its own, in one parallel loop; where there are few, threads share each phase."""
    g = Graph()
    g.conv((1, features, side, side), features)
    text = str(legato.lower(legato.from_onnx(g.model()), f"llvm{{cpu=x86-64-v3 threads={threads}}}", last="fused"))
    assert text.count('.winograd"') == 1 and text.count("scf.parallel") == loops


@pytest.mark.parametrize("side, features, by_points", [(56, 64, 0), (28, 512, 1)])
def test_many_weights_go_by_once(side, features, by_points):
    """Where the weights are larger than the cache, one block holds all tiles, and goes through them point by point."""
    g = Graph()
    g.conv((1, features, side, side), features)
    text = str(legato.lower(legato.from_onnx(g.model()), "llvm{cpu=x86-64-v4}", last="fused"))
    assert text.count('.points.winograd"') == by_points and text.count('.winograd"') == 1


@pytest.mark.parametrize("target, suffixes", first_of([("llvm{threads=2}", EITHER), (LEVELS_HERE[-1], EITHER)], 2)
                         + [("llvm{threads=2}", [".panels"])])
def test_symbolic_sizes(target, suffixes, monkeypatch):
    """Batches and images of sizes that are given at the call, also smaller than one tile."""
    if suffixes != EITHER:
        take_only(monkeypatch, "panels")
    g = Graph()
    g.conv((1, 64, 5, 6), 64, names=("n", 64, "h", "w"))
    g.conv((1, 32, 9, 6), 40, (0, 1, 1, 2), "gelu", names=(1, 32, "h2", "w2"))
    g.conv((1, 64, 12, 12), 64, epilogue="residual relu", names=("m", 64, 12, 12))
    g.conv((1, 32, 4, 9, 12), 48, names=("k", 32, 4, "h3", "w3"))
    calls = []
    for n, h, w in ((1, 1, 1), (2, 5, 6), (3, 30, 17), (1, 8, 64)):
        shapes = [(n, 64, h, w), (1, 32, h + 2, w), (n, 64, 12, 12), (n, 64, 12, 12), (n, 32, 4, h, w)]
        calls.append({name: RNG.standard_normal(shape).astype(np.float32) for name, shape in zip(g.arrays, shapes, strict=True)})
    check(g, target, 4, calls, suffixes)


@pytest.mark.parametrize("threads, batch", sampled([(1, ""), (1, "n"), (3, ""), (3, "n")], 3, 2))
def test_groups(threads, batch, monkeypatch):
    """A group goes through all blocks before the next does: blocks of some segments, or of all."""
    monkeypatch.setattr(winograd, "GAIN", float("inf"))
    monkeypatch.setattr(winograd, "WORTH_IT", 1)
    monkeypatch.setattr(winograd, "SHARE", 40)
    g = Graph()
    for shape, features, groups, pads, epilogue in (
            ((1, 64, 28, 28), 64, 4, (), "relu"), ((2, 96, 15, 9), 96, 3, (1, 2, 0, 1), "residual relu"),
            ((1, 128, 22, 11), 64, 4, (0, 0, 0, 0), ""), ((3, 32, 7, 7), 96, 2, (2, 2, 2, 2), "scaled"),
            ((1, 96, 30, 61), 32, 2, (), "gelu")):
        g.conv(shape, features, pads, epilogue, (batch, *shape[1:]) if batch and shape[0] == 1 else (), group=groups)
    check(g, f"llvm{{threads={threads}}}", 5)


@pytest.mark.parametrize("threads", first_of([3, 1]))
def test_groups_of_images_of_symbolic_sizes(threads, monkeypatch):
    """Also smaller than one tile, and of a known height or width."""
    monkeypatch.setattr(winograd, "GAIN", float("inf"))
    g = Graph()
    g.conv((1, 64, 5, 6), 64, names=("n", 64, "h", "w"), group=4)
    g.conv((1, 96, 15, 6), 96, (0, 1, 1, 2), "residual relu", names=(1, 96, 15, "w2"), group=3)
    g.conv((1, 64, 12, 14), 96, epilogue="scaled", names=("m", 64, "h3", 14), group=2)
    calls = []
    for n, h, w in ((1, 1, 1), (2, 5, 6), (3, 30, 17), (1, 8, 64)):
        shapes = [(n, 64, h, w), (1, 96, 15, w), (1, 96, 14, w + 1), (n, 64, h, 14)]
        calls.append({name: RNG.standard_normal(shape).astype(np.float32) for name, shape in zip(g.arrays, shapes, strict=True)})
    check(g, f"llvm{{threads={threads}}}", 3, calls)


def test_only_whole_vectors_of_stride_one():
    g = Graph()
    g.conv((1, 64, 28, 28), 64, strides=[2, 2])
    g.conv((1, 64, 28, 28), 64, dilations=[2, 2])
    g.conv((1, 40, 28, 28), 40, group=2)
    g.conv((1, 3, 28, 28), 4)
    g.conv((1, 64, 4, 28, 28), 64, strides=[1, 2, 1])
    g.conv((1, 40, 4, 28, 28), 64, names=(1, 40, "d", 28, 28))    # slices of an unknown number
    g.conv((1, 17, 4, 28, 28), 64)    # channels of two slices in one vector
    check(g, "llvm", 0)


def test_it_can_be_switched_off():
    g = Graph()
    g.conv((1, 64, 28, 28), 64)
    by_definition, = check(g, "llvm{winograd=false}", 0)
    by_algorithm, = check(g, "llvm", 1)
    assert (by_definition != by_algorithm).any()


def test_calls_of_one_kernel_have_their_own_filters():
    """Convolutions of one shape share a kernel; one weight that two of them read is transformed once."""
    g = Graph()
    for _ in range(3):
        g.conv((1, 64, 14, 14), 64)
    g.nodes[3].input[1] = g.nodes[0].input[1]
    text = str(legato.lower(legato.from_onnx(g.model()), "llvm", last="fused"))
    assert text.count('tir.state = "scheduled"') == 1
    check(g, "llvm", text.count('.winograd"'))
    assert len({line[line.index("{weight"):] for line in text.splitlines() if '.winograd"' in line}) == 2


@pytest.mark.parametrize("precision, relative", [("f32", 2e-5), ("bf16x6", 2e-5), ("bf16", 2.0**-7)])
def test_what_checks_allow(precision, relative):
    """Only matmul-precision=bf16 lets transformed inputs and weights be rounded."""
    target = f"llvm{{cpu=sapphirerapids matmul-precision={precision}}}"
    allowed = WinogradConvolutions(target).entitlement(PassContext(Catalog().resolve))
    assert (allowed.relative, allowed.specials) == (relative, False)
