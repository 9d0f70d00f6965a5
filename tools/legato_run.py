"""legato-run: runs a model (.onnx, .mlir) or a saved one (.legato), compares it with onnxruntime, and times it."""
import argparse
import importlib.util
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from legato.tools.command_line import Parser
from legato.tools.ir_options import add_ir_options
from legato.tools.models import TARGET, add_compile_options, count_option, dim_option, seed_option, tolerance_option
from legato.tools.run_arrays import FORMS, in_types, name_and_file, read_arrays, save_arrays

EXAMPLES = """examples:
  legato-run model.onnx --random                              compile, run on random inputs, show the outputs
  legato-run model.onnx --random --check onnxruntime          and compare with onnxruntime
  legato-run model.onnx --random --check onnxruntime --bisect    which layer differs first, and the errors of all
  legato-run model.onnx --random --check onnxruntime --bench 50
  legato-run model.onnx --random --target nvvm                on an NVIDIA GPU (pip install 'legato[gpu]')
  legato-run model.onnx --random --backend openvino           parts that OpenVINO supports run there
  legato-run model.onnx --random --dim n=7                    a value for the symbol n
  legato-run model.onnx --input x=x.npy --save y=y.npy
  legato-run model.onnx --input inputs.npz --save outputs.npz
  legato-run model.onnx --random --profile                    which layers the time goes to, and what the machine could do
  legato-run model.legato --random --bench 100                a saved model: no compiler is loaded
  legato-run model.legato --random --load my_functions.py     and a file that registers functions, or loads libraries, that it calls
  legato-run model.legato --random --verify                   and every byte of its weights is compared with their digest"""


COMPILES = ("timing", "verify_each", *(f"mlir_print_ir_{how}" for how in (
    "before", "after", "before_all", "after_all", "after_change", "after_failure", "tree_dir")), "mlir_pass_pipeline_crash_reproducer")


def parser() -> argparse.ArgumentParser:
    """The command line's parser."""
    p = Parser("legato-run", usage="%(prog)s MODEL [options]", description=__doc__, epilog=EXAMPLES)
    p.add_argument("model", help="a model: .onnx, .mlir, or a saved one (.legato, .so); - for standard input (ONNX or MLIR)")
    p.add_argument("--random", action="store_true", help="random values for the inputs without --input")
    p.add_argument("--seed", type=seed_option, default=0, help="seed of the random values")
    p.add_argument("--input", action="append", default=[], metavar=FORMS, help="a value for an input, or for all that the file names")
    p.add_argument("--save", action="append", default=[], metavar=FORMS, help="where to write an output, or all of them")
    p.add_argument("--dim", action="append", type=dim_option, default=[], metavar="SYMBOL=N", help="size of a symbol (default: 8)")
    add_compile_options(p)
    p.add_argument("--verify", action="store_true", help="a saved model: compare its weights with their digest, which reads all of them; "
                   "code is always compared")
    p.add_argument("--check", choices=["onnxruntime"], help="compare the outputs with another runtime's; exit code 1 if they differ")
    p.add_argument("--tolerance", type=tolerance_option, default=1e-4, help="largest relative error accepted by --check: max|a-b| / max|b|")
    p.add_argument("--bisect", action="store_true", help="with --check: name the first layer whose value differs, with a table of errors "
                   "by layer; all values become outputs, and it says where that changes what fusion does")
    p.add_argument("--bench", type=count_option, metavar="N", help="time N calls (median), alternating with the runtime of --check")
    p.add_argument("--profile", nargs="?", const="table", choices=["table", "json"], help="time each kernel call over --bench runs "
                   "(default: 20): a table, or JSON, with the model's layers, arithmetic, memory traffic and the machine's peaks")
    p.add_argument("--trace", metavar="FILE.json", help="with --profile: write one run for chrome://tracing or ui.perfetto.dev")
    p.add_argument("--timing", action="store_true", help="print how long each stage and each pass of the compile took, on standard error")
    p.add_argument("--view", metavar="FILE", help="with --profile: draw the kernels with their times: .svg, .html, .png or .dot")
    p.add_argument("-q", "--quiet", action="store_true", help="no progress")
    p.add_argument("-v", "--verbose", action="count", default=0, help="log what is done, on standard error; -vv: each pass as well")
    p.add_argument("--debug", action="store_true", help="errors with Python's traceback")
    add_ir_options(p, emits=False)
    return p


