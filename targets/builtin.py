"""Legato's own targets."""
from collections.abc import Mapping
from typing import Any

from legato.targets.classified import classified
from legato.targets.cpu.activations import RULES as CPU_ACTIVATIONS
from legato.targets.cpu.attention import choose_attention
from legato.targets.cpu.cumulative import RULES as CPU_CUMULATIVE
from legato.targets.cpu.intrinsics import RULES as LLVM_INTRINSICS
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.packing import choose_packing
from legato.targets.cpu.schedules import schedule
from legato.targets.generic import RULES as GENERIC_RULES
from legato.targets.gpu.machine import Gpu
from legato.targets.intrinsics.generic import RULES as GENERIC_INTRINSICS
from legato.targets.intrinsics.libraries import GLSL, LIBDEVICE, LIBM, NVVM_NATIVE
from legato.targets.pipelines import NVVM_STAGES, cpu_stages
from legato.targets.target import Target


def _machine(options: Mapping[str, Any]) -> Machine:
    cpu, threads = options["cpu"], options["threads"]
    return Machine.host(threads=threads) if cpu == "host" else Machine.named(cpu, threads=threads)


GENERIC = Target("generic", rules=(*GENERIC_RULES, *GENERIC_INTRINSICS), doc="structured loops that any device can begin with")
CPU = Target("cpu", parents=(GENERIC,), rules=LIBM, doc="what all CPUs share: C's libm")
LLVM = Target("llvm", parents=(CPU,), rules=(*CPU_ACTIVATIONS, *CPU_CUMULATIVE, *LLVM_INTRINSICS),
              options={"cpu": "host", "threads": 1, "fuse-attention": True, "integer-contractions": True},
              make_machine=_machine, schedule_function=classified(schedule), packing_function=classified(choose_packing),
              attention_function=classified(choose_attention), stages=cpu_stages,
              doc="CPUs, by LLVM: cpu=host|x86-64-v3|..., threads=N, fuse-attention=false for an attention's kernels one by one, "
                  "integer-contractions=false for products of dequantized values in floats")
GPU = Target("gpu", parents=(GENERIC,), runs=False, doc="what all GPUs share")
NVVM = Target("nvvm", parents=(GPU,), rules=(*NVVM_NATIVE, *LIBDEVICE), options={"approx": False, "chip": "sm_80"},
              make_machine=lambda options: Gpu(approx=options["approx"]), stages=NVVM_STAGES,
              doc="NVIDIA's GPUs, by LLVM's NVVM: approx=true for the device's approximating instructions, chip=sm_90a|... for PTX")
VULKAN = Target("vulkan", parents=(GPU,), rules=GLSL, doc="GPUs, by SPIR-V")
TARGETS = (GENERIC, CPU, LLVM, GPU, NVVM, VULKAN)
