"""The input of legato-opt: a file or standard input, whole or split at ``// -----`` lines, with the weights beside it."""
from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from legato.core.errors import LegatoError
from legato.core.weights import WeightStore
from legato.core.weights_beside import load_beside, where_looked
from legato.tools.errors import SourceText

STANDARD_INPUT = "-"
STANDARD_INPUT_NAME = "<stdin>"
SEPARATOR = "// -----"


@dataclass(frozen=True)
class Input:
    """A text with its name for the user, and its weights (None: none)."""

    source: SourceText
    weights: WeightStore | None = None

    def where_weights(self) -> str:
        """Where weights were looked for, to complete "the weight is missing ..."."""
        if self.source.name == STANDARD_INPUT_NAME:
            return "because standard input has no weights beside it: give a file"
        return where_looked(self.source.name)

    def parts(self) -> list[Input]:
        """The parts between the separators, each after enough empty lines to keep the file's line numbers."""
        found, begin = [], 0
        for separator in [*re.finditer(rf"^{SEPARATOR}.*\n?", self.source.text, re.MULTILINE), None]:
            end = separator.start() if separator else len(self.source.text)
            padding = "\n" * self.source.text.count("\n", 0, begin)
            found.append(Input(SourceText(self.source.name, padding + self.source.text[begin:end]), self.weights))
            begin = separator.end() if separator else end
        return found


def read_input(path: str) -> Input:
    """The text of a file (with the weights beside it) or of standard input. LegatoError if it is not text; OSError if it cannot be
    read."""
    if path == STANDARD_INPUT:
        return Input(SourceText(STANDARD_INPUT_NAME, sys.stdin.read()))
    file = Path(path)
    try:
        text = file.read_text()
    except UnicodeDecodeError:
        raise LegatoError(f"{path} is no MLIR text (an ONNX model? legato-compile {path} --emit relax reads those)") from None
    return Input(SourceText(path, text), load_beside(path))
