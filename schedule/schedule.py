"""``legato.Schedule``: a kernel is transformed step by step; each step is checked and recorded."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from warnings import warn

from legato.core.mlir import ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.state import SCHEDULED, set_state
from legato.dialects.tir.walk import blocks, buffer_name, localize_constants
from legato.schedule import script
from legato.schedule.elsewhere import ELSEWHERE
from legato.schedule.handle import Handle, Knob, Numbers, Work, numbers_of, on_side
from legato.schedule.index_map import affine_map
from legato.schedule.interpret import GONE
from legato.schedule.primitives import run
from legato.schedule.state import Kernel, ScheduleError, reads
from legato.schedule.trace import Trace, attribute_of
from legato.schedule.unraise import to_loops

Buffer = int | str | tuple[str, int]


class ModuleSchedule:
    """TensorIR's schedule primitives on the kernels of a module.

    ``module``: a Module, or a script's kernel, which is not changed: ``.module`` is the scheduled copy. ``kernel``: the name of the kernel
    to schedule, if there are several (``work_on`` switches to another). Each primitive raises ``ScheduleError``, with the reason, if it
    is not legal. ``trace`` is the transform script of the steps so far; ``replay`` runs one. A structured kernel is converted to loops
    first. Buffers are given by their numbers among those that a block reads or writes, or by their names.
    """

    def __init__(self, module: Any, kernel: str | None = None):
        make = module.clone if isinstance(module, Module) else getattr(module, "module", None)
        if not callable(make):
            raise ScheduleError(f"what is scheduled is a kernel (a function under @T.prim_func) or a legato.Module, not "
                                f"{type(module).__name__}")
        self.module: Module = make()
        self._works: dict[str, Work] = {}
        self._current: str | None = None
        names = self._names()
        if kernel is not None or len(names) == 1:
            self.work_on(kernel if kernel is not None else names[0])
        elif not names:
            raise ScheduleError("the module has no kernels to schedule")

    # --- what there is ---

    def work_on(self, func_name: str) -> None:
        """Switches to a kernel of the module: ``get_block``, ``trace`` and ``replay`` refer to it."""
        self._current = self._work(func_name).name

    @property
    def mod(self) -> Module:
        """The old name of ``module``, and TVM's."""
        warn("sch.mod is called sch.module now", DeprecationWarning, stacklevel=2)
        return self.module

    @property
    def kernel_name(self) -> str:
        """The name of the kernel that is scheduled. ScheduleError if none is chosen."""
        return self._work().name

    @property
    def trace(self) -> str:
        """The steps on the kernel so far, as a transform script for ``replay``."""
        return str(self._work().trace)

    def get(self, handle: Handle) -> ir.Operation:
        """The operation of a handle."""
        return handle.operation

    def get_block(self, name: str, func_name: str | None = None) -> Handle:
        """The block of that name."""
        return self._of_kernel("get_block", func_name, name=name)[0]

    get_sblock = get_block  # the name in newer TVM

    def get_loops(self, block: Handle) -> list[Handle]:
        """The loops around a block, outermost first."""
        return self._step("get_loops", [block])

    def get_child_blocks(self, block_or_loop: Handle) -> list[Handle]:
        """The blocks directly in a block or a loop."""
        return self._step("get_child_blocks", [block_or_loop])

    def get_producers(self, block: Handle) -> list[Handle]:
        """The earlier blocks that write what a block reads."""
        return self._step("get_producers", [block])

    def get_consumers(self, block: Handle) -> list[Handle]:
        """The later blocks that read what a block writes."""
        return self._step("get_consumers", [block])

    def get_output_blocks(self, scope_block: Handle | None = None) -> list[Handle]:
        """The blocks, in a block or in the whole kernel, that write outputs of the kernel."""
        return self._step("get_output_blocks", [scope_block]) if scope_block is not None else self._of_kernel("get_output_blocks")

    def replay(self, source: str | Path, **parameters: Any) -> ModuleSchedule:
        """Runs a script, given as text or a file, on the current kernel. Existing handles become invalid.

        ``parameters``: values for the script's knobs, by name. If a step fails the kernel is unchanged.
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
        """Replaces a loop by nested loops, outermost first; one factor may be None and is inferred. The outermost stays what the loop was:
        parallel, bound to a thread."""
        if isinstance(factors, str) or not isinstance(factors, Sequence):
            raise ScheduleError(f"split: the factors are a list, outermost first, such as [None, 4]; not {factors!r}")
        return self._step("split", [loop], numbers=("factors", [-1 if f is None else f for f in factors]))

    def fuse(self, *loops: Handle) -> Handle:
        """Replaces perfectly nested loops by one."""
        return self._step("fuse", loops)[0]

    def reorder(self, *loops: Handle) -> None:
        """Puts loops of one nest into this order, outermost first."""
        self._step("reorder", loops)

    def parallel(self, loop: Handle) -> None:
        """Runs the iterations on several cores."""
        self._step("parallel", [loop])

    def vectorize(self, loop: Handle) -> None:
        """Makes the iterations lanes of vectors."""
        self._step("vectorize", [loop])

    def unroll(self, loop: Handle) -> None:
        """Copies the body for each iteration."""
        self._step("unroll", [loop])

    def bind(self, loop: Handle, thread_axis: str) -> None:
        """Makes the iterations threads of a device: ``"blockIdx.x"``, ``"threadIdx.x"``, ..."""
        self._step("bind", [loop], thread=thread_axis)

    def add_unit_loop(self, block_or_loop: Handle) -> Handle:
        """Encloses a block or a loop in a loop of one iteration, which is returned."""
        return self._step("add_unit_loop", [block_or_loop])[0]

    def annotate(self, block_or_loop: Handle, ann_key: str, ann_val: Any) -> None:
        """Adds an annotation for lowering to a block or a loop."""
        with self.module.context:
            value = attribute_of(ann_val)
        self._step("annotate", [block_or_loop], key=ann_key, value=value)

    def unannotate(self, block_or_loop: Handle, ann_key: str) -> None:
        """Removes an annotation."""
        self._step("unannotate", [block_or_loop], key=ann_key)

    # --- buffers ---

    def cache_read(self, block: Handle, read_buffer_index: Buffer, storage_scope: str, consumer_blocks: Sequence[Handle] = ()) -> Handle:
        """Makes the block read a copy of a buffer. Returns the block that copies. ``consumer_blocks``: later blocks that read the same
        copy."""
        return self._step("cache_read", [block, *consumer_blocks], at=on_side(read_buffer_index, "read"), scope=storage_scope)[0]

    def cache_write(self, block: Handle, write_buffer_index: Buffer, storage_scope: str) -> Handle:
        """Makes the block write a new buffer. Returns the block that copies from it. Elements that the block leaves as they are stay: the
        new buffer begins as a copy then."""
        return self._step("cache_write", [block], at=on_side(write_buffer_index, "write"), scope=storage_scope)[0]

    def set_scope(self, block: Handle, buffer_index: Buffer, storage_scope: str) -> None:
        """Sets the scope of a buffer that the block writes."""
        self._step("set_scope", [block], at=on_side(buffer_index, "write"), scope=storage_scope)

    def transform_layout(self, block: Handle, buffer: Buffer, index_map: Callable | str) -> None:
        """Changes the layout of a buffer that the block writes (``0``, ``"C"``, ``("write", 0)``) or reads (``("read", 0)``).

        ``index_map``: ``lambda i, j: (i // 4, j, i % 4)``, or a map's text.
        """
        reads = {"side": "read"} if isinstance(buffer, tuple) and buffer[0] == "read" else {}
        with self.module.context:
            found = affine_map(index_map)
        self._step("transform_layout", [block], at=on_side(buffer, "read" if reads else "write"), map=found, **reads)

    # --- blocks ---

    def compute_at(self, block: Handle, loop: Handle, preserve_unit_loops: bool = False) -> None:
        """Moves the block into the loop of its readers."""
        self._step("compute_at", [block, loop], **({"unit_loops": True} if preserve_unit_loops else {}))

    def reverse_compute_at(self, block: Handle, loop: Handle, preserve_unit_loops: bool = False) -> None:
        """Moves the block into the loop of its producer. ScheduleError where the producer's steps do not reach all that it computes."""
        self._step("reverse_compute_at", [block, loop], **({"unit_loops": True} if preserve_unit_loops else {}))

    def compute_inline(self, block: Handle) -> None:
        """Replaces each read of the block's output by the computation, and erases the block."""
        self._step("compute_inline", [block])

    def reverse_compute_inline(self, block: Handle) -> None:
        """Moves the block's computation into the block that produces its input, which has the same steps."""
        self._step("reverse_compute_inline", [block])

    def decompose_reduction(self, block: Handle, loop: Handle) -> Handle:
        """Makes the init a block before the loop, which is returned."""
        return self._step("decompose_reduction", [block, loop])[0]

    def rfactor(self, loop: Handle, factor_axis: int) -> Handle:
        """Makes each iteration of a reduction's loop accumulate into an element of its own. Returns the block that does so.

        The handle of the original block then refers to the block that adds these elements up. Steps beyond the end of a loop whose
        factors do not divide it combine with the value of the init.
        """
        return self._step("rfactor", [loop], axis=factor_axis)[0]

    def tile_product(self, block: Handle, tiles: Sequence[int | Knob], unconverted: bool = False, depth_last: bool = False,
                     through_shared: bool = False, slices: int = 1) -> list[Handle]:
        """Computes a product ``C[b, m, n] += A[b, m, k] * B[b, k, n]`` in ``tiles`` of rows, columns and depth.

        Each letter is all axes of the block of that kind together: a convolution's rows are its places, its depth the filter's axes and
        the channels. Returns five blocks, under loops over the batch, and the blocks of rows and of columns: the one that initializes a
        tile of the result (scope ``local``), the copies of a tile of each operand (``shared``) and the product, under a loop over the
        depth, and the one that writes the result. Beyond the ends of the operands the tiles are 0. With ``unconverted`` tiles have the
        types and the layout of the operands, as matrix instructions take them (``tensorize``); otherwise those of the multiplication.
        With ``depth_last`` the operands' tiles have the depth along their rows, as those on bytes take them. With ``through_shared`` a
        sixth block, the last but one, copies the result's tile to shared memory, from where it is written: for matrices of a subgroup.

        With ``slices``, for threads of a block that share the depth, so many parts of it are computed in one more loop, each with tiles
        of its own; the sixth block copies their results, and the last one adds them.
        """
        given = {"unconverted": unconverted, "depth_last": depth_last, "through_shared": through_shared}
        flags = {name: True for name, wanted in given.items() if wanted} | ({"slices": slices} if slices != 1 else {})
        return self._step("tile_product", [block], numbers=("tiles", list(tiles)), **flags)

    def tile_attention(self, block: Handle, tiles: Sequence[int | Knob], unconverted: bool = False) -> list[Handle]:
        """Computes an attention, whose product with values ``block`` is, in ``tiles`` of rows, keys, depth and columns.

        ``O[b, m, e] = sum_n softmax_n(f(sum_d Q[b, m, d] * K[b, n, d])) * V[b, n, e]``: tiles of the rows m go through those of the keys n,
        and hold all of the depth d and of the columns e. f is at most one elementwise block (compute_inline makes one of several). Returns
        sixteen blocks: under loops over the batch and the blocks of rows ``queries`` (a copy, scope ``shared``), ``start`` and ``clear``
        (of maxima and sums, ``local``); under a loop over the blocks of keys ``keys`` and ``values`` (``shared``), ``zero``, ``scores``,
        ``mask``, ``greatest``, ``powers``, ``sums``, ``rescale`` (the softmax of the keys so far), ``weights`` (``shared``), ``scale`` and
        the product with values; then ``result``, which divides and writes. With ``unconverted`` tiles have the types and the
        layout of the operands, and weights, rounded to the type of the values, are ``local``, as matrix instructions take them
        (``tensorize``). ScheduleError where the block is no such product.
        """
        return self._step("tile_attention", [block], numbers=("tiles", list(tiles)), **({"unconverted": True} if unconverted else {}))

    def blockize(self, loop: Handle) -> Handle:
        """Makes the body of the loop one block, which is returned."""
        return self._step("blockize", [loop])[0]

    def tensorize(self, block_or_loop: Handle, tensor_intrin: str) -> Handle:
        """Replaces the body of the loop by an intrinsic (``legato.register_tensor_intrinsic``). Returns the block around it."""
        return self._step("tensorize", [block_or_loop], intrinsic=tensor_intrin)[0]

    def pack(self, block: Handle | str, read_buffer_index: Any, tiles: Sequence[int | Knob] | None = None) -> None:
        """Makes the block read a tiled copy of a buffer; a parameter is packed where the kernel is called, a constant at compile time.

        ``pack("W", (16, 16))`` applies to the only block that reads ``W``.
        """
        if tiles is None:
            return self.pack(self._reader(block), block, read_buffer_index)
        self._step("pack", [block], numbers=("tiles", list(tiles)), at=on_side(read_buffer_index, "read"))

    def _reader(self, buffer: Any) -> Handle:
        """The only block that reads a buffer of this name. ScheduleError unless there is exactly one."""
        if not isinstance(buffer, str):
            raise ScheduleError(f"pack: takes a block, a buffer and tiles, or a buffer's name and tiles; not {buffer!r} and tiles")
        kernel = self._work().kernel
        found = [b.name for b in blocks(kernel.function.operation) if buffer in map(buffer_name, reads(b))]
        if len(found) != 1:
            raise ScheduleError(f"pack: {len(found)} blocks read '{buffer}'{': ' if found else ''}{', '.join(found)}; say which, "
                                "pack(block, buffer, tiles)")
        return self.get_block(found[0])

    def pad(self, block: Handle, sizes: Sequence[int | Knob]) -> None:
        """Pads the extents of the axes to multiples of these (TVM's pad_einsum): it reads 0 behind them, and writes nothing."""
        self._step("pad", [block], numbers=("sizes", list(sizes)))

    def pad_einsum(self, block: Handle, padding: Sequence[int | Knob]) -> None:
        """``pad`` under its name in TVM."""
        self.pad(block, padding)

    # --- parameters ---

    def knob(self, name: str, options: Sequence[int], selected: int | None = None) -> Knob:
        """A tunable number, one of the options, for the factors of a split or the sizes of tiles.

        It is ``transform.tune.knob`` in the trace; ``replay(trace, name=value)`` chooses another value.
        """
        if not isinstance(name, str) or not isinstance(options, Sequence) or isinstance(options, str):
            raise ScheduleError(f"knob: takes a name and a list of numbers, such as \"width\", [16, 32]; not {name!r}, {options!r}")
        if not options:
            raise ScheduleError(f"knob: '{name}' has no options to choose from")
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
        """Applies a step to the kernel itself."""
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
        """A kernel as loops that steps can work on."""
        found = next((k for k in tir.prim_funcs(self.module.module) if k.name.value == name), None)
        if found is None:
            raise ScheduleError(f"there is no kernel '{name}'; there are {', '.join(self._names()) or 'none'}")
        with self.module.context, ir.Location.unknown():
            if not blocks(found.operation):
                to_loops(found)
            set_state(found, SCHEDULED)
            localize_constants(found.operation)
        return Kernel(found)
