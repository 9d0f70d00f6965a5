"""legato-compile --report-html: one page that holds what a compile did."""
from html.parser import HTMLParser

import pytest

from legato.tools import legato_compile

GRAPH = """
func.func @main(%x: tensor<4x8xf32> {relax.name = "x"}, %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<4x16xf32> {
  %0 = "relax.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32> loc("a<b>")
  %1 = "relax.add"(%0, %b) : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  %2 = "relax.exp"(%1) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
}
"""
VOID = ("meta", "br")


class Page(HTMLParser):
    """The headings of a page, the texts of its tables by heading, and its line of contents; every element is closed, and nothing is
    loaded."""

    def __init__(self, text):
        super().__init__()
        self.open, self.headings, self.cells, self.links, self.ids = [], [], {}, [], []
        self.feed(text)
        self.close()
        assert self.open == []
        assert self.links == [f"#{anchor}" for anchor in self.ids if anchor != "tip"]

    def handle_starttag(self, tag, attrs):
        assert "src" not in dict(attrs)
        self.links += [value for name, value in attrs if name == "href"]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "h2":
            self.headings.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "h2":
            self.headings[-1] += data
        elif "td" in self.open:
            self.cells.setdefault(self.headings[-1], []).append(data)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graph.mlir").write_text(GRAPH)
    return tmp_path


def test_a_compile(folder, capsys):
    assert legato_compile.main(["graph.mlir", "-o", "m.legato", "--report-html", "r.html"]) == 0
    assert "r.html (" in capsys.readouterr().err.splitlines()[-1]
    text = (folder / "r.html").read_text()
    page = Page(text)
    assert page.headings == ["Times", "Files", "Kernels", "Rules for graph ops", "Rules for intrinsics", "Graph"]
    assert {"import", "fused", "native", "save", "tir-fuse"} <= set(page.cells["Times"])
    assert page.cells["Files"][0] == "m.legato" and page.cells["Files"][1].endswith("kB")
    assert "Rules for graph ops (3)" in text
    assert page.cells["Kernels"][:2] == ["@fused_matmul_add_exp", "yes"] and "relax.matmul a<b>" in page.cells["Kernels"]
    assert {"relax.matmul", "relax.add", "relax.exp"} <= set(page.cells["Rules for graph ops"])
    assert "math.exp" in page.cells["Rules for intrinsics"]
    assert "<svg" in text and ">fused_matmul_add_exp</text>" in text and "a<b>" not in text


def test_many_ops_of_a_rule_are_one_row(folder):
    steps = "".join(f'  %{i} = "relax.exp"(%{i - 1}) : (tensor<8xf32>) -> tensor<8xf32> loc("e{i}")\n' for i in range(1, 9))
    (folder / "chain.mlir").write_text(f"func.func @main(%0: tensor<8xf32>) -> tensor<8xf32> {{\n{steps}  return %8 : tensor<8xf32>\n}}\n")
    assert legato_compile.main(["chain.mlir", "-q", "--report-html", "r.html"]) == 0
    page = Page((folder / "r.html").read_text())
    assert page.cells["Rules for graph ops"].count("relax.exp") == 1 and "e1: [8] f32, ... (8 ops)" in page.cells["Rules for graph ops"]


def test_parts_of_backends(folder):
    pytest.importorskip("onnxruntime")
    assert legato_compile.main(["graph.mlir", "-q", "--report-html", "r.html", "--backend", "onnxruntime"]) == 0
    page = Page((folder / "r.html").read_text())
    assert "Parts of backends" in page.headings and "Files" not in page.headings
    assert page.cells["Parts of backends"][0] == "onnxruntime"


@pytest.mark.parametrize("words", [["--emit", "fused"], ["--diff", "fused"], ["-o", "m.legato", "--report-html", "no/where.html"]])
def test_it_is_about_a_whole_compile(words, folder, capsys):
    assert legato_compile.main(["graph.mlir", "-q", "--report-html", "r.html", *words]) == 2
    assert "--report-html" in capsys.readouterr().err
