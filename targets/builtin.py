"""The targets that come with Legato."""
from collections.abc import Mapping
from typing import Any

from .generic import RULES as GENERIC_RULES
from .llvm.intrinsics import RULES as LLVM_INTRINSICS
from .llvm.machine import Machine
from .llvm.packing import choose_packing
from .llvm.prepare import prepare
from .llvm.schedules import schedule
from .pipelines import CPU_STAGES
from .target import Target


def _machine(options: Mapping[str, Any]) -> Machine:
    cpu, threads = options["cpu"], options["threads"]
    return Machine.host(threads=threads) if cpu == "host" else Machine.named(cpu, threads=threads)


GENERIC = Target("generic", rules=GENERIC_RULES, doc="structured loops that any device can begin with")
CPU = Target("cpu", parents=(GENERIC,), doc="what all CPUs share")
LLVM = Target("llvm", parents=(CPU,), rules=LLVM_INTRINSICS, options={"cpu": "host", "threads": 1}, make_machine=_machine,
              schedule_function=schedule, packing_function=choose_packing, prepare_function=prepare, stages=CPU_STAGES,
              doc="CPUs, by LLVM: cpu=host|x86-64-v3|..., threads=N")
TARGETS = (GENERIC, CPU, LLVM)
