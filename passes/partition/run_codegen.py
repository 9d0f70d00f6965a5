"""relax-run-codegen: a backend generates code for its external modules; the host's declarations become packed functions."""
from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from legato.core.diagnostics import PassFailed
from legato.core.errors import LegatoError
from legato.core.interfaces import BackendLike
from legato.core.ir_helpers import find
from legato.core.mlir import func, ir
from legato.core.user_code import blamed, prefixed
from legato.dialects import tir
from legato.dialects.artifacts import Artifact, Lowered
from legato.dialects.module import Module
from legato.dialects.relax.markers import ARTIFACTS, EXTERNAL, PACKED, SIGNATURE
from legato.dialects.tir.plain import graph_types
from legato.passes.graph.functions import CONSTANT
from legato.passes.partition.artifacts import check_names, note, packed_name, same_bytes
from legato.passes.partition.inlining import inline_module
from legato.passes.pipeline.base import BackendName, ModulePass, PassContext, option
from legato.passes.pipeline.pipeline import PassPipeline
from legato.passes.pipeline.scope import as_module, external_modules, symbol


@dataclass(frozen=True)
class RunCodegen(ModulePass):
    """Runs a backend's own pipeline, then its code generation, on each of its external modules without code.

    The artifacts are listed on the module (relax.artifacts), and their bytes are added to the weight store; the host's declarations name
    packed functions (relax.packed). If the backend returns IR, that is compiled with the host, and the external module is erased.
    """

    name: ClassVar[str] = "relax-run-codegen"
    sees_external: ClassVar[bool] = True
    backend: BackendName = option("", "the backend")
    options: str = option("", "for its code generation: key=value, separated by spaces")

    def run(self, module: Module, context: PassContext) -> None:
        backend = context.backend(self.backend)
        options = read_options(self.options)
        check_options(backend, options)
        for external in external_modules(module.module, backend.name):
            if ARTIFACTS not in external.attributes:
                generate(module, external, backend, options, context)


def read_options(text: str) -> dict[str, str]:
    """``key=value key=value`` as a dict. LegatoError for anything else."""
    found = {}
    for item in text.split():
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise LegatoError(f"'{item}' is no option of a code generation: write key=value")
        if key in found:
            raise LegatoError(f"the option '{key}' of a code generation is given twice: {key}={found[key]} and {item}")
        found[key] = value
    return found


def check_requires(backend: BackendLike) -> None:
    """LegatoError if a Python package that the backend's code needs is not installed. Entries of ``requires`` are names to import, with
    that of the package after a colon where it differs."""
    names = [(module, package or module) for module, _, package in (entry.partition(":") for entry in backend.requires)]
    missing = [(module, package) for module, package in names if not is_installed(module)]
    if missing:
        modules, packages = zip(*missing)
        raise LegatoError(f"the backend '{backend.name}' needs {', '.join(modules)}, which {'is' if len(missing) == 1 else 'are'} not "
                          f"installed: pip install {' '.join(packages)}")


def is_installed(module: str) -> bool:
    """Whether a Python module, also one of a package (``"package.module"``), can be found."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:     # its package
        return False


def check_options(backend: BackendLike, options: Mapping[str, str]) -> None:
    """Lets a backend check options. LegatoError, naming the backend, for what it raises, and where it answers instead of raising."""
    who = f"the backend '{backend.name}'"
    try:
        answer = backend.check_options(options)
    except LegatoError as error:
        raise prefixed(error, who) from error
    except Exception as error:
        raise blamed(error, f"{who}: its check_options", backend.check_options) from error
    if answer is not None:
        raise LegatoError(f"{who}: its check_options raises a legato.LegatoError for options that it does not take, and returns None; it "
                          f"returned {answer!r}")


def pipeline_of(backend: BackendLike) -> PassPipeline:
    """The backend's own pipeline. A LegatoError names the backend."""
    return _pipeline(backend, backend.pipeline)


def before_of(backend: BackendLike) -> PassPipeline:
    """The passes that the graph has behind it when the backend's patterns are matched. A LegatoError names the backend."""
    return _pipeline(backend, backend.before)


def _pipeline(backend: BackendLike, passes: Any) -> PassPipeline:
    try:
        return PassPipeline(passes, extra_passes=backend.passes)
    except LegatoError as error:
        raise prefixed(error, f"the backend '{backend.name}'") from error


