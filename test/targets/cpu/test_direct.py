"""Direct convolutions, in groups and not, against onnxruntime, compiled as users do. All cases of a test are one model."""
from collections.abc import Sequence

import numpy as np
import onnxruntime
import pytest
from lowering import Lowering
from onnx import TensorProto, helper, numpy_helper
from thoroughly import first_of

import legato
from legato.core import cpu
from legato.passes.cpu.direct.spread import pieces_of
from legato.passes.cpu.row_tiles import shares_of
from legato.targets.cpu.machine import LEVELS

LEVELS_HERE = [f"llvm{{cpu={level}}}" for level in LEVELS[1:] if not cpu.missing_features(level, "")]
PACKED = ".direct"      # in the names of filters in another order
# images, groups, channels and features of a group, what differs from windows of 3 in each dimension with a padding of 1
CASES = [
    ((1, 14, 14), 4, 16, 16, {}), ((1, 13, 9), 2, 16, 16, {"strides": [2, 2]}), ((2, 7, 8), 3, 5, 24, {}), ((1, 9, 30), 2, 32, 64, {}),
    ((1, 11, 10), 2, 8, 56, {"strides": [1, 2]}), ((1, 6, 7), 3, 20, 20, {}),
    ((1, 9, 12), 2, 7, 40, {"dilations": [2, 2], "pads": [2] * 4}), ((1, 28, 28), 32, 4, 4, {}),
    ((1, 12, 13), 16, 8, 8, {"strides": [2, 2]}), ((1, 10, 9), 5, 4, 4, {}), ((2, 8, 8), 24, 2, 2, {}), ((1, 9, 9), 13, 8, 8, {}),
    ((1, 8, 17), 7, 3, 3, {}), ((1, 8, 9), 4, 6, 6, {}), ((1, 12, 12), 9, 5, 5, {"strides": [3, 1]}),
    ((1, 14, 15), 40, 1, 2, {"kernel_shape": [7, 7], "pads": [3] * 4, "strides": [2, 2]}), ((1, 7, 7), 10, 1, 3, {}),
    ((1, 9, 8), 6, 2, 1, {}), ((1, 9, 8), 8, 8, 4, {}), ((1, 9, 8), 2, 12, 12, {}), ((1, 6, 5), 4, 4, 4, {"pads": [5, 4, 3, 6]}),
    ((1, 8, 33), 4, 4, 4, {"pads": [0] * 4}), ((1, 5, 40), 2, 17, 33, {"kernel_shape": [1, 9], "pads": [0, 4, 0, 4]}),
    ((1, 25, 4), 4, 4, 4, {"kernel_shape": [9, 1], "pads": [4, 0, 4, 0]}), ((1, 30), 4, 4, 4, {"kernel_shape": [3], "pads": [1, 1]}),
    ((2, 50), 3, 16, 48, {"kernel_shape": [5], "pads": [2, 2], "strides": [2]}),
    ((1, 14, 14), 4, 16, 16, {"kernel_shape": [1, 1], "pads": [0] * 4}), ((1, 8, 9), 32, 3, 1, {}),
    ((1, 8, 7), 16, 4, 4, {"kernel_shape": [1, 1], "pads": [0] * 4}), ((1, 13, 14), 20, 1, 2, {"strides": [3, 3], "dilations": [2, 2]}),
    ((1, 9, 11), 3, 24, 2, {}), ((1, 8, 7), 3, 20, 6, {"strides": [2, 1]}), ((1, 5, 4, 6), 4, 19, 1, {}),
    ((1, 4, 9, 8), 2, 16, 16, {}), ((2, 5, 6, 7), 6, 4, 4, {"strides": [2, 1, 2], "dilations": [1, 2, 1], "pads": [1, 2, 1, 0, 1, 3]}),
]


