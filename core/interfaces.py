"""The interfaces of targets, rules, machines and backends for passes and code generation, which get them as values and do not import them.

Each protocol lists the members that are used across layers; users see the classes ``legato.Target``, ``legato.Rule`` and
``legato.Backend``.
"""
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

from legato.core.mlir import ext, ir


class CpuMachine(Protocol):
    """A CPU as code is made for it: ``targets.cpu.machine.Machine``.

    ``cpu``, ``features``: LLVM's names, as ``llvm.func`` carries them; ``vector_bytes``: the width of a vector register; ``registers``:
    their number; ``threads``: how many run a kernel; ``rounds_factors``: whether factors of f32 may be rounded to bf16; ``l1_bytes``,
    ``l2_bytes``: the caches of one core, for data; ``l3_bytes``: the last cache that a core shares with others, 0 where there is none;
    ``transpose_rows``: the rows of a matmul from which on it gains by a transpose of a weight that is contiguous along the reduction.
    """

    @property
    def cpu(self) -> str: ...
    @property
    def features(self) -> str: ...
    @property
    def vector_bytes(self) -> int: ...
    @property
    def vector_bits(self) -> int: ...
    @property
    def registers(self) -> int: ...
    @property
    def threads(self) -> int: ...
    @property
    def rounds_factors(self) -> bool: ...
    @property
    def l1_bytes(self) -> int: ...
    @property
    def l2_bytes(self) -> int: ...
    @property
    def l3_bytes(self) -> int: ...
    @property
    def transpose_rows(self) -> int: ...

    def lanes(self, bits: int) -> int:
        """Elements of ``bits`` bits in one vector register; at least 1."""
        ...

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of whole vectors that are started in a cycle."""
        ...

    @property
    def multiplies_bytes(self) -> bool:
        """Whether an instruction sums four products of unsigned bytes by signed ones."""
        ...

    @property
    def convolves_columns(self) -> bool:
        """Whether convolutions of channels-first images may be loops on vectors of columns."""
        ...

    @property
    def multiplies_pairs(self) -> bool:
        """Whether an instruction sums products of pairs of bf16."""
        ...

    def has(self, feature: str) -> bool:
        """Whether a feature, by LLVM's name without the sign, is on."""
        ...

    def masks(self, bits: int) -> bool:
        """Whether elements of so many bits can be read and written under a mask."""
        ...


class GpuMachine(Protocol):
    """A GPU as code is made for it: ``targets.gpu.machine.Gpu``.

    ``approx``: whether approximating instructions may be used; ``warp``: threads that run in lockstep; ``block``: threads in a block, by
    default; ``vector_lanes``: the most elements of a vector; ``grid``: the most blocks on an axis; ``shared_bytes``: the most that a
    block's shared buffers can take; ``merges``: whether a thread's accesses of neighbours become one, without vectors; ``schedules``:
    whether kernels get default schedules; ``async_copies``: whether threads copy to shared memory without waiting; ``matrix_types``: of
    factors that matrix instructions multiply;
    ``dynamic_shared_bytes``: the most shared memory that a launch can ask for; ``warpgroups``: whether four warps multiply tiles in shared
    memory together; ``multiplies_bytes``: whether instructions multiply integers of 8 bits and sum them in i32;
    ``multiplies_signed_bytes``: whether those of matrices take signed ones only.
    """

    @property
    def approx(self) -> bool: ...
    @property
    def warp(self) -> int: ...
    @property
    def block(self) -> int: ...
    @property
    def vector_lanes(self) -> int: ...
    @property
    def grid(self) -> int: ...
    @property
    def shared_bytes(self) -> int: ...
    @property
    def merges(self) -> bool: ...
    @property
    def schedules(self) -> bool: ...
    @property
    def async_copies(self) -> bool: ...
    @property
    def matrix_types(self) -> tuple[str, ...]: ...
    @property
    def dynamic_shared_bytes(self) -> int: ...
    @property
    def warpgroups(self) -> bool: ...
    @property
    def multiplies_bytes(self) -> bool: ...
    @property
    def multiplies_signed_bytes(self) -> bool: ...


MachineLike = CpuMachine | GpuMachine


class PackingLike(Protocol):
    """How a kernel's constant operand is laid out; the fields are those of ``targets.cpu.packing.Packing``."""

    @property
    def argument(self) -> int: ...
    @property
    def op(self) -> ir.Operation: ...
    @property
    def operand(self) -> int: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def order(self) -> tuple[int, ...]: ...
    @property
    def outer(self) -> tuple[int, ...]: ...
    @property
    def tile(self) -> int: ...
    @property
    def trailing(self) -> int: ...
    @property
    def depth(self) -> int: ...


class AttentionTilesLike(Protocol):
    """The sizes of the blocks of an attention; the fields are those of ``targets.cpu.attention.AttentionTiles``."""

    @property
    def rows(self) -> int: ...
    @property
    def vectors(self) -> int: ...
    @property
    def lanes(self) -> int: ...
    @property
    def queries(self) -> int: ...
    @property
    def keys(self) -> int: ...
    @property
    def copied(self) -> tuple[str, ...]: ...
    @property
    def one_by_one(self) -> int: ...
    @property
    def registers(self) -> tuple[str, ...]: ...
    @property
    def pairs(self) -> bool: ...
    @property
    def matrices(self) -> bool: ...
    @property
    def parts(self) -> int: ...
    @property
    def threads(self) -> int: ...


WinogradOrder = Literal["blocks", "points", "panels"]
WinogradFactor = Literal["f32", "bf16", "i16"]


