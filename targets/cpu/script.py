"""A builder for the text of transform-dialect scripts.

A script is the body of a named sequence whose argument ``%root`` is a handle to one prim_func. Handles are strings (``"%tile3"``) that
methods return and take. Nothing is checked here; the transform interpreter reports the line of the script and the payload.
"""
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count

ANY = "!transform.any_op"
LOOP = '!transform.op<"scf.for">'

# Short names of pattern sets; other names are used as they are, after "transform.apply_patterns.".
PATTERNS = {
    "canonicalize": "canonicalization",
    "merge-slices": "tensor.merge_consecutive_insert_extract_slice",
    "decompose-unpack": "linalg.decompose_pack_unpack",
    "drop-unit-dims": "linalg.fold_unit_extent_dims_via_slices",
    "fold-empty": "tensor.fold_tensor_empty",
    "fold-into-transfers": "tensor.fold_tensor_subset_ops_into_vector_transfers",
    "transfer-permutations": "vector.transfer_permutation_patterns",
    "reduction-to-contract": "vector.reduction_to_contract",
    "drop-leading-unit-dims": "vector.cast_away_vector_leading_one_dim",
    "loop-bounds": "scf.for_loop_canonicalization",
    "result-sizes": "memref.resolve_ranked_shaped_type_result_dims",
}


