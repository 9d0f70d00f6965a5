"""The description of a CPU for schedules and lowering: a value, made by the target from its options."""
from dataclasses import dataclass, replace
from functools import cache

from legato.core import cpu as cpus
from legato.core.cpu_table import AMX_L2, DEFAULT_CACHES, SINGLE_ISSUE, SMALL_L2, SMALL_L2_CPUS, WAY, CacheSizes
from legato.core.errors import LegatoError

LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")  # the levels that tests cover: SSE4, AVX2, AVX-512


@dataclass(frozen=True)
class Machine:
    """A CPU as a compilation target.

    cpu and features are LLVM's names (``x86-64-v3``, ``+avx2,+fma``) for every ``llvm.func``; vector_bytes is the width of a vector
    register, registers their number. l1_bytes and l2_bytes are the data caches of one core, l3_bytes the
    last cache, which cores share: on the host as Linux reports them, else ``core.cpu_table.DEFAULT_CACHES`` (32 KiB, 512 KiB, 8 MiB; an
    L2 of 256 KiB for ``SMALL_L2_CPUS``, and of 2 MiB for those with AMX).
    transpose_rows: from this number of rows on, a matmul gains by a transpose of a weight that is contiguous along the reduction (8: with
    AVX-512 and a weight of 512 x 512, 59 against 32 GFLOP/s). rounds_factors: factors of f32 may be rounded to bf16, as the target's
    matmul-precision says; parts: of bf16 that numbers of f32 may be split into, where AMX multiplies those faster (0: none);
    always_parts: or wherever it can. awake: its threads have just run, as in a loop that calls a kernel in each step.
    """
    cpu: str
    features: str
    vector_bytes: int
    registers: int
    threads: int = 1
    l1_bytes: int = DEFAULT_CACHES.l1
    l2_bytes: int = DEFAULT_CACHES.l2
    l3_bytes: int = DEFAULT_CACHES.l3
    transpose_rows: int = 8
    rounds_factors: bool = False
    parts: int = 0
    always_parts: bool = False
    awake: bool = False

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise LegatoError(f"threads={self.threads}: code runs on at least one thread")

    @property
    def vector_bits(self) -> int:
        """The width of a vector register in bits."""
        return self.vector_bytes * 8

    @property
    def vector_registers(self) -> tuple[str, ...]:
        """The names of the vector registers."""
        kind = {64: "zmm", 32: "ymm"}.get(self.vector_bytes, "xmm")
        return tuple(f"{kind}{number}" for number in range(self.registers))

    def lanes(self, bits: int) -> int:
        """Elements of ``bits`` bits in one vector register; at least 1."""
        return max(1, self.vector_bits // max(bits, 8))

    def has(self, feature: str) -> bool:
        """Whether a feature, by LLVM's name without the sign, is on."""
        return f"+{feature}" in self.features.split(",")

    def masks(self, bits: int) -> bool:
        """Whether elements of ``bits`` bits can be read and written under a mask."""
        return self.has("avx512bw") or (self.has("avx2") and bits >= 32)

    def rows_in_l1(self, row_bytes: int) -> int | None:
        """The lines, of rows of so many bytes, that the L1 cache holds where all of them share a set: its associativity. None where they
        share none."""
        return None if row_bytes % WAY else self.l1_bytes // WAY

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of whole vectors that are started in a cycle."""
        return 1 if self.vector_bytes == 64 and self.cpu in SINGLE_ISSUE else 2

    @property
    def multiplies_bytes(self) -> bool:
        """Whether an instruction sums four products of unsigned bytes by signed ones (VNNI)."""
        return (self.has("avx512vnni") and self.has("avx512vl")) or self.has("avxvnni")

    @property
    def convolves_columns(self) -> bool:
        """Whether convolutions of channels-first images may be loops on vectors of columns, which are of f32 and need FMA."""
        return self.has("fma") and not self.rounds_factors

    @property
    def multiplies_pairs(self) -> bool:
        """Whether an instruction sums products of pairs of bf16: of matrices (AMX), or in the lanes of vectors (AVX512-BF16)."""
        return self.has("amx-bf16") or self.has("avx512bf16")

    @classmethod
    def named(cls, cpu: str, threads: int = 1) -> "Machine":
        """A CPU by LLVM's name (``x86-64-v3``, ``znver4``). Raises ``UnknownCpuError`` (a LegatoError), with the nearest names."""
        return cls._of(cpu, cpus.features_of(cpu) | cpus.explicit_features(cpu), threads)

    @classmethod
    def _of(cls, cpu: str, features: frozenset[str], threads: int) -> "Machine":
        wide = "avx512vl" in features
        vector_bytes = 64 if wide else 32 if "avx" in features else 16
        listed = sorted(features) or ["sse2"]  # LLVM takes no empty list; the first x86-64 has this
        l2_bytes = SMALL_L2 if cpu in SMALL_L2_CPUS else AMX_L2 if "amx-tile" in features else DEFAULT_CACHES.l2
        return cls(cpu, ",".join(f"+{f}" for f in listed), vector_bytes, 32 if wide else 16, threads, l2_bytes=l2_bytes)

    @classmethod
    def host(cls, threads: int = 1) -> "Machine":
        """This machine's CPU: by its own name, or the highest x86-64 level that it supports. With AMX only if the system allows it."""
        name = cpus.host_name()
        return cls._host(name, cpus.features_of(name) | cpus.host_explicit_features(), cpus.host_caches(), threads)

    @classmethod
    @cache
    def _host(cls, name: str, features: frozenset[str], caches: CacheSizes | None, threads: int) -> "Machine":
        machine = cls._of(name, features, threads)
        return machine if caches is None else replace(machine, l1_bytes=caches.l1, l2_bytes=caches.l2, l3_bytes=caches.l3)
