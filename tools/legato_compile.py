"""legato-compile: compiles a model to native code, or prints any stage of its pipeline."""
import argparse
import sys
from pathlib import Path
from typing import Any

from legato.tools.models import add_compile_options

IMPORTED, PARTITIONED, ONNX, LLVM_IR, PTX = "imported", "partitioned", "onnx", "ll", "ptx"
NATIVE = (".legato", ".so")
TABLE, JSON = "table", "json"  # forms of --explain
ALL = ""  # --print-pipeline without a stage
EXAMPLES = """examples:
  legato-compile model.onnx -o model.legato                   native code; weights in model.legato.*.weights beside it
  legato-compile model.onnx --emit relax                      the graph, after the graph passes
  legato-compile model.onnx --emit fused | less               one function a kernel, structured
  legato-compile model.onnx --emit ll -o model.ll             LLVM IR
  legato-compile model.onnx --target nvvm --emit nvvm         kernels for NVIDIA's GPUs
  legato-compile model.onnx --target 'nvvm{chip=sm_90a}' --emit ptx    the same as PTX (pip install 'legato[gpu]')
  legato-compile model.onnx --backend openvino -o model.legato    parts that OpenVINO supports run there, and are saved along
  legato-compile model.mlir --emit onnx -o model.onnx         the graph as an ONNX model
  legato-compile model.onnx --explain                         which rule each op got, and the kernels that run
  legato-compile --print-pipeline --target llvm               the passes that run, stage by stage, as legato-opt takes them:
  legato-opt relax.mlir --pass-pipeline="$(legato-compile --print-pipeline=legalized --target llvm)"
  legato-compile model.onnx --shape input=1,3,224,224         fix or name the dimensions of an input
  legato-compile model.onnx --target 'llvm{cpu=x86-64-v3 threads=2}' -o model.legato"""


