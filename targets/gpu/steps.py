"""A builder for the text of schedules on loops and blocks, as ``legato.Schedule`` writes it.

Handles are strings (``"%3"``) that methods return and take. Nothing is checked here: the steps check themselves when the text is run, and
a schedule that fails leaves its kernel to the plain mapping.
"""
from collections.abc import Sequence

ANY = "!transform.any_op"


class Steps:
    """Collects steps; ``text()`` is a module with one sequence. ``name``: the schedule's, which ``explain`` shows."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lines: list[str] = []
        self._made = 0

    def text(self) -> str:
        """The script."""
        return (f"module attributes {{transform.with_named_sequence}} {{\n  transform.named_sequence @{self.name}(%kernel: {ANY} "
                f"{{transform.readonly}}) {{\n" + "".join(f"    {line}\n" for line in self._lines) + "    transform.yield\n  }\n}\n")

    def step(self, name: str, handles: Sequence[str], attributes: str = "", gives: int = 0) -> list[str]:
        """Appends a step, of any kind. Returns its handles."""
        given = f" {{{attributes}}}" if attributes else ""
        types = "()" if not gives else ANY if gives == 1 else f"({', '.join([ANY] * gives)})"
        made = f"%{self._made}" + (f":{gives}" if gives > 1 else "")
        call = f'"tir.sch_{name}"({", ".join(handles)}){given} : ({", ".join([ANY] * len(handles))}) -> {types}'
        self._lines.append(f"{made} = {call}" if gives else call)
        if not gives:
            return []
        self._made += 1
        return [f"%{self._made - 1}"] if gives == 1 else [f"%{self._made - 1}#{n}" for n in range(gives)]

    # --- finding ---

    def block(self, name: str) -> str:
        """The block of that name."""
        return self.step("get_block", ["%kernel"], f'name = "{name}"', 1)[0]

    def loops(self, block: str, count: int) -> list[str]:
        """The loops around a block, outermost first; ``count``: how many there are."""
        return self.step("get_loops", [block], gives=count) if count else []

    # --- loops ---

    def split(self, loop: str, factors: Sequence[int]) -> list[str]:
        """Nested loops in the place of one, outermost first; the factor -1 is inferred."""
        return self.step("split", [loop], f"factors = array<i64: {', '.join(map(str, factors))}>", len(factors))

    def fuse(self, loops: Sequence[str]) -> str:
        """One loop in the place of perfectly nested ones; a single loop stays."""
        return loops[0] if len(loops) == 1 else self.step("fuse", loops, gives=1)[0]

    def reorder(self, loops: Sequence[str]) -> None:
        """Puts loops into this order, outermost first."""
        if len(loops) > 1:
            self.step("reorder", loops)

    def bind(self, loop: str, thread: str) -> None:
        """Makes the iterations threads: ``"blockIdx.x"``, ``"threadIdx.x"``, ..."""
        self.step("bind", [loop], f'thread = "{thread}"')

    def bind_threads(self, y: str, x: str) -> None:
        """Makes the iterations of two loops the threads of a block along y and x."""
        self.bind(y, "threadIdx.y")
        self.bind(x, "threadIdx.x")

    def bind_tiles(self, result: str) -> list[str]:
        """Gives each tile of a result, in loops over batch, rows and columns, a block of threads. Returns the two loops in a tile."""
        batch, rows, columns, *inner = self.loops(result, 5)
        for loop, axis in ((rows, "x"), (columns, "y"), (batch, "z")):
            self.bind(loop, f"blockIdx.{axis}")
        return inner

    def vectorize(self, loop: str) -> None:
        """Makes the iterations lanes of vectors."""
        self.step("vectorize", [loop])

    def unroll(self, loop: str) -> None:
        """Copies the body for each iteration."""
        self.step("unroll", [loop])

    def unit_loop(self, block_or_loop: str) -> str:
        """A loop of one iteration around a block or a loop."""
        return self.step("add_unit_loop", [block_or_loop], gives=1)[0]

    # --- blocks and buffers ---

    def compute_at(self, block: str, loop: str) -> None:
        """Moves the block into the loop of its readers; it keeps one loop for each axis there, of one iteration or more."""
        self.step("compute_at", [block, loop], "unit_loops = true")

    def reverse_compute_at(self, block: str, loop: str) -> None:
        """Moves the block into the loop of what it reads; it keeps one loop for each axis there."""
        self.step("reverse_compute_at", [block, loop], "unit_loops = true")

    def inline(self, block: str) -> None:
        """Puts the block's computation where its result is read."""
        self.step("compute_inline", [block])

    def decompose(self, block: str, loop: str) -> str:
        """The init of a reduction as a block before the loop, which is returned."""
        return self.step("decompose_reduction", [block, loop], gives=1)[0]

    def rfactor(self, loop: str, axis: int) -> list[str]:
        """Accumulates each iteration of a reduction's loop by itself. Returns the block that does, and the one that combines them."""
        return self.step("rfactor", [loop], f"axis = {axis} : i64", 2)

    def cache_read(self, block: str, at: int | str, scope: str, others: Sequence[str] = ()) -> str:
        """The block that copies the buffer that the block reads as number, or by name, ``at``. ``others``: later readers of the copy."""
        which = f'"{at}"' if isinstance(at, str) else f"{at} : i64"
        return self.step("cache_read", [block, *others], f'at = {which}, scope = "{scope}"', 1)[0]

    def cache_write(self, block: str, at: int, scope: str) -> str:
        """The block that copies the buffer that the block writes as number ``at`` back."""
        return self.step("cache_write", [block], f'at = {at} : i64, scope = "{scope}"', 1)[0]

    def scope(self, block: str, at: int, scope: str) -> None:
        """Sets the scope of the buffer that the block writes as number ``at``."""
        self.step("set_scope", [block], f'at = {at} : i64, scope = "{scope}"')
