"""The input of legato-opt: a file or standard input, text or bytecode, whole or split at marked lines, with the weights beside it."""
from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from legato.core.errors import LegatoError
from legato.core.weights import WeightStore
from legato.core.weights_beside import load_beside, where_looked
from legato.dialects.module import BYTECODE
from legato.tools.errors import SourceText
from legato.tools.model_input import NO_WEIGHTS_BESIDE, STANDARD_INPUT, STANDARD_INPUT_NAME


@dataclass(frozen=True)
class Input:
    """A text with its name for the user, and its weights (None: none). ``bytecode``: in the place of the text."""

    source: SourceText
    weights: WeightStore | None = None
    bytecode: bytes | None = None

    def where_weights(self) -> str:
        """Where weights were looked for, to complete "the weight is missing ..."."""
        if self.source.name == STANDARD_INPUT_NAME:
            return NO_WEIGHTS_BESIDE
        return where_looked(self.source.name)

    def parts(self, mark: str) -> list[Input]:
        """The parts between the lines that begin with the mark, each after enough empty lines to keep the file's line numbers."""
        found, begin = [], 0
        for separator in [*re.finditer(rf"^{re.escape(mark)}.*\n?", self.source.text, re.MULTILINE), None]:
            end = separator.start() if separator else len(self.source.text)
            padding = "\n" * self.source.text.count("\n", 0, begin)
            found.append(Input(SourceText(self.source.name, padding + self.source.text[begin:end]), self.weights))
            begin = separator.end() if separator else end
        return found


def read_input(path: str) -> Input:
    """A file (with the weights beside it) or standard input. LegatoError if it is neither text nor bytecode; OSError if it cannot be
    read."""
    piped = path == STANDARD_INPUT
    if not piped and not Path(path).name:
        raise LegatoError(f"'{path}' is no file")
    name, weights = (STANDARD_INPUT_NAME, None) if piped else (path, load_beside(path))
    data = sys.stdin.buffer.read() if piped else Path(path).read_bytes()
    if data.startswith(BYTECODE):
        return Input(SourceText(name), weights, data)
    try:
        return Input(SourceText(name, data.decode()), weights)
    except UnicodeDecodeError:
        raise LegatoError(f"{name} is no MLIR text (an ONNX model? legato-compile {path} --emit relax reads those)") from None
