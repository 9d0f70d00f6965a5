"""Kernels written as naive loops, compared with the FMA peak of the same run: ``python -m bench.tir``.

Each is measured as compiled by default (raised to a structured op, with the target's schedule) and as scheduled by ``legato.Schedule``'s
primitives; one thread, median of the calls.
"""
# pyright: reportInvalidTypeForm=false
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import legato
from legato import Schedule
from legato.codegen.peak import measure_peak
from legato.script import tir as T

from .timing import in_turns

N = 512
SIZE, CHANNELS, FILTERS = 56, 64, 64
ROWS, COLUMNS = 8, 32  # of a tile: 16 accumulators of 16 lanes


@T.prim_func
def matmul(A: T.Buffer((N, N), "float32"), B: T.Buffer((N, N), "float32"), C: T.Buffer((N, N), "float32")):
    """C = A B."""
    for i, j, k in T.grid(N, N, N):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def conv2d(
    X: T.Buffer((1, SIZE + 2, SIZE + 2, CHANNELS), "float32"),
    W: T.Buffer((3, 3, CHANNELS, FILTERS), "float32"),
    Y: T.Buffer((1, SIZE, SIZE, FILTERS), "float32"),
):
    """A convolution of a padded NHWC image with an HWIO kernel."""
    for n, h, w, f, kh, kw, c in T.grid(1, SIZE, SIZE, FILTERS, 3, 3, CHANNELS):
        with T.block("Y"):
            vn, vh, vw, vf, vkh, vkw, vc = T.axis.remap("SSSSRRR", [n, h, w, f, kh, kw, c])
            with T.init():
                Y[vn, vh, vw, vf] = T.float32(0)
            Y[vn, vh, vw, vf] = Y[vn, vh, vw, vf] + X[vn, vh + vkh, vw + vkw, vc] * W[vkh, vkw, vc, vf]


def tiles_in_registers(kernel, block: str, rows: int, columns: int) -> Schedule:
    """The schedule of docs/tir.md. ``rows``, ``columns``: the numbers of the loops to tile; the loops after them are reductions."""
    schedule = Schedule(kernel)
    sums = schedule.get_block(block)
    loops = schedule.get_loops(sums)
    copy = schedule.cache_write(sums, 0, "local")
    row_tiles, row = schedule.split(loops[rows], [None, ROWS])
    column_tiles, column = schedule.split(loops[columns], [None, COLUMNS])
    outer, reductions = loops[:rows], loops[columns + 1:]
    schedule.reorder(*outer, row_tiles, column_tiles, *reductions, row, column)
    schedule.reverse_compute_at(copy, column_tiles)
    initial = schedule.decompose_reduction(sums, reductions[0])
    for each in (sums, initial, copy):
        *_, inner_rows, inner_columns = schedule.get_loops(each)
        schedule.unroll(inner_rows)
        schedule.vectorize(inner_columns)
    return schedule


def random(*shape: int) -> np.ndarray:
    """A random float32 array."""
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def measure(name: str, inputs: list[np.ndarray], expected: np.ndarray, operations: int, kernel, schedule: Schedule) -> None:
    """Measures both ways to compile a kernel, and prints a line for each."""
    ways = {"raised": legato.compile(kernel, cache=False), "by primitives": legato.compile(schedule.module, cache=False)}
    peak = measure_peak()
    times = in_turns([lambda e=e: e(*inputs) for e in ways.values()], seconds=1.0, rounds=50)
    peak = max(peak, measure_peak())
    for (way, executable), seconds in zip(ways.items(), times):
        error = np.abs(np.from_dlpack(executable(*inputs)) - expected).max() / np.abs(expected).max()
        speed = operations / seconds / 1e9
        print(f"{name:24} {way:14} {seconds * 1e6:9.1f} {speed:8.1f} {peak:8.1f} {speed / peak:7.0%} {error:9.1e}", flush=True)


def main() -> None:
    """Prints the table."""
    print(f"{'':24} {'':14} {'us':>9} {'GFLOP/s':>8} {'peak':>8} {'of it':>7} {'error':>9}")
    a, b = random(N, N), random(N, N)
    measure(f"matmul {N}x{N}x{N}", [a, b], a @ b, 2 * N**3, matmul, tiles_in_registers(matmul, "C", 0, 1))
    x, w = random(1, SIZE + 2, SIZE + 2, CHANNELS), random(3, 3, CHANNELS, FILTERS)
    windows = sliding_window_view(x, (3, 3), axis=(1, 2))
    expected = np.einsum("nhwckl,klcf->nhwf", windows, w, optimize=True)
    operations = 2 * SIZE * SIZE * FILTERS * 9 * CHANNELS
    measure(f"conv {SIZE}x{SIZE} {CHANNELS}->{FILTERS} 3x3", [x, w], expected, operations, conv2d, tiles_in_registers(conv2d, "Y", 2, 3))


if __name__ == "__main__":
    main()
