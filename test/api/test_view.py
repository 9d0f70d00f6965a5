"""legato.view: the boxes of a graph at each stage, where they and the edges lie, and the files they are written to."""
import re
import xml.dom.minidom
from importlib import import_module

import numpy as np
import pytest

import legato
from legato.graph_boxes import GraphBox, graph_boxes
from legato.graph_layout import time_text
from legato.graph_svg import graph_svg
from legato.tools import legato_compile, legato_opt, legato_run

SKIP = """
func.func @main(%x: tensor<4x8xf32> {relax.name = "x"}, %b: tensor<8xf32> {relax.name = "late"}) -> (tensor<4x8xf32> {relax.name = "y"}) {
  %0 = "relax.exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("Exp_0")
  %1 = "relax.softmax"(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("Softmax_0")
  %2 = "relax.add"(%1, %b) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32> loc("Add_0")
  %3 = "relax.multiply"(%2, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("Mul_0")
  return %3 : tensor<4x8xf32>
}
"""


def skip():
    return legato.Module.parse(SKIP)


def drawn(svg):
    """The rectangles of boxes, as (left, top, right, bottom), and the edges, each as points along it; read from the SVG."""
    picture = xml.dom.minidom.parseString(svg)
    boxes = []
    for group in picture.getElementsByTagName("g"):
        x, y, width, height = (float(group.getElementsByTagName("rect")[0].getAttribute(n)) for n in ("x", "y", "width", "height"))
        boxes.append((x, y, x + width, y + height))
    return boxes, [points(path.getAttribute("d")) for path in picture.getElementsByTagName("path") if path.getAttribute("stroke")]


def points(text):
    """Points along a path of the commands M, V and C."""
    found, at = [], np.zeros(2)
    for command, numbers in re.findall(r"([MVC])([^MVC]*)", text):
        values = [float(n) for n in numbers.split()]
        if command == "M":
            at = np.array(values)
        elif command == "V":
            end = np.array([at[0], values[0]])
            found += [at + (end - at) * t for t in np.linspace(0, 1, 20)]
            at = end
        else:
            p0, p1, p2, p3 = at, *np.array(values).reshape(3, 2)
            for t in np.linspace(0, 1, 20):
                found.append((1 - t) ** 3 * p0 + 3 * (1 - t) ** 2 * t * p1 + 3 * (1 - t) * t ** 2 * p2 + t ** 3 * p3)
            at = p3
    return np.array(found)


def check_nothing_is_hidden(svg):
    boxes, edges = drawn(svg)
    for i, (left, top, right, bottom) in enumerate(boxes):
        assert not any(left < r and lo < right and top < b and t < bottom for lo, t, r, b in boxes[:i]), "boxes overlap"
        for edge in edges:
            x, y = edge.T
            assert not np.any((x > left + 1) & (x < right - 1) & (y > top + 1) & (y < bottom - 1)), "an edge lies on a box"
    return boxes, edges


def test_a_skip_connection_is_not_hidden():
    boxes, edges = check_nothing_is_hidden(legato.view(skip()).svg())
    assert len(boxes) == 7 and len(edges) == 7 + 3  # x passes the rows of three ops


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs(seed):
    random = np.random.default_rng(seed)
    boxes = []
    for number in range(40):
        reads = [boxes[i] for i in sorted(set(random.integers(0, number, random.integers(0, 4)).tolist()))] if number else []
        boxes.append(GraphBox("op", [f"op {number}", "x" * random.integers(1, 30), *["line"] * random.integers(0, 4)], reads))
    shown, edges = check_nothing_is_hidden(graph_svg(boxes))
    assert len(shown) == 40 and len(edges) >= sum(len(box.reads) for box in boxes)