# the same, without groups
DENSE = [
    ((1, 15, 14), 1, 16, 48, {"strides": [2, 2]}), ((2, 9, 30), 1, 3, 32, {"strides": [2, 2]}),
    ((1, 20, 21), 1, 12, 33, {"kernel_shape": [5, 5], "pads": [2] * 4}),
    ((1, 8, 9), 1, 24, 8, {"dilations": [5, 3], "pads": [5, 3, 5, 3]}),
    ((1, 11, 6), 1, 7, 80, {"kernel_shape": [7, 1], "pads": [3, 0, 3, 0]}),
    ((1, 6, 23), 1, 20, 17, {"kernel_shape": [1, 7], "pads": [0, 3, 0, 3]}),
    ((1, 5, 5), 1, 8, 16, {"pads": [4, 5, 3, 6], "strides": [3, 1]}), ((1, 50), 1, 20, 64, {"kernel_shape": [3], "pads": [1, 1]}),
    ((2, 31), 1, 5, 24, {"kernel_shape": [4], "pads": [1, 2], "strides": [2]}),
    ((1, 7, 7), 1, 40, 64, {"strides": [2, 2], "auto_pad": "SAME_LOWER", "pads": None}), ((1, 4, 4), 1, 9, 32, {"strides": [2, 2]}),
    ((1, 56, 58), 1, 3, 64, {}),    # few channels: not Winograd's
    ((1, 4, 7, 9), 1, 10, 33, {"strides": [1, 2, 2]}), ((2, 3, 6, 5), 1, 8, 32, {"pads": [3, 0, 2, 1, 4, 0], "strides": [2, 1, 3]}),
    ((1, 8, 12, 13), 1, 3, 48, {"kernel_shape": [3, 7, 7], "pads": [1, 3, 3] * 2, "strides": [1, 2, 2]}),
    ((1, 100), 1, 24, 32, {"kernel_shape": [11], "dilations": [5], "pads": [25, 25]}),    # tiles beside the image
    ((1, 10, 9), 1, 12, 40, {"dilations": [9, 8], "pads": [9, 8] * 2}), ((1, 5, 11), 1, 8, 32, {"pads": [1, 30, 1, 20], "strides": [1, 2]}),
    ((1, 13, 5), 1, 9, 5, {}), ((1, 6, 7), 1, 4, 7, {"strides": [2, 2]}),
    ((1, 7, 6, 5), 1, 9, 64, {"kernel_shape": [2, 3, 1], "dilations": [3, 2, 1], "pads": [1, 2, 0, 2, 1, 0]}),
]


# taps further apart than tiles are long: without groups, too
FAR = [
    ((1, 10, 9), 1, 12, 40, {"dilations": [9, 18], "pads": [9, 18] * 2}),
    ((1, 6, 33), 1, 16, 32, {"dilations": [12, 12], "pads": [12] * 4}),
    ((2, 40), 2, 8, 16, {"kernel_shape": [4], "dilations": [11], "pads": [11, 17], "strides": [2]}),
    ((1, 9, 14), 1, 16, 24, {"dilations": [1, 36], "pads": [1, 36] * 2}), ((1, 24), 32, 1, 1, {"dilations": [16], "pads": [16, 16],
                                                                                             "kernel_shape": [3]}),
    ((1, 4, 20), 1, 8, 48, {"kernel_shape": [2, 5], "dilations": [3, 24], "pads": [0, 39, 2, 52], "strides": [1, 3]}),
]


def has_known_width(number: int) -> bool:
    """Whether images of otherwise unknown sizes have a known width: in every fourth case."""
    return number % 4 == 3


