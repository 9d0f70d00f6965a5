"""The fence around the layers: who may import whom, layer by layer."""
import ast
import os
from pathlib import Path

import legato

ROOT = Path(legato.__file__).resolve().parent
MAY_KNOW = {
    "dialects": set(),
    "passes": {"dialects"},
    "targets": {"dialects"},
    "frontends": {"dialects"},
    "runtime": set(),
    "tools": {"dialects", "passes", "targets", "frontends", "runtime"},
}
IR_FREE = {"runtime"}
KNOWN_TO_ALL = {"legato.core.errors", "legato.core.cpu"}  # they load no MLIR


def sources(folder: Path) -> list[Path]:
    """The Python files below a folder, through the symbolic links of a checkout."""
    return sorted(Path(top) / name for top, _, names in os.walk(folder, followlinks=True) for name in names if name.endswith(".py"))


def imports(path: Path) -> set[str]:
    """The modules of legato that a file imports, as dotted names below ``legato``."""
    package = ("legato", *path.relative_to(ROOT).parent.parts)
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            name = ".".join([*base, *(node.module.split(".") if node.module else [])])
            found |= {name} | {f"{name}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_layers_know_only_what_is_below_them():
    wrong = []
    for layer, allowed in MAY_KNOW.items():
        for path in sources(ROOT / layer):
            for name in imports(path):
                parts = name.split(".")
                if parts[0] != "legato" or len(parts) < 2:
                    continue
                if name.startswith(tuple(KNOWN_TO_ALL)):
                    continue
                if parts[1] in MAY_KNOW and parts[1] != layer and parts[1] not in allowed:
                    wrong.append(f"{layer}/{path.name} imports {name}")
                if layer in IR_FREE and parts[1] == "mlir":
                    wrong.append(f"{layer}/{path.name} imports {name}, but knows no IR")
    assert len(sources(ROOT)) > 20
    assert not wrong, "\n".join(wrong)


def test_only_one_module_names_the_wheel():
    naming = []
    for path in sources(ROOT):
        if path.name == "mlir.py":
            continue
        if any(name.split(".")[0] in ("mlir", "torch_mlir") for name in imports(path)):
            naming.append(str(path.relative_to(ROOT)))
    assert not naming
