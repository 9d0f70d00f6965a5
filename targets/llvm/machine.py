"""What schedules and lowering must know of a CPU: a value, made by the target from its options."""
from dataclasses import dataclass

X86_LEVELS = {
    # name: (vector bytes, vector registers, features)
    "x86-64-v2": (16, 16, "+cx16,+popcnt,+sahf,+sse3,+ssse3,+sse4.1,+sse4.2"),
    "x86-64-v3": (32, 16, "+cx16,+popcnt,+sahf,+sse3,+ssse3,+sse4.1,+sse4.2,+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"),
    "x86-64-v4": (64, 32, "+cx16,+popcnt,+sahf,+sse3,+ssse3,+sse4.1,+sse4.2,+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave,"
                          "+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"),
}


@dataclass(frozen=True)
class Machine:
    """A CPU as code is made for it.

    cpu and features are LLVM's names (``x86-64-v3``, ``+avx2,+fma``) for every ``llvm.func``; vector_bytes is the width of a vector
    register, registers their number; threads above 1 asks for OpenMP.
    """
    cpu: str = "x86-64-v3"
    features: str = X86_LEVELS["x86-64-v3"][2]
    vector_bytes: int = 32
    registers: int = 16
    threads: int = 1

    def lanes(self, bits: int) -> int:
        """Elements of ``bits`` bits in one vector register; at least 1."""
        return max(1, self.vector_bytes * 8 // max(bits, 8))

    def has(self, feature: str) -> bool:
        """Whether a feature, by LLVM's name without the sign, is on."""
        return f"+{feature}" in self.features.split(",")

    @classmethod
    def named(cls, cpu: str, threads: int = 1) -> "Machine":
        """One of the x86-64 levels. Raises KeyError for another name."""
        vector_bytes, registers, features = X86_LEVELS[cpu]
        return cls(cpu, features, vector_bytes, registers, threads)

    @classmethod
    def host(cls, threads: int = 1) -> "Machine":
        """The highest level this machine has, from the kernel's list of CPU flags."""
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            flags = next((set(line.split(":")[1].split()) for line in file if line.startswith("flags")), set())
        wanted = {"x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}, "x86-64-v3": {"avx2", "fma", "bmi2", "f16c"}}
        for cpu, needed in wanted.items():
            if needed <= flags:
                return cls.named(cpu, threads)
        return cls.named("x86-64-v2", threads)
