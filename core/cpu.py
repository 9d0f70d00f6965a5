"""Instruction sets of CPUs: those the host has, those each LLVM CPU name implies, and those a compiled model needs but the host
lacks."""
import ctypes
import difflib
import functools
import platform
from pathlib import Path

from legato.core.cpu_table import CPUS, FLAGS, HOSTS, MATRIX_CPUS, MATRIX_FLAGS, CacheSizes
from legato.core.errors import LegatoError

CPUINFO = Path("/proc/cpuinfo")
CACHE_INFO = Path("/sys/devices/system/cpu/cpu0/cache")
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
REQUEST_TILES = (158, 0x1023, 18)  # Linux's system call arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) of x86-64


class UnknownCpuError(LegatoError):
    """A CPU name that LLVM, or this version of Legato, does not know."""


def features_of(cpu: str, features: str = "") -> frozenset[str]:
    """The instruction sets, by LLVM's names, of a CPU after features are switched on and off (``+avx2,-fma``).

    Raises UnknownCpuError for a name that is not in the table.
    """
    if cpu not in CPUS:
        near = difflib.get_close_matches(cpu, CPUS, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known are: {', '.join(CPUS)}"
        raise UnknownCpuError(f"unknown CPU '{cpu}'; {hint}")
    found = set(CPUS[cpu])
    for feature in filter(None, features.split(",")):
        (found.discard if feature.startswith("-") else found.add)(feature.lstrip("+-"))
    return frozenset(found)


@functools.cache
def host_flags() -> dict[str, str]:
    """The fields of the first processor in ``/proc/cpuinfo``: ``flags``, ``vendor_id``, ``cpu family``, ``model``; empty where
    there is no such file."""
    found: dict[str, str] = {}
    try:
        lines = CPUINFO.read_text(errors="replace").splitlines()
    except OSError:
        return found
    for line in lines:
        key, separator, value = line.partition(":")
        if not separator and found:
            break
        found[key.strip()] = value.strip()
    return found


def host_features() -> frozenset[str]:
    """The instruction sets of this machine, by LLVM's names, as far as the table knows them. Those on matrices only where the system
    allows this process to use them, for which it is asked."""
    found, matrix = _features_of(host_flags().get("flags", ""))
    return found | matrix if matrix and tiles_allowed() else found


@functools.cache
def _features_of(flags: str) -> tuple[frozenset[str], frozenset[str]]:
    """The instruction sets of Linux's flags, and those on matrices."""
    given = set(flags.split())
    found, matrix = ({feature for feature, flag in table.items() if flag in given} for table in (FLAGS, MATRIX_FLAGS))
    return frozenset(found), frozenset(matrix)


def explicit_features(cpu: str) -> frozenset[str]:
    """The instruction sets, by LLVM's names, that a CPU in the table has besides those of ``features_of``: LLVM does not use them on its
    own."""
    return frozenset(MATRIX_FLAGS) if cpu in MATRIX_CPUS else frozenset()


def host_explicit_features() -> frozenset[str]:
    """The instruction sets of this machine that only Legato's schedules use, also where a virtual machine names another model of CPU than
    the one that it runs on."""
    return host_features() & {*MATRIX_FLAGS, "avx512bf16"}


@functools.cache
def tiles_allowed() -> bool:
    """Asks Linux to let this process use AMX's tile registers, which it has to save at each switch of tasks. False where it refuses, or
    does not know them."""
    try:
        return platform.machine() in ("x86_64", "AMD64") and ctypes.CDLL(None).syscall(*map(ctypes.c_long, REQUEST_TILES)) == 0
    except (OSError, AttributeError, TypeError):   # not Linux
        return False


def host_name() -> str:
    """The nearest CPU name in the table: this machine's own, or an x86-64 level. The machine has all instruction sets of that name. A
    virtual machine may report another model than that of its CPU: one with instructions on matrices is no older than the first of these."""
    info = host_flags()
    return _name_of((info.get("vendor_id"), info.get("cpu family"), info.get("model")), host_features())


@functools.cache
def _name_of(own: tuple[str | None, str | None, str | None], has: frozenset[str]) -> str:
    """The nearest name of a CPU by its vendor, family and model, and by what it has."""
    names = [name for vendor, family, models, name in HOSTS if own[:2] == (vendor, family) and own[2] and int(own[2]) in models]
    if has.issuperset(MATRIX_FLAGS) and not set(names) & set(MATRIX_CPUS):
        names.insert(0, MATRIX_CPUS[0])
    for name in (*names, "x86-64-v4", "x86-64-v3", "x86-64-v2"):
        if CPUS[name] <= has:
            return name
    return "x86-64"


@functools.cache
def host_caches() -> CacheSizes | None:
    """The caches that the first core of this machine reaches, as Linux reports them in ``/sys``; None where it reports no L1 or no L2."""
    found: dict[int, int] = {}
    for index in sorted(CACHE_INFO.glob("index[0-9]*")):
        try:
            kind, level, size = ((index / name).read_text().strip() for name in ("type", "level", "size"))
        except OSError:
            continue
        unit = size[-1:] if size[-1:] in UNITS else ""
        if kind != "Instruction" and size.removesuffix(unit).isdigit():
            found[int(level)] = int(size.removesuffix(unit)) * UNITS[unit]
    return CacheSizes(found[1], found[2], found.get(3, 0)) if 1 in found and 2 in found else None


def missing_features(cpu: str, features: str) -> list[str]:
    """The instruction sets that code for ``cpu`` with ``features`` needs and this machine lacks, sorted. Sets that Linux has no
    flag for are not checked; other architectures and an empty ``cpu`` give an empty list."""
    if platform.machine() not in ("x86_64", "AMD64") or not cpu:
        return []
    # a saved model may name a CPU that this version's table does not have
    needed = features_of(cpu if cpu in CPUS else "x86-64", features)
    return sorted((needed & (FLAGS.keys() | MATRIX_FLAGS.keys())) - host_features())
