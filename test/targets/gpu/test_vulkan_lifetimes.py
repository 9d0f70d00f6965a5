"""Models on one Vulkan device: at once on several threads, and what each leaves on the device when it is dropped or fails."""
import dataclasses
import functools
import gc
import threading
import time
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from vulkan_driver import needs_vulkan

import legato
from legato.runtime.vulkan import device as device_module
from legato.runtime.vulkan.device import the_device

pytestmark = needs_vulkan
MODEL = """func.func @main(%x: tensor<?x{0}xf32, #relax.dims<["n", {0}]>> {{relax.name = "x"}}, %w: tensor<{0}x{0}xf32> {{relax.name = "w"}})
    -> tensor<?x{0}xf32, #relax.dims<["n", {0}]>> {{
  %0 = "relax.matmul"(%x, %w) : (tensor<?x{0}xf32, #relax.dims<["n", {0}]>>, tensor<{0}x{0}xf32>) -> tensor<?x{0}xf32, #relax.dims<["n", {0}]>>
  %1 = "relax.tanh"(%0) : (tensor<?x{0}xf32, #relax.dims<["n", {0}]>>) -> tensor<?x{0}xf32, #relax.dims<["n", {0}]>>
  return %1 : tensor<?x{0}xf32, #relax.dims<["n", {0}]>>
}}"""      # noqa: E501
MADE = {"vkCreateBuffer": "vkDestroyBuffer", "vkAllocateMemory": "vkFreeMemory", "vkCreateCommandPool": "vkDestroyCommandPool",
        "vkCreateDescriptorPool": "vkDestroyDescriptorPool", "vkCreateFence": "vkDestroyFence", "vkCreateShaderModule":
        "vkDestroyShaderModule", "vkCreateDescriptorSetLayout": "vkDestroyDescriptorSetLayout", "vkCreatePipelineLayout":
        "vkDestroyPipelineLayout", "vkCreateComputePipelines": "vkDestroyPipeline"}


def compiled(size):
    return legato.compile(legato.Module.parse(MODEL.format(size)), "vulkan")


def check(exe, size, n, seed=0):
    random = np.random.default_rng(seed)
    x, w = random.standard_normal((n, size), np.float32), random.standard_normal((size, size), np.float32) / 8
    np.testing.assert_allclose(exe(x, w), np.tanh(x @ w), rtol=1e-4, atol=1e-5)


def test_models_at_once():
    """Each of several sizes; Vulkan lets one thread at a time use a queue, a fence and a pool. One of the models has two threads."""
    sizes, failures = (16, 48, 64), []
    models = {size: compiled(size) for size in sizes}

    def calls(size, seed):
        try:
            for n in np.random.default_rng(seed).integers(0, 60, 80):
                check(models[size], size, int(n), seed)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=calls, args=(size, seed), daemon=True) for seed, size in enumerate((*sizes, 64))]
    for one in threads:
        one.start()
    for one in threads:
        one.join(120)
    assert not failures and not any(one.is_alive() for one in threads)


