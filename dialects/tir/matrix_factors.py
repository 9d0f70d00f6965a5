"""What instructions on matrices multiply: types of factors and sums, and the intrinsics of threads, warps and warpgroups."""
from dataclasses import dataclass

FLOAT8 = ("f8E4M3FN", "f8E5M2")
INTEGERS8 = ("s8", "u8")     # signed and unsigned bytes, which have one type in memory


@dataclass(frozen=True)
class MatrixFactors:
    """The types of the ``left`` and ``right`` factors and of the sums (``result``), and the steps of ``depth`` of an instruction."""

    left: str
    right: str
    depth: int
    result: str

    @property
    def are_bytes(self) -> bool:
        """Whether both are bytes in memory; the depth is along the rows of both then."""
        return self.left in (*FLOAT8, *INTEGERS8)

    @property
    def are_integers(self) -> bool:
        """Whether both are integers of 8 bits."""
        return self.left in INTEGERS8

    @property
    def memory(self) -> str:
        """The type of the elements of both operands' buffers."""
        return "i8" if self.are_bytes else self.left


def named(left: str, right: str) -> str:
    """Both factors in a name, once where they are equal."""
    return left if left == right else f"{left}_{right}"


_KINDS = {f"k{depth}_{name}": MatrixFactors(type_, type_, depth, "f32") for name, type_, depth in (
    ("f16", "f16", 16), ("bf16", "bf16", 16), ("tf32", "f32", 8), ("e4m3", "f8E4M3FN", 32), ("e5m2", "f8E5M2", 32))} | {
    f"k32_{named(left, right)}": MatrixFactors(left, right, 32, "i32") for left in INTEGERS8 for right in INTEGERS8}
DOT_STEPS = 4       # bytes of a word, whose products a dot product adds up
DOT_INTRINSICS = {f"dot4_{named(left, right)}": MatrixFactors(left, right, DOT_STEPS, "i32")
                  for left in INTEGERS8 for right in INTEGERS8}    # of a thread
MATRIX_INTRINSICS = {f"mma_m16n16{kind}": one for kind, one in _KINDS.items()}     # of a warp
WARPGROUP_INTRINSICS = {f"wgmma_m64{kind}": one for kind, one in _KINDS.items()}   # of a warpgroup
