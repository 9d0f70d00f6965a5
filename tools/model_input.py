"""The model that a tool is given: a file, or standard input (``-``), as MLIR text or bytecode or as ONNX."""
from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from legato.core.errors import LegatoError
from legato.tools.errors import UsageError

if TYPE_CHECKING:
    from legato.dialects.module import Module

STANDARD_INPUT, STANDARD_INPUT_NAME = "-", "<stdin>"
MLIR, ONNX = "mlir", "onnx"
SUFFIXES: dict[str, Literal["mlir", "onnx"]] = {".mlir": MLIR, ".mlirbc": MLIR, ".onnx": ONNX}
NO_WEIGHTS_BESIDE = "because standard input has no weights beside it: give a file, or print the IR with --inline-weights"
TEXT_CONTROLS = b"\t\n\v\f\r"


@dataclass(frozen=True)
class ModelInput:
    """A model that has not been parsed. ``path``: of its file, or ``-``; ``data``: its bytes, if they came from standard input."""

    path: str
    kind: Literal["mlir", "onnx"]
    data: bytes | None = None

    @property
    def onnx(self) -> str | bytes:
        """The path or the bytes of an ONNX model."""
        return self.path if self.data is None else self.data

    def module(self, shapes: Mapping[str, Sequence[int | str]] | None = None, dialects: Iterable[type] = (),
               overridable: Sequence[str] = ()) -> Module:
        """The model as a module, in a context with these dialects besides Legato's. LegatoError if it is invalid."""
        if self.kind == MLIR:
            return self._from_mlir(dialects, [*(["--shape"] if shapes else []), *(["--overridable"] if overridable else [])])
        from legato.dialects.loading import load_dialects
        from legato.frontends.onnx import from_onnx

        module = from_onnx(self.onnx, shapes=shapes or None, overridable=overridable)
        load_dialects(module.context, dialects, module.module)
        return module

    def _from_mlir(self, dialects: Iterable[type], given: Sequence[str]) -> Module:
        """``given``: options that are for ONNX models."""
        if given:
            name = STANDARD_INPUT_NAME if self.data is not None else f"'{self.path}'"
            raise UsageError(f"{given[0]} is for ONNX models; {name} has its {'shapes' if given[0] == '--shape' else 'inputs'} in its text")
        from legato.dialects.loading import make_context
        from legato.dialects.module import Module

        if self.data is None:
            return Module.load(self.path, make_context(dialects))
        module = Module.parse(self.data, context=make_context(dialects))
        module.check_weights(NO_WEIGHTS_BESIDE)
        return module


def open_model(path: str) -> ModelInput:
    """The model in a file, by its suffix, or on standard input, by its first bytes. LegatoError if there is no such file, or if its name
    is not that of a model."""
    if path == STANDARD_INPUT:
        data = sys.stdin.buffer.read()
        if not data.strip():
            raise LegatoError("standard input is empty: pipe an ONNX model or MLIR text into it")
        return ModelInput(path, MLIR if _is_mlir(data) else ONNX, data)
    if not Path(path).is_file():
        raise LegatoError(f"there is no file '{path}'")
    kind = SUFFIXES.get(Path(path).suffix)
    if kind is None:
        raise LegatoError(f"'{path}' is no model by its name: it ends neither in .onnx nor in .mlir or .mlirbc")
    return ModelInput(path, kind)


def input_names(module: Module) -> dict[str, bool]:
    """The names of the inputs of a graph's main, as its executable has them, and whether a call has to give them. LegatoError if it has no
    main."""
    from legato.dialects.relax.markers import DEFAULT, NAME, WEIGHT

    main = module.function("main")
    attributes = main.attributes["arg_attrs"] if "arg_attrs" in main.attributes else [{}] * len(main.arguments)
    return {about[NAME].value if NAME in about else f"arg{number}": DEFAULT not in about
            for number, about in enumerate(attributes) if WEIGHT not in about}


def constant_inputs(module: Module) -> list[str]:
    """The names of the inputs of the model that are constants of the graph."""
    from legato.dialects.relax.markers import CONSTANT_INPUTS

    attributes = module.function("main").attributes
    return [name.value for name in attributes[CONSTANT_INPUTS]] if CONSTANT_INPUTS in attributes else []


def _is_mlir(data: bytes) -> bool:
    """Whether bytes are MLIR's bytecode or text, which has no control characters; a protobuf begins with one, the tag of its field 1."""
    from legato.dialects.module import BYTECODE

    return data.startswith(BYTECODE) or not any(byte < 32 and byte not in TEXT_CONTROLS for byte in data[:1])
