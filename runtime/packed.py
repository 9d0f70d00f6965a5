"""Resolves the packed functions that a compiled model calls: in its artifacts, else in tvm-ffi's registry."""
from __future__ import annotations

import difflib
import functools
import hashlib
import importlib
import importlib.util
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tvm_ffi

from legato.core.errors import LegatoError
from legato.runtime.arrays import passable, to_numpy
from legato.runtime.library import load_library

Artifacts = Sequence[Mapping[str, Any]]  # as passes/partition/artifacts.py lists them


def resolve(names: Sequence[str], artifacts: Artifacts, what: str, callers: Sequence[str] = ()) -> list[tvm_ffi.Function]:
    """The packed functions of these names, in order. ``what``: the model in messages; ``callers``: for each name, a description of its
    callers.

    LegatoError for a name that no artifact has and nobody registered (lists those there are), for one in two artifacts, for a missing
    package that an artifact needs, and for an artifact that cannot be loaded.
    """
    made: dict[str, tvm_ffi.Function] = {}
    for artifact in artifacts:
        check_requirements(artifact, what)
        state = functools.cache(functools.partial(_state, artifact))
        for function, name in artifact["functions"].items():
            if artifact["kind"] == "registered":
                continue
            if name in made:
                raise LegatoError(f"two artifacts of {what} bring the packed function '{name}'")
            if name in names:
                made[name] = LOADERS[artifact["kind"]](artifact, function, name, state)
    callers = list(callers) + [""] * (len(names) - len(callers))
    return [made.get(name) or _registered(name, made, what, caller) for name, caller in zip(names, callers)]


def check_requirements(artifact: Mapping[str, Any], what: str) -> None:
    """LegatoError if a Python package that an artifact needs is not installed."""
    missing = [p for p in artifact.get("requires", ()) if importlib.util.find_spec(p) is None]
    if missing:
        raise LegatoError(f"{what} has parts for the backend '{artifact['backend']}', which needs {', '.join(missing)}: "
                          f"pip install {' '.join(missing)}")


def _registered(name: str, made: Mapping[str, Any], what: str, caller: str) -> tvm_ffi.Function:
    function = tvm_ffi.get_global_func(name, allow_missing=True)
    if function is not None:
        return function
    others = [n for n in tvm_ffi.registry.list_global_func_names() if not n.startswith(("ffi.", "testing."))]
    near = difflib.get_close_matches(name, [*made, *others], n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"registered are: {', '.join(sorted(others)[:12]) or 'none'}"
    brought = f"; its artifacts bring: {', '.join(made)}" if made else ""
    raise LegatoError(f"{what} calls the packed function '{name}', which is not there; {hint}{brought}"
                      f"{f'. It is called {caller}' if caller else ''}. Register it before the model is compiled or loaded: "
                      "tvm_ffi.register_global_func(name, function)")


def numpy_call(function: Callable[..., Any], artifact: Mapping[str, Any], name: str) -> tvm_ffi.Function:
    """A Python function on numpy arrays as a packed function; the arrays are views of the caller's memory, so outputs can be written. It
    returns None, or a list of arrays: results that it allocated. LegatoError for what cannot be called.

    The text of an exception that it raises gets the backend's name.
    """
    what = f"'{name}' of the backend '{artifact['backend']}'"
    if not callable(function):
        raise LegatoError(f"{what} is of type {type(function).__name__}: expected a function of the inputs and the outputs to fill"
                          f"{_from_loader(artifact)}")

    def call(*tensors: tvm_ffi.Tensor) -> list[Any] | None:
        try:
            given = list(map(to_numpy, tensors))
            made = function(*given)
            if made is None or any(made is one for one in given):     # numpy's functions return what they are given as out=
                return None
            if not isinstance(made, list | tuple):
                raise TypeError(f"it returned {type(made).__name__}: it fills its outputs, which are its last arguments, and returns None, "
                                "or a list of results that it allocated")
            return [tvm_ffi.from_dlpack(passable(array)) for array in made]
        except Exception as error:
            text = error.args[0] if len(error.args) == 1 else error
            error.args = (f"{text} (in {what})",)   # tvm-ffi passes on the type and the text, and drops notes
            raise

    return tvm_ffi.convert(call)


def imported(where: str, what: str) -> Any:
    """The object named ``"package:name"``. LegatoError, which begins with ``what``, if it cannot be imported."""
    package, _, name = where.partition(":")
    try:
        value: Any = importlib.import_module(package)
        for part in name.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError) as error:
        raise LegatoError(f"{what} '{where}' cannot be imported: {type(error).__name__}: {error}") from error
    return value


State = Callable[[], Any]   # the state of a blob, made at the first call


def _python(artifact: Mapping[str, Any], function: str, name: str, state: State) -> tvm_ffi.Function:
    return numpy_call(imported(artifact["where"], f"the Python function of @{function} (backend '{artifact['backend']}')"), artifact, name)


def _blob(artifact: Mapping[str, Any], function: str, name: str, state: State) -> tvm_ffi.Function:
    what = f"the loader of @{function} (backend '{artifact['backend']}')"
    loader = imported(artifact["where"], what)
    given = [state(), function] if "state" in artifact else [memoryview(artifact["data"]), function, *_weights(artifact)]
    return numpy_call(_called(loader, f"{what} '{artifact['where']}'", *given), artifact, name)


def _state(artifact: Mapping[str, Any]) -> Any:
    """What all functions of a blob share."""
    what = f"the state of the functions of the backend '{artifact['backend']}'"
    return _called(imported(artifact["state"], what), f"{what} '{artifact['state']}'", memoryview(artifact["data"]), *_weights(artifact))


def _called(function: Callable[..., Any], what: str, *arguments: Any) -> Any:
    """What a backend's function returns. LegatoError, which begins with ``what``, for what it raises."""
    try:
        return function(*arguments)
    except LegatoError:
        raise
    except Exception as error:
        raise LegatoError(f"{what} raised {type(error).__name__}: {error}") from error


def _from_loader(artifact: Mapping[str, Any]) -> str:
    return f", which its loader '{artifact['where']}' has to return" if artifact["kind"] == "blob" else ""


def _weights(artifact: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The last argument of the function that gets a blob's bytes; none without weights."""
    return [dict(artifact["weights"])] if artifact.get("weights") else []


_libraries: dict[bytes, tvm_ffi.Module] = {}   # shared objects of backends, by digest: their code may have threads, so they stay loaded


def _shared(artifact: Mapping[str, Any], function: str, name: str, state: State) -> tvm_ffi.Function:
    symbol = artifact.get("symbols", {}).get(function, function)
    try:
        return _library(memoryview(artifact["data"]))[symbol]
    except Exception as error:
        raise LegatoError(f"the shared object of the backend '{artifact['backend']}' does not give the function '{symbol}' (exported as "
                          f"__tvm_ffi_{symbol}): {error}") from error


def _library(data: memoryview) -> tvm_ffi.Module:
    digest = hashlib.sha256(data).digest()
    if digest not in _libraries:
        with tempfile.NamedTemporaryFile(prefix="legato-", suffix=".so", delete=False) as file:
            file.write(data)
        try:
            _libraries[digest] = load_library(Path(file.name))
        finally:
            os.unlink(file.name)  # the loaded library stays mapped
    return _libraries[digest]


def _closure(artifact: Mapping[str, Any], function: str, name: str, state: State) -> tvm_ffi.Function:
    return numpy_call(artifact["calls"][name], artifact, name)


LOADERS = {"python": _python, "blob": _blob, "shared": _shared, "closure": _closure}
