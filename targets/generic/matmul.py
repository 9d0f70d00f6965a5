"""matmul with numpy's semantics: batch dimensions broadcast, and a vector is a row or column that the result lacks; matmul of floats of
8 bits, and with a turned right operand."""
from collections.abc import Sequence

from legato.core.mlir import arith, ir, linalg
from legato.targets.builders.pointwise import element
from legato.targets.builders.structured import accumulated, collapse, compute, filled, multiply_add, named, of_size
from legato.targets.rule import kernel


@kernel("relax.matmul")
def matmul(k, a, b, out):
    """linalg's matmul or batch_matmul if the shapes fit, else a generic loop nest."""
    kind = element(k.input_types[0])
    ranks = a.type.rank, b.type.rank
    inner = -2 if ranks[1] > 1 else -1
    a, b = of_size(a, -1, b.type.shape[inner]), of_size(b, inner, a.type.shape[-1])
    if ranks == (2, 2):
        return accumulated(out, kind, lambda zeros: named(linalg.MatmulOp, zeros, [a, b]))
    if ranks == (3, 3) and _same_batch(a, b):
        return accumulated(out, kind, lambda zeros: named(linalg.BatchMatmulOp, zeros, [a, b]))
    batch_rank = max(*ranks, 2) - 2
    batch = [f"b{i}" for i in range(batch_rank)]
    rows, columns = (["m"] if ranks[0] > 1 else []), (["n"] if ranks[1] > 1 else [])
    left = operand_of(a, out, batch, [*rows, "k"])
    right = operand_of(b, out, batch, ["k", *columns])
    loops = ", ".join([*batch, *rows, *columns, "+k"])
    return accumulated(out, kind, lambda zeros: compute(zeros, loops, [left, right], multiply_add(kind)))


@kernel("relax.matmul_float8")
def matmul_float8(k, a, b, out):
    """A generic loop nest, whose factors are bytes that it converts: a schedule may give them to an instruction as they are."""
    narrow, wide = k.input_types[0].element_type, element(k.output_types[0])
    a, b = of_size(a, -1, b.type.shape[-1]), of_size(b, -1, a.type.shape[-1])
    batch = [f"b{i}" for i in range(out.type.rank - 2)]
    operands = [operand_of(a, out, batch, ["m", "k"]), operand_of(b, out, batch, ["n", "k"])]

    def body(x: ir.Value, y: ir.Value, sums: ir.Value) -> ir.Value:
        return wide.add(sums, wide.mul(*(arith.extf(wide.type, arith.bitcast(narrow, v)) for v in (x, y))))

    return compute(filled(out, wide.const(0)), ", ".join([*batch, "m", "n", "+k"]), operands, body)


@kernel("relax.matmul_turned")
def matmul_turned(k, a, b, out):
    """A generic loop nest."""
    kind = element(k.input_types[0])
    a, b = of_size(a, -1, b.type.shape[-1]), of_size(b, -1, a.type.shape[-1])
    batch = [f"b{i}" for i in range(out.type.rank - 2)]
    operands = [operand_of(a, out, batch, ["m", "k"]), operand_of(b, out, batch, ["n", "k"])]
    return accumulated(out, kind, lambda zeros: compute(zeros, ", ".join([*batch, "m", "n", "+k"]), operands, multiply_add(kind)))


def _same_batch(a: ir.Value, b: ir.Value) -> bool:
    return (a.type.shape[0] == 1) == (b.type.shape[0] == 1)


def operand_of(value: ir.Value, out: ir.Value, batch: Sequence[str], inner: Sequence[str]) -> tuple[ir.Value, str]:
    """An operand with its indices. Broadcast batch sizes of 1 are collapsed, so that all indices are loops."""
    own = value.type.rank - len(inner)
    indices = [*batch[len(batch) - own:], *inner]
    dropped = [i for i in range(own) if value.type.shape[i] == 1 and out.type.shape[len(batch) - own + i] != 1]
    groups: list[list[int]] = []
    pending: list[int] = []
    for i in range(value.type.rank):
        if i in dropped:
            pending.append(i)
        else:
            groups.append([*pending, i])
            pending = []
    return collapse(value, groups), ", ".join(name for i, name in enumerate(indices) if i not in dropped)


RULES = (matmul, matmul_float8, matmul_turned)
