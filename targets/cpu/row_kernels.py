"""Schedules of kernels with reductions among other nests: softmax, norms, pooling, with elementwise ops before and after.

A nest that no other reads, a *root*, is tiled along the loops that all reductions before it keep (the *shared* loops), and its producers
are computed inside of the tile: a row, or a strip of columns, stays in registers and the first-level cache.
"""
from functools import partial
from math import prod

from legato.analysis.indices.tensor_sizes import TensorSizes
from legato.analysis.structured import StructuredKernel, StructuredOp
from legato.analysis.structured.maps import dims_in
from legato.analysis.structured.vector_loops import vector_loop
from legato.analysis.structured.work import argument_shapes
from legato.core.mlir import ir
from legato.dialects.relax.dim import Size
from legato.targets.cpu.default import cut, cut_alone, nest_handles, share
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.vectorizer import DYNAMIC, Vectorizer

CHAINS = 4  # registers of results, at least, each of which waits for the step before
Places = dict[StructuredOp, dict[int, int]]  # nest -> the root's loop -> the nest's loop


def schedule(kernel: StructuredKernel, machine: Machine) -> str | None:
    """The transform script; None where the kernel has no reduction whose result another nest uses."""
    if kernel.has_strange_ops or not kernel.is_flat:
        return None
    groups = {}
    for root in kernel.roots:
        if root.iterator_types and root.parallel and (inside := shared_places(kernel, root)) is not None:
            groups[root] = inside
    return Rows(kernel, groups, machine).script() if groups else None


def joins_sizes(kernel: StructuredKernel) -> bool:
    """Whether a reshape of the kernel joins axes of which not all sizes are known, or splits such an axis: it does more than drop and add
    axes of size 1."""
    for op in kernel.ops:
        if op.name in ("tensor.collapse_shape", "tensor.expand_shape"):
            shape = (op.operands[0] if op.name == "tensor.collapse_shape" else op.results[0]).type.shape
            groups = [[ir.IntegerAttr(axis).value for axis in group] for group in op.attributes["reassociation"]]
            dynamic = ir.ShapedType.get_dynamic_size()
            if any(sum(shape[axis] != 1 for axis in group) > 1 and any(shape[axis] == dynamic for axis in group) for group in groups):
                return True
    return False


def shared_places(kernel: StructuredKernel, root: StructuredOp) -> Places | None:
    """The nests to compute inside of tiles of the root, with their loops by the root's; None where fusion is useless or impossible.

    All nests have the same keys: the loops that every reduction among them keeps.
    """
    places: Places = {root: {i: i for i in range(len(root.iterator_types))}}
    shared = set(places[root])
    for nest in reversed(kernel.nests):
        place = place_of(kernel, nest, places) if nest is not root else None
        if place is not None:
            places[nest] = place
            if not nest.parallel:
                shared &= set(place)
    inside = {nest: {r: l for r, l in place.items() if r in shared} for nest, place in places.items() if shared <= set(place)}
    while outer := [n for n in inside if n is not root and any(r not in inside for r in kernel.readers(n))]:
        for nest in outer:
            del inside[nest]
    usable = all(n.writes_plainly and n.vectorizable and len(n.op.results) == 1 for n in inside) and has_one_tile_each(kernel, root, inside)
    usable = usable and not moves_elements(root, shared)
    return None if not usable or not shared or all(n.parallel for n in inside) else inside


def moves_elements(root: StructuredOp, shared: set[int]) -> bool:
    """Whether a tile of the root would be the copy of one element: upstream folds it, and a script's handle to it then is one to the
    reduction that it copies."""
    alone = all(loop in shared or extent == 1 for loop, extent in enumerate(root.extents))
    return len(root.body) == 1 and alone and root.out_loops[-1] is not None and root.extents[root.out_loops[-1]] == 1


def has_one_tile_each(kernel: StructuredKernel, root: StructuredOp, inside: Places) -> bool:
    """Whether the readers of each nest ask for a tile of the same sizes, as values of the IR: else fusion leaves a copy for each.

    Upstream takes the extent of a loop from the first operand that it indexes. Two arguments may have sizes of one name there.
    """
    shapes = argument_shapes(kernel.function)
    if all(isinstance(size, int) for shape in shapes for size in shape):
        return True
    sizes = TensorSizes(kernel.function, shapes)

    def own(nest: StructuredOp) -> dict[int, Size]:
        places = [(loop, sizes.shape(value)[d]) for i, value in enumerate(nest.op.operands) if isinstance(value.type, ir.RankedTensorType)
                  for d, loop in enumerate(nest.loops_of(i)) if loop is not None]
        return dict(reversed(places))

    tiles = {root: own(root)}
    for nest in reversed(kernel.nests):
        asked = []
        for reader in kernel.readers(nest) if nest in inside and nest is not root else ():
            for i, value in enumerate(reader.op.operands):
                if value in list(nest.op.results):
                    asked.append({written: tiles[reader][read] for read, written in zip(reader.loops_of(i), nest.out_loops)
                                  if read is not None and written is not None and written not in inside[nest].values()})
        if any(one != asked[0] for one in asked):
            return False
        if asked:
            tiles[nest] = own(nest) | asked[0]
    return True


