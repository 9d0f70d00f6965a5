"""Products of integers of 8 bits by instructions of NVIDIA's GPUs: exact sums on the stand-in, which has the fragments of PTX's definition,
and models in 8 bits beside onnxruntime."""
import re
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
import standin
from onnx import helper
from product_models import product
from saturation import exact
from thoroughly import thorough

import legato
from legato.codegen.cubin import find_ptxas
from legato.core.ir_helpers import find
from legato.driver import ptx
from legato.schedule.state import ScheduleError
from legato.targets.catalog import Catalog

MMA, WGMMA, COPY = "nvgpu.mma.sync", "nvvm.wgmma.mma_async", "nvgpu.device_async_copy"
BYTE_TYPES = {"u8": "uint8", "s8": "int8"}


def target(chip, monkeypatch):
    """The target of a chip, which the stand-in is."""
    monkeypatch.setenv("STANDIN_CHIP", chip.strip("sm_a"))
    return f"nvvm{{approx=true chip={chip}}}"


def used(module, on):
    """The instructions that multiply and copy in a module's kernels."""
    lowered = standin.outlined(module, on)
    return [name for name in (MMA, WGMMA, COPY) if find(lowered.operation, name)]


def integers(dtype, shape, seed=0):
    """All integers of a type, by chance."""
    about = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(about.min, about.max + 1, shape, dtype)


@pytest.mark.parametrize("left, right, chip, turned, instructions", [
    ("u8", "s8", "sm_80", (False, True), [MMA, COPY]), ("s8", "u8", "sm_90a", (False, True), [WGMMA]),
    *thorough([("s8", "s8", "sm_80", (False, True), [MMA, COPY]), ("u8", "u8", "sm_80", (True, False), [MMA]),
              ("s8", "s8", "sm_90a", (False, True), [WGMMA]), ("u8", "u8", "sm_90a", (False, True), [WGMMA]),
              ("u8", "s8", "sm_60", (False, True), [])], names=5)])
def test_sums_are_exact(left, right, chip, turned, instructions, monkeypatch):
    """All signs, both operands' rows along the depth or not; no two rows of a matrix are in one bank."""
    on, (m, n, k) = target(chip, monkeypatch), (72, 136, 272)
    kernel = product(BYTE_TYPES[left], turned[0], turned[1], m, n, k, BYTE_TYPES[right])
    lowered = standin.outlined(kernel, on)
    assert used(lowered, on) == instructions
    a = integers(BYTE_TYPES[left], (k, m) if turned[0] else (m, k))
    b = integers(BYTE_TYPES[right], (n, k) if turned[1] else (k, n), seed=1)
    driver = standin.driver()
    before = driver.standin_conflicts(), driver.standin_tile_conflicts()
    found = standin.compiled(lowered, on)(a, b)
    assert (driver.standin_conflicts(), driver.standin_tile_conflicts()) == before
    x, y = a.astype(np.int64), b.astype(np.int64)
    np.testing.assert_array_equal(found, (x.T if turned[0] else x) @ (y.T if turned[1] else y))


def test_sums_wrap(monkeypatch):
    """As ONNX's and numpy's do: neither instruction saturates."""
    on = target("sm_80", monkeypatch)
    a, b = np.full((16, 65536 + 1024), 255, np.uint8), np.full((16, 65536 + 1024), 255, np.uint8)
    found = standin.compiled(product("uint8", False, True, 16, 16, a.shape[1]), on)(a, b)
    np.testing.assert_array_equal(found, np.full((16, 16), a.shape[1] * 255 * 255).astype(np.int32))


