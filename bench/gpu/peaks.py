"""What the device can do, measured by Legato's own kernels in the same run: multiply-adds of f32, and bandwidth of its memory."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import legato
from bench.gpu import engines
from bench.gpu.engines import compiled, kernel_seconds
from legato.script import T

STEPS = 8192        # multiply-adds of a thread


@dataclass(frozen=True)
class GpuPeaks:
    """``flops``: of f32, a second, without tensor cores; ``bandwidth``: bytes a second, read and written. ``tensor``: of halves, a second:
    the best product that any engine made in the run, 0 until then. ``device``: the GPU's name; ``most_flops`` and ``most_bandwidth``: of
    its figures, 0 where the driver does not say, as Vulkan's."""

    flops: float
    bandwidth: float
    tensor: float = 0.0
    device: str = ""
    most_flops: float = 0.0
    most_bandwidth: float = 0.0

    def __str__(self) -> str:
        parts = [f"{value / 1e9:.4g} {unit}{f' ({value / most:.0%} of its figures)' if most else ''}"
                 for value, most, unit in ((self.flops, self.most_flops, "GFLOP/s of f32"), (self.bandwidth, self.most_bandwidth, "GB/s"))]
        return f"{f'{self.device}: ' if self.device else ''}{', '.join(parts)}"

    def share(self, flops: int, bytes_: int, precision: str, seconds: float) -> float | None:
        """The time that the device would need at least, over the time that it took; None where nothing is counted."""
        peak = self.flops if precision == "f32" or not self.tensor else self.tensor
        least = max(flops / peak, bytes_ / self.bandwidth)
        return least / seconds if least else None


def multiply_adds(blocks: int):
    """A kernel of ``blocks`` blocks of 256 threads, each of which makes ``STEPS`` dependent multiply-adds in
    registers."""
    size = blocks * 256

    @T.prim_func
    def kernel(X: T.Buffer((size,), "float32"), Y: T.Buffer((size,), "float32")):  # pyright: ignore[reportInvalidTypeForm]
        factor = T.alloc_buffer((size,), "float32", scope="local")
        result = T.alloc_buffer((size,), "float32", scope="local")
        for block in T.thread_binding(size // 256, thread="blockIdx.x"):
            for thread in T.thread_binding(256, thread="threadIdx.x"):
                with T.block("factor"):
                    vi = T.axis.spatial(size, block * 256 + thread)
                    factor[vi] = X[vi]
                for k in range(STEPS):
                    with T.block("result"):
                        vi = T.axis.spatial(size, block * 256 + thread)
                        _vk = T.axis.reduce(STEPS, k)
                        with T.init():
                            result[vi] = 1.0
                        result[vi] = T.fma(result[vi], factor[vi], factor[vi])
                with T.block("Y"):
                    vi = T.axis.spatial(size, block * 256 + thread)
                    Y[vi] = result[vi]

    return kernel


def measured(target: str, small: bool) -> GpuPeaks:
    """Measures the device that ``target`` runs on. AssertionError if a kernel is wrong."""
    blocks, side = (4, 256) if small else (1 << 14, 8192)   # enough for the last blocks to take little of the time
    x = np.full(blocks * 256, 0.5, np.float32)
    arithmetic = compiled(multiply_adds(blocks), target)
    np.testing.assert_allclose(arithmetic(x), np.ones_like(x), rtol=1e-5)
    profile = legato.profile(arithmetic, x, runs=engines.PROFILED, warmup=1)
    wide = np.ones((side, side), np.float32)
    text = f"tensor<{side}x{side}xf32>"
    copy = compiled(legato.Module.parse(f'func.func @main(%x: {text} {{relax.name = "x"}}) -> {text} {{\n'
                                        f'%0 = "relax.negative"(%x) : ({text}) -> {text}\nreturn %0 : {text} }}'), target)
    np.testing.assert_array_equal(copy(wide), -wide)
    of = profile.peaks
    return GpuPeaks(2.0 * x.size * STEPS / sum(one.seconds for one in profile.calls), 2.0 * wide.nbytes / kernel_seconds(copy, [wide]),
                    device=profile.device, most_flops=1e9 * of.gflops if of else 0.0, most_bandwidth=1e9 * of.bandwidth if of else 0.0)
