"""LLVM's CPU names with the instruction sets that LLVM's code generator uses on its own, and Linux's names for these. A test
compares the table with LLVM.

Left out of CPUS are sets that only explicit intrinsics use (AES, SHA, AMX, ...): virtual machines often hide them, and generated code
does not need them. AMX, which Legato's own schedules use, has tables of its own.
"""
from typing import NamedTuple

# LLVM's name of an instruction set -> its flag in /proc/cpuinfo
FLAGS = {
    "sse3": "pni", "ssse3": "ssse3", "sse4.1": "sse4_1", "sse4.2": "sse4_2", "sse4a": "sse4a", "popcnt": "popcnt", "cx16": "cx16",
    "avx": "avx", "avx2": "avx2", "bmi": "bmi1", "bmi2": "bmi2", "f16c": "f16c", "fma": "fma", "lzcnt": "abm", "movbe": "movbe",
    "avx512f": "avx512f", "avx512bw": "avx512bw", "avx512cd": "avx512cd", "avx512dq": "avx512dq", "avx512vl": "avx512vl",
    "avx512vnni": "avx512_vnni", "avx512ifma": "avx512ifma", "avx512vbmi": "avx512vbmi", "avx512vbmi2": "avx512_vbmi2",
    "avx512bitalg": "avx512_bitalg", "avx512vpopcntdq": "avx512_vpopcntdq", "gfni": "gfni",
    "avx512bf16": "avx512_bf16", "avx512fp16": "avx512_fp16",
    "avxvnni": "avx_vnni", "avxvnniint8": "avx_vnni_int8", "avxvnniint16": "avx_vnni_int16", "avxneconvert": "avx_ne_convert",
}

# instructions on matrices, which only explicit intrinsics use and which the system has to allow: LLVM's name -> the flag
MATRIX_FLAGS = {"amx-tile": "amx_tile", "amx-bf16": "amx_bf16", "amx-int8": "amx_int8"}

_V1: frozenset[str] = frozenset()
_V2 = _V1 | {"sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16"}
_V3 = _V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
_CANNON_LAKE = _V4 | {"avx512ifma", "avx512vbmi"}
_ICE_LAKE = _CANNON_LAKE | {"avx512vnni", "avx512vbmi2", "avx512bitalg", "avx512vpopcntdq", "gfni"}
_SAPPHIRE_RAPIDS = _ICE_LAKE | {"avx512bf16", "avx512fp16", "avxvnni"}
_ALDER_LAKE = _V3 | {"avxvnni", "gfni"}
_SIERRA_FOREST = _ALDER_LAKE | {"avxvnniint8", "avxneconvert"}
_ZEN = _V3 | {"sse4a"}
_ZEN4 = _ICE_LAKE | {"sse4a", "avx512bf16"}

CPUS: dict[str, frozenset[str]] = {
    "x86-64": _V1, "x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4,
    "nehalem": _V2, "westmere": _V2, "sandybridge": _V2 | {"avx"}, "ivybridge": _V2 | {"avx", "f16c"},
    "haswell": _V3, "broadwell": _V3, "skylake": _V3,
    "skylake-avx512": _V4, "cascadelake": _V4 | {"avx512vnni"}, "cooperlake": _V4 | {"avx512vnni", "avx512bf16"},
    "icelake-client": _ICE_LAKE, "icelake-server": _ICE_LAKE, "tigerlake": _ICE_LAKE, "rocketlake": _ICE_LAKE,
    "sapphirerapids": _SAPPHIRE_RAPIDS, "emeraldrapids": _SAPPHIRE_RAPIDS, "graniterapids": _SAPPHIRE_RAPIDS,
    "alderlake": _ALDER_LAKE, "raptorlake": _ALDER_LAKE, "meteorlake": _ALDER_LAKE, "gracemont": _ALDER_LAKE,
    "arrowlake": _SIERRA_FOREST, "sierraforest": _SIERRA_FOREST, "lunarlake": _SIERRA_FOREST | {"avxvnniint16"},
    "znver1": _ZEN, "znver2": _ZEN, "znver3": _ZEN, "znver4": _ZEN4, "znver5": _ZEN4 | {"avxvnni"},
}

