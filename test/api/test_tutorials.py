"""The tutorials of docs/ run: their Python in one process a page, their console commands, and what these print."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from legato.frontends.onnx import registry as onnx_registry
from legato.frontends.script.language.source import remember_text
from legato.targets import registry

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ["byoc.md", "c.md", "checking.md", "environment.md", "legalization.md", "onnx.md", "ops.md", "passes.md", "reducing.md",
         "sanitizers.md", "saved-models.md", "start.md"]


def blocks(text):
    """(kind, title, code) of each fenced block. A block with a title is a file, which is written."""
    return re.findall(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', text, re.MULTILINE | re.DOTALL)


def pattern(text):
    """A regular expression for a text in which ``...`` stands for anything in a line, or as a line for several lines, and runs of blanks
    for each other."""
    lines = [re.sub(r"(\\\s)+", r"\\s+", re.escape(line.strip())).replace(re.escape("..."), ".*") for line in text.strip().splitlines()]
    lines = [r"[\s\S]*?" if line == ".*" else line for line in lines]
    return r"\s*\n\s*".join(lines)


def undisturbed(printed):
    """What is printed, without the line that a profile has where other work interrupts it."""
    return re.sub(r"^other work on this machine interrupts.*\n", "", printed, flags=re.MULTILINE).strip()


def lacks_compiler(code):
    """Whether a block begins with a C or C++ compiler that this machine does not have."""
    program = code.removeprefix("$ ").split()[0]
    return program in ("cc", "c++") and shutil.which(program) is None


def run_console(code, where):
    """Runs each ``$`` line; what it prints must be what stands below it."""
    path = os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ["PATH"]])
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", code, re.MULTILINE):
        done = subprocess.run(command, shell=True, cwd=where, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        assert re.fullmatch(pattern(expected), undisturbed(done.stdout)), f"{command} printed:\n{done.stdout}"


@pytest.mark.parametrize("page", PAGES)
def test_the_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names, printed = {"__name__": f"docs_{page.split('.')[0]}"}, ""
    with registry.isolated(), onnx_registry.isolated():
        for kind, title, code in blocks((DOCS / page).read_text()):
            if title:
                (tmp_path / title).parent.mkdir(exist_ok=True)
                (tmp_path / title).write_text(code)
            elif kind == "python":
                remember_text(page, code)
                exec(compile(code, page, "exec"), names)
                printed = capsys.readouterr().out or printed
            elif kind == "console" and not lacks_compiler(code):
                run_console(code, tmp_path)
            elif kind == "text":
                assert re.fullmatch(pattern(code), undisturbed(printed)), f"the page says\n{code}\nbut it printed\n{printed}"
