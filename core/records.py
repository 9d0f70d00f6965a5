"""What passes record of a compile, for ``explain``."""
from dataclasses import dataclass, field


@dataclass
class RuleRecord:
    """What the rules of a target did to one op, or to several alike: the rule that fired, and the nearer ones that refused.

    ``op``: its name; ``name``: the model's own name for it; ``target``, ``rule``, ``source``: of the rule, None where none took it;
    ``refused``: as (target, rule, reason); ``moment``: legalize or lower; ``kernel``: the function that holds the op, or that was made of
    it; ``type``: an intrinsic's, None for a graph op; ``operands``, ``results``: their types, sizes included; ``count``: how many ops of
    one kernel it stands for; ``schedule``: the rule's own for that kernel; ``layers``: the graph ops that an intrinsic is part of, with the
    model's names (several, where they share the kernel).
    """

    op: str
    name: str | None
    target: str | None = None
    rule: str | None = None
    source: str | None = None
    refused: list[tuple[str, str, str]] = field(default_factory=list)
    moment: str = "legalize"
    kernel: str | None = None
    type: str | None = None
    operands: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    count: int = 0
    schedule: str | None = None
    layers: tuple[str, ...] = ()


@dataclass(frozen=True)
class PatternRecord:
    """What a backend's pattern did at one place of a graph.

    ``ops``: as messages show them; ``function``: the function that they became, None where they were not taken; ``reason``: why not.
    """

    backend: str
    pattern: str
    ops: tuple[str, ...]
    function: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class OutputRecord:
    """An output of a kernel that starts from zeros, because the kernel may not write all of it.

    ``kernel``: its function; ``output``: the output's name; ``reason``: what could not be proven; ``size``: what is written for it at each
    call, in bytes; None where it is symbolic.
    """

    kernel: str
    output: str
    reason: str
    size: int | None


@dataclass(frozen=True)
class KernelRecord:
    """A kernel that runs after fusion.

    ``kernel``: its function; ``ops``: the graph ops that it computes, with the model's names; ``form``: structured, loops (as written),
    scheduled (by a schedule of its own); ``vectorized``: whether the target's schedule made vectors of it; ``reasons``: why it, or a part
    of it, stays scalar, why its loops were not raised, or, on a GPU, why it refused better schedules;
    ``part_of``: the kernel that was cut into this and others; ``schedule``: on a GPU, the name of the default schedule, "" for a thread for
    each point.
    """

    kernel: str
    ops: tuple[str, ...]
    form: str
    vectorized: bool
    reasons: tuple[str, ...] = ()
    part_of: str | None = None
    schedule: str | None = None
