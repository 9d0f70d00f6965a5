"""Who may import whom: the layers, the rooms of passes/, and the rules that keep the folders a tree. Every import counts: inside functions,
under TYPE_CHECKING, and by name through import_module. There is no list of exceptions."""
import ast
import os
from collections import defaultdict
from pathlib import Path

import pytest

import legato

ROOT = Path(legato.__file__).resolve().parent
MAY_KNOW = {  # a folder, or a room or a file of one: what it may import beside itself
    "core": "",
    "dialects": "core",
    "analysis": "core dialects",
    "schedule": "core dialects analysis",
    "passes": "core dialects analysis schedule",
    "targets": "core dialects analysis",
    "frontends": "core dialects analysis",
    "reduction": "core dialects",
    "codegen": "core dialects passes.memory.signature passes.pipeline runtime",
    "checking": "core dialects analysis passes codegen runtime",
    "runtime": "core.errors core.cpu core.dataclass core.given core.notebook core.reports core.syntax",
}
ROOMS = {  # of passes/: the rooms that each may import
    "pipeline": "",
    "graph": "pipeline",
    "partition": "pipeline graph",
    "legalize": "pipeline",
    "structured": "pipeline graph",
    "loops": "pipeline",
    "memory": "pipeline graph",
    "calls": "pipeline memory",
    "cpu": "pipeline graph legalize structured loops calls",
    "gpu": "pipeline legalize structured loops calls",
}
ABOVE_ALL = {"tools", "legato", "examples"}  # "legato": the files of the package itself, the face and the driver


def sources() -> dict[str, Path]:
    """The Python files of the package by their dotted names below ``legato``, through the links of a checkout."""
    found = {}
    for top, _, names in os.walk(ROOT, followlinks=True):
        for name in names:
            if name.endswith(".py"):
                path = Path(top) / name
                found[".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")] = path
    return found


SOURCES = sources()


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.AST]:
    """The syntax of each file: for these tests alone, since it is a million objects that each collection of garbage visits."""
    return {name: ast.parse(path.read_text()) for name, path in SOURCES.items()}


@pytest.fixture(scope="module")
def statements(trees) -> dict[str, set[str]]:
    """What each file imports from anywhere."""
    return {name: imported(tree) for name, tree in trees.items()}


@pytest.fixture(scope="module")
def imports(statements) -> dict[str, set[str]]:
    """The files of the package that each file imports."""
    return {name: known(name, found) for name, found in statements.items()}


def module_of(name: str) -> str | None:
    """The file that a dotted name below ``legato`` is, or is defined in; None where that is the package itself."""
    parts = name.split(".")
    while parts and ".".join(parts) not in SOURCES:
        parts.pop()
    return ".".join(parts) or None


def imported(tree: ast.AST) -> set[str]:
    """The dotted names that a file imports from anywhere, in statements and by import_module of a plain text. Tables by which words of
    users are looked up (the passes, the face, the backends) are no imports."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            name = node.args[0]
            if isinstance(name, ast.Constant):
                found.add(str(name.value))
    return found


def known(name: str, statements: set[str]) -> set[str]:
    """The files of the package that a file imports, by its imports from anywhere."""
    inside = {n.removeprefix("legato.") for n in statements if n.startswith("legato.")}
    return {found for n in inside if (found := module_of(n)) not in (None, name)} | (
        {"__init__"} if any(n == "legato" or (n.startswith("legato.") and module_of(n.removeprefix("legato.")) is None)
                            for n in statements) else set())


def layer(name: str) -> str:
    """The folder that a file lies in; ``legato`` for those of the package itself."""
    return name.split(".")[0] if SOURCES[name].parent != ROOT else "legato"


def within(name: str, allowed: str) -> bool:
    return any(name == a or name.startswith(a + ".") for a in allowed.split())


def test_layers_know_only_what_is_below_them(imports):
    wrong = [f"{name} imports {other}" for name, others in sorted(imports.items()) for other in sorted(others)
             if layer(name) not in ABOVE_ALL and layer(other) != layer(name) and not within(other, MAY_KNOW[layer(name)])]
    assert len(SOURCES) > 300
    assert not wrong, "\n".join(wrong)


def test_rooms_of_passes_know_only_what_is_below_them(imports):
    """A room's own file in passes/ itself would belong to no room; there is only the package's."""
    wrong = []
    for name, others in sorted(imports.items()):
        if layer(name) == "passes" and name != "passes":
            room = name.split(".")[1]
            wrong += [f"{name} imports {other}" for other in sorted(others) if layer(other) == "passes" and other != "passes"
                      and other.split(".")[1] != room and other.split(".")[1] not in ROOMS[room].split()]
    assert not wrong, "\n".join(wrong)


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one node (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            component = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(component) > 1:
                found.append(sorted(component))

    for node in graph:
        if node not in index:
            visit(node)
    return found


def test_the_folders_are_no_circle(imports):
    folders = defaultdict(set)
    for name, others in imports.items():
        folders[layer(name)] |= {layer(o) for o in others} - {layer(name)}
    assert circles(folders) == []


def test_no_circle_of_files_is_larger_than_two(imports):
    assert [c for c in circles(imports) if len(c) > 2] == []


def test_a_class_has_a_name_of_its_own(trees):
    classes = defaultdict(list)
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(name)
    assert {n: files for n, files in classes.items() if len(files) > 1} == {}


def test_only_one_module_names_the_wheel(statements):
    naming = [name for name, found in statements.items() if any(n.split(".")[0] in ("mlir", "torch_mlir") for n in found)]
    assert set(naming) <= {"core.mlir"}


def test_imports_are_absolute(trees, statements):
    """And by the package's name: a module imported as ``passes.x`` would be loaded a second time."""
    top = {layer(name) for name in SOURCES} - {"legato"}
    wrong = []
    for name, tree in trees.items():
        wrong += [f"{name}: {ast.unparse(node)}" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
        wrong += [f"{name}: {n}" for n in statements[name] if n.split(".")[0] in top]
    assert wrong == []


def test_the_rules_see_what_they_forbid():
    """The imports that the rules are about are found wherever they stand, and circles are found."""
    tree = ast.parse("""if TYPE_CHECKING:
    import legato.tools
def f():
    from legato.passes.graph import x
    import_module("legato.targets")""")
    assert imported(tree) == {"legato.passes.graph.x", "legato.tools", "legato.targets"}
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert within("core.errors", "core.errors core.cpu") and not within("core.errors_more", "core.errors")
    assert layer("driver") == "legato" and layer("core.mlir") == "core"