def main(argv: list[str] | None = None) -> int:
    """Runs the tool. Returns the exit code: 0, 1 if something failed or --check found a difference, 2 if the command line is invalid."""
    begun = time.perf_counter()
    given = sys.argv[1:] if argv is None else argv
    options = parser().parse_args(given, argparse.Namespace(words=given))
    from legato.tools.errors import reported

    with reported("legato-run", debug=options.debug, verbosity=options.verbose) as outcome:
        outcome.code = run(options, begun)
    return outcome.code


def executable(options: argparse.Namespace, model: Any, given: Mapping[str, Any], begun: float) -> Any:
    """The model, compiled, or loaded if it is a saved one (``model``: None). ``given``: the arrays of --input. UsageError, before the
    compile, if they are not what the model takes."""
    if model is None:
        from legato.runtime import load

        if options.load:    # else nothing of a compiler is imported
            from legato.tools.user_file import load_user_file

            for path in options.load:
                load_user_file(path)
        found = load(options.model, verify=options.verify)
        refuse_constants(given, found.signature.constant_inputs)
        check_inputs(options, given, {spec.name: spec.name not in found.defaults for spec in found.inputs})
        return found
    from legato import driver
    from legato.graph_capture import capturing
    from legato.tools.compile_checks import look_up
    from legato.tools.ir_options import instrumentation, reproduction
    from legato.tools.model_input import constant_inputs, input_names
    from legato.tools.progress import Progress
    from legato.tools.user_file import register_user_files

    user = register_user_files(options.load)
    chosen = look_up(options, user)
    driver.refuse_elsewhere(chosen.target)
    progress = Progress("legato-run", options.quiet or bool(options.verbose), begun)
    progress.stages.append(("start", progress.seconds))
    with progress.stage("import"):
        module = model.module(dict(options.shape), user.dialects, options.overridable)
    refuse_constants(given, constant_inputs(module))
    check_inputs(options, given, input_names(module))
    result = driver.compile(
        module, chosen.target, passes=capturing(chosen.target, None) if options.view else (), backends=chosen.backends,
        backend_options=dict(options.backend), progress=progress, cache=not (options.no_cache or options.verbose or options.timing),
        verify_each=options.verify_each, instrumentation=instrumentation(options),
        reproducer=reproduction(options, options.words, "legato-run"))
    progress.finish()
    if options.timing:
        from legato.passes.pipeline.instrumentation import time_report

        print(time_report(progress.stages, progress.seconds, result.report.stage_passes), file=sys.stderr)
    return result


def check_options(options: argparse.Namespace) -> None:
    """Refuses options that do not fit together, before any work. Raises UsageError; LegatoError for a package that is missing."""
    from legato.core.errors import LegatoError
    from legato.runtime.code_file import is_saved_model
    from legato.tools.errors import UsageError
    from legato.tools.output import check_view

    saved = is_saved_model(options.model)
    if options.check and (saved or options.model.endswith((".mlir", ".mlirbc"))):
        raise UsageError("--check compares with onnxruntime, which wants the .onnx file")
    if options.check and importlib.util.find_spec("onnxruntime") is None:
        raise LegatoError("--check compares with onnxruntime, which is not installed: pip install onnxruntime")
    if options.bisect and not options.check:
        raise UsageError("--bisect says where --check finds a difference: give both")
    if saved and (options.shape or options.target != TARGET or options.backend or options.overridable):
        raise UsageError("--shape, --overridable, --target and --backend are for a compile: a saved model has them in it")
    if options.verify and not saved:
        raise UsageError("--verify compares a saved model with its digests: give a .legato file")
    if saved and (about := [name for name in COMPILES if getattr(options, name)]):
        raise UsageError(f"--{about[0].replace('_', '-')} is about a compile, and a saved model has been compiled")
    if options.trace and not options.profile:
        raise UsageError("--trace writes what --profile measures: give both")
    if options.view and (saved or not options.profile):
        raise UsageError("--view draws a model that is compiled, with the times of --profile: give a model and both")
    if options.view:
        check_view("--view", options.view)


