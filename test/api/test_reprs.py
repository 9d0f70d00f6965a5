"""What a notebook shows of Legato's values: one short line as text, a table as HTML."""
from html.parser import HTMLParser

import numpy as np
import pytest

import legato
from legato import tir

GRAPH = """func.func @main(%x: tensor<?x64xf32, #relax.dims<["n", 64]>> {relax.name = "<x>"}) -> tensor<?x64xf32, #relax.dims<["n", 64]>> {
  %0 = "relax.softmax"(%x) {axis = 1} : (tensor<?x64xf32, #relax.dims<["n", 64]>>) -> tensor<?x64xf32, #relax.dims<["n", 64]>>
  return %0 : tensor<?x64xf32, #relax.dims<["n", 64]>>
}"""
VOID = {"br", "hr", "img"}


class Balanced(HTMLParser):
    """Collects the text of HTML whose tags must be closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text = [], ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@tir.prim_func
def double(A: tir.Buffer((8, 8), "float32"), B: tir.Buffer((8, 8), "float32")):
    for i, j in tir.grid(8, 8):
        with tir.block("B"):
            vi, vj = tir.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0


@pytest.fixture(scope="module")
def values():
    module = legato.Module.parse(GRAPH)
    exe = legato.compile(module)
    schedule = legato.Schedule(double)
    schedule.split(schedule.get_loops(schedule.get_block("B"))[0], [2, 4])
    profile = legato.profile(exe, np.zeros((3, 64), np.float32), runs=2)
    return {"module": module, "exe": exe, "report": exe.report, "explanation": exe.explain(), "schedule": schedule, "profile": profile}


SAID = {
    "module": ("<legato.Module: @main, 0 kernels, 0 weights (0 bytes)>", "relax.softmax"),
    "exe": ("<legato.Executable main(<x>: float32[n, 64])", "<x>"),
    "report": ("<legato.Report: 1 kernel for llvm", "native"),
    "explanation": ("<legato.Explanation: 1 graph op, ", "relax.softmax"),
    "schedule": ("<legato.Schedule of @double: 3 steps>", "tir.sch_split"),
    "profile": ("<legato.Profile: ", "relax.softmax"),
}


@pytest.mark.parametrize("what", SAID)
def test_short_text_and_a_table(values, what):
    begins, inside = SAID[what]
    text = repr(values[what])
    assert text.startswith(begins) and len(text) < 250 and "\n" not in text
    html = values[what]._repr_html_()
    assert "<table" in html and inside in Balanced(html).text


def test_the_table_of_a_report_adds_up(values):
    rows = [line.split() for line in str(values["report"]).splitlines()]
    assert rows[-1][0] == "all" and {"relax", "native"} <= {row[0] for row in rows}
    assert sum(float(row[1]) for row in rows[:-1]) == pytest.approx(float(rows[-1][1]), abs=1)


def test_a_long_text_is_folded_to_its_first_lines():
    body = "".join(f'  %{i} = "relax.tanh"(%{"x" if i == 0 else i - 1}) : (tensor<4xf32>) -> tensor<4xf32>\n' for i in range(1000))
    module = legato.Module.parse(f"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{\n{body}  return %999 : tensor<4xf32>\n}}")
    assert "more lines" in module._repr_html_() and len(module._repr_html_()) < 60_000


def test_the_old_name_of_explain(values):
    with pytest.warns(DeprecationWarning, match=r"exe\.explain\(\)"):
        assert values["exe"].explanation is values["explanation"]