def test_what_no_input_reaches_stands_above_its_reader():
    constant, x = GraphBox("op", ["reshape"]), GraphBox("input", ["x"])
    turned = GraphBox("op", ["permute"], [constant])
    chain = [x]
    for number in range(5):
        chain.append(GraphBox("op", [f"exp {number}"], [chain[-1]]))
    last = GraphBox("op", ["matmul"], [chain[-1], turned])
    svg = graph_svg([constant, turned, *chain, last])
    check_nothing_is_hidden(svg)
    tops = {name: float(y) for name, y in re.findall(r"<title>(.*?)</title>\n<rect x=\S+ y=\"(\S+)\"", svg)}
    assert tops["reshape"] == tops["exp 3"] and tops["permute"] == tops["exp 4"] and tops["x"] == min(tops.values())


def test_blocks_of_branches_stand_below_each_other():
    boxes = [GraphBox("input", ["x"])]
    for number in range(6):    # one branch of one box, three of two
        trunk = boxes[-1]
        heads = [GraphBox("op", [f"branch {number} {branch}"], [trunk]) for branch in range(4)]
        ends = [GraphBox("op", [f"end {number} {branch}"], [head]) for branch, head in enumerate(heads[1:])]
        boxes += [*heads, *ends, GraphBox("op", [f"concat {number}"], [heads[0], *ends])]
    svg = graph_svg(boxes)
    check_nothing_is_hidden(svg)
    middles = [float(x) + float(width) / 2
               for x, width in re.findall(r"<title>concat \d</title>\n<rect x=\"(\S+)\" y=\S+ width=\"(\S+)\"", svg)]
    assert len(middles) == 6 and max(middles) - min(middles) < 40


def kinds(module, profile=None):
    return [(box.kind, *box.lines) for box in graph_boxes(module, profile)]


def test_a_graph():
    assert kinds(skip()) == [
        ("input", "x", "f32[4, 8]"), ("input", "late", "f32[8]"), ("op", "exp", "Exp_0", "f32[4, 8]"),
        ("op", "softmax", "Softmax_0", "f32[4, 8]"), ("op", "add", "Add_0", "f32[4, 8]"), ("op", "multiply", "Mul_0", "f32[4, 8]"),
        ("output", "y", "f32[4, 8]")]


@pytest.mark.parametrize("stage", ["legalized", "fused", "bufferized"])
def test_kernels_at_later_stages(stage):
    found = graph_boxes(legato.lower(skip(), last=stage))
    assert [box.lines[0] for box in found if box.kind == "input"] == ["x", "late"]
    kernels = [box for box in found if box.kind == "kernel"]
    assert [line.strip() for box in kernels for line in box.lines if line.startswith("  ")] == [
        "exp Exp_0", "softmax Softmax_0", "add Add_0", "multiply Mul_0"]
    outputs = [box for box in found if box.kind == "output"]
    assert [box.lines[0] for box in outputs] == ["y"] and outputs[0].reads == [kernels[-1]]
    check_nothing_is_hidden(graph_svg(found))


def test_parts_of_backends():
    pytest.importorskip("onnxruntime")
    module = legato.partition(skip(), ["onnxruntime"], codegen=False)
    parts = [box for box in graph_boxes(module) if box.kind == "backend"]
    assert {box.backend for box in parts} == {"onnxruntime"}
    assert [line.strip() for box in parts for line in box.lines if line.startswith("  ")][:2] == ["exp Exp_0", "softmax Softmax_0"]
    svg = legato.view(module).svg()
    assert ">onnxruntime</text>" in svg and svg.count('fill="#ffd8a8"') == 1 + len(parts)


def test_times_of_a_profile():
    exe = legato.compile(skip(), cache=False)
    profile = legato.profile(exe, np.ones((4, 8), np.float32), np.ones(8, np.float32), runs=3, peaks=False)
    for module in (skip(), legato.lower(skip(), last="fused")):
        timed = [box for box in graph_boxes(module, profile) if box.seconds is not None]
        assert sorted(box.seconds for box in timed) == sorted(call.seconds for call in profile.calls)
        assert sum(box.share for box in timed) == pytest.approx(sum(call.share for call in profile.calls))
    svg = legato.view(skip(), profile=profile).svg()
    assert "a run takes " in svg and "% of it outside of kernels" in svg
    assert len(re.findall(r"<text [^>]*>[\d.]+ (?:µs|ms|s), [\d.]+%</text>", svg)) == len(profile.calls)


