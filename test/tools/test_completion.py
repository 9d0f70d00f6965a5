"""The scripts of --completion, run by the shells that they are for."""
import shutil
import subprocess

import pytest

from legato.tools import legato_compile, legato_opt, legato_reduce, legato_run

TOOLS = {"legato-opt": legato_opt.main, "legato-compile": legato_compile.main, "legato-run": legato_run.main,
         "legato-reduce": legato_reduce.main}
CASES = [
    ("legato-opt", ["--relax-fold-c"], ["--relax-fold-constants"]),
    ("legato-opt", ["--one-shot-b"], ["--one-shot-bufferize"]),
    ("legato-opt", ["--mlir-print-ir-tree"], ["--mlir-print-ir-tree-dir"]),
    ("legato-opt", ["--emit", "s"], ["script"]),
    ("legato-compile", ["--emit", "f"], ["fused"]),
    ("legato-compile", ["--emit", "=", "fu"], ["fused"]),
    ("legato-compile", ["--target", "nv"], ["nvvm"]),
    ("legato-compile", ["--backend", "onedn"], ["onednn"]),
    ("legato-compile", ["--diff", "leg"], ["legalized"]),
    ("legato-compile", ["--from", "sched"], ["scheduled", "schedules"]),
    ("legato-compile", ["-o", "a"], ["a file"]),
    ("legato-run", ["--check", "on"], ["onnxruntime"]),
    ("legato-run", ["--rand"], ["--random"]),
    ("legato-run", ["a"], ["a file"]),
    ("legato-run", ["--seed", "a"], []),
]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """A folder with the scripts, tool.shell, and a file."""
    folder = tmp_path_factory.mktemp("scripts")
    (folder / "a file").touch()
    for tool, main in TOOLS.items():
        for shell in ("bash", "zsh"):
            with pytest.MonkeyPatch.context() as patch, open(folder / f"{tool}.{shell}", "w") as file:
                patch.setattr("sys.stdout", file)
                try:
                    assert main([f"--completion={shell}"]) == 0
                except SystemExit as stop:
                    assert stop.code == 0
    return folder


@pytest.mark.parametrize(("tool", "words", "wanted"), CASES)
def test_bash(tool, words, wanted, scripts):
    given = " ".join(f"'{word}'" for word in [tool, *words])
    program = (f"source ./{tool}.bash; COMP_WORDS=({given}); COMP_CWORD={len(words)}; _{tool.replace('-', '_')}; "
               'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", program], cwd=scripts, capture_output=True, text=True)
    assert done.stderr == "" and done.stdout.split("\n")[:-1] == (wanted or [""])


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh here")
@pytest.mark.parametrize("tool", TOOLS)
def test_zsh(tool, scripts):
    """The script is read, and its table of options is one that _arguments takes."""
    program = (f"autoload -Uz compinit; compinit -u -D; source ./{tool}.zsh; print -r -- $_comps[{tool}]; "
               f"_arguments() {{ print -rl -- \"$@\" }}; _{tool.replace('-', '_')}")
    done = subprocess.run(["zsh", "-fc", program], cwd=scripts, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert done.stderr == "" and lines[0] == f"_{tool.replace('-', '_')}" and lines[-1] == "*:file:_files"
    assert any(line.startswith("*--timing[") or line.startswith("*--random[") for line in lines)


def test_another_shell(capsys):
    assert legato_opt.main(["--completion=fish"]) == 2
    assert '--completion takes bash or zsh, not "fish"' in capsys.readouterr().err
