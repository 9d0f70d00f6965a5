"""docs/architecture.md: the IR that it shows is what the compiler prints, and the folders that it names are there."""
import re
from pathlib import Path
from typing import Any

import legato
from legato.frontends.script.language.source import remember_text
from legato.targets.catalog import Catalog

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
TARGET = "llvm{cpu=x86-64-v4}"


def blocks(language: str) -> list[tuple[str, str]]:
    """The fenced blocks of a language: what stands after its name, and the text."""
    return re.findall(rf"^```{language} ?([^\n]*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def differs(shown: str, printed: str) -> str | None:
    """The first line of a snippet that the IR does not have after the lines before it; ``...`` stands for anything in a line."""
    lines = iter(line.strip() for line in printed.splitlines())
    for line in shown.splitlines():
        pattern = ".*".join(map(re.escape, line.strip().split("...")))
        if not any(re.fullmatch(pattern, one) for one in lines):
            return line
    return None


def test_the_ir_is_what_the_compiler_prints():
    ((_, source),) = blocks("python")
    shown = dict(blocks("mlir"))
    assert list(shown) == [name for name, _ in Catalog().resolve(TARGET).pipeline()]
    names: dict[str, Any] = {"__name__": "architecture"}
    remember_text("architecture.md", source)
    exec(compile(source, "architecture.md", "exec"), names)
    for stage, snippet in shown.items():
        wrong = differs(snippet, str(legato.lower(names["main"], TARGET, last=stage)))
        assert wrong is None, f"{stage}: {wrong}"


def test_the_folders_are_there():
    table = PAGE.split("## The folders")[1].split("##")[0]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    named = [name.rstrip("/") for row in rows for name in re.findall(r"`([^`]+)`", row)]
    assert len(named) > 15
    assert [name for name in named if not (ROOT / name).is_dir()] == []
    folders = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert folders - {name.split("/")[0] for name in named} - {"bench", "examples"} == set()
    rooms = {path.name for path in (ROOT / "passes").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms == {name.split("/")[1] for name in named if name.startswith("passes/")}
