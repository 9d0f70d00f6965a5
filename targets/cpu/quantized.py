"""Matrix products with weights of few bits on CPUs: the weight is read as it lies in memory, and dequantized in registers.

A few rows are bound by reading the weight: each word is unpacked to vectors of floats that are used at once. Of many rows, a block of the
weight is dequantized to a panel in the second-level cache, from which register tiles read it as from a packed weight of floats.
"""
from functools import partial

from legato.core.errors import Refusal
from legato.core.mlir import ir
from legato.core.vector_loops import in_parallel, least, loop, plus, rounded_up, times
from legato.targets.cpu import quantized_bytes, quantized_pairs
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.quantized_bytes import LARGEST, QuantizedBytes
from legato.targets.cpu.quantized_loops import QuantizedProduct
from legato.targets.cpu.quantized_matrices import QuantizedMatrices, fills_matrices
from legato.targets.cpu.quantized_pairs import QuantizedPairs
from legato.targets.cpu.threads import TYPICAL, WORTH_IT
from legato.targets.rule import kernel


@kernel("relax.matmul_quantized")
def matmul(k, x, weight, scale, zero, out):
    """Loops on vectors; several threads take panels of columns."""
    machine = k.machine
    if not isinstance(machine, Machine) or machine.vector_bytes < 16:
        return Refusal("the width of its vectors is not known")
    if not isinstance(x.type.element_type, ir.F32Type) or not weight.type.has_static_shape:
        return Refusal("only rows of f32 and weights of static sizes are taken")
    if not all(x.type.shape) or not all(weight.type.shape):
        return Refusal("it has no elements")
    if weight.type.shape[3] % min(machine.lanes(32), weight.type.shape[3]):
        return Refusal(f"panels of {weight.type.shape[3]} columns are no whole vectors")
    k.writes_all()
    product = QuantizedProduct(k.attrs["bits"], k.attrs["columns"], machine, x, weight, scale, zero, out)
    k.is_scheduled(2 * product.depth)
    rows = product.rows
    panels = weight.type.shape[0]
    work = (rows if isinstance(rows, int) else TYPICAL) * panels * product.width * product.depth
    threads = machine.threads if work >= WORTH_IT and panels >= machine.threads else 1
    few = isinstance(rows, int) and rows <= product.few
    pairs = quantized_pairs.takes(product, machine, was_bf16(k.op.operation.operands[0]))
    on_matrices = pairs and fills_matrices(product, machine)
    in_bytes = quantized_bytes.takes(product, machine, k.attrs["rows_in_bytes"]) and not on_matrices
    few, pairs = few and not in_bytes, pairs and not in_bytes
    unknown = not isinstance(rows, int) and not in_bytes
    if (few and not pairs) or unknown:
        product.prepare()
    if in_bytes:
        k.moves_values(1 / LARGEST)
        many = QuantizedBytes(product, machine, threads).build
    elif pairs:
        many = (QuantizedMatrices if on_matrices else QuantizedPairs)(product, machine, threads).build
    else:
        many = product.many_rows
        if not few:
            product.allocate(threads)

    def panel(thread: ir.Value | int, at: ir.Value) -> None:
        if unknown:
            product.one_or_many(at, partial(many, thread))
        elif few and not pairs:
            product.few_rows(at, rows)
        else:
            many(thread, at)

    def part(thread: ir.Value) -> None:
        size = rounded_up(panels, threads)
        first = least(times(thread, size), panels)
        loop(first, least(plus(first, size), panels), 1, lambda at: panel(thread, at))

    if threads == 1:
        loop(0, panels, 1, lambda at: panel(0, at))
    else:
        in_parallel(threads, part)
    return product.result()


def was_bf16(rows: ir.Value) -> bool:
    """Whether rows were widened from bf16."""
    maker = None if isinstance(rows.owner, ir.Block) else rows.owner.operation
    return maker is not None and maker.name == "relax.astype" and isinstance(maker.operands[0].type.element_type, ir.BF16Type)


RULES = (matmul,)
