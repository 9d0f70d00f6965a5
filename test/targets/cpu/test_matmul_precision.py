"""llvm{matmul-precision=bf16}: products of f32 that are rounded to bf16, against numpy in f64 on the rounded numbers."""
import ml_dtypes
import numpy as np
import pytest
from harness import Net
from thoroughly import sampled

import legato
from legato.core.ir_helpers import find
from legato.dialects import relax
from legato.targets.cpu.machine import Machine

RNG = np.random.default_rng(9)
HOST = Machine.host()
ROUNDS = HOST.multiplies_pairs
# AVX512-BF16's vectors too, where AMX's matrices come first
CPUS = ["host", "cooperlake"] if HOST.has("amx-bf16") and HOST.has("avx512bf16") else ["host"]


def numbers(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def rounded(array):
    return array.astype(ml_dtypes.bfloat16).astype(np.float64) if ROUNDS else array.astype(np.float64)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-6 * max(np.abs(expected).max(initial=0), 1e-30))


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("threads", [1, 2])
def test_products(threads, cpu):
    net, arrays, expected = Net(f"llvm{{matmul-precision=bf16 threads={threads} cpu={cpu}}}", first=None), [], []
    for rows, depth, columns in ((8, 64, 32), (15, 64, 40), (16, 32, 16), (33, 96, 65), (64, 128, 64), (31, 80, 48), (130, 256, 96)):
        x, w = numbers(rows, depth), numbers(depth, columns)
        net.output(net.op("relax.matmul", [net.input(x.shape), net.weight(w)]))
        arrays.append(x)
        expected.append(rounded(x) @ rounded(w))
    for found, wanted in zip(net.run(*arrays), expected, strict=True):
        close(found, wanted)


@pytest.mark.parametrize("threads", [1, 2])
def test_few_rows(threads):
    """Pairs are multiplied, also of an odd depth, with AMX from two rows on; of one row only the weights are rounded there, and small ones
    are not."""
    net, arrays, expected = Net(f"llvm{{matmul-precision=bf16 threads={threads}}}", first=None), [], []
    for rows, depth, columns in ((1, 2048, 130), (1, 400, 1000), (3, 513, 515), (7, 1024, 257), (5, 511, 513), (2, 64, 48), (6, 130, 35)):
        x, w = numbers(rows, depth), numbers(depth, columns)
        net.output(net.op("relax.matmul", [net.input(x.shape), net.weight(w)]))
        arrays.append(x)
        pairs = rows > 1 or not HOST.has("amx-bf16")
        expected.append((rounded(x) if pairs else x.astype(np.float64)) @ (rounded(w) if pairs or w.size >= 1 << 18 else w))
    for found, wanted in zip(net.run(*arrays), expected, strict=True):
        close(found, wanted)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("rows", [0, 3, 32, 50])
def test_rows_known_at_run_time(rows, cpu):
    net = Net(f"llvm{{matmul-precision=bf16 cpu={cpu}}}", first=None)
    x, w = numbers(rows, 64), numbers(64, 48)
    net.output(net.op("relax.matmul", [net.input(("n", 64)), net.weight(w)]))
    close(net.run(x)[0], rounded(x) @ rounded(w))


def test_shared_inputs_and_weights(tmp_path):
    """One input of several products, a weight of two of them, and layers behind each other, also saved."""
    net = Net("llvm{matmul-precision=bf16}", first=None)
    a, b, bias = numbers(64, 96), numbers(96, 64), numbers(96)
    x = net.input((24, 64))
    w, v = net.weight(a), net.weight(b)
    with net.building():
        h = relax.relu(relax.add(relax.matmul(x, w), net.weight(bias)))
        net.output(h, relax.matmul(x, w), relax.add(relax.matmul(h, v), x))
    given = numbers(24, 64)
    first = rounded(given) @ rounded(a)
    hidden = np.maximum(first + bias, 0).astype(np.float32)
    results = net.run(given)
    for found, wanted in zip(results, (hidden, first), strict=False):
        close(found, wanted)
    # hidden may be rounded from other last bits
    np.testing.assert_allclose(results[2], rounded(hidden) @ rounded(b) + given, rtol=0, atol=0.02)
    net.executable.save(tmp_path / "model.legato")
    for found, again in zip(results, legato.load(tmp_path / "model.legato")(given), strict=True):
        np.testing.assert_array_equal(found, np.asarray(again))


