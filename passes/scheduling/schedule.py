"""``legato.Schedule``: a kernel that is transformed step by step, each step checked and recorded."""
from collections.abc import Callable, Sequence
from typing import Any

from ...dialects import tir
from ...dialects.module import Module
from ...dialects.tir.text import FIXED
from ...dialects.tir.walk import blocks, localize_constants
from ...mlir import ir
from . import script
from .primitives import run
from .state import Cell, Kernel, ScheduleError

SCHEDULED = "tir.scheduled"


class Handle:
    """A block or a loop of a schedule."""

    def __init__(self, schedule: "Schedule", cell: Cell, text: str):
        self._schedule, self._cell, self._text = schedule, cell, text

    @property
    def operation(self) -> ir.Operation:
        """The operation as it stands now."""
        if self._cell.op is None:
            raise ScheduleError("this loop or block is gone, an earlier step has put others in its place")
        return self._cell.op

    @property
    def name(self) -> str:
        return self.operation.opview.name

    @property
    def extent(self) -> int | None:
        """Of a loop: how many steps it has."""
        return self.operation.opview.extent

    def __repr__(self) -> str:
        return "<gone>" if self._cell.op is None else f"<{self._cell.op.name.removeprefix('tir.')} {self.name}>"


class Schedule:
    """TensorIR's primitives on one kernel of a module.

    ``module``: a Module, or a script's kernel; it is left as it is: ``.module`` is the scheduled copy. ``kernel``: its name, if there are
    several. Each primitive raises ``ScheduleError``, with the reason, where it is not legal. ``trace`` is the schedule so far, as a
    transform script; ``replay(text)`` runs one. A kernel that is structured is put into loops first.
    """

    def __init__(self, module: Any, kernel: str | None = None):
        self.module: Module = module.clone() if isinstance(module, Module) else module.module()
        found = [k for k in tir.prim_funcs(self.module.module) if kernel in (None, k.name.value)]
        if len(found) != 1:
            names = ", ".join(k.name.value for k in tir.prim_funcs(self.module.module)) or "none"
            raise ScheduleError(f"say which kernel is scheduled: Schedule(module, name); there are {names}" if kernel is None else
                                f"there is no kernel '{kernel}'; there are {names}")
        with self.module.context, ir.Location.unknown():
            if not blocks(found[0].operation):
                from .unraise import to_loops

                to_loops(found[0])
        found[0].attributes[FIXED] = found[0].attributes[SCHEDULED] = ir.UnitAttr.get(self.module.context)
        with self.module.context, ir.Location.unknown():
            localize_constants(found[0].operation)
        self._kernel = Kernel(found[0])
        self._lines: list[str] = []
        self._count = 0

    # --- what there is ---

    def get_block(self, name: str) -> Handle:
        """The block of that name."""
        return self._step("get_block", [], name=name)[0]

    def get_loops(self, block: Handle) -> list[Handle]:
        """The loops around a block, outermost first."""
        return self._step("get_loops", [block])

    @property
    def trace(self) -> str:
        """The steps so far, as a transform script that ``replay`` takes."""
        return script.wrap(self._lines)

    def replay(self, text: str) -> "Schedule":
        """Runs the steps of a script on the kernel as it is now."""
        _module, sequence = script.parse(text, self.module.context)
        self._kernel = script.replay(sequence, self._kernel.function)
        self._lines += [line.strip() for line in text.splitlines() if f'"{script.PREFIX}' in line]
        return self

    def __str__(self) -> str:
        return str(self._kernel.function)

    # --- loops ---

    def split(self, loop: Handle, factors: Sequence[int | None]) -> list[Handle]:
        """Nested loops in the place of one, outermost first; one factor may be None: what is left."""
        return self._step("split", [loop], factors=[-1 if f is None else f for f in factors])

    def fuse(self, *loops: Handle) -> Handle:
        """One loop in the place of loops that stand directly in each other."""
        return self._step("fuse", loops)[0]

    def reorder(self, *loops: Handle) -> None:
        """Puts loops of one nest into this order, outermost first."""
        self._step("reorder", loops)

    def parallel(self, loop: Handle) -> None:
        """The steps run on several cores."""
        self._step("parallel", [loop])

    def vectorize(self, loop: Handle) -> None:
        """The steps become lanes of vectors."""
        self._step("vectorize", [loop])

    def unroll(self, loop: Handle) -> None:
        """The body is copied for each step."""
        self._step("unroll", [loop])

    def bind(self, loop: Handle, thread_axis: str) -> None:
        """The steps are threads of a device: ``"blockIdx.x"``, ``"threadIdx.x"``, ..."""
        self._step("bind", [loop], thread=thread_axis)

    # --- buffers ---

    def cache_read(self, block: Handle, read_buffer_index: int, storage_scope: str) -> Handle:
        """The block reads a copy of a buffer; gives the block that copies."""
        return self._step("cache_read", [block], at=read_buffer_index, scope=storage_scope)[0]

    def cache_write(self, block: Handle, write_buffer_index: int, storage_scope: str) -> Handle:
        """The block writes a buffer of its own; gives the block that copies from it."""
        return self._step("cache_write", [block], at=write_buffer_index, scope=storage_scope)[0]

    def set_scope(self, block: Handle, buffer_index: int, storage_scope: str) -> None:
        """Says where a buffer that the block writes lies."""
        self._step("set_scope", [block], at=buffer_index, scope=storage_scope)

    def transform_layout(self, block: Handle, buffer: int | tuple[str, int], index_map: Callable | str) -> None:
        """The buffer that the block writes as this number gets another layout: ``lambda i, j: (i // 4, j, i % 4)``, or a map's text."""
        at = buffer if isinstance(buffer, int) else buffer[1]
        if isinstance(buffer, tuple) and buffer[0] != "write":
            raise ScheduleError("transform_layout: name the block that writes the buffer, and (\"write\", number)")
        with self.module.context:
            found = affine_map(index_map)
        self._step("transform_layout", [block], at=at, map=found)

    # --- blocks ---

    def compute_at(self, block: Handle, loop: Handle) -> None:
        """The block is computed inside the loop of its readers."""
        self._step("compute_at", [block, loop])

    def reverse_compute_at(self, block: Handle, loop: Handle) -> None:
        """The block runs inside the loop of what it reads."""
        self._step("reverse_compute_at", [block, loop])

    def compute_inline(self, block: Handle) -> None:
        """Each read of what the block computes computes it itself."""
        self._step("compute_inline", [block])

    def reverse_compute_inline(self, block: Handle) -> None:
        """The block that makes what this one reads does its work too."""
        self._step("reverse_compute_inline", [block])

    def decompose_reduction(self, block: Handle, loop: Handle) -> Handle:
        """The init becomes a block in front of the loop; gives it."""
        return self._step("decompose_reduction", [block, loop])[0]

    def rfactor(self, loop: Handle, factor_axis: int) -> Handle:
        """Each step of a reduction's loop adds up into a place of its own; gives the block of the steps."""
        return self._step("rfactor", [loop], axis=factor_axis)[0]

    def blockize(self, loop: Handle) -> Handle:
        """What stands under the loop becomes one block; gives it."""
        return self._step("blockize", [loop])[0]

    def tensorize(self, loop: Handle, tensor_intrin: str) -> Handle:
        """What stands under the loop is done by an intrinsic (``legato.register_tensor_intrinsic``); gives the block around it."""
        return self._step("tensorize", [loop], intrinsic=tensor_intrin)[0]

    def pack(self, block: Handle, read_buffer_index: int, tiles: Sequence[int]) -> None:
        """What the block reads lies in tiles; a parameter is packed where the kernel is called, a constant at compile time."""
        self._step("pack", [block], at=read_buffer_index, tiles=list(tiles))

    def pad(self, block: Handle, sizes: Sequence[int]) -> None:
        """The block works on extents that are multiples of these, one for each axis (TVM's pad_einsum)."""
        self._step("pad", [block], sizes=list(sizes))

    # --- recording ---

    def _step(self, step: str, handles: Sequence[Handle], **attributes: Any) -> list[Handle]:
        for handle in handles:
            if not isinstance(handle, Handle) or handle._schedule is not self:
                raise ScheduleError(f"{step}: takes handles of this schedule, from get_block and get_loops; not {handle!r}")
        made = run(self._kernel, step, [h._cell for h in handles], attributes)
        names = [f"%{step}{self._count}" + (f"#{n}" if len(made) > 1 else "") for n in range(len(made))]
        operands = ", ".join(h._text for h in handles) or "%kernel"
        text = ", ".join(f"{name} = {script.attribute_text(value)}" for name, value in attributes.items())
        results = script.ANY if len(made) == 1 else f"({', '.join([script.ANY] * len(made))})"
        head = f"%{step}{self._count}" + (f":{len(made)}" if len(made) > 1 else "") + " = " if made else ""
        inputs = ", ".join([script.ANY] * max(1, len(handles)))
        self._lines.append(f'{head}"{script.PREFIX}{step}"({operands}) {{{text}}} : ({inputs}) -> {results}')
        self._count += 1
        return [Handle(self, cell, name) for cell, name in zip(made, names)]


