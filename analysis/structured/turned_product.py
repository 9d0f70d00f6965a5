"""Products of rows by the rows of a matrix, which are sums along both: which of them are computed so, without a copy that is transposed."""
from legato.analysis.structured.contraction import ContractionForm
from legato.core.interfaces import CpuMachine

ROWS = 2        # of the left factor; the sums of one are the default schedule's
DEPTH = 256     # of rows of which the number is not known: where the sums of lanes, at the end of each, take little of the time


def sums_along_rows(form: ContractionForm, machine: CpuMachine) -> bool:
    """Whether a contraction is a product of two matrices of f32, turned, that takes less time in tiles of such sums than by a copy of the
    right factor with its columns along vectors. That takes time for each element of the factor, sums of lanes for each of the result."""
    heart = form.heart
    kinds = {str(value.type.element_type) for value in form.op.operands}
    if kinds != {"f32"} or form.is_window or form.row is None or len(form.reductions) != 1 or not suits(machine):
        return False
    depth, (row, column) = form.reductions[0], (form.row, form.column)
    if [heart.loops_of(1 - form.weight), heart.loops_of(form.weight), heart.out_loops] != [[row, depth], [column, depth], [row, column]]:
        return False
    return pays(form.extents[row], form.extents[depth], form.extents[column])


def suits(machine: CpuMachine) -> bool:
    """Whether a CPU has the instructions, and multiplies factors of f32 as they are."""
    return machine.has("fma") and machine.lanes(32) >= 8 and not machine.rounds_factors


def pays(rows: int | None, depth: int | None, columns: int | None) -> bool:
    """Whether a product of these sizes, None where one is not known, takes less time so."""
    if depth is None or columns is None:
        return False
    return depth >= DEPTH if rows is None else ROWS <= rows <= depth // 2
