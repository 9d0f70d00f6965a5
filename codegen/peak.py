"""The FMA peak of one core: a loop of independent vector FMAs, compiled by MLIR.

``python -m legato.codegen.peak`` prints GFLOP/s (f32) for each vector width of the machine; profiles and benchmarks call ``measure_peak``.
"""
import ctypes
import time

from legato.core.cpu import host_features
from legato.core.mlir import execution_engine, ir
from legato.core.upstream import run_on

CHAINS = 12  # more than latency times FMAs per cycle on any x86 core, and few enough for 16 registers
STEPS = 65536


def source(lanes: int) -> str:
    """A function that computes CHAINS * STEPS FMAs of ``lanes`` f32 and stores their sum."""
    vector = f"vector<{lanes}xf32>"
    names = lambda prefix: [f"%{prefix}{i}" for i in range(CHAINS)]  # noqa: E731
    carried = ", ".join(f"{a} = {b}" for a, b in zip(names("a"), names("s")))
    lines = [f"func.func @fma(%out: memref<{lanes}xf32>) attributes {{llvm.emit_c_interface}} {{",
             "%zero = arith.constant 0 : index", "%one = arith.constant 1 : index", f"%steps = arith.constant {STEPS} : index",
             f"%first = vector.load %out[%zero] : memref<{lanes}xf32>, {vector}"]
    lines += [f"%c{i} = arith.constant dense<{1 + i}.0> : {vector}\n%s{i} = arith.mulf %first, %c{i} : {vector}" for i in range(CHAINS)]
    lines += [f"%r:{CHAINS} = scf.for %k = %zero to %steps step %one iter_args({carried}) -> ({', '.join([vector] * CHAINS)}) {{"]
    lines += [f"%n{i} = vector.fma %a{i}, %first, %first : {vector}" for i in range(CHAINS)]
    lines += [f"scf.yield {', '.join(names('n'))} : {', '.join([vector] * CHAINS)}", "}"]
    lines += [f"%t0 = arith.addf %r#0, %r#1 : {vector}"]
    lines += [f"%t{i - 1} = arith.addf %t{i - 2}, %r#{i} : {vector}" for i in range(2, CHAINS)]
    lines += [f"vector.store %t{CHAINS - 2}, %out[%zero] : memref<{lanes}xf32>, {vector}", "return", "}"]
    return "\n".join(lines)


def measure_peak(vector_bytes: int | None = None, seconds: float = 0.3) -> float:
    """GFLOP/s of one core in f32 with vectors of this width (None: the widest of the machine), the best of many runs."""
    lanes = (vector_bytes or widest_vector()) // 4
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(source(lanes))
        run_on(module.operation, "convert-scf-to-cf,convert-vector-to-llvm,convert-to-llvm,reconcile-unrealized-casts")
        engine = execution_engine.ExecutionEngine(module, opt_level=2)
        function = engine.lookup("fma")
    descriptor, packed = _argument(lanes)
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        function(packed)
        best = min(best, time.perf_counter() - begin)
    del descriptor
    return 2 * lanes * CHAINS * STEPS / best / 1e9


def widest_vector() -> int:
    """The bytes of this machine's widest vectors."""
    features = host_features()
    return 64 if "avx512f" in features else 32 if "avx" in features else 16


def _argument(lanes: int) -> tuple[object, ctypes.Array]:
    """A vector of small numbers as a memref descriptor, and the array of arguments that points to it."""
    data = (ctypes.c_float * lanes)(*[0.5] * lanes)
    fields = (ctypes.c_int64 * 5)(ctypes.addressof(data), ctypes.addressof(data), 0, lanes, 1)
    pointer = ctypes.c_void_p(ctypes.addressof(fields))
    packed = (ctypes.c_void_p * 1)(ctypes.addressof(pointer))
    return (data, fields, pointer), packed


if __name__ == "__main__":
    for width in (16, 32, 64):
        if width <= widest_vector():
            print(f"{8 * width:4d}-bit vectors: {measure_peak(width):6.1f} GFLOP/s")
