"""bench.gpu.beside_wgpu: the models that both run, Legato's part of it, and wgpu's where it is installed."""
import numpy as np
import pytest
from vulkan_driver import needs_vulkan

from bench.gpu.beside_wgpu import PlainRun, WgpuRun, chain, product, refusals, transfers, wgpu_device

pytestmark = needs_vulkan


def plain(model, side):
    """A model on random numbers."""
    return PlainRun(model, np.random.default_rng(0).standard_normal((side, side), np.float32))


def test_a_chain_waits_for_each_launch():
    run = plain(chain(3), 32)
    assert len(run.steps) == 3 and len(run.code) == 1
    weight = (np.eye(32) + np.ones((32, 32)) / 32) / 2
    expected = run.x @ weight @ weight @ weight
    np.testing.assert_allclose(run.y, expected, rtol=1e-4, atol=1e-5)
    run.recorded.outputs[0].data[:] = bytes(len(run.recorded.outputs[0].data))
    run.record()
    run.pipelines()
    run.submit()
    np.testing.assert_array_equal(np.frombuffer(run.recorded.outputs[0].data, np.float32, 1024).reshape(32, 32), run.y)


def test_both_give_the_same():
    pytest.importorskip("wgpu")
    device, run = wgpu_device(), plain(product(64), 64)
    other = WgpuRun(device, run)
    other.submit()
    np.testing.assert_allclose(other.result(), run.y, rtol=1e-5, atol=1e-6)
    assert not refusals(device, run.code)
    assert list(refusals(device, {"none": b"\3\2\x23\7" + bytes(16)}).values()) == [1]
    for call in transfers(device, run):
        call()
