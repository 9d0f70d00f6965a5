"""pack and pad: what a kernel reads lies in tiles, or is made larger."""
import numpy as np
import pytest

import legato
from legato import Schedule, ScheduleError
from legato.script import ir as I
from legato.script import relax as R
from legato.script import tir as T

F = np.float32
WEIGHT = (np.arange(48 * 40, dtype=F).reshape(48, 40) % 7) - 3


@I.ir_module
class Dense:
    @T.prim_func
    def dense(A: T.Buffer((8, 48), "float32"), W: T.Buffer((48, 40), "float32"), C: T.Buffer((8, 40), "float32")):
        for i, j, k in T.grid(8, 40, 48):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]

    @R.function
    def main(x: R.Tensor((8, 48), "float32")):
        w = R.const(WEIGHT)
        a = R.nn.relu(x)
        return R.call_tir(Dense.dense, (a, w), R.Tensor((8, 40), "float32"))


@T.prim_func
def packed_by_hand(A: T.Buffer((8, 48), "float32"), W: T.Buffer((3, 3, 16, 16), "float32"), C: T.Buffer((8, 40), "float32")):
    for i, j, k in T.grid(8, 40, 48):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk // 16, vj // 16, vk % 16, vj % 16]


def test_a_buffer_by_its_name():
    named, spelled_out = Schedule(Dense), Schedule(Dense)
    named.pack("W", (16, 16))
    spelled_out.pack(spelled_out.get_block("C"), "W", (16, 16))
    assert str(named) == str(spelled_out)
    with pytest.raises(ScheduleError, match="pack: 0 blocks read 'V'; say which"):
        named.pack("V", (16, 16))
    with pytest.raises(ScheduleError, match="pack: takes a block, a buffer and tiles"):
        named.pack(1, (16, 16))


def test_a_constant_is_packed_at_compile_time():
    sch = Schedule(Dense)
    sch.pack(sch.get_block("C"), 1, (16, 16))
    x = np.random.rand(8, 48).astype(F) - F(0.5)
    np.testing.assert_allclose(legato.compile(sch.module)(x), np.maximum(x, 0) @ WEIGHT, rtol=1e-4, atol=1e-4)
    folded = legato.lower(sch.module, last="relax")
    assert "relax.permute_dims" not in str(folded) and "relax.pad" not in str(folded)
    assert [a.shape for a in folded.weights.values()] == [(3, 3, 16, 16)]
    assert str(Schedule(Dense).replay(sch.trace)) == str(sch)


def test_by_schedule_and_by_hand_give_the_same_numbers():
    sch = Schedule(Dense)
    sch.pack(sch.get_block("C"), 1, (16, 16))
    x = np.random.default_rng(0).integers(0, 9, (8, 48)).astype(F)
    padded = np.pad(WEIGHT, ((0, 0), (0, 8))).reshape(3, 16, 3, 16).transpose(0, 2, 1, 3).copy()
    np.testing.assert_array_equal(legato.compile(sch.module)(x), legato.compile(packed_by_hand)(x, padded))


def test_an_activation_is_packed_by_a_kernel():
    sch = Schedule(Dense)
    sch.pack(sch.get_block("C"), 0, (4, 16))
    x = np.random.rand(8, 48).astype(F) - F(0.5)
    np.testing.assert_allclose(legato.compile(sch.module)(x), np.maximum(x, 0) @ WEIGHT, rtol=1e-4, atol=1e-4)
    lowered = str(legato.lower(sch.module, last="fused"))
    assert "tensor<2x3x4x16xf32>" in lowered and lowered.count("call @") >= 2


def test_pad():
    sch = Schedule(Dense)
    block = sch.get_block("C")
    sch.pad(block, (8, 32, 32))
    assert [loop.extent for loop in sch.get_loops(block)] == [8, 64, 64]
    x = np.random.rand(8, 48).astype(F) - F(0.5)
    np.testing.assert_allclose(legato.compile(sch.module)(x), np.maximum(x, 0) @ WEIGHT, rtol=1e-4, atol=1e-4)
    assert str(Schedule(Dense).replay(sch.trace)) == str(sch)


@T.prim_func
def row_max(A: T.Buffer((8, 30), "float32"), B: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 30):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.min_value("float32")
            B[vi] = T.max(B[vi], A[vi, vk])


def test_what_is_refused():
    sch = Schedule(Dense)
    with pytest.raises(ScheduleError, match=r"'W' is memref<48x40xf32>; \[16\] are no tiles of it"):
        sch.pack(sch.get_block("C"), 1, (16,))
    with pytest.raises(ScheduleError, match="block 'C' reads no buffer 2; it reads, from 0: A, "):
        sch.pack(sch.get_block("C"), 2, (16, 16))
    other = Schedule(row_max)
    with pytest.raises(ScheduleError, match="block 'B' is no sum of products"):
        other.pad(other.get_block("B"), (8, 32))
