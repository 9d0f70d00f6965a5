"""docs/performance.md: every piece of code runs."""
from pathlib import Path

from test_tir_page import lines_of_code

from legato.frontends.script.language.source import remember_text

PAGE = Path(__file__).resolve().parents[2] / "docs" / "performance.md"


def test_the_page_runs(capsys):
    source = "".join(line if inside else "\n" for line, inside in lines_of_code(PAGE.read_text()))
    remember_text(str(PAGE), source)
    names = {"__name__": "performance"}
    exec(compile(source, str(PAGE), "exec"), names)
    printed = capsys.readouterr().out
    assert "@average" in printed and "of peak" in printed
    assert "its steps depend on each other" in printed          # why it is not raised
    assert "start from zeros" in printed and "has an opaque axis, whose order matters" in printed
    assert not any(call.kernel == "kernel_zeros" for call in names["profile"].calls) and names["best"] in (1, 4, 8, 16)
