"""The default CPU schedule: each nest is tiled and vectorized by itself; nests that cannot be vectorized stay scalar."""
from collections.abc import Sequence

from legato.analysis.structured import PARALLEL, StructuredKernel, StructuredOp
from legato.analysis.structured.vector_loops import crossing_loop, obstacle, vector_loop
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.sharing import shared_part, work_of
from legato.targets.cpu.vectorizer import DYNAMIC, Vectorizer


def schedule(kernel: StructuredKernel, machine: Machine) -> str | None:
    """The transform script that vectorizes the nests it can; None where there are none."""
    if kernel.has_strange_ops or not kernel.nests:
        return None
    vectorizer = Vectorizer(machine)
    handles = nest_handles(vectorizer, kernel.nests)
    done = [cut_alone(vectorizer, handles[nest], nest, kernel.is_flat) for nest in kernel.nests]
    return vectorizer.close() if any(done) else None


def nest_handles(vectorizer: Vectorizer, nests: Sequence[StructuredOp]) -> dict[StructuredOp, str]:
    """A handle for every nest of a kernel."""
    by_name: dict[str, list[StructuredOp]] = {}
    for nest in nests:
        by_name.setdefault(nest.op.name, []).append(nest)
    matched = {name: vectorizer.script.match(name) for name in by_name}
    found: dict[StructuredOp, str] = {}
    for name, handle in matched.items():
        if name != "linalg.generic":  # the patterns that drop unit dimensions take generics only
            handle = vectorizer.script.op("plain", f"structured.generalize {handle}")[0]
        found |= zip(by_name[name], vectorizer.split(handle, len(by_name[name])), strict=True)
    return found


def cut_alone(vectorizer: Vectorizer, handle: str, nest: StructuredOp, shared: bool = True) -> bool:
    """Tiles a nest that is not fused with others, also for threads where it is large and ``shared``. False where it stays scalar."""
    extents = list(nest.extents)
    inner = vector_loop(nest) if nest.iterator_types and shared and nest.writes_plainly and not nest.is_copy else None
    if inner is not None:
        parallel = {i for i, kind in enumerate(nest.iterator_types) if kind == PARALLEL}
        handle, _ = share(vectorizer, handle, [nest], extents, parallel, inner, crossing_loop(nest, inner))
    return cut(vectorizer, handle, nest, extents)


def share(vectorizer: Vectorizer, handle: str, nests: list[StructuredOp], extents: list[int], loops: set[int],
          inner: int | None, crossing: int | None = None) -> tuple[str, str | None]:
    """Tiles one of ``loops`` of the op behind ``handle`` for threads, where the work of ``nests`` is large enough. ``inner``: the loop that
    is vectorized, if one is; ``crossing``: the loop that blocks are transposed with.

    Returns the op of a part and the parallel loop, or the op itself and None. Sets ``extents`` to those of a part.
    """
    grain = 8 * vectorizer.lanes(nests[0])
    blocks = {} if crossing is None else {crossing: vectorizer.side(nests[0])}
    part = shared_part(extents, loops, inner, grain, vectorizer.machine.threads, work_of(nests), blocks)
    if part is None:
        return handle, None
    loop, size = part
    how, number = ("tile_sizes", size) if size else ("num_threads", vectorizer.machine.threads)
    numbers = [number if i == loop else 0 for i in range(len(extents))]
    tile, around = vectorizer.script.op("part", f"structured.tile_using_forall {handle} {how} {numbers}", 2)
    extents[loop] = size if size and extents[loop] % size == 0 else DYNAMIC
    return tile, around


def copies_one_element(nest: StructuredOp, extents: Sequence[int]) -> bool:
    """Whether the op behind a handle copies one element: upstream folds it, and the handle then is one to the op that it copies from."""
    return len(nest.body) == 1 and not nest.is_fill and all(extent == 1 for extent in extents)


def cut(vectorizer: Vectorizer, handle: str, nest: StructuredOp, extents: list[int], limit: int | None = None) -> bool:
    """Tiles one nest for vectors; False where it stays scalar. ``extents``: of the op behind ``handle``; ``limit`` bounds a dynamic
    one."""
    inner = None if not nest.iterator_types or nest.is_copy or obstacle(nest) else vector_loop(nest)
    if inner is None or copies_one_element(nest, extents):
        return False
    other = crossing_loop(nest, inner)
    if other is not None and extents[inner] != 1 and extents[other] != 1 and limit is None:
        vectorizer.transposed(handle, nest, extents, inner, other)
        return True
    if nest.iterator_types[inner] == PARALLEL:
        vectorizer.parallel(handle, nest, extents, inner, limit)
        return True
    return nest.plain and vectorizer.along(handle, nest, extents, inner)
