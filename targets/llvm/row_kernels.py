"""Kernels of several nests around reductions: softmax, norms, pooled means, with elementwise ops before and behind.

The last nest is tiled along the loops that all reductions keep (the *shared* loops), and everything that feeds it is computed inside, so
that a row, or a strip of columns, stays in registers and in the first cache from the first read to the last write.
"""
from ...mlir import func
from .default import cut, nest_handles
from .machine import Machine
from .nests import Graph, Nest
from .vectorizer import DYNAMIC, Vectorizer

Places = dict[Nest, dict[int, int]]  # nest -> the root's loop -> the nest's loop


def schedule(kernel: func.FuncOp, machine: Machine) -> str | None:
    """The transform script, or None where the kernel has no reduction that something is computed from."""
    graph = Graph(kernel)
    root = graph.root
    if graph.strange or root is None or not root.parallel or not root.kinds:
        return None
    if not all(n.plain and n.vectorizable and len(n.op.results) == 1 for n in graph.nests):
        return None
    inside = shared_places(graph, root)
    return None if inside is None else Rows(graph, root, inside, machine).script()


def shared_places(graph: Graph, root: Nest) -> Places | None:
    """The nests to compute inside tiles of the root, and their loops that are the root's; None where there is nothing to gain.

    All of them have the same keys: the loops that every reduction among them keeps.
    """
    places: Places = {root: {i: i for i in range(len(root.kinds))}}
    shared = set(places[root])
    for nest in reversed(graph.nests[:-1]):
        place = place_of(graph, nest, places)
        if place is not None:
            places[nest] = place
            if not nest.parallel:
                shared &= set(place)
    inside = {nest: {r: l for r, l in place.items() if r in shared} for nest, place in places.items() if shared <= set(place)}
    while outer := [n for n in inside if n is not root and any(r not in inside for r in graph.readers(n))]:
        for nest in outer:
            del inside[nest]
    return None if not shared or all(n.parallel for n in inside) else inside


def place_of(graph: Graph, nest: Nest, places: Places) -> dict[int, int] | None:
    """Which of a producer's loops all its readers step through together with the root; None where a reader is not placed."""
    result: dict[int, int] | None = None
    for reader in graph.readers(nest):
        if reader not in places:
            return None
        back = {loop: r for r, loop in places[reader].items()}
        for i, value in enumerate(reader.op.operands):
            if value in list(nest.op.results):
                seen = {back[read]: written for read, written in zip(reader.loops_of(i), nest.out_loops) if read in back}
                result = seen if result is None else {r: l for r, l in result.items() if seen.get(r) == l}
    return result


class Rows:
    """Writes the script of one kernel."""

    def __init__(self, graph: Graph, root: Nest, inside: Places, machine: Machine):
        self.graph, self.root, self.inside = graph, root, inside
        self.vectorizer = Vectorizer(machine)
        self.tags = {nest: f"legato.nest{i}" for i, nest in enumerate(graph.nests)}

    def script(self) -> str:
        v, s, root = self.vectorizer, self.vectorizer.script, self.root
        handles = nest_handles(v, self.graph)
        for nest, tag in self.tags.items():
            s.annotate(handles[nest], tag)
        for nest in self.graph.nests:
            if nest not in self.inside:
                cut(v, handles[nest], nest, nest.extents)
        sizes = self.tile_sizes()
        if not any(sizes):
            self.body("%root", sizes)
            return v.close()
        _, loops = s.tile(handles[root], sizes)
        loop = loops[-1]
        for nest in reversed(self.graph.nests[:-1]):
            if nest in self.inside:
                _, loop = s.fuse(handles[nest], loop)
        s.patterns("canonicalize")
        inner = root.out_loops[-1]
        extent = root.extents[inner]
        if sizes[inner] > 1 and (extent < 0 or extent % sizes[inner]):
            around = s.op("loop", f'get_parent_op {s.match(attribute=self.tags[root])} {{op_name = "scf.for"}}')[0]
            whole, rest = s.peel(around)
            self.body(whole, sizes)
            rest_sizes = [DYNAMIC if extent < 0 else extent % sizes[inner] if i == inner else size for i, size in enumerate(sizes)]
            self.body(rest, rest_sizes, limit=sizes[inner])
        else:
            self.body("%root", sizes)
        return v.close()

    def tile_sizes(self) -> list[int]:
        """Of the root: single steps of the shared loops, but strips of the innermost one, so that it is vectorized."""
        root, shared = self.root, self.inside[self.root]
        sizes = [1 if i in shared and e != 1 else 0 for i, e in enumerate(root.extents)]
        inner = root.out_loops[-1]
        if inner in shared:
            widest = max(self.inside, key=lambda n: n.bits)
            sizes[inner] = self.vectorizer.strip(widest, root.extents[inner])
        return sizes

    def body(self, loop: str, sizes: list[int], limit: int | None = None) -> None:
        """Cuts every nest inside ``loop`` for vectors."""
        for nest, place in self.inside.items():
            extents = list(nest.extents)
            for r, l in place.items():
                extents[l] = sizes[r] or extents[l]
            cut(self.vectorizer, self.vectorizer.script.match(attribute=self.tags[nest], within=loop), nest, extents, limit)