def parser() -> argparse.ArgumentParser:
    """The command line's parser."""
    p = argparse.ArgumentParser(prog="legato-compile", description=__doc__, epilog=EXAMPLES,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", nargs="?", help="a model: .onnx or .mlir (with its weights in FILE.mlir.safetensors)")
    p.add_argument("-o", dest="output", metavar="FILE", help="where to write: model.legato, or the text of --emit (default: "
                   "standard output)")
    p.add_argument("--emit", metavar="STAGE", help="print a stage of the target's pipeline instead of native code: imported, "
                   "relax, legalized, fused, scheduled, bufferized, llvm (nvvm: for that target), or ll: LLVM IR; ptx: PTX (for nvvm); "
                   "partitioned: the graph with its external modules; onnx: the imported graph as an ONNX model")
    p.add_argument("--print-pipeline", nargs="?", const=ALL, metavar="STAGE", help="print the passes that run on the target, one a line, "
                   "stage by stage (=STAGE: from the stage before to this one), as text for legato-opt's --pass-pipeline, and end")
    p.add_argument("--from", dest="first", metavar="STAGE", help="the stage that an .mlir is at; the pipeline continues after it")
    add_compile_options(p)
    p.add_argument("--mlir-print-debuginfo", action="store_true", help="print locations: they carry the model's names")
    p.add_argument("--timing", action="store_true", help="print how long each pass took")
    p.add_argument("--explain", metavar="FORM", choices=(TABLE, JSON), help="print, on standard output, the rule that each op got and why "
                   "nearer ones declined, what backends took, and the kernels that run; --explain=json as JSON; alone, or beside -o")
    p.add_argument("-q", "--quiet", action="store_true", help="no progress")
    p.add_argument("--verify-each", action="store_true", help="verify the IR after every pass")
    p.add_argument("--debug", action="store_true", help="errors with Python's traceback")
    return p


def main(argv: list[str] | None = None) -> int:
    """The tool. Returns the exit code."""
    given = sys.argv[1:] if argv is None else argv
    options = parser().parse_args([f"--explain={TABLE}" if one == "--explain" else one for one in given])  # a model may follow it
    from legato.tools.errors import reported

    with reported("legato-compile", debug=options.debug) as outcome:
        if options.print_pipeline is not None:
            print_pipeline(options)
        else:
            run(options)
    return outcome.code


def run(options: argparse.Namespace) -> None:
    """Does what the command line asks for. Raises LegatoError."""
    from legato import driver
    from legato.core.errors import LegatoError
    from legato.passes.pipeline.base import PassContext
    from legato.runtime.linker import find_linker
    from legato.runtime.package import saved_files
    from legato.targets.explain import explanation
    from legato.tools.models import is_stream, read_model
    from legato.tools.output import check_output, say_written
    from legato.tools.progress import Progress, print_times
    from legato.tools.user_file import register_user_files

    if options.model is None:
        raise LegatoError("there is no model: give an .onnx or an .mlir file")
    if not options.emit and not options.output and not options.explain:
        raise LegatoError("nothing to do: give -o model.legato for native code, --emit STAGE for text, or --explain")
    if options.explain and options.emit:
        raise LegatoError("--explain prints what a whole compile did: give it alone or beside -o model.legato, without --emit")
    if options.output and (Path(options.output).suffix in NATIVE) != (not options.emit):
        raise LegatoError(f"-o {options.output}: native code, and nothing else, goes into a file that ends in .legato (or .so); "
                          "--emit STAGE is text")
    if options.output:
        check_output("-o", options.output)
    if options.output and not options.emit:
        find_linker()  # check this before the compile
    user = register_user_files(options.load)
    backends, backend_options = user.chosen([name for name, _ in options.backend]), dict(options.backend)
    progress = Progress(quiet=options.quiet)
    with progress.stage("import"):
        module = read_model(options.model, dict(options.shape), user.dialects)
    report, written = driver.Report(), [Path(options.output)] if options.output else []
    if options.emit == ONNX:
        write_onnx(module, options.output)
    elif options.emit:
        if options.emit == PARTITIONED:
            driver.give_to_backends(module, PassContext(), backends, options=backend_options)
        elif options.emit != IMPORTED:
            last = None if options.emit in (LLVM_IR, PTX) else options.emit
            module = driver.lower(module, options.target, backends=backends, backend_options=backend_options, first=options.first,
                                  last=last, progress=progress, verify_each=options.verify_each, report=report)
        if options.emit == LLVM_IR:
            text = driver.llvm_ir(module)
        elif options.emit == PTX:
            text = driver.ptx(module, report.target)
        else:
            text = module.module.operation.get_asm(enable_debug_info=options.mlir_print_debuginfo)
        if options.output and options.emit not in (LLVM_IR, PTX) and not is_stream(Path(options.output)):
            written = module.save(options.output)  # with its weights beside it
        elif options.output:
            Path(options.output).write_text(text + "\n")
        else:
            print(text)
    elif not options.output:
        driver.lower(module, options.target, backends=backends, backend_options=backend_options, first=options.first,
                     progress=progress, verify_each=options.verify_each, report=report)
    else:
        executable = driver.compile(module, options.target, backends=backends, backend_options=backend_options, first=options.first,
                                    progress=progress, verify_each=options.verify_each)
        with progress.stage("save"):
            written = saved_files(executable.save(options.output))
        report = executable.report
    progress.finish()
    if options.explain:
        told = explanation(report.target, report.details)
        print(told.json() if options.explain == JSON else told)
    if written and not options.quiet:
        say_written("legato-compile", written)
    if options.timing:
        print_times(report, sys.stderr)


def print_pipeline(options: argparse.Namespace) -> None:
    """``--print-pipeline``: the passes of all stages, or of one, as text of a pipeline."""
    from legato.core.errors import LegatoError
    from legato.stages import pipeline_text
    from legato.tools.user_file import register_user_files

    if options.model or options.emit or options.output:
        raise LegatoError("--print-pipeline prints and ends: give no model, no --emit and no -o beside it (of one stage: "
                          "--print-pipeline=STAGE)")
    backends = register_user_files(options.load).chosen([name for name, _ in options.backend])
    print(pipeline_text(options.target, backends, options.print_pipeline or None, dict(options.backend)))


def write_onnx(module: Any, output: str | None) -> None:
    """Writes a module's main as an ONNX model. LegatoError without an output file."""
    from legato.core.errors import LegatoError
    from legato.targets.backends.onnx import export

    if not output:
        raise LegatoError("--emit onnx writes a binary file: give -o model.onnx")
    Path(output).write_bytes(export(module).SerializeToString())


if __name__ == "__main__":
    sys.exit(main())
