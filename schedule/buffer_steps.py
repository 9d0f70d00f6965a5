"""The steps of ``legato.Schedule`` on buffers: copies, scopes and layouts."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from legato.dialects.tir.walk import blocks, buffer_name
from legato.schedule.handle import Handle, Knob, on_side
from legato.schedule.index_map import affine_map
from legato.schedule.recording import ScheduleRecorder
from legato.schedule.state import ScheduleError, reads

Buffer = int | str | tuple[str, int]


class BufferSteps(ScheduleRecorder):
    """Steps that copy buffers, and change where and how they are stored."""

    def cache_read(self, block: Handle, read_buffer_index: Buffer, storage_scope: str, consumer_blocks: Sequence[Handle] = ()) -> Handle:
        """Makes the block read a copy of a buffer. Returns the block that copies. ``consumer_blocks``: later blocks that read the same
        copy."""
        return self._step("cache_read", [block, *consumer_blocks], at=on_side(read_buffer_index, "read"), scope=storage_scope)[0]

    def cache_write(self, block: Handle, write_buffer_index: Buffer, storage_scope: str) -> Handle:
        """Makes the block write a new buffer. Returns the block that copies from it. Elements that the block leaves as they are stay: the
        new buffer begins as a copy then."""
        return self._step("cache_write", [block], at=on_side(write_buffer_index, "write"), scope=storage_scope)[0]

    def read_at(self, loop: Handle, block: Handle, read_buffer_index: Buffer, storage_scope: str) -> Handle:
        """Makes the block read a copy of what it reads of a buffer in one step of the loop, made there: cache_read, then compute_at.
        Returns the block that copies."""
        return self._step("read_at", [block, loop], at=on_side(read_buffer_index, "read"), scope=storage_scope)[0]

    def write_at(self, loop: Handle, block: Handle, write_buffer_index: Buffer, storage_scope: str) -> Handle:
        """Makes the block write a new buffer, of which each step of the loop copies what it has written: cache_write, then
        reverse_compute_at. Returns the block that copies."""
        return self._step("write_at", [block, loop], at=on_side(write_buffer_index, "write"), scope=storage_scope)[0]

    def reindex(self, block: Handle, buffer: Buffer) -> Handle:
        """Makes the block read or write a new buffer, whose dimensions are the axes of the block that the indices depend on, in the block's
        order: of ``X[n, h + kh, w + kw, c]`` the windows, axis by axis (im2col). Returns the block that copies.

        ``buffer``: ``("read", 0)``, ``("write", 0)``, or a name. All accesses of the buffer in the block have the same indices. What the
        block would access beyond the buffer's ends, under a condition or a predicate, is not copied.
        """
        if isinstance(buffer, tuple) and len(buffer) == 2 and buffer[0] in ("read", "write"):
            return self._step("reindex", [block], at=on_side(buffer, buffer[0]), side=buffer[0])[0]
        if not isinstance(buffer, str):
            raise ScheduleError(f"reindex: takes (\"read\", number), (\"write\", number) or a buffer's name, not {buffer!r}")
        return self._step("reindex", [block], at=buffer)[0]

    def set_scope(self, block: Handle, buffer_index: Buffer, storage_scope: str) -> None:
        """Sets the scope of a buffer that the block writes."""
        self._step("set_scope", [block], at=on_side(buffer_index, "write"), scope=storage_scope)

    def storage_align(self, block: Handle, buffer_index: Buffer, axis: int, factor: int, offset: int) -> None:
        """Makes a step along an axis of a buffer that the block writes ``offset`` elements modulo ``factor``, by a larger allocation:
        ``storage_align(copy, 0, -2, 32, 1)`` puts the rows of a tile in shared memory into different banks. ``tensorize`` by
        matrix instructions spaces the rows of its tiles itself."""
        self._step("storage_align", [block], at=on_side(buffer_index, "write"), axis=axis, factor=factor, offset=offset)

    def transform_layout(self, block: Handle, buffer: Buffer, index_map: Callable | str) -> None:
        """Changes the layout of a buffer that the block writes (``0``, ``"C"``, ``("write", 0)``) or reads (``("read", 0)``).

        ``index_map``: ``lambda i, j: (i // 4, j, i % 4)``, or a map's text.
        """
        reads = {"side": "read"} if isinstance(buffer, tuple) and buffer[0] == "read" else {}
        with self.module.context:
            found = affine_map(index_map)
        self._step("transform_layout", [block], at=on_side(buffer, "read" if reads else "write"), map=found, **reads)

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
