"""The language server, spoken to as an editor does."""
import io
import json

import pytest

from legato.tools.language_server import LanguageServer, diagnose

BAD = """func.func @main(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %0 = "relax.permute_dims"(%x) {axes = array<i64: 1, 5>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
"""
GOOD = BAD.replace("1, 5", "1, 0")
URI = "file:///graph.mlir"


def talk(*messages):
    """What the server answers to messages (method, params), and its exit code."""
    given = io.BytesIO()
    for number, (method, params) in enumerate(messages):
        note = method.startswith("textDocument/did") or method in ("exit", "initialized")
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **({} if note else {"id": number})}).encode()
        given.write(b"Content-Length: %d\r\nContent-Type: x\r\n\r\n%s" % (len(body), body))
    given.seek(0)
    sink = io.BytesIO()
    code = LanguageServer(given, sink).run()
    answers, data = [], sink.getvalue()
    while data:
        head, _, rest = data.partition(b"\r\n\r\n")
        length = int(head.removeprefix(b"Content-Length: "))
        answers.append(json.loads(rest[:length]))
        data = rest[length:]
    return answers, code


def opened(text):
    return "textDocument/didOpen", {"textDocument": {"uri": URI, "text": text}}


def test_a_session():
    answers, code = talk(
        ("initialize", {}), ("initialized", {}), opened(BAD),
        ("textDocument/didChange", {"textDocument": {"uri": URI}, "contentChanges": [{"text": GOOD}]}),
        ("textDocument/hover", {"textDocument": {"uri": URI}, "position": {"line": 1, "character": 12}}),
        ("textDocument/hover", {"textDocument": {"uri": URI}, "position": {"line": 2, "character": 4}}),
        ("textDocument/definition", {}), ("textDocument/didClose", {"textDocument": {"uri": URI}}), ("shutdown", None), ("exit", None))
    assert code == 0
    start, bad, good, hover, none, unknown, closed, end = answers
    assert start["result"]["capabilities"] == {"textDocumentSync": 1, "hoverProvider": True}
    (one,) = bad["params"]["diagnostics"]
    assert one["range"] == {"start": {"line": 1, "character": 7}, "end": {"line": 1, "character": 27}} and one["severity"] == 1
    assert "axes" in one["message"] and bad["params"]["uri"] == URI
    assert good["params"]["diagnostics"] == closed["params"]["diagnostics"] == []
    assert hover["result"]["contents"]["value"].startswith("**relax.permute_dims**\n\n") and none["result"] is None
    assert unknown["error"]["code"] == -32601 and end["result"] is None


def test_an_end_without_shutdown_is_an_error():
    assert talk(("exit", None)) == ([], 1)
    assert talk() == ([], 1)


@pytest.mark.parametrize(("text", "lines"), [
    (f"// RUN: legato-opt %s --split-input-file\n{GOOD}\n// -----\n{BAD}", [9]),
    (f"{GOOD}\n// -----\n{GOOD}", [7]),     # not split: main is there twice
    ('func.func @f() { "no.such"() : () -> () return }', [1]),
    ('// RUN: legato-opt %s --allow-unregistered-dialect\nfunc.func @f() { "no.such"() : () -> () return }', []),
    ("func.func @f() {\n  // expected-error@+1 {{custom op 'nosuch' is unknown}}\n  nosuch\n}", []),
    ("func.func @f() {\n  // expected-error@+1 {{another text}}\n  nosuch\n}", [3]),
])
def test_what_is_told(text, lines):
    assert [one.position and one.position.line for one in diagnose(text)] == lines