class Script:
    """Collects transform ops; ``text()`` is the body of the sequence, without ``transform.yield``."""

    def __init__(self) -> None:
        self.root = "%root"
        self._lines: list[str] = []
        self._numbers = count()

    def text(self) -> str:
        """The text of all ops."""
        return "\n".join(self._lines) + "\n"

    def line(self, text: str) -> None:
        """Appends an op without results."""
        self._lines.append("  " + text)

    def op(self, hint: str, text: str, results: int = 1, result_types: Sequence[str] = (), operands: int = 1) -> list[str]:
        """Appends ``%hint.. = transform.<text> : (operands) -> results`` and returns one handle for each result."""
        names = [f"%{hint}{next(self._numbers)}" for _ in range(results)]
        types = list(result_types) or [ANY] * results
        out = types[0] if results == 1 else "(" + ", ".join(types) + ")"
        self.line(f"{', '.join(names)} = transform.{text} : ({', '.join([ANY] * operands)}) -> {out}")
        return names

    def _cast(self, handle: str, type_: str) -> str:
        typed = f"%typed{next(self._numbers)}"
        self.line(f"{typed} = transform.cast {handle} : {ANY} to {type_}")
        return typed

    # --- finding ops ---

    def match(self, *ops: str, within: str = "", attribute: str = "", interface: str = "") -> str:
        """The ops with one of these names, these attributes (as in a dictionary) and this interface ("LinalgOp").

        ``within``: the op whose regions are searched; the function, where it is empty.
        """
        names = ", ".join(f'"{name}"' for name in ops)
        what = [f"ops{{[{names}]}}"] if ops else []
        what += [f"interface{{{interface}}}"] if interface else []
        what += [f"attributes{{{attribute}}}"] if attribute else []
        return self.op("match", f"structured.match {' '.join(what)} in {within or self.root}")[0]

    def producer(self, handle: str, operand: int) -> str:
        """The op that defines this operand."""
        return self.op("producer", f"get_producer_of_operand {handle}[{operand}]")[0]

    def merge(self, handles: Sequence[str]) -> str:
        """One handle to the ops of all handles, without duplicates."""
        name = f"%all{next(self._numbers)}"
        self.line(f"{name} = transform.merge_handles deduplicate {', '.join(handles)} : {ANY}")
        return name

    def annotate(self, handle: str, attribute: str) -> None:
        """Sets a unit attribute by which the op's tiles can be matched: tiling and fusion keep it, vectorization drops it."""
        self.line(f'transform.annotate {handle} "{attribute}" : {ANY}')

    @contextmanager
    def foreach(self, handle: str) -> Iterator[str]:
        """Runs the ops appended inside for each op of the handle; yields the handle to that op."""
        each = f"%each{next(self._numbers)}"
        self.line(f"transform.foreach {handle} : {ANY} {{")
        self.line(f"^bb0({each}: {ANY}):")
        yield each
        self.line("transform.yield }")

    # --- tiling ---

    def tile(self, handle: str, sizes: Sequence[int], interchange: Sequence[int] = ()) -> tuple[str, list[str]]:
        """Tiles by these sizes (0: no loop). Returns the tile and the loops; ``interchange``: the tiled dimensions, outermost first."""
        loops = sum(size != 0 for size in sizes)
        whole = [*interchange, *(d for d in range(len(sizes)) if d not in interchange)]
        order = f" interchange={whole}" if interchange and whole != sorted(whole) else ""
        tiled, *made = self.op("tile", f"structured.tile_using_for {handle} tile_sizes {list(sizes)}{order}", 1 + loops)
        return tiled, made

    def tile_and_fuse(self, handle: str, sizes: Sequence[int], interchange: Sequence[int] = ()) -> tuple[str, list[str]]:
        """As ``tile``; producers are fused into the loops, transitively. Producers that are loops stay outside."""
        loops = sum(size != 0 for size in sizes)
        whole = [*interchange, *(d for d in range(len(sizes)) if d not in interchange)]
        order = f" interchange {whole}" if interchange and whole != sorted(whole) else ""
        tiled, *made = self.op("tile", f"structured.fuse {handle} tile_sizes {list(sizes)}{order}", 1 + loops)
        return tiled, made

    def tile_parallel(self, handle: str, sizes: Sequence[int]) -> str:
        """Tiles by these sizes (0: whole) with one scf.forall, and fuses producers into it. Returns the tile."""
        return self.op("part", f"structured.fuse {handle} tile_sizes {list(sizes)} {{use_forall}}", 2)[0]

    def fuse(self, producer: str, loop: str) -> tuple[str, str]:
        """Fuses the producer into the loop. Returns its tile and the loop's new handle (the old one is consumed)."""
        fused, outer = self.op("fused", f"structured.fuse_into_containing_op {producer} into {loop}", 2, operands=2)
        return fused, outer

    def peel(self, loop: str) -> tuple[str, str]:
        """Splits off the last, partial iteration. Returns the loop of whole tiles and the rest (empty where the size divides)."""
        typed = self._cast(loop, LOOP)
        main, rest = [f"%{name}{next(self._numbers)}" for name in ("whole", "rest")]
        self.line(f"{main}, {rest} = transform.loop.peel {typed} : ({LOOP}) -> ({ANY}, {ANY})")
        return main, rest

    # --- rewriting ---

    def lower_unpacks(self, within: str = "") -> None:
        """Lowers tiles of linalg.unpack that lie in one packed block to slices of it."""
        unpack = '!transform.op<"linalg.unpack">'
        handle = self._cast(self.match("linalg.unpack", within=within), unpack)
        made = ", ".join(f'!transform.op<"{name}">' for name in
                         ("tensor.empty", "linalg.transpose", "tensor.collapse_shape", "tensor.extract_slice", "linalg.copy"))
        names = ", ".join(f"%lowered{next(self._numbers)}" for _ in range(5))
        self.line(f"{names} = transform.structured.lower_unpack {handle} : ({unpack}) -> ({made})")

    def patterns(self, *names: str, within: str = "", cse: bool = True) -> None:
        """Applies pattern sets greedily: names of ``PATTERNS``, or upstream's own.

        Handles to ops that a pattern folds away become empty without failure.
        """
        body = " ".join(f"transform.apply_patterns.{PATTERNS.get(name, name)}" for name in names)
        flags = "{apply_cse, transform.silence_tracking_failures}" if cse else "{transform.silence_tracking_failures}"
        self.line(f"transform.apply_patterns to {within or self.root} {{ {body} }} {flags} : {ANY}")

    def clean(self) -> None:
        """Canonicalizes the function after tiling: sizes become static where possible, nested slices are merged, dead ops removed."""
        self.patterns("canonicalize", "loop-bounds", "result-sizes")

    def vectorize(self, fold_slices: bool = True, widening: bool = False) -> None:
        """Vectorizes all linalg ops of the function (all must be small and static), and hoists accumulators.

        ``widening``: whether factors of contractions are widened, which is done to what they are read as, before it is broadcast.

        Afterwards the function has loops, transfers on tensors and vectors carried by loops, but no linalg ops.
        """
        self.line(f"transform.structured.vectorize {self.match(interface='LinalgOp')} : {ANY}")
        self.finish(fold_slices, widening)

    def finish(self, fold_slices: bool = True, widening: bool = False) -> None:
        """Cleans up after the last vectorize: slices are folded into transfers, and loops carry accumulators as vectors.

        ``widening``: as in ``vectorize``. ``fold_slices``: False where slices drop inner dimensions; lowerings of transfers that skip a
        dimension undo each other.
        """
        self.patterns("transfer-permutations", "reduction-to-contract", "fold-empty", "canonicalize")
        if widening:    # casts move before broadcasts, which become part of the contraction
            self.patterns("vector.sink_ops")
            self.patterns("reduction-to-contract", "canonicalize")
        self.patterns(*(["fold-into-transfers"] if fold_slices else []), "drop-leading-unit-dims", "canonicalize")
        loops = self.match("scf.for")
        self.line(f"transform.apply_licm to {loops} : {ANY}")
        self.line(f"transform.loop.hoist_loop_invariant_subsets {loops} : {ANY}")
        self.patterns()
