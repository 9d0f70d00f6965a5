"""The CPU levels that a case may be compiled for: those that this machine can run."""
from random import Random

from legato.core.cpu import missing_features

LEVELS = [f"llvm{{cpu={cpu}}}" for cpu in ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4") if not missing_features(cpu, "")]
TARGETS = ["llvm", "llvm", "llvm", "llvm{threads=2}", *LEVELS]


def target_of(seed: int) -> str:
    """This machine's own CPU mostly, two threads, or a lower level."""
    return Random(f"target {seed}").choice(TARGETS)
