"""What a Vulkan device or its driver cannot do is an error that says what, where, and what to do."""
import dataclasses
import sys

import numpy as np
import pytest
from test_vulkan import ROWS, rows
from threads_kernels import device_function, histogram, matmul_tiled, tree
from vulkan_driver import needs_vulkan

import legato
from legato.codegen.spirv import binaries
from legato.driver import llvm_ir
from legato.runtime.vulkan import device as devices
from legato.runtime.vulkan.addresses import instructions, words_of
from legato.runtime.vulkan.blocks import block_of, shared_bytes
from legato.runtime.vulkan.plan import PlannedLaunch, Run
from legato.runtime.vulkan.planned import DevicePart

ONE = """func.func @main(%x: tensor<?x4x{0}, #relax.dims<["n", 4]>> {{relax.name = "x"}}) -> tensor<?x4x{0}, #relax.dims<["n", 4]>> {{
  %0 = "relax.{1}"(%x) : (tensor<?x4x{0}, #relax.dims<["n", 4]>>) -> tensor<?x4x{0}, #relax.dims<["n", 4]>> loc("layer/7")
  return %0 : tensor<?x4x{0}, #relax.dims<["n", 4]>>
}}"""


POWERS = """#m = affine_map<(d) -> (d)>
func.func private @k(%x: tensor<4xf64>, %n: tensor<4xi32>, %out: tensor<4xf64> {tir.out}) -> tensor<4xf64> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [#m, #m, #m], iterator_types = ["parallel"]}
      ins(%x, %n : tensor<4xf64>, tensor<4xi32>) outs(%out : tensor<4xf64>) {
  ^bb0(%a: f64, %b: i32, %o: f64):
    %1 = math.fpowi %a, %b : f64, i32
    linalg.yield %1 : f64
  } -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
func.func @main(%x: tensor<4xf64>, %n: tensor<4xi32>) -> tensor<4xf64> {
  %e = tensor.empty() : tensor<4xf64>
  %0 = call @k(%x, %n, %e) : (tensor<4xf64>, tensor<4xi32>, tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}"""


def module(dtype="f32", op="tanh"):
    return legato.Module.parse(ONE.format(dtype, op))


def refused(match, what, **named):
    with pytest.raises(legato.LegatoError, match=match):
        legato.compile(what, "vulkan", **named)


def test_what_the_compiler_refuses():
    refused("math.fpowi of f64: Vulkan's instructions compute it for f16 and f32", legato.Module.parse(POWERS))
    refused("calls the library function @cosf, and no library is on a Vulkan device", device_function)
    refused("the target 'vulkan' are compiled|for the target 'vulkan' graphs are compiled", module(), from_stage="fused")
    refused("the device of the target 'vulkan' runs the graph as a whole", module(), backends=["onnxruntime"])


def test_what_is_printed_is_no_llvm_ir():
    lowered = legato.lower(module(), "vulkan")
    assert "spirv.module" in str(lowered)
    with pytest.raises(legato.LegatoError, match="a Vulkan device takes SPIR-V"):
        llvm_ir(lowered)


def test_the_package_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "vulkan", None)
    with pytest.raises(legato.LegatoError, match=r"pip install 'legato\[vulkan\]'"):
        devices.library()


@needs_vulkan
def test_a_device_that_is_not_there(monkeypatch):
    monkeypatch.setenv(devices.CHOICE, "no such device")
    with pytest.raises(legato.LegatoError, match="LEGATO_VULKAN_DEVICE=no such device: there is no such device; there are 0: "):
        devices.VulkanDevice()


@needs_vulkan
def test_a_device_by_a_part_of_its_name(monkeypatch):
    monkeypatch.setenv(devices.CHOICE, devices.the_device().name[:5].upper())
    assert devices.VulkanDevice().name == devices.the_device().name


@needs_vulkan
def test_a_capability_that_the_device_lacks(monkeypatch):
    exe = legato.compile(module("i64", "negative"), "vulkan")
    x = np.arange(8).reshape(2, 4)
    np.testing.assert_array_equal(exe(x), -x)
    monkeypatch.setattr(devices.the_device(), "able", set())
    with pytest.raises(Exception, match=r"needs Int64.*lacks"):
        legato.compile(module("i64", "negative"), "vulkan{int64=true}")(x)


@needs_vulkan
@pytest.mark.parametrize("limits,match", [
    ({"buffer": 64}, "takes 128 bytes, and one buffer on the device .* can have 64"),
    ({"grid": (0, 1, 1)}, r"a launch has 1 blocks along axis 0, and the device .* takes 0"),
    ({"alignment": 1 << 20}, None),
])
def test_limits_of_the_device(monkeypatch, limits, match):
    device = devices.the_device()
    exe = legato.compile(module(), "vulkan")
    monkeypatch.setattr(device, "limits", dataclasses.replace(device.limits, **limits))
    x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)
    if match is None:   # all buffers of this model begin at 0
        np.testing.assert_allclose(exe(x), np.tanh(x), rtol=1e-5)
        return
    with pytest.raises(Exception, match=match):
        exe(x)
    monkeypatch.undo()
    np.testing.assert_allclose(exe(x), np.tanh(x), rtol=1e-5)   # nothing is lost


