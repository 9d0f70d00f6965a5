"""Buffers that are larger than a Vulkan device binds: kernels reach them by addresses. Most tests lower that limit instead."""
import dataclasses
import shutil
import subprocess
import weakref

import numpy as np
import onnx
import pytest
from emulate import inputs
from onnx import helper, numpy_helper
from test_vulkan import ROWS, SIZES, rows
from thoroughly import sampled
from threads_kernels import REFERENCES, cube, histogram, matmul_any, reversed_rows, softmax
from vulkan_driver import needs_vulkan

import legato
from legato.codegen.spirv import binaries
from legato.core.errors import LegatoError
from legato.runtime.vulkan import device as devices
from legato.runtime.vulkan.addresses import aligned, by_address, instructions, strides, words_of
from legato.runtime.vulkan.model import VulkanModel
from legato.runtime.vulkan.planned import DevicePart

LOAD, STORE, BOUND = 61, 62, 128 << 20


@pytest.fixture
def lowered(monkeypatch):
    """Lowers the most bytes that the device binds, and notes which buffers of which kernels are then reached by address."""
    device, made = devices.the_device(), {}

    def lower(most, **others):
        monkeypatch.setattr(device, "limits", dataclasses.replace(device.limits, bound=most, **others))
        return made

    plain = VulkanModel.kernel
    monkeypatch.setattr(VulkanModel, "kernel", lambda model, launch, chosen: made.setdefault(launch.kernel, set()).add(chosen) or plain(
        model, launch, chosen))
    return lower


@needs_vulkan
def test_all_buffers_of_a_model(lowered):
    exe = legato.compile(legato.Module.parse(ROWS), "vulkan")
    made = lowered(16)
    for n in (1, 300, 0, 5):
        x, w, expected = rows(n)
        np.testing.assert_allclose(exe(x, w), expected, rtol=1e-5, atol=1e-7)
    assert len(made) == 3 and all(max(map(len, chosen)) >= 2 for chosen in made.values())


@needs_vulkan
def test_those_that_are_larger_only(lowered):
    """One kernel takes a buffer in both ways, as the sizes of a call are; a launch that was recorded stays as it was."""
    exe = legato.compile(legato.Module.parse(ROWS), "vulkan")
    made = lowered(64 * 32 * 4)
    for n in (32, 33, 32, 65):      # x takes 64 * 4 bytes a row, the product and the result 32 * 4, and w exactly what is bound
        x, w, expected = rows(n)
        np.testing.assert_allclose(exe(x, w), expected, rtol=1e-5, atol=1e-7)
    product, softmaxes = made["kernel_matmul_kernel_0"], made["kernel_softmax_kernel"]
    assert () in product and (0,) in product and () in softmaxes and (0, 1) in softmaxes


@needs_vulkan
@pytest.mark.parametrize("kernel", [reversed_rows, matmul_any, softmax, cube, histogram], ids=lambda k: k.__name__)
def test_kernels_by_hand(kernel, lowered):
    exe = legato.compile(kernel, "vulkan")
    made = lowered(16)
    arrays = inputs(exe, **SIZES)
    np.testing.assert_allclose(exe(*arrays), REFERENCES[kernel](*arrays), rtol=1e-5, atol=1e-5)
    assert any(any(chosen) for chosen in made.values())


@needs_vulkan
@pytest.mark.parametrize("dtype,target", sampled(
    [*((one, "vulkan") for one in ("f64", "f16", "i64", "i8")), ("i64", "vulkan{int64=false}")], 2, 2))
def test_elements_of_other_sizes(dtype, target, lowered):
    type_ = f'tensor<?x3x{dtype}, #relax.dims<["n", 3]>>'
    truth = type_.replace(dtype, "i1")
    exe = legato.compile(legato.Module.parse(f"""func.func @main(%x: {type_}, %y: {type_}) -> ({type_}, {truth}) {{
      %0 = "relax.less"(%x, %y) : ({type_}, {type_}) -> {truth}
      %1 = "relax.where"(%0, %x, %y) : ({truth}, {type_}, {type_}) -> {type_}
      %2 = "relax.cumsum"(%1) {{axis = 0}} : ({type_}) -> {type_}
      return %2, %0 : {type_}, {truth} }}"""), target)
    made = lowered(1)
    random = np.random.default_rng(0)
    kind = {"f64": np.float64, "f16": np.float16, "i64": np.int64, "i8": np.int8}[dtype]
    x, y = (random.integers(-4, 5, (29, 3)).astype(kind) for _ in range(2))
    sums, less = exe(x, y)
    np.testing.assert_array_equal(less, x < y)
    np.testing.assert_array_equal(sums, np.minimum(x, y).cumsum(0, dtype=kind))
    assert all(() not in chosen for chosen in made.values())


