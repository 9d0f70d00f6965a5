"""legato-compile: compiles a model to native code, or prints any stage of its pipeline."""
import argparse
import sys
import time

from legato.tools.command_line import Parser
from legato.tools.ir_options import add_ir_options
from legato.tools.models import add_compile_options

TABLE, JSON = "table", "json"  # forms of --explain and --report
ALL = ""  # --print-pipeline without a stage
EXAMPLES = """examples:
  legato-compile model.onnx -o model.legato                   native code; weights in model.legato.*.weights beside it
  legato-compile model.onnx --emit relax                      the graph, after the graph passes
  legato-compile model.onnx --emit fused | less               one function a kernel, structured
  legato-compile model.onnx --emit ll -o model.ll             LLVM IR
  legato-compile model.onnx --target nvvm --emit nvvm         kernels for NVIDIA's GPUs
  legato-compile model.onnx --target 'nvvm{chip=sm_90a}' --emit ptx    the same as PTX (pip install 'legato[gpu]')
  legato-compile model.onnx --target nvvm -o model.legato     a model for NVIDIA's GPUs
  legato-compile model.onnx --backend openvino -o model.legato    parts that OpenVINO supports run there, and are saved along
  legato-compile model.mlir --emit onnx -o model.onnx         the graph as an ONNX model
  legato-compile model.onnx --report                          all that cannot be imported, op by op, without compiling
  legato-compile model.onnx -o model.legato --report-html report.html    a page about the compile
  legato-compile model.onnx --diff fused                      what the stage changed, function by function
  legato-compile model.onnx --explain                         which rule each op got, and the kernels that run
  legato-compile --print-pipeline --target llvm               the passes that run, stage by stage, as legato-opt takes them:
  legato-opt relax.mlir --pass-pipeline="$(legato-compile --print-pipeline=legalized --target llvm)"
  legato-compile model.onnx --shape input=1,3,224,224         fix or name the dimensions of an input
  legato-compile model.onnx --target 'llvm{cpu=x86-64-v3 threads=2}' -o model.legato"""


def parser() -> argparse.ArgumentParser:
    """The command line's parser."""
    p = Parser("legato-compile", usage="%(prog)s MODEL [-o FILE] [options]", description=__doc__, epilog=EXAMPLES)
    p.add_argument("model", nargs="?", help="a model: .onnx, .mlir or .mlirbc (with its weights in FILE.mlir.safetensors), or - for "
                   "standard input")
    p.add_argument("-o", dest="output", metavar="FILE", help="where to write: model.legato, or the text of --emit (default: "
                   "standard output)")
    p.add_argument("--emit", metavar="STAGE", help="print a stage of the target's pipeline instead of native code: imported, "
                   "relax, legalized, fused, scheduled, bufferized, llvm (nvvm: for that target), or ll: LLVM IR; ptx: PTX (for nvvm); "
                   "partitioned: the graph with its external modules; onnx: the imported graph as an ONNX model")
    p.add_argument("--print-pipeline", nargs="?", const=ALL, metavar="STAGE", help="print the passes that run on the target, one a line, "
                   "stage by stage (=STAGE: from the stage before to this one), as text for legato-opt's --pass-pipeline, and end")
    p.add_argument("--diff", metavar="STAGE", help="print what a stage changed, function by function, as a unified diff")
    p.add_argument("--from-stage", "--from", metavar="STAGE", help="the stage that an .mlir is at; the pipeline continues after it "
                   "(--from: its old name)")
    add_compile_options(p)
    add_ir_options(p)
    p.add_argument("--timing", action="store_true", help="print how long each stage and each pass took, on standard error")
    p.add_argument("--explain", metavar="[json]", choices=(TABLE, JSON), help="print, on standard output, the rule that each op got, why "
                   "those of more specific targets declined, what backends took, and the kernels that run; --explain=json as JSON; alone, "
                   "or beside -o")
    p.add_argument("--report", metavar="[json]", choices=(TABLE, JSON), help="print the ops of an ONNX model and all that cannot be "
                   "imported, and end: nothing is compiled, and the exit code is 1 if there is a gap; --report=json as JSON")
    p.add_argument("--view", metavar="FILE", help="draw the graph at the stage of --emit, or as imported: .svg, .html, .png or .dot")
    p.add_argument("--report-html", metavar="FILE", help="write a page about the compile: times, kernels, rules, backends, files, and a "
                   "picture of the graph with its kernels; alone, or beside -o")
    p.add_argument("-q", "--quiet", action="store_true", help="no progress")
    p.add_argument("-v", "--verbose", action="count", default=0, help="log what is done, on standard error; -vv: each pass as well")
    p.add_argument("--check-each-pass", action="store_true", help="run what the model computes before and after every pass, and name the "
                   "first pass, and op, that changes it: docs/checking.md")
    p.add_argument("--check-inputs", metavar="FILE.npz", help="--check-each-pass: on these inputs, in the order of their names")
    p.add_argument("--debug", action="store_true", help="errors with Python's traceback")
    return p