def run(options: argparse.Namespace, begun: float) -> int:
    """Runs the model as the command line asks. Returns the exit code: 1 if --check fails. Raises UsageError and LegatoError."""
    from legato.comparison import Peer, random_inputs, relative_error, symbol_in
    from legato.core.errors import LegatoError
    from legato.runtime.code_file import is_saved_model
    from legato.runtime.forms import RUN_TIME, by_name, named
    from legato.tools.output import check_output

    check_options(options)
    files = [name_and_file("--save", text) for text in options.save]
    for _, file in files:
        check_output("--save", file)
    if options.trace:
        check_output("--trace", options.trace)
    given = read_arrays(options.input)
    model = None
    if not is_saved_model(options.model):
        from legato.tools.model_input import open_model

        model = open_model(options.model)
    exe = executable(options, model, given, begun)
    gives = [form.name for form in exe.signature.gives] or [spec.name for spec in exe.outputs]
    if all(form.count != RUN_TIME for form in exe.signature.gives):     # else the call says what there is
        refuse_unknown("output", [name for name, _ in files if name], [spec.name for spec in exe.outputs])
    refuse_unknown("symbol", dict(options.dim), sorted({s for spec in exe.inputs for d in spec.shape if (s := symbol_in(d))}))
    inputs = random_inputs([spec for spec in exe.inputs if spec.name not in exe.defaults], dict(options.dim), options.seed) \
        if options.random else {}
    inputs |= in_types(given, exe.inputs)
    takes = exe.signature.takes
    inputs = by_name(takes, [spec.name for spec in exe.inputs], inputs) if takes else inputs
    try:
        found = exe(**inputs)
    except (TypeError, ValueError, MemoryError, RuntimeError) as error:  # about arguments, or of a device
        raise LegatoError(str(error)) from error
    tensors = dict(named(gives, found if isinstance(found, tuple) else (found,)))
    outputs = tuple(tensors.values())
    refuse_unknown("output", [name for name, _ in files if name], list(tensors))
    for name, value in tensors.items() if options.profile != "json" else ():
        print(f"{name}: {value.dtype}{list(value.shape)} {summary(value)}")
    save_arrays(files, tensors)
    code, peer = 0, None
    if options.check and model is not None:
        peer = Peer(model.onnx)
        seeds = [name for name in exe.defaults if name not in options.overridable]
        peer.check_overridable([name for name in exe.defaults if name in given and name not in seeds])
        errors = [relative_error(a, b) for a, b in zip(outputs, tensors_of(tuple(peer(inputs))), strict=True)]
        good = max(errors, default=0.0) <= options.tolerance
        print(f"check: greatest relative error against onnxruntime {max(errors, default=0.0):.1e}, "
              f"{'within' if good else 'ABOVE'} {options.tolerance:g}"
              + "".join(f"; the model draws random numbers, by '{name}': onnxruntime draws others" for name in seeds))
        code = 0 if good else 1
    if options.bisect and model is not None:
        code = bisect(model, inputs, options)
    if options.profile:
        profile(exe, inputs, options)
    elif options.bench:
        bench(exe, inputs, peer, options.bench)
    return code