def model(cases: Sequence[tuple], batch: str = "", sizes_known: bool = True) -> tuple[bytes, dict[str, np.ndarray]]:
    """A model of a convolution for each case, with one of some epilogues. ``batch``: the name of a symbolic number of images, where images
    may have symbolic sizes, too."""
    rng, nodes, constants, inputs, outputs, arrays = np.random.default_rng(5), [], [], [], [], {}
    for number, ((images, *sizes), groups, channels, features, differing) in enumerate(cases):
        attributes = {"kernel_shape": [3] * len(sizes), "pads": [1] * 2 * len(sizes), "group": groups} | differing
        x, weight, y, all_of = f"x{number}", f"w{number}", f"y{number}", groups * features
        filters = rng.standard_normal((all_of, channels, *attributes["kernel_shape"])).astype(np.float32)
        filters /= np.sqrt(filters[0].size)
        scale = rng.standard_normal((all_of, *[1] * len(sizes))).astype(np.float32)
        constants += [numpy_helper.from_array(filters, weight), numpy_helper.from_array(scale, f"s{number}"),
                      numpy_helper.from_array(scale.reshape(-1), f"b{number}")]
        shape = [images, groups * channels, *sizes]
        stated_shape = [f"{batch}{number}" if batch else images, shape[1],
                        *(size if sizes_known else f"{axis}{number}" for axis, size in zip("hwd", sizes))]
        if has_known_width(number):
            stated_shape[-1] = sizes[-1]
        inputs.append(helper.make_tensor_value_info(x, TensorProto.FLOAT, stated_shape))
        arrays[x] = rng.standard_normal(shape).astype(np.float32)
        epilogue = ("Clip", "Mul", "HardSwish", "Identity", "Add")[number % 5]
        given, stated = [x, weight, f"b{number}"][:2 + number % 2], {name: value for name, value in attributes.items() if value is not None}
        nodes.append(helper.make_node("Conv", given, [f"c{number}"], **stated))
        given = {"Clip": ["low", "high"], "Mul": [f"s{number}"], "Add": [f"c{number}"]}.get(epilogue, [])
        nodes.append(helper.make_node(epilogue, [f"c{number}", *given], [y]))
        outputs.append(helper.make_tensor_value_info(y, TensorProto.FLOAT, None))
    constants += [numpy_helper.from_array(np.float32(value), name) for name, value in (("low", 0.0), ("high", 6.0))]
    graph = helper.make_graph(nodes, "grouped", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString(), arrays


def check(bytes_: bytes, arrays: dict[str, np.ndarray], target: str, cases: Sequence[tuple]) -> str:
    """Checks the results. Returns the module once it is fused."""
    session = onnxruntime.InferenceSession(bytes_, providers=["CPUExecutionProvider"])
    lowering = Lowering(legato.from_onnx(bytes_), target)
    fused = str(lowering.at("fused"))
    results = lowering.executable(*arrays.values())
    expected = session.run(None, arrays)
    for case, wanted, result in zip(cases, expected, results if len(expected) > 1 else [results], strict=True):
        np.testing.assert_allclose(np.from_dlpack(result), np.asarray(wanted), rtol=1e-5, atol=2e-5, err_msg=str(case))
    return fused


@pytest.mark.parametrize("target", first_of(LEVELS_HERE[::-1]))
def test_widths_windows_and_epilogues(target):
    text = check(*model(CASES), target, CASES)
    # all but wide 1 x 1, with depthwise ones for groups of one feature; names of filters would not count, since small ones have none
    assert text.count('tir.state = "scheduled"') == len(CASES) - 1


@pytest.mark.parametrize("threads", first_of([2, 1]))
@pytest.mark.parametrize("target", first_of(LEVELS_HERE[::-1]))
def test_images_of_unknown_sizes(target, threads):
    cases = CASES + FEW
    text = check_several_sizes(cases, target.replace("}", f",threads={threads}}}"))
    assert text.count('tir.state = "scheduled"') >= len(cases) - 8    # but those of 1 x 1, and some of wide windows


@pytest.mark.parametrize("options", first_of(["threads=2", "check-bounds=true fill-memory=true"]))
def test_far_taps_of_images_of_unknown_sizes(options):
    text = check_several_sizes(FAR, f"llvm{{{options}}}")
    if cpu.missing_features("x86-64-v4", "") == []:
        assert text.count('tir.state = "scheduled"') >= 4


@pytest.mark.parametrize("target", first_of(LEVELS_HERE[::-1]))
def test_parts_of_the_channels_of_images_of_unknown_sizes(target, monkeypatch):
    """Where the result keeps the sums of a part of the channels, no position is computed twice."""
    monkeypatch.setattr("legato.passes.cpu.direct_convolutions.parts_of", lambda form, machine, blocks: 2 if form.per_lane == 1 else 1)
    grouped = ((1, 7, 10), 2, 33, 20, {"kernel_shape": [5, 5], "strides": [2, 1], "pads": [2] * 4})
    text = check_several_sizes([grouped, *FAR[1:3]], target)
    assert text.count(PACKED) >= 2    # with fewer registers, convolutions without groups are left


def check_several_sizes(cases: Sequence[tuple], target: str) -> str:
    """Checks one model, of images of several sizes: as small as a window, of a tile and its neighbours, of none. Returns the module once
    it is fused."""
    bytes_, arrays = model(cases, "n", sizes_known=False)
    lowering = Lowering(legato.from_onnx(bytes_), target)
    fused = str(lowering.at("fused"))
    session = onnxruntime.InferenceSession(bytes_, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(7)
    for batch, more in ((0, 0), (1, 1), (0, 7), (0, 18), (-3, 0)):
        given = {}
        for number, (name, x) in enumerate(arrays.items()):
            sizes = [size + more for size in x.shape[2:-1]] + [x.shape[-1] + (0 if has_known_width(number) else more)]
            given[name] = rng.standard_normal((max(x.shape[0] + batch, 0), x.shape[1], *sizes)).astype(np.float32)
        for case, found, right in zip(cases, lowering.executable(*given.values()), session.run(None, given), strict=True):
            np.testing.assert_allclose(np.from_dlpack(found), np.asarray(right), rtol=1e-5, atol=2e-5, err_msg=f"{case} {batch} {more}")
    return fused


AVX512 = [target for target in LEVELS_HERE if "v4" in target]   # with fewer registers, convolutions without groups are left


@pytest.mark.parametrize("target", AVX512)
def test_without_groups(target):
    assert check(*model(DENSE), target, DENSE).count(PACKED) == len(DENSE)


FEW = [
    ((1, 14, 13), 1, 64, 1, {}), ((2, 9, 12), 1, 24, 3, {}), ((1, 8, 30), 1, 17, 3, {"strides": [2, 2]}), ((1, 7, 2), 1, 8, 2, {}),
    ((1, 12, 11), 1, 32, 3, {"kernel_shape": [9, 9], "pads": [4] * 4}), ((1, 40), 1, 20, 1, {"kernel_shape": [7], "pads": [3, 3]}),
    ((1, 9, 10), 1, 40, 3, {"kernel_shape": [1, 1], "pads": [0] * 4}), ((1, 13, 12), 1, 20, 2, {"strides": [4, 3]}),
    ((1, 9, 9), 1, 33, 2, {"dilations": [2, 3], "pads": [2, 3, 2, 3]}), ((1, 5, 6), 1, 16, 3, {"pads": [3, 2, 2, 3]}),
    ((1, 40), 1, 19, 2, {"dilations": [20], "pads": [20, 20], "kernel_shape": [3]}), ((1, 4, 6, 9), 1, 20, 2, {"strides": [1, 2, 1]}),
]


@pytest.mark.thorough
@pytest.mark.parametrize("target", first_of(LEVELS_HERE[::-1]))
def test_few_features(target):
    """Lanes are channels."""
    text = check(*model(FEW), target, FEW)
    assert text.count("vector.reduction") >= len(FEW)


LONG = [
    ((2, 5, 48, 36), 1, 40, 33, {"kernel_shape": [3, 1, 1], "pads": [1, 0, 0] * 2}),
    ((1, 6, 40, 30), 2, 24, 48, {"kernel_shape": [3, 1, 1], "strides": [2, 1, 1], "pads": [1, 0, 0] * 2}),
    ((1, 3, 8, 960), 1, 24, 32, {"kernel_shape": [2, 3, 1], "pads": [0, 1, 0, 1, 1, 0]}),
    ((2, 9, 1400), 1, 16, 80, {"kernel_shape": [5, 1], "dilations": [2, 1], "pads": [4, 0, 3, 0]}),
    ((1, 4, 29, 58), 1, 48, 64, {"kernel_shape": [3, 1, 1], "pads": [0, 0, 0, 1, 0, 0]}),
]


@pytest.mark.parametrize("target", AVX512)
def test_long_rows(target, monkeypatch):
    """Where the second cache does not hold the rows of a window, they are gone through piece by piece."""
    monkeypatch.setattr("legato.passes.cpu.window_loops.WORTH_IT", 1)
    found = []
    monkeypatch.setattr("legato.passes.cpu.direct_convolutions.pieces_of", lambda *args: found.append(pieces_of(*args)) or found[-1])
    for options in ("", ",threads=3"):
        assert check(*model(LONG), target.replace("}", options + "}"), LONG).count(PACKED) == len(LONG)
    assert found == [8, 10, 5, 7, 29] * 2    # for either number of threads


@pytest.mark.parametrize("target", AVX512)
@pytest.mark.parametrize("share, keeps", first_of([(4, False), (16, True)], 2))
def test_filters_larger_than_the_cache(target, share, keeps, monkeypatch):
    """They go through all rows part by part, and each part fetches the next; of a smaller cache, through chunks of rows, and a part of the
    channels after the other."""
    monkeypatch.setattr("legato.passes.cpu.direct.blocks.SHARE", share)
    monkeypatch.setattr("legato.passes.cpu.direct.spread.SHARE", share)
    cases = [((2, 14, 13), 1, 32, 96, {"strides": [2, 2]}), ((1, 7, 7), 1, 40, 64, {"strides": [2, 2]}), CASES[3],
             ((1, 90), 1, 80, 128, {"kernel_shape": [3], "pads": [1, 1]}), ((1, 3, 5, 6), 1, 12, 64, {"strides": [2, 2, 2]})]
    uneven = [((1, 9, 8), 1, 40, 75, {}), ((1, 7, 10), 2, 33, 20, {"kernel_shape": [5, 5], "strides": [2, 1], "pads": [2] * 4})]
    for options in ("", ",threads=3"):
        text = check(*model(cases), target.replace("}", options + ",winograd=false}"), cases)
        assert text.count(PACKED) == len(cases) and "memref.prefetch" in text
        assert ("scf.if" in text) == keeps    # the last part writes the result
        assert check(*model(uneven), target.replace("}", options + ",winograd=false}"), uneven).count(PACKED) == len(uneven)


@pytest.mark.parametrize("target", first_of(LEVELS_HERE[::-1]))
def test_filters_are_read_once_where_rows_are_short(target, monkeypatch):
    """Windows that do not overlap, and on CPUs with few registers all that have no groups, are tiles of products elsewhere."""
    cases = [((1, 9, 11), 1, 30, 50, {"strides": [3, 3]}), ((1, 6, 9, 5), 1, 12, 40, {"strides": [3, 3, 3]})]
    assert check(*model(cases), target, cases).count(PACKED) == 0
    monkeypatch.setattr("legato.passes.cpu.direct_convolutions.streams_filters", lambda form, machine: True)
    assert check(*model(cases), target, cases).count(PACKED) == len(cases)


@pytest.mark.parametrize("batch", first_of(["n", ""]))
def test_threads_share_rows(batch, monkeypatch):
    monkeypatch.setattr("legato.passes.cpu.window_loops.WORTH_IT", 1)
    cases = CASES[:3] + CASES[7:10] + CASES[-2:] + [FEW[0], FEW[3], FEW[-1]]    # few on all CPUs: three are not, where vectors have 8 lanes
    text = check(*model(cases, batch), "llvm{threads=3 winograd=false}", cases)
    assert text.count("scf.parallel") == len(cases)


@pytest.mark.parametrize("batch", first_of(["", "n"]))
def test_threads_share_an_only_row(batch, monkeypatch):
    """In parts of its tiles, those beside the image among them, where it is long. On CPUs with few registers, too, where those without
    groups would be tiles of products elsewhere."""
    monkeypatch.setattr("legato.passes.cpu.window_loops.WORTH_IT", 1)
    monkeypatch.setattr("legato.passes.cpu.direct_convolutions.streams_filters", lambda form, machine: True)
    found = []
    monkeypatch.setattr("legato.passes.cpu.window_loops.shares_of", lambda *args: found.append(shares_of(*args)) or found[-1])
    cases = [((1, 400), 1, 24, 40, {"kernel_shape": [3], "dilations": [40], "pads": [41, 39]}),
             ((2, 307), 1, 9, 64, {"kernel_shape": [5], "pads": [2, 1], "strides": [2]}),
             ((1, 150), 8, 4, 4, {"kernel_shape": [3], "pads": [1, 1]}), ((1, 211), 1, 40, 2, {"kernel_shape": [3], "pads": [0, 9]}),
             ((1, 199), 3, 20, 33, {"kernel_shape": [4], "pads": [3, 0]}),
             ((1, 1, 260), 1, 20, 64, {"pads": [1] * 4})]
    text = check(*model(cases, batch), "llvm{threads=3}", cases)
    assert text.count("scf.parallel") == len(cases)
    assert min(found) > 1


def test_a_residual_is_added():
    rng = np.random.default_rng(3)
    filters, bias = (rng.standard_normal(shape).astype(np.float32) for shape in ((64, 4, 3, 3), (64,)))
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1] * 4, group=16), helper.make_node("Add", ["c", "x"], ["s"]),
         helper.make_node("Relu", ["s"], ["y"])], "residual", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64, 9, 11])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(filters, "w"), numpy_helper.from_array(bias, "b")])
    bytes_ = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()
    assert PACKED in check(bytes_, {"x": rng.standard_normal((1, 64, 9, 11)).astype(np.float32)}, "llvm", ["residual"])
