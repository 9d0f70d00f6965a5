"""``explain`` shows the kernels that run: what was fused or cut, and why one stays scalar or as it was written."""
# pyright: reportInvalidTypeForm=false
import json

import legato
from legato import kernels as kernel_words
from legato import relax
from legato.script import tir as T


@relax.function
def fused(x: relax.Tensor((8, 16), "float32"), w: relax.Tensor((16, 32), "float32")):
    with relax.dataflow():
        y = relax.nn.relu(relax.matmul(x, w))
        relax.output(y)
    return y


@T.prim_func
def gathers(X: T.Buffer((64,), "float32"), I: T.Buffer((32,), "int32"), Y: T.Buffer((32,), "float32")):
    for i in range(32):
        with T.block("Y"):
            vi = T.axis.spatial(32, i)
            Y[vi] = X[I[vi]]


@T.prim_func
def recurrence(X: T.Buffer((32,), "float32"), Y: T.Buffer((32,), "float32")):
    Y[0] = X[0]
    for i in range(31):
        Y[i + 1] = Y[i] * T.float32(0.5) + X[i + 1]


@T.prim_func
def two_products(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), Y: T.Buffer((16, 16), "float32")):
    M = T.alloc_buffer((16, 16), "float32")
    for i, j, k in T.grid(16, 16, 16):
        with T.block("M"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                M[vi, vj] = T.float32(0)
            M[vi, vj] = M[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j, k in T.grid(16, 16, 16):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + M[vi, vk] * B[vk, vj]


def kernels(function):
    return {r.kernel: r for r in legato.explain(function.module()).kernels}


def test_fused_kernels_name_their_graph_ops():
    (record,) = kernels(fused).values()
    assert record.vectorized
    assert not record.reasons
    assert [op.split()[0] for op in record.ops] == ["relax.matmul", "relax.relu"]


def test_cut_kernels_name_the_whole():
    found = kernels(two_products)
    assert set(found) == {"two_products_matmul", "two_products_matmul_0"}
    assert {r.part_of for r in found.values()} == {"two_products"}


def test_scalar_kernels_say_why():
    assert not kernels(gathers)["gathers"].vectorized
    assert kernels(gathers)["gathers"].reasons == ("it reads elements at computed places",)


def test_kernels_that_stay_loops_say_why():
    record = kernels(recurrence)["recurrence"]
    assert record.form == "loops"
    assert record.reasons
    assert f"not raised: {record.reasons[0]}" in str(legato.explain(recurrence.module()))


def test_json_has_the_kernels():
    told = json.loads(legato.explain(gathers.module()).json())
    assert told["kernels"][0]["reasons"] == ["it reads elements at computed places"]


def test_a_rule_is_not_both_fired_and_refused():
    for record in legato.explain(fused.module()).records:
        assert (record.target, record.rule) not in [refusal[:2] for refusal in record.refused]


def test_rules_of_one_name_are_told_apart():
    """Functions made in a loop, and lambdas, share their name: the one that refused is shown beside the one that was applied."""
    first = legato.kernel("relax.relu", priority=2, when=kernel_words.rank(3))(lambda k, x, out: x)
    second = legato.kernel("relax.relu", priority=1)(
        lambda k, x, out: kernel_words.pointwise(k, out, [x], lambda e, x: e.max(x, e.const(0))))
    record = next(r for r in legato.explain(fused.module(), rules=[first, second]).records if r.op == "relax.relu")
    assert (record.rule, record.source) == ("<lambda>", second.source)
    assert record.refused == [("llvm", "<lambda>", "operand 0 has rank 2, not 3")]