def bisect(model: Any, inputs: dict[str, Any], options: argparse.Namespace) -> int:
    """Prints the errors by layer. Returns the exit code: 1 if a layer, or an output, differs."""
    from legato.bisecting import bisect as bisected
    from legato.tools.compile_checks import look_up
    from legato.tools.user_file import register_user_files

    chosen = look_up(options, register_user_files(options.load))
    found = bisected(model.onnx, inputs, tolerance=options.tolerance, shapes=dict(options.shape) or None, target=chosen.target,
                     backends=chosen.backends, backend_options=dict(options.backend) or None)
    print(found)
    return 1 if found.first or found.outputs > options.tolerance else 0


def check_inputs(options: argparse.Namespace, given: Mapping[str, Any], names: Mapping[str, bool]) -> None:
    """UsageError for an --input that the model does not have, and for inputs without a value. ``names``: of the inputs, and whether each
    needs one."""
    from legato.tools.errors import UsageError

    refuse_unknown("input", given, list(names))
    missing = [] if options.random else [name for name, needed in names.items() if needed and name not in given]
    if missing:
        raise UsageError(f"no value for {', '.join(missing)}: give --input NAME=FILE.npy or FILE.npz, or --random")


def refuse_constants(given: Iterable[str], constants: Sequence[str]) -> None:
    """UsageError for an --input that is a constant, since the model has an initializer for it."""
    from legato.tools.errors import UsageError

    for name in given:
        if name in constants:
            raise UsageError(f"the input '{name}' has an initializer, so it is a constant of the compiled model: --overridable {name} "
                             "makes it an input of which that is the default")


def refuse_unknown(what: str, names: Iterable[str], known: Sequence[str]) -> None:
    """UsageError for the first name that is not among the known ones. ``what``: their kind, for the message."""
    from legato.tools.errors import UsageError

    for name in names:
        if name not in known:
            raise UsageError(f"the model has no {what} '{name}'; it has {', '.join(known) or 'none'}")


def tensors_of(value: Any) -> tuple[Any, ...]:
    """The tensors of a call's outputs, one of which may be a list of them or None."""
    outputs = value if isinstance(value, tuple) else (value,)
    return tuple(tensor for one in outputs for tensor in (one if isinstance(one, list) else [] if one is None else [one]))


def summary(value: Any) -> str:
    """The first elements of an array, and its range."""
    if value.size == 0:
        return "empty"
    floats = value.dtype.kind == "f"
    head = " ".join(f"{v:.5g}" if floats else str(v) for v in value.reshape(-1)[:4])
    extremes = f" min {value.min():.5g} max {value.max():.5g}" if floats else ""
    return f"[{head}{' ...' if value.size > 4 else ''}]{extremes}"


def profile(exe: Any, inputs: dict[str, Any], options: argparse.Namespace) -> None:
    """Prints a profile as a table or JSON; writes one run as a trace, and a picture with the times, to the files of the options."""
    import json

    from legato.profiling import profile as profiled

    found = profiled(exe, runs=options.bench or 20, **inputs)
    print(found if options.profile == "table" else json.dumps(found.json(), indent=2))
    if options.trace:
        Path(options.trace).write_text(json.dumps(found.chrome_trace()))
    if options.view:
        from legato.graph_capture import captured_module
        from legato.viewing import view

        view(captured_module(exe.report), profile=found).save(options.view)


def bench(exe: Any, inputs: dict[str, Any], peer: Any, count: int) -> None:
    """Prints the median time of ``count`` calls; calls of the peer alternate with ours, so that both see the same load."""
    import numpy as np

    times: tuple[list[float], list[float]] = ([], [])
    calls = [lambda: exe(**inputs)] + ([lambda: peer(inputs)] if peer else [])
    for call in calls:
        call()
    for _ in range(count):
        for call, found in zip(calls, times):
            begin = time.perf_counter()
            call()
            found.append(time.perf_counter() - begin)
    ours = float(np.median(times[0]))
    line = f"bench: {ours * 1e3:.3f} ms a call (median of {count})"
    if peer:
        theirs = float(np.median(times[1]))
        line += f"; onnxruntime {theirs * 1e3:.3f} ms, one thread: {ours / theirs:.2f} times its time"
    print(line)


if __name__ == "__main__":
    sys.exit(main())
