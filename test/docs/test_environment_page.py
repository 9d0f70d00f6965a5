"""docs/environment.md: its first table names the variables that the sources read, and no other."""
import ast
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("core", "dialects", "analysis", "passes", "schedule", "codegen", "targets", "frontends", "runtime", "tools", "legato")
PAGE = (ROOT / "docs" / "environment.md").read_text()
# in Python, and in the code of models for NVIDIA's GPUs
READ = re.compile(r"(?:\bos\.(?:environ\.get\(|environ\[|getenv\()|= getenv\()\s*(\"?\w+\"?)")


def constants(source: str) -> dict[str, Any]:
    """The constants that a file gives names to, one by one or several in a line."""
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign):
            names, values = (part.elts if isinstance(part, ast.Tuple) else [part] for part in (node.targets[0], node.value))
            found |= {n.id: v.value for n, v in zip(names, values) if isinstance(n, ast.Name) and isinstance(v, ast.Constant)}
    return found


def read_by_sources() -> set[str]:
    """The variables that are read, by a text or by the name of a constant."""
    found = set()
    for source in (path.read_text() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        words = READ.findall(source)
        known = constants(source) if words else {}
        found |= {word.strip('"') if word[0] == '"' else known[word] for word in words}
    return found


def test_the_table_has_the_variables_that_are_read():
    table = PAGE.split("## Variables that Legato reads")[1].split("##")[0]
    named = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert named == read_by_sources() and len(named) > 4


def test_no_other_way_to_read_one():
    ways = {line.strip() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") for line in path.read_text().splitlines()
            if re.search(r"\bos\.environ\b|getenv", line) and not READ.search(line)}
    ways -= {"getenv,", "def getenv(name: Text) -> Text: ..."}
    assert not ways, ways
