"""The notebooks of examples/: their cells run, in order, and the values that they end with can be shown."""
import ast
import json
from pathlib import Path

import pytest

from legato.frontends.script.language.source import remember_text

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "examples").rglob("*.ipynb"))


def run_cell(code: str, where: str, names: dict) -> object:
    """Runs a cell as notebooks do. Returns the value of the expression that it ends with, or None."""
    remember_text(where, code)
    tree = ast.parse(code, where)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, where, "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), where, "eval"), names)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_the_cells_run(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text())
    assert (notebook["nbformat"], [cell for cell in notebook["cells"] if cell.get("outputs")]) == (4, [])
    names, shown = {"__name__": "notebook"}, []
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            value = run_cell("".join(cell["source"]), f"{path.stem}[{number}]", names)
            if value is not None:
                assert 0 < len(repr(value)) < 20_000
                shown.append(getattr(value, "_repr_html_", str)())
    assert sum("<table" in one for one in shown) == 2 and sum("<svg" in one for one in shown) == 1
    assert "relax." in capsys.readouterr().out


def test_there_is_one():
    assert NOTEBOOKS