# CPUs with instructions on matrices, all of MATRIX_FLAGS
MATRIX_CPUS = ("sapphirerapids", "emeraldrapids", "graniterapids")

# CPUs with AVX-512 that start one operation on a whole vector where others start two: Zen 4 halves vectors, small cores have one unit
SINGLE_ISSUE = ("znver4", "icelake-client", "tigerlake", "rocketlake")

# vendor and family in /proc/cpuinfo, models, LLVM's name; the first entry that fits counts
HOSTS = (
    ("AuthenticAMD", "23", range(0x00, 0x30), "znver1"),
    ("AuthenticAMD", "23", range(0x30, 0x100), "znver2"),
    ("AuthenticAMD", "25", (*range(0x10, 0x20), *range(0x60, 0x80), *range(0xA0, 0xB0)), "znver4"),
    ("AuthenticAMD", "25", range(0x00, 0x100), "znver3"),
    ("AuthenticAMD", "26", range(0x00, 0x100), "znver5"),
    ("GenuineIntel", "6", (0x3C, 0x3F, 0x45, 0x46), "haswell"),
    ("GenuineIntel", "6", (0x3D, 0x47, 0x4F, 0x56), "broadwell"),
    ("GenuineIntel", "6", (0x4E, 0x5E, 0x8E, 0x9E, 0xA5, 0xA6), "skylake"),
    ("GenuineIntel", "6", (0x55,), "cooperlake"),
    ("GenuineIntel", "6", (0x55,), "cascadelake"),
    ("GenuineIntel", "6", (0x55,), "skylake-avx512"),
    ("GenuineIntel", "6", (0x7D, 0x7E), "icelake-client"),
    ("GenuineIntel", "6", (0x6A, 0x6C), "icelake-server"),
    ("GenuineIntel", "6", (0x8C, 0x8D), "tigerlake"),
    ("GenuineIntel", "6", (0xA7,), "rocketlake"),
    ("GenuineIntel", "6", (0x8F,), "sapphirerapids"),
    ("GenuineIntel", "6", (0xCF,), "emeraldrapids"),
    ("GenuineIntel", "6", (0xAD, 0xAE), "graniterapids"),
    ("GenuineIntel", "6", (0x97, 0x9A), "alderlake"),
    ("GenuineIntel", "6", (0xB7, 0xBA, 0xBF), "raptorlake"),
    ("GenuineIntel", "6", (0xAA, 0xAC), "meteorlake"),
    ("GenuineIntel", "6", (0xAF,), "sierraforest"),
    ("GenuineIntel", "6", (0xBD,), "lunarlake"),
    ("GenuineIntel", "6", (0xC5, 0xC6), "arrowlake"),
)


class CacheSizes(NamedTuple):
    """Bytes of the data caches that one core reaches: its own L1 and L2 (a cluster's, where cores share it), and the shared L3."""

    l1: int
    l2: int
    l3: int


# For a CPU given by name: small sizes, so that what is planned for them fits. A table by name would say little: parts of
# one name differ in their L3. Intel's older cores, and its clients up to 2020, have half of this L2.
DEFAULT_CACHES = CacheSizes(32 << 10, 512 << 10, 8 << 20)
SMALL_L2 = 256 << 10
SMALL_L2_CPUS = ("nehalem", "westmere", "sandybridge", "ivybridge", "haswell", "broadwell", "skylake")
AMX_L2 = 2 << 20   # of all cores with AMX so far
LINE = 64          # bytes of a cache line
HUGE_PAGE = 2 << 20    # bytes of the large pages of x86
WAY = 4096         # bytes of the L1 cache by its associativity: the sets that one page reaches
COLD = 256 << 10   # bytes of a weight, from which on it leaves the inner caches between two calls
