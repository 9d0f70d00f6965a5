"""The texts of ``legato-opt --help`` (without loading MLIR) and ``--list-passes``."""
from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from legato.passes.pipeline.base import ModulePass

WIDTH = 110
HELP = """\
legato-opt reads MLIR (relax, tir and upstream's dialects), runs passes on it, and prints the result.

usage: legato-opt [FILE | -] [--some-pass[=OPTIONS] ...] [options]

Passes, in the order in which they run; legato-opt --list-passes shows all:
  --relax-fold-constants              as flags, one after the other
  --relax-legalize=target=llvm        options after the first "=", separated by spaces:
  --relax-fold-constants='max-bytes=64 verbose=true'
  --pass-pipeline='A,B{x=1 y=2},C'    or all as one text: ours and upstream's mixed, options in braces
    func.func(canonicalize,cse)       upstream's passes on every func.func (function passes are nested there automatically)
    external<"npu">(A,canonicalize)   on the external modules of the backend npu: the nested modules marked relax.codegen = "npu"
    external(A)                       on all external modules; no other pass changes them

Input and output:
  FILE, - or nothing                  a file, or standard input; weights are read from FILE.safetensors beside it
  -o FILE                             write there; weights go to FILE.safetensors, which is replaced only if it was written so
  --split-input-file[=MARK]           treat the parts between "// -----" lines (lines that begin with MARK) as files of their own
  --emit-bytecode                     write MLIR's bytecode, which is read like text
  --inline-weights                    print the weights in the text, so that it can be piped; they are read like those of a file
  --allow-unregistered-dialect        allow ops that no dialect defines
  --load FILE.py|MODULE               run a Python file, or import a module, first, to use its dialects, passes and targets (may be
                                      given again)
  --mlir-print-debuginfo              print locations: they carry the model's own names
  --mlir-print-op-generic             print every op in the generic form
  --mlir-print-local-scope            print attributes and locations inline, without aliases
  --mlir-elide-elementsattrs-if-larger=N  --mlir-elide-resource-strings-if-larger=N    leave long constants out
  --verify-roundtrip                  check that what is printed parses, and prints the same again

To see what happens:
  --print-ir-before=A,B  --print-ir-after=A,B   print the IR around these passes, on standard error
  --print-ir-before-all  --print-ir-after-all   around every pass
  --print-ir-after-change             only after passes that changed the IR; --print-ir-after-failure: after a pass that failed
  --mlir-print-ir-tree-dir=DIR        to files in this folder, one for each print
  --dump-pass-pipeline                the pipeline as text, before it runs
  --timing                            a table of times, on standard error
  --verify-each                       verify after each pass, not only at the end
  --check-each-pass                   run what the module computes before and after each pass, and name the first pass, and op, that
                                      changes it: docs/checking.md;  --check-inputs=FILE.npz: on these inputs, in the order of their names
  --show-dialects                     the names of all dialects
  --list-passes                       our passes with their options, and the names of upstream's
  --emit=script                       print the module as the source of a Python script (legato.script) instead of MLIR
  --emit=irdl                         print the dialects relax and tir, and those of --load, as IRDL, for mlir-opt --irdl-file=FILE
  --explain[=json]                    the rule applied to each op, and why those of more specific targets declined: a table (or
                                      JSON) instead of the IR, which is then written only with -o
  --view=FILE.svg|.html|.png|.dot     draw main after the passes: layer names, shapes, kernels, colours by backend
  --list-rules --target=NAME [--op=relax.softmax]   the rules of a target, in the order in which they are tried
  -v  -vv                             log what is done, on standard error; -vv: each pass as well
  --completion=bash|zsh               a script that completes options and passes: source <(legato-opt --completion=bash)
  --version                           the versions of Legato and LLVM
  --debug                             errors with Python's traceback (or LEGATO_DEBUG=1)

When a pass fails, the IR before it is written to FILE.reproducer.mlir in the current folder:
  --reproducer=FILE | none            write it elsewhere, or not at all
  --run-reproducer                    run the pipeline in the reproducer FILE on its IR

Tests:
  --verify-diagnostics                compare errors with comments: // expected-error@+1 {{part of the message}}
                                      also warning, note, remark; @+N @-N @above @below @unknown; -re for {{regular expressions}}

examples:
  legato-opt model.mlir                                          parse, verify, print
  legato-opt model.mlir --relax-fold-constants --canonicalize -o folded.mlir
  legato-opt model.mlir --pass-pipeline='relax-canonicalize,func.func(cse)' --print-ir-after-all
  legato-opt model.mlir --load my_passes.py --my-pass=level=2 --timing
  legato-opt test.mlir --split-input-file --verify-diagnostics
  legato-compile model.onnx --emit relax -o graph.mlir && legato-opt graph.mlir --relax-legalize"""


def list_passes(table: Mapping[str, type[ModulePass]], upstream: Mapping[str, str], loaded: Iterable[str]) -> str:
    """All passes: Legato's and those named in `loaded` with documentation and options, upstream's by name."""
    loaded = set(loaded)
    parts = ["Passes of Legato:\n"]
    parts += [_describe(one) for name, one in table.items() if name not in loaded]
    if loaded:
        parts.append("Passes of the files given to --load:\n")
        parts += [_describe(one) for name, one in table.items() if name in loaded]
    parts.append(f"Passes of upstream MLIR ({len(upstream)}; documented at https://mlir.llvm.org/docs/Passes):\n")
    parts.append(textwrap.fill(" ".join(upstream), WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False))
    return "\n".join(parts)


def _describe(one: type[ModulePass]) -> str:
    from legato.passes.pipeline.base import options_of
    from legato.passes.pipeline.options import print_value

    lines = [f"  --{one.name}"]
    for paragraph in one.help().split("\n\n"):
        lines.append(textwrap.fill(paragraph, WIDTH, initial_indent="      ", subsequent_indent="      ", break_on_hyphens=False))
    for option in options_of(one):
        default = f" (default: {print_value(option.default)})" if _worth_telling(option.default) else ""
        text = f"{option}  {option.help}{default}"
        lines.append(textwrap.fill(text, WIDTH, initial_indent="      - ", subsequent_indent=" " * 10, break_on_hyphens=False))
    return "\n".join(lines) + "\n"


def _worth_telling(default: object) -> bool:
    return isinstance(default, bool | int | float) or bool(isinstance(default, str | tuple) and default)
