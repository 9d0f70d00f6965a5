"""Products of integers of 8 bits by dot products of four bytes: NVIDIA's dp4a on chips without matrix instructions for them, and Vulkan's
integer dot products, which Mesa's driver for CPUs has."""
import re
import subprocess

import numpy as np
import onnxruntime
import pytest
import standin
from product_models import product
from test_cooperative_vulkan import VALIDATOR
from test_integer_products import BYTE_TYPES, attention, convolutions, dequantized, grouped, integers, products
from thoroughly import first_of, thorough
from vulkan_driver import needs_vulkan

import legato
from legato.codegen.cubin import find_ptxas
from legato.codegen.spirv import binaries
from legato.core.ir_helpers import find
from legato.driver import ptx
from legato.runtime.vulkan import device as devices
from legato.runtime.vulkan import features
from legato.schedule.state import ScheduleError
from legato.targets.catalog import Catalog

VULKAN = "vulkan{matrices=none subgroup=32 dot-products=true}"
DOTS = ("tir.dot4_u8s8", "tir.dot4_s8s8", "tir.dot4_u8u8")


def compiled(kernel, on, monkeypatch):
    """A kernel on a chip of NVIDIA's, by the stand-in, or on Vulkan."""
    if on == "vulkan":
        return legato.compile(kernel, VULKAN)
    monkeypatch.setenv("STANDIN_CHIP", on.strip("sm_"))
    return standin.compiled(kernel, f"nvvm{{approx=true chip={on}}}")


@pytest.mark.parametrize("on", [pytest.param("vulkan", marks=needs_vulkan), "sm_75"])
@pytest.mark.parametrize("left, right, sizes, turned", [
    ("u8", "s8", (72, 136, 272), True), *thorough([("s8", "u8", (40, 56, 70), False), ("u8", "u8", (64, 128, 2048), True),
                                                   ("s8", "s8", (9, 33, 1111), True)], names=4)])
def test_sums_are_exact(on, left, right, sizes, turned, monkeypatch):
    """All signs, whole words and single bytes to be copied, a depth that slices of a block share."""
    m, n, k = sizes
    kernel = product(BYTE_TYPES[left], False, turned, m, n, k, BYTE_TYPES[right])
    lowered = legato.lower(kernel, VULKAN if on == "vulkan" else f"nvvm{{chip={on}}}", last="outlined")
    assert find(lowered.operation, *DOTS) and len(find(lowered.operation, "gpu.launch_func")) == 1
    a, b = integers(BYTE_TYPES[left], (m, k)), integers(BYTE_TYPES[right], (n, k) if turned else (k, n), seed=1)
    found = compiled(kernel, on, monkeypatch)(a, b)
    wide = b.astype(np.int64)
    np.testing.assert_array_equal(found, a.astype(np.int64) @ (wide.T if turned else wide))


@needs_vulkan
@pytest.mark.parametrize("case", first_of([convolutions, grouped, attention, products, dequantized]))
def test_models_on_vulkan(case):
    """Sums are those of onnxruntime, and what is made of them in f32 is near."""
    model, given, tolerance = case()
    found = legato.compile(legato.from_onnx(model), VULKAN)(**given)
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, given)
    for one, want in zip(found if isinstance(found, tuple) else (found,), map(np.asarray, wanted), strict=True):
        if want.dtype == np.int32:
            np.testing.assert_array_equal(one, want)
        else:
            assert np.abs(one - want).max() <= tolerance * np.abs(want).max()


def test_the_instructions_of_nvidia():
    """Signs are the operands'; words come from shared memory four at once, and ptxas spills nothing in the largest tile."""
    pytest.importorskip("llvmlite")
    on = "nvvm{chip=sm_75}"
    text = ptx(legato.lower(product("uint8", False, True, 2048, 2048, 512, "int8"), on), Catalog().resolve(on))
    assert text.count("dp4a.u32.s32") == 8 * 4 * 4 and "ld.shared.v4.b32" in text
    assert not find(legato.lower(product("uint8", False, True, right_dtype="int8"), "nvvm{chip=sm_60}", last="outlined").operation, *DOTS)
    assembler = find_ptxas()
    if assembler is not None:
        command = [assembler, "-v", "-arch=sm_75", "-o", "/dev/null", "/dev/stdin"]
        done = subprocess.run(command, input=text, capture_output=True, text=True)
        assert done.returncode == 0 and " 0 bytes spill stores" in done.stderr, done.stderr
        assert int(re.findall(r"Used (\d+) registers", done.stderr)[0]) <= 128


def test_the_binaries_are_valid(tmp_path):
    """By Khronos' validator, where it is installed: with the capabilities of dot products, and without a byte in memory."""
    lowered = legato.lower(product("int8", False, True, 64, 64, 128, "uint8"), VULKAN)
    code, = binaries(lowered).values()
    declared = features.capabilities(code)
    assert {features.DOT_PRODUCT, features.PACKED_DOT_PRODUCT} <= set(declared) and 39 not in declared    # Int8
    if VALIDATOR.exists():
        (tmp_path / "k.spv").write_bytes(code)
        subprocess.run([VALIDATOR, "--target-env", "vulkan1.3", tmp_path / "k.spv"], check=True)


@needs_vulkan
def test_a_device_without_them(tmp_path, monkeypatch):
    """A model for another device says what this one lacks; one for this device has none."""
    kernel, device = product("uint8", False, True, right_dtype="int8"), devices.the_device()
    legato.compile(kernel, VULKAN).save(tmp_path / "m.legato")
    monkeypatch.setattr(device, "able", device.able - {features.DOT_PRODUCTS})
    with pytest.raises(Exception, match=r"kernel_kernel needs integer dot products \(shaderIntegerDotProduct\), which the device .* lacks; "
                                        r"compile for the target 'vulkan\{dot-products=false\}'"):
        legato.load(tmp_path / "m.legato")(np.ones((40, 72), np.uint8), np.ones((56, 72), np.int8))
    assert not find(legato.lower(kernel, "vulkan", last="outlined").operation, *DOTS)
    with pytest.raises(legato.LegatoError, match="option 'dot-products' wants host, true or false, found 'maybe'"):
        legato.lower(kernel, "vulkan{dot-products=maybe}")


def test_other_blocks_are_refused():
    sch = legato.Schedule(product("uint8", False, True, right_dtype="int8"))
    *_, multiply, _ = sch.tile_product(sch.get_block("C"), [16, 16, 32], unconverted=True, depth_last=True)
    step = sch.get_loops(multiply)[-1]
    with pytest.raises(ScheduleError, match=r"'dot4_u8_s8' is a loop of 4 steps around one block; under .* are loops of \[32\]"):
        sch.tensorize(step, "dot4_u8_s8")
    _, four = sch.split(step, [None, 4])
    with pytest.raises(ScheduleError, match=r"block 'C' does not compute what 'dot4_s8' does, result\[m, n\] \+= i32\(left\[m, k\]\)"):
        sch.tensorize(four, "dot4_s8")