def test_threads_share_a_device(monkeypatch):
    """Also when they are the first to ask for it: another one would have other memory, and another queue."""
    found = []

    def slow():
        time.sleep(0.2)
        return object()

    monkeypatch.setattr(device_module, "made_device", functools.cache(slow))
    threads = [threading.Thread(target=lambda: found.append(the_device())) for _ in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == 3 and len(set(map(id, found))) == 1


@pytest.fixture
def live(monkeypatch):
    """How many objects of Vulkan were made and not destroyed, by the function that makes them."""
    vk, counted = the_device().vk, Counter()

    def watch(name, key, by):
        plain = getattr(vk, name)

        def called(*given):
            result = plain(*given)
            counted[key] += by
            return result

        monkeypatch.setattr(vk, name, called)

    for make, destroy in MADE.items():
        watch(make, make, 1)
        watch(destroy, make, -1)
    return counted


def test_nothing_of_a_model_outlives_it(live):
    exe = compiled(24)
    for n in (3, 5, 0, 3):
        check(exe, 24, n)
    assert all(live[name] > 0 for name in MADE if name != "vkCreateShaderModule"), live
    del exe
    gc.collect()
    assert not any(live.values()), live


def test_nothing_of_a_call_that_fails_is_left(live, monkeypatch):
    device = the_device()
    exe = compiled(24)
    check(exe, 24, 3)
    before = live.copy()
    limits = device.limits
    monkeypatch.setattr(device, "limits", dataclasses.replace(limits, grid=(1, 1, 1)))
    for _ in range(2):
        with pytest.raises(Exception, match=r"a launch has \d+ blocks along axis \d, and the device .* takes 1"):
            exe(np.zeros((4000, 24), np.float32), np.zeros((24, 24), np.float32))
    monkeypatch.setattr(device, "limits", limits)
    pools = [name for name in MADE if "Pool" in name or "Fence" in name]
    assert [live[name] for name in pools] == [before[name] for name in pools]
    check(exe, 24, 3)


def test_sizes_of_earlier_calls_make_room(monkeypatch):
    """The device's memory suffices for one combination of sizes, not for two, of this model or another one."""
    vk, room = the_device().vk, {}
    allocate, free = vk.vkAllocateMemory, vk.vkFreeMemory
    exe, other = compiled(64), compiled(32)
    check(other, 32, 2000)

    def limited(device, request, callbacks):
        if sum(room.values()) + request.allocationSize > 1 << 20:
            raise vk.VkErrorOutOfDeviceMemory()
        handle = allocate(device, request, callbacks)
        room[handle] = request.allocationSize
        return handle

    def freed(device, handle, callbacks):
        room.pop(handle, None)
        free(device, handle, callbacks)

    monkeypatch.setattr(vk, "vkAllocateMemory", limited)
    monkeypatch.setattr(vk, "vkFreeMemory", freed)
    for n in (1000, 1001, 1000):
        check(exe, 64, n)
    check(other, 32, 2001)
    check(exe, 64, 1000)
    for _ in range(2):
        with pytest.raises(Exception, match=r"takes \d{7} bytes, which the device .* does not have left of its \d+ \(VkErrorOutOfDev"):
            exe(np.zeros((9000, 64), np.float32), np.zeros((64, 64), np.float32))
    check(exe, 64, 999)


def test_memory_of_the_host_where_the_devices_own_is_full(monkeypatch):
    """Of a GPU's own memory the host may see 256 MB; it sees more of its own."""
    device, given, size = the_device(), [], 4096
    vk, allocate = device.vk, device.vk.vkAllocateMemory
    own, seen = vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
    kinds = [SimpleNamespace(propertyFlags=flags, heapIndex=heap) for flags, heap in ((own, 0), (seen, 1), (seen | own, 2))]
    heaps = [SimpleNamespace(size=size) for size in (8 << 30, 16 << 30, 256 << 20)]
    memory = SimpleNamespace(memoryTypeCount=3, memoryTypes=kinds, memoryHeaps=heaps)

    def small(owner, request, callbacks):
        given.append(request.memoryTypeIndex)
        if request.memoryTypeIndex == 2 or request.allocationSize > 1 << 20:
            raise vk.VkErrorOutOfDeviceMemory()
        request.memoryTypeIndex = 0     # the one kind of Mesa's driver
        return allocate(owner, request, callbacks)

    monkeypatch.setattr(device, "memory", memory)
    monkeypatch.setattr(vk, "vkAllocateMemory", small)
    monkeypatch.setattr(vk, "vkGetBufferMemoryRequirements", lambda *of: SimpleNamespace(size=size, memoryTypeBits=7))
    device.buffer(size, "a test")
    assert given == [2, 2, 1]
    size = 2 << 20
    with pytest.raises(legato.LegatoError, match=f"a test takes {size} bytes, which the device .* of its {16 << 30} and {256 << 20} "):
        device.buffer(size, "a test")


def test_a_lost_device_is_an_error(monkeypatch):
    vk, exe = the_device().vk, compiled(24)
    check(exe, 24, 3)

    def lost(*given):
        raise vk.VkErrorDeviceLost()

    monkeypatch.setattr(vk, "vkQueueSubmit", lost)
    with pytest.raises(Exception, match=r"running the model's kernels on the device .* failed \(VkErrorDeviceLost\)"):
        exe(np.zeros((3, 24), np.float32), np.zeros((24, 24), np.float32))
    monkeypatch.undo()
    check(exe, 24, 3)
