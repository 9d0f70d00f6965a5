"""What a fuzzer is made of: a subject makes a program from a seed; programs are compiled, several at a time, and held against oracles."""
import importlib
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal, Protocol

import numpy as np
from joined import joined, names_of

import legato
from legato.core.cpu import missing_features
from legato.core.mlir import ir
from legato.dialects import make_context

Kind = Literal["ok", "refused", "invalid", "wrong", "error", "crash", "hang"]
FINDINGS: tuple[Kind, ...] = ("wrong", "error", "crash", "hang")
Arrays = dict[str, np.ndarray]
LEVELS = [f"llvm{{cpu={cpu}}}" for cpu in ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4") if not missing_features(cpu, "")]
TARGETS = ["llvm", "llvm", "llvm", "llvm{threads=2}", *LEVELS]


@dataclass(frozen=True)
class Outcome:
    """What became of a program.

    ``ok``: the result is the oracle's. ``refused``: an error says what is not supported. ``invalid``: the oracle refuses the program, so
    it proves nothing. The rest are findings: ``wrong`` results; ``error``, an exception where there should be none; ``crash`` and ``hang``
    of the process.
    """

    kind: Kind
    text: str = ""

    @property
    def finding(self) -> bool:
        return self.kind in FINDINGS


OK = Outcome("ok")


class InvalidProgramError(Exception):
    """The oracle refuses the program."""


class Program(Protocol):
    """One program with its inputs. ``features``: what it covers, as "group value" ("op Conv", "dtype f16"), for the coverage table."""

    features: Counter[str]

    def run(self, target: str) -> Outcome:
        """Alone."""
        ...

    def files(self) -> Mapping[str, str | bytes]:
        """Name to content: what reproduces it without the generator."""
        ...


@dataclass
class Function:
    """A program that is a function of arrays: it can be compiled together with others.

    ``build``: a module of it in a context, without weights. ``calls``: what its inputs are at each call. ``verify``: the number of the
    call, what its inputs were and what the outputs are, by name; a text that says what is wrong, or nothing; ``InvalidProgramError``
    where the oracle refuses. ``shown``: the files that reproduce it. ``alone``: it cannot be compiled with others.
    """

    build: Callable[[ir.Context], legato.Module]
    calls: Sequence[Arrays]
    verify: Callable[[int, Arrays, Arrays], str]
    shown: Mapping[str, str | bytes]
    features: Counter[str] = field(default_factory=Counter)
    alone: bool = False

    def files(self) -> Mapping[str, str | bytes]:
        return self.shown

    def backends(self, module: legato.Module) -> Sequence[legato.Backend]:
        """Backends for the module that ``build`` made, and those of the programs that it is compiled with."""
        del module
        return ()

    def run(self, target: str) -> Outcome:
        return together([self], target)[0]


Subject = Callable[[int], Program]

SUBJECTS = {
    "contrib": "node_programs:contrib",
    "gpu": "gpu_programs:gpu",
    "graphs": "graph_programs:graph",
    "kernels": "kernel_programs:kernel",
    "misfits": "misfit_programs:misfit",
    "partitions": "partition_programs:partition",
    "rare": "node_programs:rare",
    "regions": "region_programs:region",
    "schedules": "schedule_programs:schedule",
    "sequences": "sequence_programs:sequences",
    "typed": "typed_programs:typed_kernel",
}


def subject(name: str) -> Subject:
    """A subject by its name in ``SUBJECTS``."""
    module, function = SUBJECTS[name].split(":")
    return getattr(importlib.import_module(module), function)


def attempt(programs: Sequence[Program], seed: int, target: str = "") -> list[Outcome]:
    """Runs programs, at once where that is possible. ``seed``: decides for which CPU level, and whether for two threads, where no target
    is given."""
    target = target or Random(f"target {seed}").choice(TARGETS)
    functions = {n: one for n, one in enumerate(programs) if isinstance(one, Function) and not one.alone}
    found: dict[int, Outcome] = {}
    if len(functions) > 1:
        try:
            found = dict(zip(functions, together([*functions.values()], target)))
        except Exception:
            found = {n: _alone(one, target) for n, one in functions.items()}
            if all(one.kind == "ok" for one in found.values()):
                found[min(found)] = Outcome("error", f"only of {len(found)} programs together\n{target}\n{traceback.format_exc()}")
    return [found[n] if n in found else _alone(one, target) for n, one in enumerate(programs)]


def _alone(program: Program, target: str) -> Outcome:
    try:
        return program.run(target)
    except Exception:
        return Outcome("error", f"{target}\n{traceback.format_exc()}")


def executable_of(module: legato.Module, target: str, backends: Sequence[legato.Backend]) -> legato.Executable:
    """The compiled module; for NVIDIA's GPUs with kernels for the stand-in for their driver."""
    if not target.startswith("nvvm"):
        return legato.compile(module, target, backends=backends)
    from standin import compiled  # which builds the driver when it is first used
    return compiled(module, target)


def together(programs: Sequence[Function], target: str) -> list[Outcome]:
    """One compile of all the functions, and their calls."""
    context = make_context()
    outcomes: list[Outcome] = [OK] * len(programs)
    modules: dict[int, legato.Module] = {}
    for number, program in enumerate(programs):
        try:
            modules[number] = program.build(context)
        except legato.LegatoError as error:
            outcomes[number] = Outcome("refused", str(error))
    if not modules:
        return outcomes
    names = {number: names_of(module) for number, module in modules.items()}
    backends = [backend for number, module in modules.items() for backend in programs[number].backends(module)]
    try:
        executable = executable_of(joined([*modules.values()]), target, backends)
    except legato.UnsupportedError as error:
        if len(modules) > 1:
            raise
        return [Outcome("refused", str(error)) if one is OK else one for one in outcomes]
    for call in range(max(len(programs[number].calls) for number in modules)):
        given = {n: {name: programs[n].calls[min(call, len(programs[n].calls) - 1)][name] for name in inputs}
                 for n, (inputs, _) in names.items()}
        try:
            results = executable(*(array for arrays in given.values() for array in arrays.values()))
        except ValueError as error:
            if len(modules) > 1 or "cannot run on inputs of these sizes" not in str(error):
                raise
            return [Outcome("refused", f"at the call: {error}") if one is OK else one for one in outcomes]
        found = iter(results if len(executable.outputs) > 1 else [results])
        for number, (_, outputs) in names.items():
            arrays = {name: one if isinstance(one := next(found), np.ndarray) else np.from_dlpack(one) for name in outputs}
            if outcomes[number] is not OK or call >= len(programs[number].calls):
                continue
            try:
                difference = programs[number].verify(call, given[number], arrays)
                if difference:
                    sizes = ", ".join(f"{n} {a.dtype}{list(a.shape)}" for n, a in given[number].items())
                    outcomes[number] = Outcome("wrong", f"{target}; call {call}: {sizes}\n{difference}")
            except InvalidProgramError as error:
                outcomes[number] = Outcome("invalid", str(error))
    return outcomes


def typed(name: str, found: np.ndarray, want: np.ndarray) -> str:
    """A text that says how the types differ, or nothing."""
    same = found.shape == want.shape and found.dtype == want.dtype
    return "" if same else f"output {name}: {found.dtype}{list(found.shape)}, expected {want.dtype}{list(want.shape)}"
