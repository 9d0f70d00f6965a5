"""Schedules of products without rows or columns of their own along the channels: depthwise convolutions.

A thread computes neighbouring channels of one place, by accesses of 16 bytes; its sums stay in registers until what reads them is computed.
"""
from legato.analysis.block_kernel import BlockKernel, KernelBlock
from legato.analysis.products import ProductForm
from legato.targets.gpu.groups import points_of
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.product_tiles import ENOUGH
from legato.targets.gpu.products import around, keeps_lanes, plain_run, product_in
from legato.targets.gpu.steps import Steps

THREADS = (128, 64, 32)    # of a block: the most that leave enough blocks
MOST_COPIES = 25   # steps of the filter that are copied: loads of more of them at once leave no registers


def schedule(kernel: BlockKernel, machine: Gpu) -> str | None:
    """The script of a kernel with one product whose operands both move along the result's last axis; None for any other kernel."""
    found = product_in(kernel)
    if found is None:
        return None
    product, form = found
    before, after = around(kernel, product)
    lanes = machine.lanes(max(access.buffer.type.element_type.width for access in (form.left, form.right, form.store)))
    if form.columns or not form.batch or product.writes_axes is None or form.batch[-1] != product.writes_axes[-1] or lanes < 2:
        return None
    runs = [form.run(access, form.batch) for access in (form.left, form.right, form.store)]
    if any(run % lanes for run in runs) or not all(map(keeps_lanes, after)) or not all(
            (run := plain_run(one)) and run % lanes == 0 for one in before):
        return None
    copied, steps = 0, 1
    for axis in reversed(form.depth):
        extent = form.block.extents[axis]
        if extent is None or steps * extent > MOST_COPIES:
            break
        copied, steps = copied + 1, steps * extent
    return write(product, before, after, lanes, form, copied).text()


def write(product: KernelBlock, before: list[KernelBlock], after: list[KernelBlock], lanes: int, form: ProductForm, copied: int) -> Steps:
    """The script. ``copied``: the filter's last axes whose steps are."""
    steps = Steps("depthwise")
    block = steps.block(product.name)
    inlined, readers = [steps.block(one.name) for one in before], [steps.block(one.name) for one in after]
    for one in (*inlined, *readers[:-1]):
        steps.inline(one)
    if readers:
        steps.scope(block, 0, "local")
    last = readers[-1] if readers else steps.cache_write(block, 0, "local")
    *outer, inner = steps.loops(last, after[-1].rank if after else len(form.store.indices))
    inner, lane = steps.split(inner, [-1, lanes])
    points = points_of([product.extents[axis] for axis in product.spatial])
    threads = THREADS[0] if points is None else next((n for n in THREADS if points // lanes >= n * ENOUGH), THREADS[-1])
    grid, thread = steps.split(steps.fuse([*outer, inner]), [-1, threads])
    steps.bind(grid, "blockIdx.x")
    steps.bind(thread, "threadIdx.x")
    steps.compute_at(block, thread)
    steps.vectorize(lane)
    own = steps.loops(block, 2 + product.rank)[2:]
    channels, filters = own[form.batch[-1]], [own[axis] for axis in form.depth]
    steps.reorder([*filters, channels])
    init = steps.decompose(block, filters[0])
    steps.vectorize(steps.loops(init, 2 + len(product.spatial))[-1])
    steps.vectorize(channels)
    for loop in filters[len(filters) - copied:]:
        steps.unroll(loop)
    return steps
