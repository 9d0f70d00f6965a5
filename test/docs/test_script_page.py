"""docs/script.md: its code runs, what it prints is what stands there, and what it says is refused is refused."""
import re
from pathlib import Path

import pytest

import legato
from legato.frontends.script.language import refused
from legato.frontends.script.language.source import remember_text
from legato.script import parse

PAGE = Path(__file__).resolve().parents[2] / "docs" / "script.md"


def test_the_page_runs(capsys):
    names, printed = {"__name__": "script_page"}, ""
    for number, (kind, code) in enumerate(re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)):
        if kind == "python":
            filename = f"{PAGE.name}[{number}]"
            remember_text(filename, code)
            exec(compile(code, filename, "exec"), names)
            printed = capsys.readouterr().out or printed
        else:
            assert code == printed


def words_of_the_table():
    rows = PAGE.read_text().split("## What is refused")[1].splitlines()
    return [w for row in rows if row.startswith("| ") for w in re.findall(r"`([TR]\.[\w.*]+)`", row.split("|")[1])]


ELSEWHERE = {"T.attr", "R.Shape", "R.Prim", "R.Object", "R.Tensor"}  # words that have a meaning in other places


@pytest.mark.parametrize("word", [w for w in words_of_the_table() if w not in ELSEWHERE])
def test_what_it_says_is_refused_is(word):
    called = word.replace("*", "thing")
    if word.startswith("T."):
        text = f'@T.prim_func\ndef f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):\n    B[0] = {called}(A[0])\n'
    else:
        text = f'@R.function\ndef f(x: R.Tensor((4,), "float32")):\n    return {called}(x)\n'
    with pytest.raises(legato.LegatoError, match=re.escape(called)):
        parse(text)


def test_reasons_have_a_way_out():
    for table, face in ((refused.WORDS, "T"), (refused.GRAPH, "R")):
        for word, reason in table.items():
            said = refused.refused(word.replace("*", "x"), table, face)
            assert said is not None and said.endswith(reason)