class WinogradTilesLike(Protocol):
    """The sizes of the blocks of a convolution by Winograd's algorithm; the fields are those of ``targets.cpu.winograd.WinogradTiles``."""

    @property
    def outputs(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def vectors(self) -> int: ...
    @property
    def lanes(self) -> int: ...
    @property
    def segment(self) -> int: ...
    @property
    def segments(self) -> int: ...
    @property
    def threads(self) -> int: ...
    @property
    def order(self) -> WinogradOrder: ...
    @property
    def channels(self) -> int: ...
    @property
    def factor(self) -> WinogradFactor: ...
    @property
    def registers(self) -> tuple[str, ...]: ...
    @property
    def narrower(self) -> "WinogradTilesLike | None": ...


class RuleLike(Protocol):
    """How one op is legalized, or one intrinsic lowered: ``targets.rule.Rule``."""

    @property
    def op(self) -> str: ...
    @property
    def form(self) -> str: ...
    @property
    def moment(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def function(self) -> Callable[..., Any]: ...
    @property
    def dtypes(self) -> tuple[str, ...]: ...
    @property
    def schedule(self) -> Any:
        """The schedule of the kernels that the rule makes (``schedule.attach.GivenSchedule``), or None."""
        ...
    @property
    def updates(self) -> int | None:
        """The operand that the output of the rule's kernels starts as; None: they make it anew."""
        ...

    def refusal(self, op: Any) -> str | None:
        """Why the rule does not take an op (an ``OpContext`` or ``IntrinsicContext``), or None."""
        ...

    def __call__(self, *arguments: Any) -> Any:
        """The rule's values for an op, or a ``Refusal``."""
        ...


@runtime_checkable
class ScriptKernel(Protocol):
    """A kernel written in the script language: ``frontends.script.functions.PrimFunc``."""

    def text_for(self, types: Sequence[ir.Type]) -> str:
        """The kernel as MLIR text, for arguments of these types: inputs, then outputs."""
        ...


class TargetLike(Protocol):
    """A kind of device with its options: ``targets.target.Target``, completed by a catalog."""

    @property
    def name(self) -> str: ...
    @property
    def options(self) -> Mapping[str, Any]: ...
    @property
    def cpu(self) -> CpuMachine | None:
        """The machine, where the target is a CPU."""
        ...
    @property
    def gpu(self) -> GpuMachine | None:
        """The machine, where the target is a GPU."""
        ...
    @property
    def machine(self) -> MachineLike | None:
        """The device, as schedules and rules read it; None for a target that describes none."""
        ...

    def chain(self) -> Sequence["TargetLike"]:
        """The target and its ancestors, nearest first."""
        ...

    def known_dialects(self) -> Sequence[type[ext.Dialect]]:
        """The dialects defined in Python that IR for the target may use, besides relax and tir."""
        ...

    def ranked(self, moment: str = "legalize", op: str | None = None) -> Sequence[tuple["TargetLike", RuleLike]]:
        """The rules of the chain for a moment (and an op), best first, each with the target that has it."""
        ...

    def with_cpu(self, **changes: Any) -> "TargetLike":
        """The target with another machine, if that is a CPU: with ``threads=1`` for code that is one of several threads' own, with
        ``awake=True`` for code that runs many times in a row."""
        ...

    def schedule(self, kernel: Any) -> str | None:
        """The transform script of a prim_func's schedule, or None; ``kernel``: its classification (``analysis.structured``)."""
        ...

    def schedules(self, kernel: Any) -> Iterator[str]:
        """The transform scripts that a prim_func on a GPU is tried with, best first; ``kernel``: an
        ``analysis.block_kernel.BlockKernel``."""
        ...

    def row_forms(self, kernel: Any) -> Sequence[tuple[int, int | None]]:
        """The least and the most rows (None: any number) of the forms that a kernel of unknown rows has besides that for all; ``kernel``:
        an ``analysis.block_kernel.BlockKernel``."""
        ...

    def packing(self, kernel: Any) -> PackingLike | None:
        """How a prim_func's constant operand is packed, or None; ``kernel``: its classification."""
        ...

    def attention(self, kernel: Any) -> AttentionTilesLike | None:
        """The sizes of the blocks of an attention that is computed as one kernel; None for another prim_func, and where several kernels
        are faster. ``kernel``: its classification."""
        ...

    def fuses_attention(self, kernel: Any) -> bool:
        """Whether an attention is computed as one kernel; ``kernel``: its classification."""
        ...

    def winograd(self, kernel: Any) -> WinogradTilesLike | None:
        """The sizes of the blocks of a convolution that is computed by Winograd's algorithm; None for another prim_func, and where a
        direct convolution is faster. ``kernel``: its classification."""
        ...

    def prepare(self, kernel: Any) -> None:
        """Rewrites a prim_func into a form that the schedules take."""
        ...


class BackendLike(Protocol):
    """An external compiler or library that takes over parts of a graph: ``targets.backend.Backend``."""

    @property
    def name(self) -> str: ...
    @property
    def pipeline(self) -> Any: ...
    @property
    def before(self) -> Any: ...
    @property
    def passes(self) -> Sequence[type]: ...
    @property
    def requires(self) -> Sequence[str]: ...
    @property
    def dialects(self) -> Sequence[type[ext.Dialect]]: ...
    @property
    def min_ops(self) -> int: ...

    def composites(self) -> Sequence[Any]:
        """The patterns that it supports, in order of priority: values of ``analysis.patterns.Composite``."""
        ...

    @property
    def codegen(self) -> Callable[..., Any]:
        """``codegen(module, options)``: the artifacts of one external module."""
        ...

    def check_options(self, options: Mapping[str, str]) -> None:
        """LegatoError for options that ``codegen`` does not take."""
        ...
