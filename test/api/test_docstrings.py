"""Public names say what they do: each module, class, function and method has a docstring, or overrides one that has."""
import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import legato

ROOT = Path(legato.__file__).resolve().parent.parent
FOLDERS = ("core", "dialects", "analysis", "passes", "schedule", "codegen", "targets", "frontends", "runtime", "tools", "legato", "bench",
           "examples")


def sources() -> list[Path]:
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def is_stub(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return ast.unparse(node.body) == "..."


def public_names(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """The qualified names and nodes of what a module or class body defines.

    Left out are setters and overloads, which share a docstring, and stubs: the fields of protocols, and declarations of C functions.
    """
    for node in body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if is_stub(node) or any(ast.unparse(d).endswith((".setter", "overload")) for d in node.decorator_list):
                continue
        yield prefix + node.name, node
        if isinstance(node, ast.ClassDef):
            yield from public_names(node.body, f"{prefix}{node.name}.")


def is_documented(node: ast.AST) -> bool:
    """Whether a definition has a docstring; a class may assign ``__doc__``, and ``functools.wraps`` takes that of another function."""
    if isinstance(node, ast.FunctionDef) and any(ast.unparse(d).startswith("wraps(") for d in node.decorator_list):
        return True
    assigned = isinstance(node, ast.ClassDef) and "__doc__" in (ast.unparse(t) for n in node.body if isinstance(n, ast.Assign)
                                                                for t in n.targets)
    return assigned or bool(ast.get_docstring(node))


def overrides_documented(path: Path, name: str) -> bool:
    """Whether a base of the method's class documents a method of its name."""
    *classes, method = name.split(".")
    if not classes:
        return False
    parts = path.relative_to(ROOT).with_suffix("").parts
    owner = importlib.import_module(".".join(parts if parts[0] in ("legato", "bench") else ("legato", *parts)))
    for part in classes:
        owner = getattr(owner, part)
    return any(getattr(vars(base).get(method), "__doc__", None) for base in owner.__mro__[1:])


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_public_names_are_documented(path):
    tree = ast.parse(path.read_text())
    missing = [] if ast.get_docstring(tree) or not tree.body else ["the module"]
    for name, node in public_names(tree.body):
        if not is_documented(node) and not overrides_documented(path, name):
            missing.append(f"{name} (line {node.lineno})")
    assert not missing, f"{path.relative_to(ROOT)}: no docstring on {', '.join(missing)}"
