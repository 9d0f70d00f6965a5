"""Convolutions by Hopper's warpgroups, whose windows the copy engine brings (im2col): results on the stand-in, other schedules, the PTX."""
import re
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
import standin
from assembled_warpgroups import check_assembly
from onnx import helper
from thoroughly import first_of, sampled

import legato
from legato.core.ir_helpers import find
from legato.driver import ptx
from legato.passes.gpu import tile_loop
from legato.targets.catalog import Catalog
from legato.targets.gpu import warpgroup_tiles

TARGET = "nvvm{approx=true chip=sm_90a}"
MULTIPLY, COPY = "nvvm.wgmma.mma_async", "nvvm.cp.async.bulk.tensor.shared.cluster.global"
HALF, BFLOAT = onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16


@pytest.fixture(autouse=True)
def hopper(monkeypatch):
    """The stand-in's chip, and no convolution has too little work."""
    monkeypatch.setenv("STANDIN_CHIP", "90")
    monkeypatch.setattr(warpgroup_tiles, "FEW", 1)
    monkeypatch.setattr(warpgroup_tiles, "LITTLE", 1)


@dataclass(frozen=True)
class Windows:
    """A convolution of images, channels last, by filters that lie with theirs last, with a bias, what is added, and relu behind it."""

    images: int | str
    sizes: tuple[int, ...]
    channels: int
    filters: int
    kernel: tuple[int, ...]
    strides: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    groups: int = 1
    added: bool = False

    def model(self, kind: int = HALF) -> onnx.ModelProto:
        """The model, of which all is of one type."""
        rank = len(self.sizes)
        given = {"strides": self.strides, "pads": self.pads, "dilations": self.dilations}
        last = [0, rank + 1, *range(1, rank + 1)]
        nodes = [helper.make_node("Transpose", ["x"], ["xt"], perm=last),
                 helper.make_node("Transpose", ["w"], ["wt"], perm=[rank + 1, rank, *range(rank)]),
                 helper.make_node("Conv", ["xt", "wt", "b"], ["c"], group=self.groups, **{name: one for name, one in given.items() if one})]
        if self.added:
            nodes += [helper.make_node("Transpose", ["r"], ["rt"], perm=last), helper.make_node("Add", ["c", "rt"], ["a"])]
        nodes += [helper.make_node("Relu", ["a" if self.added else "c"], ["f"]),
                  helper.make_node("Transpose", ["f"], ["y"], perm=[0, *range(2, rank + 2), 1])]
        inputs = [helper.make_tensor_value_info(name, kind, shape) for name, shape in self.shapes().items()]
        graph = helper.make_graph(nodes, "windows", inputs, [helper.make_tensor_value_info("y", kind, None)])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=9)

    def shapes(self) -> dict[str, tuple]:
        """Those of the inputs; what is added has the images' sizes."""
        found = {"x": (self.images, *self.sizes, self.channels), "w": (*self.kernel, self.channels // self.groups, self.filters),
                 "b": (self.filters,)}
        return found | ({"r": (self.images, *self.sizes, self.filters)} if self.added else {})

    def check(self, exe, type_=np.float16, images=0, error=2e-3):
        """AssertionError where a call gives something else than onnxruntime in f32."""
        random = np.random.default_rng(0)
        shapes = {name: [images if isinstance(one, str) else one for one in shape] for name, shape in self.shapes().items()}
        given = {name: random.standard_normal(shape).astype(type_) for name, shape in shapes.items()}
        session = onnxruntime.InferenceSession(self.model(onnx.TensorProto.FLOAT).SerializeToString())
        wanted = np.asarray(session.run(None, {name: array.astype(np.float32) for name, array in given.items()})[0])
        found = np.asarray(exe(*given.values()))
        assert found.dtype == type_ and np.abs(found.astype(np.float32) - wanted).max() <= error * wanted.max(), self


def outlined(of: Windows, kind: int = HALF) -> legato.Module:
    """The convolution, whose kernels are functions."""
    return standin.outlined(legato.from_onnx(of.model(kind)), TARGET)


def kernels(lowered: legato.Module) -> list[bool]:
    """Whether each kernel multiplies windows by warpgroups."""
    return [bool(find(one, MULTIPLY)) and any("im2col" in str(op.attributes["mode"]) for op in find(one, COPY))
            for one in find(lowered.operation, "gpu.func")]


@pytest.mark.parametrize("of", sampled([
    Windows(3, (14, 13), 64, 72, (3, 3), pads=(1, 1, 1, 1)),
    Windows(3, (17, 12), 128, 64, (2, 3), strides=(2, 1), pads=(0, 2, 1, 0)),
    Windows(1, (15, 18), 64, 64, (3, 3), pads=(2, 1, 2, 1), dilations=(2, 1), added=True),
    Windows(3, (9, 15), 96, 64, (1, 1), strides=(2, 1)),
    Windows(2, (80,), 64, 64, (3,), pads=(1, 1)),
    Windows(2, (4, 5, 6), 64, 64, (3, 2, 2), pads=(1, 0, 1, 1, 1, 1))], 4), ids=lambda of: f"{of.sizes}")
def test_windows_of_halves(of):
    """Paddings on one side, strides, dilations and windows of other sizes along each axis; tiles that are of two images,
    filters and channels that do not fill a tile. One launch, and no two rows of a matrix are in one bank."""
    driver = standin.driver()
    before, conflicts = driver.standin_products(), driver.standin_tile_conflicts()
    lowered = outlined(of)
    assert kernels(lowered) == [True]
    of.check(standin.compiled(lowered, TARGET))
    assert driver.standin_products() > before and driver.standin_tile_conflicts() == conflicts


@pytest.mark.parametrize("tiles", first_of(warpgroup_tiles.WINDOW_TILES[:4]), ids=lambda one: f"{one[0].rows} x {one[0].columns}")
def test_larger_tiles(tiles, monkeypatch):
    """Each of the table's, on a device of two multiprocessors, whose blocks go through tiles."""
    monkeypatch.setenv("STANDIN_MULTIPROCESSORS", "2")
    monkeypatch.setattr(warpgroup_tiles, "WINDOW_TILES", (tiles,))
    monkeypatch.setattr(tile_loop, "RESIDENT", 1)
    of = Windows(4, (9, 9), 64, 64 if tiles[0].columns == 64 else 264, (2, 3), pads=(1, 1, 0, 1))
    lowered = outlined(of)
    assert kernels(lowered) == [True]
    of.check(standin.compiled(lowered, TARGET))


def test_windows_of_bf16():
    """As of f16, with a residual."""
    of = Windows(3, (7, 7), 64, 64, (3, 3), pads=(1, 1, 1, 1), added=True)
    lowered = outlined(of, BFLOAT)
    assert kernels(lowered) == [True]
    of.check(standin.compiled(lowered, TARGET), ml_dtypes.bfloat16, error=1e-2)


def test_images_of_unknown_number():
    """Their number is a size of the call."""
    of = Windows("n", (9, 11), 64, 64, (3, 3), pads=(1, 1, 1, 1))
    lowered = outlined(of)
    exe = standin.compiled(lowered, TARGET)
    assert any(kernels(lowered))
    for images in (3, 1, 3):
        of.check(exe, images=images)


@pytest.mark.parametrize("of", [Windows(3, (9, 11), 72, 64, (3, 3)), Windows(3, (9, 11), 128, 128, (3, 3), groups=2),
                                Windows(3, (80, 80), 64, 64, (3, 3), strides=(9, 9)),
                                Windows(1, (140, 140), 64, 64, (2, 2), pads=(129, 0, 0, 0), strides=(8, 8))])
def test_other_convolutions_have_other_schedules(of):
    """Channels that are no whole steps, groups, and windows further apart, and paddings larger, than the engine has numbers for: by
    instructions of warps."""
    assert not any(kernels(outlined(of)))


@pytest.mark.parametrize("of, tile", [
    (Windows(32, (56, 56), 64, 64, (3, 3), pads=(1,) * 4), (128, 64)), (Windows(32, (28, 28), 128, 128, (3, 3), pads=(1,) * 4), (64, 128)),
    (Windows(32, (28, 28), 128, 512, (1, 1)), (128, 256)), (Windows(32, (14, 14), 256, 1024, (1, 1)), (128, 128)),
    (Windows(1, (28, 28), 256, 256, (3, 3), pads=(1,) * 4), (64, 64)), (Windows("n", (28, 28), 256, 256, (3, 3), pads=(1,) * 4), (64, 128)),
    (Windows(1, (14, 14), 256, 256, (3, 3), pads=(1,) * 4), None), (Windows(1, (28, 28), 128, 512, (1, 1)), None),
    (Windows(32, (56, 56), 64, 256, (1, 1)), None)])
def test_tiles_by_sizes(of, tile, monkeypatch):
    """Those that an H200 took least time with; few results, little work, and a single step of depth are left to others."""
    monkeypatch.undo()
    text = str(legato.lower(legato.from_onnx(of.model()), TARGET, last="schedules"))
    sizes = {(int(rows), int(columns)) for rows, columns in re.findall(r"tiles = array<i64: (\d+), (\d+), \d+>", text)}
    assert ("tma_tile" in text) == (tile is not None) and (tile is None or tile in sizes)


def test_the_engine_goes_through_pixels():
    """A copy of windows, one for each panel of the filters, and no spills, if ptxas is installed."""
    pytest.importorskip("llvmlite")
    module = legato.from_onnx(Windows(64, (28, 28), 128, 128, (3, 3), pads=(1, 1, 1, 1)).model())
    text = ptx(legato.lower(module, TARGET), Catalog().resolve(TARGET))
    assert text.count("cp.async.bulk.tensor.4d.shared::cluster.global.im2col") == 1
    assert text.count("cp.async.bulk.tensor.4d.shared::cluster.global.tile") == 2
    check_assembly(text)
