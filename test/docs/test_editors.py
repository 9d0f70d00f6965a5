"""What the repository brings for editors and for pre-commit: files that are well formed, and commands that run."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("path", sorted((ROOT / ".vscode").glob("*.json")), ids=lambda path: path.name)
def test_settings_are_json(path):
    assert json.loads(path.read_text())


@pytest.mark.parametrize(("label", "file"), [("lit: this file", "test/tools/opt-timing.mlir"),
                                             ("pytest: this file", "test/core/test_weights.py")])
def test_a_task_runs_one_test(label, file, tmp_path):
    tasks = {task["label"]: task for task in json.loads((ROOT / ".vscode/tasks.json").read_text())["tasks"]}
    words = [tasks[label]["command"], *tasks[label]["args"]]
    words = [word.replace("${workspaceFolder}", str(ROOT)).replace("${file}", str(ROOT / file)) for word in words]
    if not Path(words[0]).exists():
        pytest.skip("no .venv here, which make sets up")
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, "LEGATO_LIT_OUTPUT": str(tmp_path), "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stdout


def test_pre_commit_runs_what_make_lint_runs():
    text, lint = (ROOT / ".pre-commit-config.yaml").read_text(), (ROOT / "Makefile").read_text()
    hooks = re.findall(r"- id: (\w+)\n.*\n +entry: (.*)", text)
    assert [name for name, _ in hooks] == ["ruff", "pyright"]
    assert all(f"$(BIN)/{name}" in lint and entry.startswith(f".venv/bin/{name}") for name, entry in hooks)
    ruff = Path(sys.executable).with_name("ruff")
    if ruff.exists():
        words = [str(ruff), *hooks[0][1].split()[1:], __file__]
        assert subprocess.run(words, cwd=ROOT, capture_output=True).returncode == 0
