"""Write passes/pipeline/upstream_passes.txt: the names of upstream's passes, and the ops each may run on.

MLIR has no call that lists its passes, so every word of the bindings' libraries is given to the pipeline parser, and each pass found runs
once on an empty module and on an empty function, in a process of its own (some crash). Run it after changing the MLIR wheel:
``python -m legato.tools.update_upstream_passes``.
"""
import importlib
import os
import re
from pathlib import Path

from legato.core.mlir import PROVIDER, ir, passmanager

OUTPUT = Path(__file__).resolve().parent.parent / "passes" / "pipeline" / "upstream_passes.txt"
HEADER = """\
# Upstream's passes and pass pipelines, and where each may stand; written by tools/update_upstream_passes.py.
# any: on any op.  module: on builtin.module and gpu.module (crashes on a function).  function: on func.func, llvm.func, gpu.func.
# Another op's name: on that op only.
"""
TRIALS = {
    "builtin.module": ("module {}", "builtin.module({})"),
    "func.func": ("func.func @f() { return }", "builtin.module(func.func({}))"),
}
RUNS, FAILS, RESTRICTED, MISPLACED, CRASHES = range(5)


def words() -> set[str]:
    """Every word in the bindings' libraries that could be a pass's name, and all its suffixes: linkers store "cse" only inside
    "affine-cse"."""
    folder = Path(importlib.import_module(f"{PROVIDER}._mlir_libs").__file__).parent
    found: set[bytes] = set()
    for library in folder.glob("*.so"):
        data = library.read_bytes()
        found.update(re.findall(rb"(?<=\0)[a-z][a-z0-9_]*(?=\0)", data), re.findall(rb"[a-z][a-z0-9]*(?:-[a-z0-9]+)+", data))
    names = {word.decode() for word in found}
    return names | {name[start:] for name in names for start in range(1, len(name) - 1) if name[start].isalpha()}


def exists(name: str) -> bool:
    """Whether the pipeline parser knows the pass. Needs a current context."""
    try:
        passmanager.PassManager.parse(f"any({name})")
    except ValueError as error:
        return "does not refer to a registered" not in str(error)
    return True


def required_op(name: str) -> str | None:
    """The op that a pass is restricted to, or None if it can run on a module."""
    try:
        passmanager.PassManager.parse(f"builtin.module({name})")
    except ValueError as error:
        if restricted := re.search(r"restricted to '([^']+)'", str(error)):
            return restricted[1]
    return None


def trial(name: str, anchor: str) -> int:
    """The outcome of running the pass on an empty op of that kind."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        text, pipeline = TRIALS[anchor]
        try:
            passmanager.PassManager.parse(pipeline.format(name)).run(ir.Module.parse(text).operation)
        except (ir.MLIRError, ValueError) as error:
            os._exit(RESTRICTED if "restricted to" in str(error) else MISPLACED if "unable to schedule" in str(error) else FAILS)
        os._exit(RUNS)
    status = os.waitpid(child, 0)[1]
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else CRASHES


def place(name: str) -> str:
    """The ops that the pass may run on, in the file's terms."""
    if op := required_op(name):
        return op
    if trial(name, "builtin.module") == MISPLACED:
        return "function"
    return {RESTRICTED: "builtin.module", CRASHES: "module"}.get(trial(name, "func.func"), "any")


def main() -> None:
    """Writes the file."""
    with ir.Context():
        lines = [f"{name} {place(name)}\n" for name in sorted(words()) if exists(name)]
    OUTPUT.write_text(HEADER + "".join(lines))
    print(f"{len(lines)} passes in {OUTPUT}")


if __name__ == "__main__":
    main()