def place_of(kernel: StructuredKernel, nest: StructuredOp, places: Places) -> dict[int, int] | None:
    """The loops of a producer that all its readers iterate together with the root; None where a reader is not placed.

    Also None where the kernel returns the producer's result: it is needed as a whole, and upstream's fusion of it has aborted.
    """
    if kernel.leaves(nest):
        return None
    result: dict[int, int] | None = None
    for reader in kernel.readers(nest):
        if reader not in places:
            return None
        back = {loop: r for r, loop in places[reader].items()}
        for i, value in enumerate(reader.op.operands):
            if value in list(nest.op.results):
                seen = {back[read]: written for read, written in zip(reader.loops_of(i), nest.out_loops)
                        if read in back and written is not None}
                result = seen if result is None else {r: l for r, l in result.items() if seen.get(r) == l}
    return result


class Rows:
    """Writes the script of one kernel. ``groups``: each root with the nests computed inside of its tiles."""

    def __init__(self, kernel: StructuredKernel, groups: dict[StructuredOp, Places], machine: Machine):
        self.kernel, self.groups = kernel, groups
        self.vectorizer = Vectorizer(machine)
        self.extents: dict[StructuredOp, list[int]] = {}  # of each root, within one thread's part
        self.tags = {nest: f"legato.nest{i}" for i, nest in enumerate(kernel.nests)}
        # copies are equal once the sizes of reshaped tensors are those of their operands; a product of sizes has no bound to vectorize by
        self.resolved = () if joins_sizes(kernel) else ("result-sizes",)

    def script(self) -> str:
        """The script's text: fuses and tiles each group, and vectorizes."""
        v = self.vectorizer
        handles = nest_handles(v, self.kernel.nests)
        for nest, tag in self.tags.items():
            v.script.annotate(handles[nest], tag)
        fused = {nest for inside in self.groups.values() for nest in inside}
        for nest in self.kernel.nests:
            if nest not in fused:
                cut_alone(v, handles[nest], nest)
        sizes = {root: self.group(root, inside, handles) for root, inside in self.groups.items()}
        v.script.patterns("canonicalize", *self.resolved)  # merges the copies of producers with two readers
        for root, inside in self.groups.items():
            self.cut_tiles(root, inside, "%root", sizes[root], [i for i, size in enumerate(sizes[root]) if size > 1])
        return v.close()

    def group(self, root: StructuredOp, inside: Places, handles: dict[StructuredOp, str]) -> list[int]:
        """Tiles one root with its producers, into parts for threads first where that pays. Returns the tile's sizes."""
        s = self.vectorizer.script
        part = list(root.extents)
        # an element of the root for a whole row: parts need not be whole vectors of them
        inner = root.out_loops[-1] if any(vector_loop(nest) in inside[nest].values() for nest in inside if not nest.parallel) else None
        _, around = share(self.vectorizer, handles[root], list(inside), part, set(inside[root]), inner)
        if around is not None:
            self.fuse(root, inside, handles, around)
            s.patterns("canonicalize", *self.resolved)
            handles = {nest: s.match(attribute=self.tags[nest]) for nest in inside}
        self.extents[root] = part
        sizes = self.tile_sizes(root, inside)
        if any(sizes):
            self.fuse(root, inside, handles, s.tile(handles[root], sizes)[1][-1])
        return sizes

    def fuse(self, root: StructuredOp, inside: Places, handles: dict[StructuredOp, str], loop: str) -> None:
        """Fuses the root's producers into a loop around its tile."""
        for nest in reversed(self.kernel.nests):
            if nest in inside and nest is not root:
                _, loop = self.vectorizer.script.fuse(handles[nest], loop)

    def cut_tiles(self, root: StructuredOp, inside: Places, scope: str, sizes: list[int], axes: list[int],
                  limit: int | None = None) -> None:
        """Peels partial tiles off the loops over ``axes``, outermost first, and vectorizes the nests in each body."""
        s = self.vectorizer.script
        if not axes:
            self.body(root, inside, scope, sizes, limit)
            return
        axis, extent = axes[0], self.extents[root][axes[0]]
        if extent >= 0 and extent % sizes[axis] == 0:
            self.cut_tiles(root, inside, scope, sizes, axes[1:])
            return
        depth = sum(size != 0 for size in sizes[axis + 1:]) + 1
        tile = s.match(attribute=self.tags[root], within=scope)
        loop = s.op("loop", f'get_parent_op {tile} {{op_name = "scf.for", nth_parent = {depth}}}')[0]
        left = DYNAMIC if extent < 0 else extent % sizes[axis]
        rest_sizes = [left if i == axis else size for i, size in enumerate(sizes)]
        whole, rest = s.peel(loop)
        self.cut_tiles(root, inside, whole, sizes, axes[1:])
        self.cut_tiles(root, inside, rest, rest_sizes, axes[1:], sizes[axis] if left < 0 else None)

    def tile_sizes(self, root: StructuredOp, inside: Places) -> list[int]:
        """The root's tile sizes: 1 in the shared loops, strips in the innermost one, which is vectorized.

        With windows, several neighbouring positions: they share the elements of the filter that they read, and fill the registers.
        """
        shared, inner, v, extents = inside[root], root.out_loops[-1], self.vectorizer, self.extents[root]
        sizes = [1 if i in shared and e != 1 else 0 for i, e in enumerate(extents)]
        if inner not in shared:
            row = max((i for i, size in enumerate(sizes) if size), default=None)
            if row is not None and any(of_rows(nest, inside[nest]) for nest in inside):
                sizes[row] = self.rows_at_once(root, row, shared)
            return sizes
        widest = max(inside, key=lambda n: n.bits)
        beside = positions_beside(root, extents, inside)
        if beside is None:
            sizes[inner] = v.strip(widest, extents[inner])
            return sizes
        filtered = any(has_filter(n, beside, inside) for n in inside)
        sizes[inner] = v.unmasked_strip(widest, extents[inner], 2 if filtered else 8)
        used = -(-(sizes[inner] or extents[inner]) // v.lanes(widest))
        most = max(8 // used, 1)
        whole = greatest_divisor(extents[beside], most)     # without a rest, loops carry vectors
        sizes[beside] = whole if not filtered and whole * used >= CHAINS else best_divisor(extents[beside], most)
        return sizes

    def rows_at_once(self, root: StructuredOp, row: int, shared: set[int]) -> int:
        """So many rows as a vector has lanes, if they stay in the first cache until they are written; else one."""
        extents, lanes = self.extents[root], self.vectorizer.lanes(root)
        elements = prod(extent for loop, extent in enumerate(extents) if loop not in shared)
        static = all(extent >= 0 for loop, extent in enumerate(extents) if loop not in shared)
        if not static or lanes * elements * root.bits // 8 > self.vectorizer.machine.l1_bytes:
            return 1
        return lanes if extents[row] < 0 else min(lanes, extents[row])

    def body(self, root: StructuredOp, inside: Places, loop: str, sizes: list[int], limit: int | None = None) -> None:
        """Tiles every nest inside of ``loop`` for vectors."""
        v, beside = self.vectorizer, positions_beside(root, self.extents[root], inside)
        of_columns = root.out_loops[-1] in inside[root]     # a limit: else it is one of rows
        for nest, place in inside.items():
            extents = list(nest.extents)
            for r, l in place.items():
                extents[l] = sizes[r] or self.extents[root][r]
            again = partial(v.script.match, attribute=self.tags[nest], within=loop)
            if beside is None or limit or not nest.steps_plainly(place[root.out_loops[-1]]):
                cut(v, again(), nest, extents, limit if of_columns or vector_loop(nest) in place.values() else None)
            else:
                v.unrolled(again(), nest, extents, place[root.out_loops[-1]], place[beside], again)


def of_rows(nest: StructuredOp, place: dict[int, int]) -> bool:
    """Whether a nest computes what takes long, once for each row."""
    alone = all(extent == 1 or loop in place.values() for loop, extent in enumerate(nest.extents))
    return nest.parallel and alone and any(map(StructuredOp.takes_long, nest.body))


def positions_beside(root: StructuredOp, extents: list[int], inside: Places) -> int | None:
    """The root's loop over neighbouring windows: the last but one, of static extent, where one of the nests has windows along it."""
    loop = root.out_loops[-2] if len(root.out_loops) > 1 else None
    if loop is None or extents[loop] < 0 or root.out_loops[-1] not in inside[root]:
        return None
    windows = any(not nest.plain for nest in inside)
    return loop if loop in inside[root] and windows else None


def has_filter(nest: StructuredOp, beside: int, inside: Places) -> bool:
    """Whether a reduction reads the same elements of an operand at all positions."""
    loop = inside[nest].get(beside)
    scalars = nest.op.regions[0].blocks[0].arguments
    return not nest.parallel and any(list(scalar.uses) and len(map_.results) and not any(loop in dims_in(e) for e in map_.results)
                                     for scalar, map_ in zip(scalars, nest.maps[:-1]))


def greatest_divisor(extent: int, most: int) -> int:
    """The greatest divisor of ``extent`` that is not above ``most``."""
    return next(d for d in range(min(most, extent), 0, -1) if extent % d == 0)


def best_divisor(extent: int, most: int) -> int:
    """A tile size up to ``most``: the greatest divisor of ``extent``, or ``most`` where that divisor is at most half of it."""
    divisor = greatest_divisor(extent, most)
    return divisor if divisor * 2 > most else min(most, extent)