def main(argv: list[str] | None = None) -> int:
    """The tool. Returns the exit code: 0, 1 if the compile failed, 2 if the command line is invalid."""
    begun = time.perf_counter()
    given = sys.argv[1:] if argv is None else argv
    options = parser().parse_args([f"{one}={TABLE}" if one in ("--explain", "--report") else one for one in given])  # a model may follow
    from legato.tools.errors import reported

    with reported("legato-compile", debug=options.debug, verbosity=options.verbose) as outcome:
        if options.print_pipeline is not None:
            print_pipeline(options)
        elif options.report:
            return report(options)
        else:
            run(options, given, begun)
    return outcome.code


def run(options: argparse.Namespace, words: list[str], begun: float) -> None:
    """Does what the command line (``words``) asks for; ``begun``: when the tool started. Raises UsageError, before any work, and
    LegatoError."""
    from legato.tools.compile_checks import check_options, resolve
    from legato.tools.compile_session import CompileSession
    from legato.tools.ir_options import make_checker, reproduction
    from legato.tools.model_input import open_model
    from legato.tools.progress import Progress
    from legato.tools.user_file import register_user_files

    check_options(options)
    user = register_user_files(options.load)
    chosen = resolve(options, user)
    progress = Progress("legato-compile", options.quiet or bool(options.verbose), begun)
    progress.stages.append(("start", progress.seconds))
    with progress.stage("import"):
        module = open_model(options.model).module(dict(options.shape), user.dialects, options.overridable)
    checker = make_checker(options, words)
    CompileSession(options, chosen, progress, reproduction(options, words), checker).run(module)
    if checker is not None:
        print(f"legato-compile: {checker.report}", file=sys.stderr)


def report(options: argparse.Namespace) -> int:
    """``--report``: what of the model can be imported. The exit code."""
    from legato.frontends.onnx.report import onnx_report
    from legato.tools.errors import UsageError
    from legato.tools.model_input import ONNX, open_model
    from legato.tools.user_file import register_user_files

    if options.output or options.emit or options.diff or options.explain or options.view or options.report_html:
        raise UsageError("--report prints and ends: give no -o, --emit, --diff, --explain, --view or --report-html beside it")
    if options.model is None:
        raise UsageError("there is no model: give an .onnx file, or - for standard input")
    register_user_files(options.load)
    model = open_model(options.model)
    if model.kind != ONNX:
        raise UsageError("--report says what of an ONNX model can be imported; this is MLIR")
    found = onnx_report(model.onnx, shapes=dict(options.shape) or None, overridable=options.overridable)
    print(found.json() if options.report == JSON else found)
    return 0 if found.is_complete else 1


def print_pipeline(options: argparse.Namespace) -> None:
    """``--print-pipeline``: the passes of all stages, or of one, as text of a pipeline."""
    from legato.stages import pipeline_text
    from legato.tools.errors import UsageError, command_line
    from legato.tools.user_file import register_user_files

    if options.model or options.emit or options.output:
        raise UsageError("--print-pipeline prints and ends: give no model, no --emit and no -o beside it (of one stage: "
                         "--print-pipeline=STAGE)")
    user = register_user_files(options.load)
    with command_line():
        backends = user.chosen([name for name, _ in options.backend])
        print(pipeline_text(options.target, backends, options.print_pipeline or None, dict(options.backend)))


if __name__ == "__main__":
    sys.exit(main())