def test_what_is_rounded():
    """Only where it is asked for, and only where the CPU is faster for it."""
    def types(target):
        net = Net(target, first=None)
        net.output(net.op("relax.matmul", [net.input((32, 64)), net.weight(numbers(64, 64))]))
        module = net.lowered("fused")
        weights = [str(module.weights.type_of(key)[0]) for key in module.weights]
        return weights, "bf16" in str(module.operation), len(find(module.operation, "linalg.matmul"))

    for cpu in ("sapphirerapids", "znver4"):
        assert types(f"llvm{{cpu={cpu} matmul-precision=bf16}}") == (["bfloat16"], True, 0)
    for options in ("cpu=sapphirerapids", "cpu=znver4", "cpu=znver4 matmul-precision=f32", "cpu=x86-64-v3 matmul-precision=bf16"):
        assert types(f"llvm{{{options}}}") == (["float32"], False, 1)


@pytest.mark.parametrize("rows", [1, 8, 14])
def test_pairs_are_multiplied_by_instructions(rows):
    """Of models in bf16, too: each vector of a register tile takes one instruction for a step, and nothing is widened."""
    net = Net("llvm{cpu=znver4}", first=None)
    with net.building():
        net.output(relax.matmul(net.input((rows, 64), "bf16"), net.weight(numbers(64, 64).astype(ml_dtypes.bfloat16))))
    text = str(net.lowered())
    assert text.count("llvm.x86.avx512bf16.dpbf16ps.512") >= rows and "llvm.zext" not in text


def test_convolutions_of_fewer_multiplications_come_first():
    """By Winograd's algorithm in pairs of bf16, but not where the larger weights take longer to be read, nor where it is switched off."""
    def convolved(size, channels, options=""):
        net = Net(f"llvm{{cpu=znver4 matmul-precision=bf16 {options}}}", first=None)
        net.output(net.op("relax.conv2d", [net.input((1, channels, size, size)), net.weight(numbers(channels, channels, 3, 3))],
                          padding=[1, 1, 1, 1]))
        module = net.lowered("fused")
        return [(str(dtype), key.endswith(".winograd.bf16")) for key in module.weights for dtype in module.weights.type_of(key)[:1]]

    assert convolved(56, 64) == convolved(7, 512) == [("bfloat16", True)]
    assert convolved(5, 512) == convolved(56, 64, "winograd=false") == [("bfloat16", False)]


def test_other_precisions_are_refused():
    net = Net("llvm{matmul-precision=fp8}", first=None)
    net.output(net.op("relax.relu", [net.input((2, 2))]))
    with pytest.raises(legato.LegatoError, match="option 'matmul-precision' wants f32, bf16, bf16x3 or bf16x6, found 'fp8'"):
        net.lowered()


@pytest.mark.parametrize("rows", sampled([1, 2, 9, 37, "n"], 2))
def test_odd_depths_of_bf16(rows):
    """Products of bf16 itself: the last element of a row has no neighbour."""
    net, arrays, expected = Net("llvm", first=None), [], []
    for depth, columns in ((65, 64), (633, 96), (257, 35), (7, 600)):
        x, w = (numbers(*shape).astype(ml_dtypes.bfloat16) for shape in ((11 if rows == "n" else rows, depth), (depth, columns)))
        net.output(net.op("relax.matmul", [net.input((rows, depth), "bf16"), net.weight(w)]))
        arrays.append(x)
        expected.append(x.astype(np.float64) @ w.astype(np.float64))
    for found, wanted in zip(net.run(*arrays), expected, strict=True):
        np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=2**-8, atol=1e-5 * np.abs(wanted).max())
    if ROUNDS and not HOST.has("amx-bf16"):
        assert str(net.lowered("relax").operation).count("relax.pad") == 4
