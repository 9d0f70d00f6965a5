"""``legato.Schedule``: a kernel that is transformed step by step, each step checked and recorded."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from legato.core.mlir import ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.markers import FIXED, SCHEDULED
from legato.dialects.tir.walk import blocks, buffer_name, localize_constants
from legato.schedule import script
from legato.schedule.elsewhere import ELSEWHERE
from legato.schedule.handle import Handle, Knob, Numbers, Work, numbers_of, on_side
from legato.schedule.index_map import affine_map
from legato.schedule.interpret import GONE
from legato.schedule.primitives import run
from legato.schedule.state import Kernel, ScheduleError, reads
from legato.schedule.trace import Trace, attribute_of

Buffer = int | str | tuple[str, int]


class Schedule:
    """TensorIR's primitives on the kernels of a module.

    ``module``: a Module, or a script's kernel; it is left as it is: ``.mod`` is the scheduled copy. ``kernel``: the name of the one that
    is worked on, if there are several (``work_on`` goes to another). Each primitive raises ``ScheduleError``, with the reason, where it
    is not legal. ``trace`` is what was done to the kernel, as a transform script; ``replay`` runs one. A kernel that is structured is put
    into loops first. Buffers are named by their numbers among those that a block reads or writes, or by their names.
    """

    def __init__(self, module: Any, kernel: str | None = None):
        self.module: Module = module.clone() if isinstance(module, Module) else module.module()
        self._works: dict[str, Work] = {}
        self._current: str | None = None
        names = self._names()
        if kernel is not None or len(names) == 1:
            self.work_on(kernel if kernel is not None else names[0])
        elif not names:
            raise ScheduleError("the module has no kernels to schedule")

    # --- what there is ---

    def work_on(self, func_name: str) -> None:
        """Goes to a kernel of the module: ``get_block``, ``trace`` and ``replay`` are of that."""
        self._current = self._work(func_name).name

    @property
    def mod(self) -> Module:
        """The module with what was done."""
        return self.module

    @property
    def trace(self) -> str:
        """What was done to the kernel, as a transform script that ``replay`` takes."""
        return str(self._work().trace)

    def get(self, handle: Handle) -> ir.Operation:
        """The operation that a handle stands for."""
        return handle.operation

    def get_block(self, name: str, func_name: str | None = None) -> Handle:
        """The block of that name."""
        return self._of_kernel("get_block", func_name, name=name)[0]

    get_sblock = get_block  # as newer TVM has it

    def get_loops(self, block: Handle) -> list[Handle]:
        """The loops around a block, outermost first."""
        return self._step("get_loops", [block])

    def get_child_blocks(self, block_or_loop: Handle) -> list[Handle]:
        """The blocks that stand directly under a block or a loop."""
        return self._step("get_child_blocks", [block_or_loop])

    def get_producers(self, block: Handle) -> list[Handle]:
        """The blocks in front of a block that write what it reads."""
        return self._step("get_producers", [block])

    def get_consumers(self, block: Handle) -> list[Handle]:
        """The blocks behind a block that read what it writes."""
        return self._step("get_consumers", [block])

    def get_output_blocks(self, scope_block: Handle | None = None) -> list[Handle]:
        """The blocks, under a block or in the whole kernel, that write outputs of the kernel."""
        return self._step("get_output_blocks", [scope_block]) if scope_block is not None else self._of_kernel("get_output_blocks")

    def replay(self, source: str | Path, **parameters: Any) -> Schedule:
        """Runs a script, a text or a file, on the kernel as it is now. Handles from before are gone.

        ``parameters``: values for the script's knobs, by name. If a step fails the kernel is as it was.
        """
        work = self._work()
        parsed = script.parse(source, self.module.context)
        script.set_knobs(parsed, parameters)
        entry = script.entry(parsed)
        recorded = Trace(self.module.context)
        recorded.extend(work.trace.module, work.trace.sequence)
        recorded.extend(parsed, entry)
        backup = self.module.clone()
        for one in self._works.values():
            one.forget()
        try:
            work.kernel = Kernel(script.run_apart(self.module.module, parsed, entry, work.kernel.function))
        except BaseException:
            self.module = backup
            for one in self._works.values():
                one.kernel = Kernel(backup.function(one.name))
            raise
        if not script.only_steps(parsed):
            with self.module.context, ir.Location.unknown():
                localize_constants(work.kernel.function.operation)
        work.trace = recorded
        return self

    def __str__(self) -> str:
        return str(self._work().kernel.function)

    # --- loops ---

    def split(self, loop: Handle, factors: Sequence[int | Knob | None]) -> list[Handle]:
        """Nested loops in the place of one, outermost first; one factor may be None: what is left."""
        return self._step("split", [loop], numbers=("factors", [-1 if f is None else f for f in factors]))

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

    def add_unit_loop(self, block_or_loop: Handle) -> Handle:
        """A loop of one step around a block or a loop; gives it."""
        return self._step("add_unit_loop", [block_or_loop])[0]

    def annotate(self, block_or_loop: Handle, ann_key: str, ann_val: Any) -> None:
        """Notes something on a block or a loop for who lowers it."""
        with self.module.context:
            value = attribute_of(ann_val)
        self._step("annotate", [block_or_loop], key=ann_key, value=value)

    def unannotate(self, block_or_loop: Handle, ann_key: str) -> None:
        """Takes a note away."""
        self._step("unannotate", [block_or_loop], key=ann_key)

    # --- buffers ---

    def cache_read(self, block: Handle, read_buffer_index: Buffer, storage_scope: str) -> Handle:
        """The block reads a copy of a buffer; gives the block that copies."""
        return self._step("cache_read", [block], at=on_side(read_buffer_index, "read"), scope=storage_scope)[0]

    def cache_write(self, block: Handle, write_buffer_index: Buffer, storage_scope: str) -> Handle:
        """The block writes a buffer of its own; gives the block that copies from it."""
        return self._step("cache_write", [block], at=on_side(write_buffer_index, "write"), scope=storage_scope)[0]

    def set_scope(self, block: Handle, buffer_index: Buffer, storage_scope: str) -> None:
        """Says where a buffer that the block writes lies."""
        self._step("set_scope", [block], at=on_side(buffer_index, "write"), scope=storage_scope)

    def transform_layout(self, block: Handle, buffer: Buffer, index_map: Callable | str) -> None:
        """A buffer that the block writes (``0``, ``"C"``, ``("write", 0)``) or reads (``("read", 0)``) gets another layout.

        ``index_map``: ``lambda i, j: (i // 4, j, i % 4)``, or a map's text.
        """
        reads = {"side": "read"} if isinstance(buffer, tuple) and buffer[0] == "read" else {}
        with self.module.context:
            found = affine_map(index_map)
        self._step("transform_layout", [block], at=on_side(buffer, "read" if reads else "write"), map=found, **reads)

    # --- blocks ---

    def compute_at(self, block: Handle, loop: Handle, preserve_unit_loops: bool = False) -> None:
        """The block is computed inside the loop of its readers."""
        self._step("compute_at", [block, loop], **({"unit_loops": True} if preserve_unit_loops else {}))

    def reverse_compute_at(self, block: Handle, loop: Handle, preserve_unit_loops: bool = False) -> None:
        """The block runs inside the loop of what it reads."""
        self._step("reverse_compute_at", [block, loop], **({"unit_loops": True} if preserve_unit_loops else {}))

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
        """Each step of a reduction's loop adds up into a place of its own; gives the block of the steps.

        The block's own handle goes on with the block that adds these up.
        """
        return self._step("rfactor", [loop], axis=factor_axis)[0]

    def blockize(self, loop: Handle) -> Handle:
        """What stands under the loop becomes one block; gives it."""
        return self._step("blockize", [loop])[0]

    def tensorize(self, block_or_loop: Handle, tensor_intrin: str) -> Handle:
        """What stands under the loop is done by an intrinsic (``legato.register_tensor_intrinsic``); gives the block around it."""
        return self._step("tensorize", [block_or_loop], intrinsic=tensor_intrin)[0]

    def pack(self, block: Handle | str, read_buffer_index: Any, tiles: Sequence[int | Knob] | None = None) -> None:
        """What the block reads lies in tiles; a parameter is packed where the kernel is called, a constant at compile time.

        ``pack("W", (16, 16))`` is of the one block that reads ``W``.
        """
        if tiles is None:
            return self.pack(self._reader(block), block, read_buffer_index)
        self._step("pack", [block], numbers=("tiles", list(tiles)), at=on_side(read_buffer_index, "read"))

    def _reader(self, buffer: Any) -> Handle:
        """The block that reads a buffer of this name. ScheduleError if it is not one."""
        if not isinstance(buffer, str):
            raise ScheduleError(f"pack: takes a block, a buffer and tiles, or a buffer's name and tiles; not {buffer!r} and tiles")
        kernel = self._work().kernel
        found = [b.name for b in blocks(kernel.function.operation) if buffer in map(buffer_name, reads(b))]
        if len(found) != 1:
            raise ScheduleError(f"pack: {len(found)} blocks read '{buffer}'{': ' if found else ''}{', '.join(found)}; say which, "
                                "pack(block, buffer, tiles)")
        return self.get_block(found[0])

    def pad(self, block: Handle, sizes: Sequence[int | Knob]) -> None:
        """The block works on extents that are multiples of these, one for each axis (TVM's pad_einsum)."""
        self._step("pad", [block], numbers=("sizes", list(sizes)))

    def pad_einsum(self, block: Handle, padding: Sequence[int | Knob]) -> None:
        """``pad``, by its name in TVM."""
        self.pad(block, padding)

    # --- parameters ---

    def knob(self, name: str, options: Sequence[int], selected: int | None = None) -> Knob:
        """A number that the schedule is tuned by, one of the options, to stand among the factors of a split or the sizes of tiles.

        It is ``transform.tune.knob`` in the trace; ``replay(trace, name=value)`` chooses another.
        """
        chosen = options[0] if selected is None else selected
        if chosen not in options:
            raise ScheduleError(f"knob: '{name}' is one of {', '.join(map(str, options))}, not {chosen}")
        return Knob(name, chosen, self._work().trace.knob(name, options, chosen))

    def __getattr__(self, name: str) -> Any:
        if name in ELSEWHERE:
            raise AttributeError(f"legato.Schedule has no {name}: {ELSEWHERE[name]}")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    # --- recording ---

    def _step(self, step: str, handles: Sequence[Handle], numbers: Numbers = None, **given: Any) -> list[Handle]:
        for handle in handles:
            if not isinstance(handle, Handle) or handle.schedule is not self:
                raise ScheduleError(f"{step}: takes handles of this schedule, from get_block and get_loops; not {handle!r}")
            if handle.cell.op is None:
                raise ScheduleError(f"{step}: {GONE}")
        if not handles:
            raise ScheduleError(f"{step}: takes handles, has none")
        work = handles[0].work
        if any(handle.work is not work for handle in handles):
            raise ScheduleError(f"{step}: takes loops and blocks of one kernel")
        return self._do(work, step, [h.operation for h in handles], [h.value for h in handles], numbers, given)

    def _of_kernel(self, step: str, kernel: str | None = None, **given: Any) -> list[Handle]:
        """A step on the kernel itself."""
        work = self._work(kernel)
        return self._do(work, step, [work.kernel.function.operation], [work.trace.kernel], None, given)

    def _do(self, work: Work, step: str, ops: list[ir.Operation], values: list[ir.Value], numbers: Numbers,
            given: Mapping[str, Any]) -> list[Handle]:
        attributes, recorded, knobs = numbers_of(step, numbers, given)
        made = run(work.kernel, step, ops, attributes)
        results = work.trace.step(step, [*values, *knobs], recorded, len(made))
        for op, value in zip(made, results):
            work.renamed(op, value)
        return [Handle(self, work, work.kernel.cell(op, value)) for op, value in zip(made, results)]

    def _names(self) -> list[str]:
        return [k.name.value for k in tir.prim_funcs(self.module.module)]

    def _work(self, name: str | None = None) -> Work:
        name = name if name is not None else self._current
        if name is None:
            names = ", ".join(self._names())
            raise ScheduleError(f"say which kernel is scheduled: Schedule(module, name), or work_on(name); there are {names}")
        if name not in self._works:
            self._works[name] = Work(name, self._begin(name), Trace(self.module.context))
        return self._works[name]

    def _begin(self, name: str) -> Kernel:
        """A kernel as loops that steps may work on."""
        found = next((k for k in tir.prim_funcs(self.module.module) if k.name.value == name), None)
        if found is None:
            raise ScheduleError(f"there is no kernel '{name}'; there are {', '.join(self._names()) or 'none'}")
        with self.module.context, ir.Location.unknown():
            if not blocks(found.operation):
                from legato.schedule.unraise import to_loops

                to_loops(found)
            found.attributes[FIXED] = found.attributes[SCHEDULED] = ir.UnitAttr.get()
            localize_constants(found.operation)
        return Kernel(found)