@needs_vulkan
@pytest.mark.parametrize("limits,match", [
    ({"threads": 100}, r"has blocks of \d+ x \d+ x \d+ threads, and the device .* takes 100, .*'vulkan\{schedules=false\}'"),
    ({"axes": (1, 1024, 64)}, r"threads, and the device .* takes \d+, 1 x 1024 x 64 at most along the axes"),
    ({"shared": 1024}, r"the kernel \w*matmul\w* takes \d{4,5} bytes of shared memory, and the device .* has 1024 for a block: "),
])
def test_blocks_beyond_the_device(monkeypatch, limits, match):
    """Vulkan promises blocks of 128 threads, and 16 KB of shared memory."""
    device = devices.the_device()
    model = legato.Module.parse(ROWS)
    monkeypatch.setattr(device, "limits", dataclasses.replace(device.limits, block=dataclasses.replace(device.limits.block, **limits)))
    x, w, expected = rows(70)
    exe = legato.compile(model, "vulkan")
    with pytest.raises(Exception, match=match):
        exe(x, w)
    monkeypatch.undo()
    np.testing.assert_allclose(exe(x, w), expected, rtol=1e-5, atol=1e-7)
    least = dataclasses.replace(device.limits.block, threads=128, axes=(128, 128, 64), shared=16384)
    monkeypatch.setattr(device, "limits", dataclasses.replace(device.limits, block=least))
    np.testing.assert_allclose(legato.compile(model, "vulkan{schedules=false}")(x, w), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kernel,block,shared", [
    (matmul_tiled, (16, 16, 1), 2 * 64 * 8 * 4), (tree, (128, 1, 1), 128 * 4), (histogram, (10, 1, 1), 10 * 4)])
def test_what_a_block_takes(kernel, block, shared):
    """The threads, and the tiles, that kernels by hand ask for."""
    (code,) = binaries(legato.lower(kernel, "vulkan")).values()
    found = list(instructions(words_of(code)))
    assert (block_of(found), shared_bytes(found)) == (block, shared)


def test_numbers_beyond_the_kernels_32_bits():
    program = {"arguments": [0], "steps": [["const", 1, 1], ["numbers", 2, 1], ["const", 3, 0], ["put", 0, 2, 3],
                                           ["launch", "k", [1, 1, 1], [2], "matmul layer/7"]]}
    with pytest.raises(legato.LegatoError, match=r"matmul layer/7: a size of 2147483648 is beyond the 32 bits"):
        Run().program(program, [1 << 31])
    run = Run()
    run.program(program, [(1 << 31) - 1])
    assert isinstance(run.launches[0], PlannedLaunch) and run.launches[0].numbers == ((1 << 31) - 1,)


def test_places_beyond_the_kernels_32_bits():
    """Each size of a buffer fits, and the place of its last element does not."""
    steps = [["recast", 2, 0, [0], [1 << 16, [1]], [[1], 1]], ["const", 3, 1], ["numbers", 4, 1],
             ["launch", "k", [3, 3, 3], [2, 4], "exp layer/7"]]
    program = {"arguments": [0, 1], "steps": steps}
    with pytest.raises(legato.LegatoError, match=r"exp layer/7: a buffer of 2147483648 elements is beyond the 32 bits .* reach 2147418112"):
        Run().program(program, [DevicePart(0, 0), 1 << 15])
    run = Run()
    run.program(program, [DevicePart(0, 0), (1 << 15) - 1])
    assert len(run.launches) == 1


def test_a_plan_with_loops_and_branches():
    """for i in range(0, n, 2): if i < 4: launch(i)"""
    then = [["launch", "k", [2, 2, 2], [6], ""], ["set", [], []]]
    body = [["cmp", 5, "lt", 4, 3], ["numbers", 6, 1], ["put", 4, 6, 1], ["if", 5, then, []],
            ["add", 8, 7, 2], ["set", [7], [8]]]
    program = {"arguments": [0], "steps": [["const", 1, 0], ["const", 2, 1], ["const", 3, 4], ["const", 9, 2], ["set", [7], [1]],
                                           ["for", 4, 1, 0, 9, body]]}
    run = Run()
    run.program(program, [9])
    assert [one.numbers for one in run.launches if isinstance(one, PlannedLaunch)] == [(0,), (2,)] and run.values[7] == 5


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), 2.0**63, -1e30])
def test_floats_that_are_no_sizes(number):
    program = {"arguments": [0], "steps": [["int", 1, 0, 'arith.fptosi "zoom"']]}
    with pytest.raises(ValueError, match=r'main cannot run on these inputs: arith.fptosi "zoom": a size is (nan|-?inf|-?\d)'):
        Run().program(program, [number])
    run = Run()
    run.program(program, [-2.0**63])
    run.program(program, [2.75])
    assert run.values[1] == 2


def test_what_a_storage_buffer_cannot_hold_is_unsupported():
    """Not a failure of a pass, which would be one of the compiler."""
    module = legato.Module.parse("""module attributes {gpu.container_module} { gpu.module @m {
      gpu.func @k(%a: memref<4xf32>, %x: f32) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
        %c0 = arith.constant 0 : index
        memref.store %x, %a[%c0] : memref<4xf32>
        gpu.return
      } loc("layer/7") } }""")
    with pytest.raises(legato.UnsupportedError, match=r'gpu.func "layer/7": the kernel takes a value of type f32 from the host'):
        legato.Pipeline("tir-flatten-kernels").run(module)
