"""A language server for MLIR with Legato's dialects: what the parser and the verifiers say as one types, and the ops' documentation.

    python -m legato.tools.language_server        speaks the Language Server Protocol on standard input and output

Upstream's mlir-lsp-server knows only the dialects that it is built with; it cannot load dialects that are defined in Python.
"""
from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from legato import __version__
from legato.core.diagnostics import Diagnostic, of_error
from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.dialects.late_loading import python_dialects
from legato.dialects.loading import make_context
from legato.dialects.parsing import parsable
from legato.tools.errors import SourceText
from legato.tools.expected_diagnostics import expectations, mismatches
from legato.tools.opt_arguments import SEPARATOR
from legato.tools.opt_input import Input

SEVERITIES = {"error": 1, "warning": 2, "remark": 3, "note": 3}
FULL_TEXT = 1   # the client sends the whole text at each change
UNKNOWN_METHOD = -32601
OP = re.compile(r"[a-z_]\w*(?:\.\w+)+")


def diagnose(text: str) -> list[Diagnostic]:
    """What MLIR says of a text: of each part between ``// -----`` lines if a RUN line splits it. What comments expect
    (``expected-error``) is left out."""
    whole = Input(SourceText("-", text))
    found = []
    for part in whole.parts(SEPARATOR) if "--split-input-file" in text else [whole]:
        context = make_context()
        context.allow_unregistered_dialects = "--allow-unregistered-dialect" in text
        heard: list[Diagnostic] = []
        try:
            ir.Module.parse(parsable(part.source.text), context)
        except (ir.MLIRError, LegatoError) as error:
            heard = of_error(error)
        expected = expectations(part.source.text)
        found += [one for one in heard if mismatches(expected, [one], part.source)] if expected else heard
    return found


def documentation(op: str) -> str:
    """The documentation of an op that is defined in Python, as Markdown; empty if there is none."""
    dialect = python_dialects().get(op.partition(".")[0])
    found = next((one for one in dialect.operations if one.OPERATION_NAME == op), None) if dialect is not None else None
    return f"**{op}**\n\n{inspect.getdoc(found)}" if found is not None and found.__doc__ else ""


@dataclass
class LanguageServer:
    """Answers requests of an editor. ``texts``: of the open documents, by URI."""

    source: BinaryIO
    sink: BinaryIO
    texts: dict[str, str] = field(default_factory=dict)
    stopping: bool = False

    def run(self) -> int:
        """Serves until the editor ends it. Returns the exit code: 1 if it ended without being asked to shut down."""
        while (message := self._read()) is not None:
            if message.get("method") == "exit":
                break
            self._handle(message)
        return 0 if self.stopping else 1

    def _read(self) -> dict[str, Any] | None:
        length = 0
        while line := self.source.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return json.loads(self.source.read(length)) if length else None

    def _write(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.sink.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.sink.flush()

    def _handle(self, message: dict[str, Any]) -> None:
        method, params, id_ = message.get("method", ""), message.get("params") or {}, message.get("id")
        if method == "initialize":
            self._write({"id": id_, "result": {"capabilities": {"textDocumentSync": FULL_TEXT, "hoverProvider": True},
                                               "serverInfo": {"name": "legato", "version": __version__}}})
        elif method == "shutdown":
            self.stopping = True
            self._write({"id": id_, "result": None})
        elif method == "textDocument/didOpen":
            self._check(params["textDocument"]["uri"], params["textDocument"]["text"])
        elif method == "textDocument/didChange":
            self._check(params["textDocument"]["uri"], params["contentChanges"][-1]["text"])
        elif method == "textDocument/didClose":
            self.texts.pop(params["textDocument"]["uri"], None)
            self._publish(params["textDocument"]["uri"], [])
        elif method == "textDocument/hover":
            self._write({"id": id_, "result": self._hover(params)})
        elif id_ is not None:
            self._write({"id": id_, "error": {"code": UNKNOWN_METHOD, "message": f"no method {method}"}})

    def _check(self, uri: str, text: str) -> None:
        self.texts[uri] = text
        lines = text.splitlines()
        self._publish(uri, [_as_json(one, lines) for said in diagnose(text) for one in said.with_notes() if one.position])

    def _publish(self, uri: str, found: Iterable[dict[str, Any]]) -> None:
        self._write({"method": "textDocument/publishDiagnostics", "params": {"uri": uri, "diagnostics": list(found)}})

    def _hover(self, params: dict[str, Any]) -> dict[str, Any] | None:
        at = params["position"]
        lines = self.texts.get(params["textDocument"]["uri"], "").splitlines()
        line = lines[at["line"]] if at["line"] < len(lines) else ""
        word = next((m[0] for m in OP.finditer(line) if m.start() <= at["character"] <= m.end()), "")
        text = documentation(word)
        return {"contents": {"kind": "markdown", "value": text}} if text else None


def _as_json(one: Diagnostic, lines: list[str]) -> dict[str, Any]:
    """A diagnostic in the protocol's terms: from its column to the end of the word there."""
    assert one.position is not None
    row, column = max(0, one.position.line - 1), max(0, one.position.column - 1)
    word = re.compile(r"\"?[\w.]+\"?|.").match(lines[row], column) if row < len(lines) else None
    return {"range": {"start": {"line": row, "character": column}, "end": {"line": row, "character": word.end() if word else column + 1}},
            "severity": SEVERITIES[one.severity], "source": "legato", "message": one.message}


if __name__ == "__main__":
    make_context()
    sys.exit(LanguageServer(sys.stdin.buffer, sys.stdout.buffer).run())