def model(nodes, inputs, outputs, constants):
    """An ONNX model. ``inputs``, ``outputs``: types and shapes by names."""
    infos = ([helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
              for name, (dtype, shape) in some.items()] for some in (inputs, outputs))
    weights = [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    taken, given = infos
    graph = helper.make_graph(nodes, "integers", taken, given, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def products():
    """MatMulInteger of signed and unsigned operands and zero points that are inputs or constants; a batch; rows in a symbolic number."""
    nodes = [helper.make_node("MatMulInteger", ["a", "w", "za"], ["p"]), helper.make_node("MatMulInteger", ["s", "v", "zs", "zv"], ["q"])]
    constants = {"w": integers("int8", (69, 56)), "v": integers("uint8", (96, 40)), "zv": np.uint8(200), "zs": np.int8(-3)}
    inputs = {"a": ("uint8", ["n", 69]), "za": ("uint8", []), "s": ("int8", [2, 24, 96])}
    return (model(nodes, inputs, {"p": ("int32", ["n", 56]), "q": ("int32", [2, 24, 40])}, constants),
            {"a": integers("uint8", (37, 69)), "za": np.array(131, np.uint8), "s": integers("int8", (2, 24, 96))}, 1)


def convolutions():
    """ConvInteger with a zero point that pads, of few and of more channels, strided and dilated, along one axis and along two."""
    attributes = [{"pads": [1, 2, 0, 1], "strides": [2, 1]}, {"pads": [2, 2, 2, 2], "dilations": [2, 2]}, {"pads": [1, 1]}]
    nodes = [helper.make_node("ConvInteger", [f"x{n}", f"w{n}", f"z{n}"], [f"y{n}"], **one) for n, one in enumerate(attributes)]
    shapes, filters = [(1, 3, 15, 14), (2, 16, 12, 12), (1, 32, 40)], [(24, 3, 5, 3), (40, 16, 3, 3), (32, 32, 3)]
    inputs = {f"x{n}": ("uint8" if n < 2 else "int8", list(shape)) for n, shape in enumerate(shapes)}
    constants = {f"w{n}": integers("int8", shape) for n, shape in enumerate(filters)} | {
        "z0": np.uint8(77), "z1": np.uint8(0), "z2": np.int8(-128)}
    given = {name: integers(dtype, shape) for name, (dtype, shape) in inputs.items()}
    return model(nodes, inputs, {f"y{n}": ("int32", None) for n in range(3)}, constants), given, 1


def grouped():
    """ConvInteger of groups of filters: of one channel each in vectors, of 17, of one channel and two filters, and of 16 channels."""
    attributes = [{"group": 32, "pads": [1, 2, 0, 1]}, {"group": 17, "strides": [2, 1]}, {"group": 5, "pads": [2, 2]},
                  {"group": 2, "pads": [1] * 4, "dilations": [2, 1]}]
    nodes = [helper.make_node("ConvInteger", [f"x{n}", f"w{n}", f"z{n}"], [f"y{n}"], **one) for n, one in enumerate(attributes)]
    shapes = [(1, 32, 9, 8), (2, 17, 7, 6), (2, 5, 11), (1, 32, 8, 7)]
    filters = [(32, 1, 3, 3), (17, 1, 3, 2), (10, 1, 4), (32, 16, 3, 3)]
    inputs = {f"x{n}": ("uint8", list(shape)) for n, shape in enumerate(shapes)}
    constants = {f"w{n}": integers("int8", shape) for n, shape in enumerate(filters)} | {f"z{n}": np.uint8(77 * n) for n in range(4)}
    given = {name: integers(dtype, shape) for name, (dtype, shape) in inputs.items()}
    return model(nodes, inputs, {f"y{n}": ("int32", None) for n in range(4)}, constants), given, 1


def attention(symbolic=False):
    """Both products of an attention of quantized values, with zero points; the softmax's becomes 0 as an unsigned byte."""
    names, zeros, depth = ("q", "k", "p", "v"), (3, -5, -128, 7), 24
    shape, given_shape = [2, 3, "n" if symbolic else 40, depth], (2, 3, 40, depth)
    quantized = {name: [helper.make_node("QuantizeLinear", [source, f"s{name}", f"z{name}"], [f"{name}q"]),
                        helper.make_node("DequantizeLinear", [f"{name}q", f"s{name}", f"z{name}"], [f"{name}d"])]
                 for name, source in zip(names, ("q", "t", "p", "v"))}
    nodes = [helper.make_node("Transpose", ["k"], ["t"], perm=[0, 1, 3, 2]), *quantized["q"], *quantized["k"],
             helper.make_node("MatMul", ["qd", "kd"], ["scores"]), helper.make_node("Softmax", ["scores"], ["p"], axis=-1),
             *quantized["p"], *quantized["v"], helper.make_node("MatMul", ["pd", "vd"], ["y"])]
    constants = {f"s{name}": np.float32(1 / 255 if name == "p" else 0.03) for name in names} | {
        f"z{name}": np.int8(zero) for name, zero in zip(names, zeros)}
    rng = np.random.default_rng(0)
    given = {name: rng.standard_normal(given_shape).astype(np.float32) for name in "qkv"}
    return model(nodes, {name: ("float32", shape) for name in "qkv"}, {"y": ("float32", None)}, constants), given, 1e-6


def dequantized():
    """A dequantized product and convolution in floats, with scales of columns and filters, and a sum with what is quantized before."""
    nodes = [helper.make_node("QuantizeLinear", ["x", "sx", "zx"], ["xq"]),
             helper.make_node("DequantizeLinear", ["xq", "sx", "zx"], ["xd"]),
             helper.make_node("DequantizeLinear", ["w", "sw", "zw"], ["wd"], axis=0),
             helper.make_node("Conv", ["xd", "wd", "b"], ["c"], pads=[1] * 4), helper.make_node("Add", ["c", "xd"], ["y"])]
    constants = {"sx": np.float32(0.02), "zx": np.int8(-128), "w": integers("int8", (32, 32, 3, 3)),
                 "b": np.linspace(-1, 1, 32, dtype=np.float32), "sw": np.linspace(0.01, 0.03, 32, dtype=np.float32),
                 "zw": np.zeros(32, np.int8)}
    x = np.random.default_rng(0).standard_normal((1, 32, 10, 10)).astype(np.float32)
    return model(nodes, {"x": ("float32", list(x.shape))}, {"y": ("float32", list(x.shape))}, constants), {"x": x}, 1e-6


@pytest.mark.parametrize("case, chip, launches", [(products, "sm_80", 5), (convolutions, "sm_80", 11), (dequantized, "sm_90a", 6),
                                                  *thorough([(grouped, "sm_80", 13), (attention, "sm_80", 10), (products, "sm_90a", 5),
                                                            (convolutions, "sm_90a", 11), (dequantized, "sm_80", 6)], names=3)])
def test_models_are_right(case, chip, launches, monkeypatch):
    """Sums are those of onnxruntime, and what is made of them in f32 is near. Pads, corrections and scales are in the launches that
    multiply; beside them are those that exchange axes, or raise bytes that come from outside."""
    on = target(chip, monkeypatch)
    given_model, given, tolerance = case()
    module = legato.from_onnx(given_model)
    lowered = standin.outlined(module, on)
    assert MMA in (instructions := used(lowered, on)) or WGMMA in instructions
    assert len(find(lowered.operation, "gpu.launch_func")) == launches
    found = standin.compiled(lowered, on)(**given)
    wanted = exact(given_model, given) or onnxruntime.InferenceSession(given_model.SerializeToString()).run(None, given)
    for one, want in zip(found if isinstance(found, tuple) else (found,), map(np.asarray, wanted), strict=True):
        assert one.dtype == want.dtype and one.shape == want.shape
        if want.dtype == np.int32:
            np.testing.assert_array_equal(one, want)
        else:
            assert np.abs(one - want).max() <= tolerance * np.abs(want).max()


@pytest.mark.parametrize("chip, wanted, registers", [("sm_80", "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32", 136),
                                                     ("sm_90a", "wgmma.mma_async.sync.aligned.m64n256k32.s32.u8.s8", 168)])
def test_the_largest_tiles_suffice(chip, wanted, registers):
    """The instructions, which do not saturate, and, if NVIDIA's assembler is here, no memory for registers."""
    pytest.importorskip("llvmlite")
    on = f"nvvm{{chip={chip}}}"
    text = ptx(legato.lower(product("uint8", False, True, 2048, 4096, 512, "int8"), on), Catalog().resolve(on))
    assert wanted in text and "satfinite" not in text
    assembler = find_ptxas()
    if assembler is not None:
        command = [assembler, "-v", f"-arch={chip}", "-o", "/dev/null", "/dev/stdin"]
        done = subprocess.run(command, input=text, capture_output=True, text=True)
        assert done.returncode == 0 and "(C" not in done.stderr and " 0 bytes spill stores" in done.stderr, done.stderr
        assert int(re.findall(r"Used (\d+) registers", done.stderr)[0]) <= registers


def test_other_signs_are_refused():
    sch = legato.Schedule(product("uint8", False, True, right_dtype="int8"))
    *_, multiply, _ = sch.tile_product(sch.get_block("C"), [16, 16, 32], unconverted=True, depth_last=True)
    with pytest.raises(ScheduleError, match=r"'mma_m16n16k32_s8' does, result\[m, n\] \+= i32\(left\[m, k\]\) \* i32\(right\[k, n\]\)"):
        sch.tensorize(sch.get_loops(multiply)[4], "mma_m16n16k32_s8")