def affine_map(given: Callable | str) -> ir.AffineMap:
    """The map that a function of indices is, or that a text says."""
    if isinstance(given, str):
        return ir.AffineMap.parse(given if given.startswith("affine_map") else f"affine_map<{given}>")
    import inspect

    count = len(inspect.signature(given).parameters)
    results = given(*(Index(ir.AffineExpr.get_dim(d)) for d in range(count)))
    results = results if isinstance(results, tuple) else (results,)
    found = [r.expression if isinstance(r, Index) else ir.AffineExpr.get_constant(r) for r in results]
    return ir.AffineMap.get(count, 0, found)


class Index:
    """An index in a map written as a Python function: it can be added, multiplied, divided (//) and taken the rest of (%)."""

    def __init__(self, expression: ir.AffineExpr):
        self.expression = expression

    def __add__(self, other: Any) -> "Index":
        return Index(self.expression + (other.expression if isinstance(other, Index) else other))

    def __mul__(self, other: int) -> "Index":
        return Index(self.expression * other)

    def __floordiv__(self, other: int) -> "Index":
        return Index(ir.AffineExpr.get_floor_div(self.expression, other))

    def __mod__(self, other: int) -> "Index":
        return Index(self.expression % other)

    __radd__, __rmul__ = __add__, __mul__