@pytest.mark.parametrize("seconds, text", [(0.0, "0.0 µs"), (2.41e-7, "0.2 µs"), (9.9e-4, "990.0 µs"), (2.414e-3, "2.41 ms"),
                                           (61.0, "61.00 s")])
def test_times_are_in_units_that_suit_them(seconds, text):
    assert time_text(seconds) == text


BRANCHES = """
func.func @main(%c: tensor<i1> {relax.name = "c"}, %x: tensor<4x8xf32> {relax.name = "x"}) -> (tensor<4x8xf32> {relax.name = "y"}) {
  %0 = builtin.unrealized_conversion_cast %c : tensor<i1> to tensor<i8>
  %1 = tensor.extract %0[] : tensor<i8>
  %zero = arith.constant 0 : i8
  %2 = arith.cmpi ne, %1, %zero : i8
  %3 = scf.if %2 -> tensor<4x8xf32> {
    %5 = "relax.exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("Exp_0")
    scf.yield %5 : tensor<4x8xf32>
  } else {
    scf.yield %x : tensor<4x8xf32>
  } loc("If_0")
  %4 = "relax.tanh"(%3) : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("Tanh_0")
  return %4 : tensor<4x8xf32>
}
"""


@pytest.mark.parametrize("stage", [None, "fused", "bufferized"])
def test_branches(stage):
    module = legato.Module.parse(BRANCHES)
    exe = legato.compile(module, cache=False)
    profile = legato.profile(exe, np.array(False), np.ones((4, 8), np.float32), runs=2, peaks=False)
    boxes = graph_boxes(legato.lower(module, last=stage) if stage else module, profile)
    assert [box.lines[0] for box in boxes if box.kind not in ("op", "kernel")] == ["c", "x", "y"] and len(boxes) == 7
    begin, exp, end, tanh = boxes[2:6]
    assert begin.lines == ["if", "If_0"] and end.lines[:2] == ["end if", "If_0"] and exp.inside == "then of If_0" and tanh.inside == ""
    assert begin.reads == [boxes[0]] and exp.reads == [begin, boxes[1]] and end.reads == [exp, boxes[1]] and tanh.reads == [end]
    assert exp.count == 0 and tanh.count == 1
    check_nothing_is_hidden(graph_svg(boxes))
    assert "did not run" in graph_svg(boxes)


def test_loops():
    module = legato.Module.parse("""
func.func @main(%x: tensor<4xf32> {relax.name = "x"}) -> (tensor<4xf32> {relax.name = "y"}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %0 = scf.for %i = %zero to %four step %one iter_args(%s = %x) -> tensor<4xf32> {
    %1 = "relax.exp"(%s) : (tensor<4xf32>) -> tensor<4xf32> loc("Exp_0")
    scf.yield %1 : tensor<4xf32>
  } loc("Loop_0")
  return %0 : tensor<4xf32>
}""")
    boxes = graph_boxes(module)
    assert [box.lines[0] for box in boxes] == ["x", "loop", "exp", "end loop", "y"]
    assert [[one.lines[0] for one in box.reads] for box in boxes] == [[], ["x"], ["loop"], ["exp"], ["end loop"]]
    assert boxes[2].inside == "step of Loop_0"


def test_symbolic_sizes_of_lowered_models():
    sizes = '#relax.dims<["n", 8]>'
    module = legato.Module.parse(SKIP.replace("4x8xf32", f"?x8xf32, {sizes}"))
    for stage in ("fused", "bufferized"):
        ends = [box for box in graph_boxes(legato.lower(module, last=stage)) if box.kind in ("input", "output")]
        assert [box.lines for box in ends] == [["x", "f32[n, 8]"], ["late", "f32[8]"], ["y", "f32[n, 8]"]]


