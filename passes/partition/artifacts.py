"""Artifacts in a module: listed on their external module, with their bytes in the weight store."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from legato.core.errors import LegatoError
from legato.core.interfaces import BackendLike
from legato.core.ir_helpers import text_of
from legato.core.mlir import ir
from legato.dialects.artifacts import Artifact, Blob, Closure, PythonFunction, Registered, SharedObject
from legato.dialects.module import Module
from legato.dialects.relax.markers import ARTIFACTS, CODEGEN, PACKED
from legato.passes.pipeline.scope import external_modules, symbol

KINDS = {PythonFunction: "python", Blob: "blob", SharedObject: "shared", Registered: "registered", Closure: "closure"}


def packed_name(artifact: Artifact, home: str, function: str) -> str:
    """The packed function's name: that of a Registered artifact, else ``module.function``."""
    return artifact.name if isinstance(artifact, Registered) else f"{home}.{function}"


def check_names(module: Module, backend: BackendLike, names: Mapping[str, str], makers: Mapping[str, Artifact]) -> None:
    """LegatoError if a name is already that of another packed function in this module."""
    taken = {text_of(f, PACKED): f for f in module.functions() if PACKED in f.operation.attributes}
    for function, name in names.items():
        if name in taken and not isinstance(makers[function], Registered):
            other = taken[name].name.value
            raise LegatoError(f"the backend '{backend.name}' made the packed function '{name}' for @{function}, and the module calls "
                              f"another one of that name already, declared as @{other}: rename that one")


def note(module: Module, external: ir.Operation, backend: BackendLike, artifacts: list[Artifact], makers: Mapping[str, Artifact],
         names: Mapping[str, str]) -> None:
    """Records the artifacts on the external module."""
    entries = []
    for artifact in artifacts:
        mine = [f for f, a in makers.items() if a is artifact]
        entry: dict[str, ir.Attribute] = {
            "kind": ir.StringAttr.get(KINDS[type(artifact)]),
            "functions": ir.DictAttr.get({f: ir.StringAttr.get(names[f]) for f in mine}),
        }
        if backend.requires:
            entry["requires"] = ir.ArrayAttr.get([ir.StringAttr.get(p.partition(":")[0]) for p in backend.requires])
        if isinstance(artifact, PythonFunction):
            entry["where"] = ir.StringAttr.get(artifact.where)
        if isinstance(artifact, Blob):
            entry["where"] = ir.StringAttr.get(artifact.loader)
            if artifact.state is not None:
                entry["state"] = ir.StringAttr.get(artifact.state)
            if artifact.weights:
                keys = {name: held(module, f"artifact.{name}", array) for name, array in artifact.weights.items()}
                entry["weights"] = ir.DictAttr.get({name: ir.StringAttr.get(key) for name, key in keys.items()})
        if isinstance(artifact, Blob | SharedObject):
            data = np.frombuffer(artifact.data, np.uint8)
            entry["data"] = ir.StringAttr.get(module.weights.add(f"artifact.{symbol(external)}", data))
        if isinstance(artifact, SharedObject) and artifact.symbols:
            entry["symbols"] = ir.DictAttr.get({f: ir.StringAttr.get(s) for f, s in artifact.symbols.items()})
        if isinstance(artifact, Closure):
            for function in mine:
                module.closures[names[function]] = artifact.call
        entries.append(ir.DictAttr.get(entry))
    external.attributes[ARTIFACTS] = ir.ArrayAttr.get(entries)


def held(module: Module, name: str, array: np.ndarray) -> str:
    """The key of an array in the store of weights, to which it is added if there is none of the same bytes."""
    array = np.ascontiguousarray(array).reshape(np.shape(array))
    for key in module.weights:
        if module.weights.type_of(key) == (array.dtype, array.shape) and same_bytes(module.weights[key], array):
            return key
    return module.weights.add(name, array)


def same_bytes(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays are the same, bit by bit."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.__array_interface__["data"] == other.__array_interface__["data"]:
        return True
    a, b = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (one, other))
    return np.array_equal(a[:64], b[:64]) and np.array_equal(a, b)


def listed(module: Module) -> list[dict[str, Any]]:
    """The artifacts of all external modules as plain values: kind, backend, functions (name in the module -> packed name), and if
    present: where, state, requires, symbols, data (bytes as an array), weights (name -> array), keys (name -> the weight's key), calls
    (packed name -> Python function)."""
    found = []
    for external in external_modules(module.module):
        for attribute in external.attributes[ARTIFACTS] if ARTIFACTS in external.attributes else ():
            entry = {"backend": ir.StringAttr(external.attributes[CODEGEN]).value, **_plain(attribute)}
            if "data" in entry:
                entry["data"] = module.weights[entry["data"]]
            if "weights" in entry:
                entry["keys"] = entry["weights"]
                entry["weights"] = {name: module.weights[key] for name, key in entry["keys"].items()}
            if entry["kind"] == "closure":
                missing = [n for n in entry["functions"].values() if n not in module.closures]
                if missing:
                    raise LegatoError(f"the Python functions behind {', '.join(missing)} belong to the process that generated the code for "
                                      f"the backend '{entry['backend']}': run relax-run-codegen again in this one")
                entry["calls"] = {n: module.closures[n] for n in entry["functions"].values()}
            found.append(entry)
    return found


def _plain(attribute: ir.Attribute) -> Any:
    attribute = attribute.maybe_downcast() if hasattr(attribute, "maybe_downcast") else attribute
    if isinstance(attribute, ir.DictAttr):
        return {a.name: _plain(a.attr) for a in attribute}
    if isinstance(attribute, ir.ArrayAttr):
        return [_plain(a) for a in attribute]
    return attribute.value


def strip_external(module: Module) -> None:
    """Erases the external modules that have code, before the host is compiled to native code."""
    for external in external_modules(module.module):
        if ARTIFACTS in external.attributes:
            external.erase()