@needs_vulkan
def test_parts_of_an_arena(lowered):
    """A buffer of intermediate values that is larger than what is bound, of which each kernel takes parts that are not."""
    module = legato.Module.parse("""func.func @main(%x: tensor<4x256xf32> {relax.name = "x"}) -> tensor<4x256xf32> {
      %0 = "relax.softmax"(%x) {axis = 1} : (tensor<4x256xf32>) -> tensor<4x256xf32>
      %1 = "relax.cumsum"(%0) {axis = 1} : (tensor<4x256xf32>) -> tensor<4x256xf32>
      %2 = "relax.softmax"(%1) {axis = 1} : (tensor<4x256xf32>) -> tensor<4x256xf32>
      return %2 : tensor<4x256xf32> }""")
    exe = legato.compile(module, "vulkan")
    x = np.random.default_rng(0).standard_normal((4, 256), np.float32)
    expected = exe(x)
    for able in (devices.the_device().able, set()):
        made = lowered(4096)
        again = legato.compile(module, "vulkan")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(devices.the_device(), "able", able)
            np.testing.assert_array_equal(again(x), expected)
        assert len(made) >= 2 and all(chosen == {()} for chosen in made.values())


@needs_vulkan
def test_without_addresses(lowered, monkeypatch):
    exe = legato.compile(legato.Module.parse(ROWS), "vulkan")
    monkeypatch.setattr(devices.the_device(), "able", set())
    lowered(4096)
    x, w, expected = rows(16)
    with pytest.raises(RuntimeError, match=r"input 1 takes 8192 bytes, and one buffer on the device .* can have 4096"):
        exe(x, w)
    lowered(8192)
    np.testing.assert_allclose(exe(x, w), expected, rtol=1e-5, atol=1e-7)


@needs_vulkan
def test_beyond_the_memory_of_a_buffer(lowered):
    exe = legato.compile(legato.Module.parse(ROWS), "vulkan")
    lowered(16, buffer=4096)
    x, w, _ = rows(16)
    with pytest.raises(RuntimeError, match=r"input 1 takes 8192 bytes, and one buffer on the device .* can have 4096"):
        exe(x, w)