def test_files(tmp_path):
    picture = legato.view(skip())
    assert picture.save(tmp_path / "g.svg").read_text() == picture.svg() == picture._repr_svg_()
    assert picture.svg() in picture._repr_html_()
    assert picture.svg() in picture.save(tmp_path / "g.html").read_text()
    dot = picture.save(tmp_path / "g.dot").read_text()
    assert dot.startswith("digraph main {") and dot.count(" -> ") == 7 and 'label="exp\\lExp_0\\lf32[4, 8]\\l"' in dot
    with pytest.raises(legato.LegatoError, match=r"ends in \.svg, \.html, \.png, \.dot, not to '.*g\.pdf'"):
        picture.save(tmp_path / "g.pdf")


def test_png(tmp_path, monkeypatch):
    monkeypatch.setattr("legato.viewing.find_spec", lambda name: None)
    with pytest.raises(legato.LegatoError, match=r"cairosvg, which is not installed: pip install 'legato\[png\]'"):
        legato.view(skip()).save(tmp_path / "g.png")
    monkeypatch.setattr("legato.viewing.find_spec", lambda name: name)

    def no_library(name):
        raise OSError("no library called cairo-2 was found")

    with monkeypatch.context() as patched:
        patched.setattr("legato.viewing.import_module", no_library)
        with pytest.raises(legato.LegatoError, match="does not find the library libcairo: install it"):
            legato.view(skip()).save(tmp_path / "g.png")
    monkeypatch.undo()
    try:
        import_module("cairosvg")
    except (ImportError, OSError) as reason:
        pytest.skip(str(reason).splitlines()[0])
    assert legato.view(skip()).save(tmp_path / "g.png").read_bytes().startswith(b"\x89PNG")


def test_text_is_escaped():
    module = legato.Module.parse(SKIP.replace("Exp_0", "a<b>&c"))
    assert ">a&lt;b&gt;&amp;c</text>" in legato.view(module).svg()


def test_names_that_are_long_are_cut_and_stand_in_the_tooltip():
    module = legato.Module.parse(SKIP.replace("Exp_0", "n" * 200))
    svg = legato.view(module).svg()
    assert f">{'n' * 63}…</text>" in svg and "n" * 200 in svg
    assert max(right for *_, right, _ in drawn(svg)[0]) < 700


def test_what_has_no_main():
    with pytest.raises(legato.LegatoError, match="no function @main in the module, which has: @f"):
        legato.view(legato.Module.parse("func.func @f() { return }"))


def test_the_tool_refuses_the_suffix_first(tmp_path, capsys):
    words = [str(tmp_path / "nowhere.mlir"), f"--view={tmp_path / 'g.pdf'}"]
    for main, more in ((legato_opt.main, []), (legato_compile.main, []), (legato_run.main, ["--profile"])):
        assert main([*words, *more]) == 2
        assert "a picture is written to a file that ends in" in capsys.readouterr().err


def test_the_tools_draw(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.mlir").write_text(SKIP)
    assert legato_compile.main(["g.mlir", "-q", "--view", "graph.svg"]) == 0
    assert (tmp_path / "graph.svg").read_text() == legato.view(skip()).svg()
    assert legato_compile.main(["g.mlir", "-q", "--emit", "fused", "--view", "fused.svg", "-o", "fused.mlir"]) == 0
    assert (tmp_path / "fused.svg").read_text() == legato.view(legato.lower(skip(), last="fused")).svg()
    assert legato_run.main(["g.mlir", "-q", "--random", "--profile", "--bench", "2", "--view", "times.svg"]) == 0
    assert "a run takes " in (text := (tmp_path / "times.svg").read_text()) and " µs, " in text
    capsys.readouterr()
    for words in (["--emit", "ll"], ["--emit", "llvm"]):
        assert legato_compile.main(["g.mlir", *words, "--view", "x.svg"]) == 2
        assert "--view draws graphs of tensors and kernels" in capsys.readouterr().err
    assert legato_run.main(["g.mlir", "--random", "--view", "x.svg"]) == 2
    assert "with the times of --profile" in capsys.readouterr().err
