"""The targets that come with Legato."""
from collections.abc import Mapping
from typing import Any

from .generic import RULES as GENERIC_RULES
from .llvm.machine import Machine
from .llvm.packing import choose_packing
from .llvm.prepare import prepare
from .llvm.schedules import schedule
from .llvm.vector_math import EXPANSIONS
from .pipelines import CPU_STAGES
from .target import Target


def _machine(options: Mapping[str, Any]) -> Machine:
    cpu, threads = options["cpu"], options["threads"]
    return Machine.host(threads=threads) if cpu == "host" else Machine.named(cpu, threads=threads)


GENERIC = Target("generic", rules=GENERIC_RULES)
CPU = Target("cpu", parents=(GENERIC,))
LLVM = Target("llvm", parents=(CPU,), options={"cpu": "host", "threads": 1}, make_machine=_machine, schedule_function=schedule,
              packing_function=choose_packing, prepare_function=prepare, intrinsics=EXPANSIONS, stages=CPU_STAGES)
TARGETS = (GENERIC, CPU, LLVM)