@needs_vulkan
def test_a_large_embedding_that_is_a_product_too():
    """As of language models, and larger than what Vulkan promises to bind: rows of it by number, and a product with all of them."""
    random = np.random.default_rng(0)
    table = random.standard_normal((36_000, 1024), np.float32)
    assert table.nbytes > BOUND
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "ids"], ["rows"], axis=0), helper.make_node("Tanh", ["rows"], ["h"]),
         helper.make_node("Transpose", ["table"], ["columns"], perm=[1, 0]), helper.make_node("MatMul", ["h", "columns"], ["y"])],
        "tied", [helper.make_tensor_value_info("ids", onnx.TensorProto.INT64, [3])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [3, 36_000])], [numpy_helper.from_array(table, "table")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    ids = np.array([0, 35_999, 33_000])     # the last ones lie beyond what is bound
    expected = np.tanh(table[ids]) @ table.T
    found = legato.compile(legato.from_onnx(model), "vulkan")(ids)
    assert abs(found - expected).max() < 1e-5 * abs(expected).max()


def test_kernels_stay_valid(tmp_path):
    """Whatever buffers are reached by address, by the validator of Khronos where it is installed."""
    found = binaries(legato.lower(legato.Module.parse(ROWS), "vulkan"))
    for name, code in found.items():
        bindings = sorted(strides(code))[:-1]       # the last one has the numbers
        assert set(strides(code).values()) == {4}
        for chosen in ([], bindings[:1], bindings[-1:], bindings):
            changed = by_address(code, chosen, 7)
            counts = [[one[0] for one in instructions(words_of(each))].count(STORE) for each in (code, changed)]
            assert counts[0] == counts[1]
            (tmp_path / f"{name}-{len(chosen)}-{chosen[:1]}.spv").write_bytes(changed)
    if shutil.which("spirv-val"):
        for path in tmp_path.glob("*.spv"):
            subprocess.run(["spirv-val", "--target-env", "vulkan1.2", str(path)], check=True)


def test_a_use_that_has_no_form():
    code = binaries(legato.lower(legato.Module.parse(ROWS), "vulkan"))["kernel_matmul_kernel_0"]
    words = list(words_of(code))
    at = next(at for at, one in located(words) if one[0] == 65)     # OpAccessChain
    words[at] = words[at] & ~0xFFFF | 66                            # OpInBoundsAccessChain
    with pytest.raises(LegatoError, match="SPIR-V's instruction 66 uses a whole buffer"):
        by_address(np.array(words, "<u4").tobytes(), sorted(strides(code)), 0)


def located(words):
    """The instructions of a module, each with its place."""
    at = 5
    for one in instructions(words):
        yield at, one
        at += len(one)


def test_alignment_is_said_once():
    assert aligned([], 8) == [2, 8] and aligned([1], 4) == [3, 4] and aligned([2, 16], 4) == [2, 16]


def test_where_a_part_ends():
    assert DevicePart(0, 64).reach(4) == 4
    assert DevicePart(0, 64, (3, 5), (10, 1), 2).reach(4) == 4 * (2 + 20 + 4 + 1)
    assert DevicePart(0, 64, (3, 0), (10, 1), 2).reach(4) == 0


MANY = 40   # more than Mesa's driver for CPUs binds, which is 32


def sum_of(count):
    """A model of one kernel that adds as many arguments."""
    type_ = "tensor<3x5xf32>"
    lines = [f'  %s{n} = "relax.add"(%{f"s{n - 1}" if n > 1 else "x0"}, %x{n}) : ({type_}, {type_}) -> {type_}' for n in range(1, count)]
    return legato.Module.parse(f"func.func @main({', '.join(f'%x{n}: {type_}' for n in range(count))}) -> {type_} {{\n" + "\n".join(lines)
                               + f"\n  return %s{count - 1} : {type_} }}")


@needs_vulkan
def test_more_buffers_than_a_kernel_can_have(lowered, monkeypatch):
    exe = legato.compile(sum_of(MANY), "vulkan")
    arrays = [np.full((3, 5), 2.0 ** (n % 20), np.float32) for n in range(MANY)]
    for limit in (32, 4):   # the least that Vulkan promises
        made = lowered(BOUND, bindings=limit)
        exe = legato.compile(sum_of(MANY), "vulkan")
        np.testing.assert_array_equal(exe(*arrays), sum(arrays))
        assert [len(one) for chosen in made.values() for one in chosen] == [MANY + 2 - limit]
        made.clear()
    monkeypatch.setattr(devices.the_device(), "able", set())
    with pytest.raises(RuntimeError, match=rf"a kernel has {MANY + 2} buffers, and one on the device .* can have 4"):
        legato.compile(sum_of(MANY), "vulkan")(*arrays)


@needs_vulkan
def test_what_the_driver_reads_lives_while_it_reads(monkeypatch):
    """The structure that a buffer's address is asked by is in Python's memory, and freed with its last reference."""
    device, made, alive = devices.the_device(), [], []
    build = device.vk.VkBufferDeviceAddressInfo

    def noted(**fields):
        found = build(**fields)
        made.append(weakref.ref(found))
        return found

    class Driver:
        def vkGetBufferDeviceAddress(self, device, info):
            alive.append(made[-1]() is not None)
            return 1

    buffer = device.buffer(16, "a test")
    monkeypatch.setattr(device.vk, "VkBufferDeviceAddressInfo", noted)
    monkeypatch.setattr(device.vk, "lib", Driver())
    assert device.address(buffer.handle) == 1 and alive == [True]
