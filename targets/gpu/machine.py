"""The description of a GPU for schedules and rules."""
from dataclasses import dataclass

from legato.dialects.tir.matrices import MatrixShape


@dataclass(frozen=True)
class Gpu:
    """``approx``: whether approximating instructions may be used; ``warp``: threads that run in lockstep and exchange values by shuffles
    (1: none do); ``block``: threads in a block, by default; ``most_threads``: the most in a block; ``shared_bytes``: the most that a
    block's shared buffers can take; ``registers``: of 32 bits, the most that a thread can have; ``block_registers``: the most that
    a block's threads have together; ``vector_bytes``: the widest access of a
    thread; ``vector_lanes``: the most elements of a vector; ``grid``: the most blocks on an axis of the grid that every such device has;
    ``merges``: whether a thread's accesses of neighbours become one, without vectors; ``schedules``: whether kernels get default schedules;
    ``matrix_types``: of factors that the matrix instructions of a warp multiply; ``async_copies``: whether a thread can copy from global
    to shared memory without waiting for it; ``dynamic_shared_bytes``: the most that a block has when a launch asks for it; ``warpgroups``:
    whether four warps multiply tiles in shared memory together (wgmma), which a copy engine fills by tensor maps; ``matrices``: the
    shapes and types of matrices that a subgroup multiplies (Vulkan's cooperative matrices), and ``subgroup`` its threads;
    ``dot_products``: whether a thread multiplies four bytes by four, and adds up the products, at once;
    ``long_integers``: whether it has integers of 64 bits."""

    approx: bool = False
    warp: int = 32
    block: int = 128
    most_threads: int = 1024
    shared_bytes: int = 48 << 10
    registers: int = 255
    block_registers: int = 1 << 16
    vector_bytes: int = 16
    vector_lanes: int = 64
    grid: int = 2**31 - 1
    merges: bool = False
    schedules: bool = True
    matrix_types: tuple[str, ...] = ()
    async_copies: bool = False
    dynamic_shared_bytes: int = 48 << 10
    warpgroups: bool = False
    matrices: tuple[MatrixShape, ...] = ()
    subgroup: int = 32
    dot_products: bool = False
    long_integers: bool = True

    @property
    def multiplies_bytes(self) -> bool:
        """Whether instructions multiply integers of 8 bits and sum them in i32."""
        return self.dot_products or "s8" in self.matrix_types or bool(self._signs)

    @property
    def multiplies_signed_bytes(self) -> bool:
        """Whether matrices of signed bytes are multiplied by such ones only."""
        return ("s8", "s8") in self._signs and ("u8", "s8") not in self._signs

    @property
    def _signs(self) -> set[tuple[str, str]]:
        return {(one.left, one.right) for one in self.matrices if one.factors.are_integers and one.right == "s8"}

    def lanes(self, bits: int) -> int:
        """Elements of ``bits`` bits in the widest access of a thread; at least 1."""
        return max(1, min(self.vector_lanes, 8 * self.vector_bytes // max(bits, 8)))
