"""The steps of ``legato.Schedule`` on blocks: where and how they compute."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from legato.schedule.handle import Handle, Knob
from legato.schedule.index_map import affine_map
from legato.schedule.padding_primitives import padding_of
from legato.schedule.recording import ScheduleRecorder
from legato.schedule.state import ScheduleError


class BlockSteps(ScheduleRecorder):
    """Steps that move blocks, split reductions, and compute in tiles."""

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

    def transform_block_layout(self, block: Handle, index_map: Callable | str) -> None:
        """Makes the results of a bijective map the axes of the block, each one a new loop: fused, permuted, or split by ``//`` and ``%``.

        ``index_map``: ``lambda n, h, w, k: (n * 64 + h * 8 + w, k)``, or a map's text. Each axis of the block is one whole loop before, and
        a result is made of spatial axes, or of reduce axes.
        """
        with self.module.context:
            found = affine_map(index_map)
        self._step("transform_block_layout", [block], map=found)

    def reorder_block_iter_var(self, block: Handle, new_order: Sequence[int]) -> None:
        """Puts the block's axes into another order, given by their numbers. The loops stay as they are."""
        self._step("reorder_block_iter_var", [block], numbers=("order", list(new_order)))

    def decompose_reduction(self, block: Handle, loop: Handle) -> Handle:
        """Makes the init a block before the loop, which is returned."""
        return self._step("decompose_reduction", [block, loop])[0]

    def decompose_padding(self, block: Handle, loop: Handle) -> Handle:
        """Makes a block that fills with the constant before the loop, which is returned, of a block that pads by it
        (``P[i] = T.if_then_else(i >= 1 and i < 9, A[i - 1], 0.0)``); the block has the steps inside only."""
        return self._step("decompose_padding", [block, loop])[0]

    def can_decompose_padding(self, block: Handle, loop: Handle) -> bool:
        """Whether ``decompose_padding`` is legal."""
        try:
            padding_of(block.work.kernel, block.operation.opview, loop.operation.opview)
        except ScheduleError:
            return False
        return True

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