def generate(module: Module, external: ir.Operation, backend: BackendLike, options: dict[str, str], context: PassContext) -> None:
    """Generates code for one external module. Raises LegatoError or PassFailed."""
    check_requires(backend)
    home = symbol(external) or backend.name
    wanted = _signatures(external)
    with as_module(external, module) as ordinary:
        _prepare(backend, ordinary, context)
        given = _generated(backend, ordinary.clone(), options)
    artifacts = list(given) if isinstance(given, list | tuple) else [given]
    changed = [name for name, type_ in wanted.items() if _signatures(external).get(name) != type_]
    if changed:
        raise PassFailed(f"the pipeline of the backend '{backend.name}' has changed the type of, or removed, @{', @'.join(changed)} of its "
                         f"module @{home}, which the host calls", external)
    makers = assign(backend, home, list(wanted), artifacts)
    lowered = [a for a in artifacts if isinstance(a, Lowered)]
    if lowered and len(artifacts) > 1:
        raise LegatoError(f"the backend '{backend.name}' gives IR for a part of @{home} and artifacts for another: give one or the other")
    if lowered:
        _compile_with_host(module, external, lowered[0].module, wanted, home, backend)
        return
    names = {function: packed_name(artifact, home, function) for function, artifact in makers.items()}
    check_names(module, backend, names, makers)
    note(module, external, backend, artifacts, makers, names)
    for declaration in module.functions():
        if EXTERNAL in declaration.operation.attributes:
            path = list(ir.SymbolRefAttr(declaration.operation.attributes[EXTERNAL]).value)
            if path[0] == home:
                del declaration.operation.attributes[EXTERNAL]
                declaration.operation.attributes[PACKED] = ir.StringAttr.get(names[path[1]])


def _prepare(backend: BackendLike, module: Module, context: PassContext) -> None:
    """Runs the backend's own pipeline. A LegatoError names the backend."""
    try:
        pipeline_of(backend).run(module, context)
    except LegatoError as error:
        raise prefixed(error, f"the backend '{backend.name}'") from error


def _generated(backend: BackendLike, module: Module, options: dict[str, str]) -> Artifact | Sequence[Artifact]:
    """What the backend's code generation returns. LegatoError, naming the backend and its code, for what it raises."""
    who = f"the backend '{backend.name}'"
    try:
        return backend.codegen(module, options)
    except LegatoError as error:
        raise prefixed(error, who) from error
    except Exception as error:
        raise blamed(error, f"{who}: its codegen", backend.codegen) from error


def _signatures(external: ir.Operation) -> dict[str, ir.Type]:
    """The types of the functions that the host can call, by name; of lowered ones those that they had."""
    return {op.name.value: op.attributes[SIGNATURE].value if SIGNATURE in op.attributes else op.type
            for op in external.regions[0].blocks[0].operations
            if isinstance(op, func.FuncOp) and "sym_visibility" not in op.operation.attributes}


def assign(backend: BackendLike, home: str, functions: list[str], artifacts: list[Artifact]) -> dict[str, Artifact]:
    """The artifact of each function. LegatoError for a function in none or in two, and for a value that is not an artifact."""
    found: dict[str, Artifact] = {}
    who = f"the backend '{backend.name}'"
    for artifact in artifacts:
        if not isinstance(artifact, Artifact):
            raise LegatoError(f"{who}: codegen returns artifacts (PythonFunction, Blob, SharedObject, Registered, Closure, Lowered), "
                              f"found {artifact!r}")
        for function in functions if artifact.functions is None else artifact.functions:
            if function not in functions:
                raise LegatoError(f"{who} made code for @{function}, which its module @{home} does not have; "
                                  f"it has: @{', @'.join(functions)}")
            if function in found:
                raise LegatoError(f"{who} made code for @{home}::@{function} twice: {_shown(found[function])} and {_shown(artifact)}")
            found[function] = artifact
    missing = [f for f in functions if f not in found]
    if missing:
        raise LegatoError(f"{who} made no code for @{', @'.join(missing)} of its module @{home}; it made code for: "
                          f"{', '.join('@' + f for f in found) or 'nothing'}")
    return found


def _shown(artifact: Artifact) -> str:
    return type(artifact).__name__


def _compile_with_host(module: Module, external: ir.Operation, lowered: Module, wanted: dict[str, ir.Type], home: str,
                       backend: BackendLike) -> None:
    there = _signatures(lowered.module.operation)
    for name, type_ in wanted.items():
        if name not in there:
            raise LegatoError(f"the backend '{backend.name}' gave IR without the function @{name} of its module @{home}; it has: "
                              f"{', '.join('@' + n for n in there) or 'none'}")
        if there[name] != type_:
            raise LegatoError(f"the backend '{backend.name}' gave IR in which @{name} has the type {there[name]} instead of {type_}")
    for function in lowered.functions():
        if not tir.is_prim_func(function):
            graph_types(function)
    adopt_weights(module, lowered)
    inline_module(module, lowered.module.operation, home)
    external.erase()


def adopt_weights(module: Module, other: Module) -> None:
    """Moves the weights that ``other`` uses into the store of ``module``. A key that holds other data there is renamed in ``other``."""
    renamed: dict[str, str] = {}
    for key in other.used_weights():
        array = other.weights[key]
        if key not in module.weights:
            module.weights.adopt(key, array)
        elif not same_bytes(module.weights[key], array):
            renamed[key] = module.weights.add(key, array)
    for op in find(other.module.operation, CONSTANT) if renamed else ():
        key = op.attributes["weight"].value if "weight" in op.attributes else None
        if key in renamed:
            op.attributes["weight"] = ir.StringAttr.get(renamed[key], other.context)
