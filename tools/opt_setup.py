"""The preparations of legato-opt before it reads its input: the user's code, the pipeline, the contexts."""
from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from legato.core.mlir import ir
from legato.dialects.loading import make_context
from legato.passes.pipeline import renamed, upstream
from legato.passes.pipeline.base import PassContext
from legato.passes.pipeline.instrumentation import Instrumentation
from legato.passes.pipeline.options import nearest
from legato.passes.pipeline.pipeline import PassPipeline
from legato.passes.pipeline.reproducer import read_header
from legato.passes.pipeline.steps import PassNames
from legato.tools.errors import UsageError
from legato.tools.opt_arguments import SWITCHES, VALUED, Arguments
from legato.tools.opt_help import list_passes
from legato.tools.opt_input import Input
from legato.tools.user_file import UserCode, load_user_file

if TYPE_CHECKING:
    from legato.checking.checker import PassChecker
    from legato.targets.backend import Backend
    from legato.targets.target import Target


def follow_reproducer(arguments: Arguments, text: Input) -> None:
    """Takes the pipeline and its options from a reproducer's header."""
    recipe = read_header(text.source.text, text.source.name)
    arguments.pipeline = recipe.pipeline
    arguments.verify_each |= recipe.verify_each
    if recipe.check_inputs is not None:
        arguments.check_each = True
        arguments.check_inputs = arguments.check_inputs or str(Path(text.source.name).parent / recipe.check_inputs)
    arguments.load += [file for file in recipe.load if file not in arguments.load]


def load_user_code(arguments: Arguments) -> UserCode:
    """The dialects, passes and targets of all files given to ``--load``."""
    return sum(map(load_user_file, arguments.load), UserCode())


def list_all_passes(user: UserCode) -> None:
    """Prints the list of ``--list-passes``."""
    print(list_passes(PassNames(user.passes).table(), upstream.places(), [one.name for one in user.passes]))


def list_dialects(context: ir.Context) -> None:
    """Prints the list of ``--show-dialects``. The bindings have no list of the dialects that are registered but not loaded: MLIR's parser
    names all of them where one is unknown."""
    try:
        ir.Module.parse("no_such_dialect.op", context)
    except ir.MLIRError as error:
        names = re.search(r"Available dialects: (.*?)(?: \(\* [^)]*\))?;", str(error))
        print("Available dialects:", *names[1].replace(" (*)", "").split(", ") if names else (), sep="\n  ")


def list_target_rules(arguments: Arguments, user: UserCode) -> None:
    """Prints the list of ``--list-rules``."""
    from legato.targets.catalog import Catalog
    from legato.targets.explain import list_rules

    print(list_rules(Catalog(user.targets).resolve(arguments.target), arguments.op or None))


def pass_context(user: UserCode) -> PassContext:
    """The context shared by the passes. It resolves targets and backends among the user's and Legato's own."""
    catalog, backends = None, None

    def resolve(text: str) -> Target:
        nonlocal catalog
        if catalog is None:
            from legato.targets.catalog import Catalog

            catalog = Catalog(user.targets)
        return catalog.resolve(text)

    def resolve_backend(name: str) -> Backend:
        nonlocal backends
        if backends is None:
            from legato.targets.backend_catalog import BackendCatalog

            backends = BackendCatalog(user.backends)
        return backends.resolve(name)

    return PassContext(resolve_target=resolve, resolve_backend=resolve_backend)


def make_checker(arguments: Arguments) -> PassChecker | None:
    """What runs the module around each pass, for --check-each-pass; None without it."""
    if not arguments.check_each:
        return None
    from legato.checking.checker import PassChecker, show_progress
    from legato.checking.report import read_inputs

    inputs = read_inputs(arguments.check_inputs) if arguments.check_inputs else None
    return PassChecker(inputs, reproducer=arguments.reproducer_path, command=arguments.command, loaded=arguments.load,
                   progress=show_progress)


def make_pipeline(arguments: Arguments, user: UserCode, context: PassContext) -> PassPipeline:
    """The pipeline of the command line. Errors in names, options and targets are raised before any input is read."""
    _refuse_unknown_flags(arguments, PassNames(user.passes))
    instrumentation = Instrumentation(
        print_before=frozenset(arguments.print_before), print_after=frozenset(arguments.print_after),
        print_before_all=arguments.print_before_all, print_after_all=arguments.print_after_all,
        print_after_change=arguments.print_after_change, print_after_failure=arguments.print_after_failure,
        tree_dir=Path(arguments.tree_dir) if arguments.tree_dir else None, timing=arguments.timing, show=arguments.printer.module)
    pipeline = PassPipeline(
        arguments.pipeline_text, extra_passes=user.passes, verify_each=arguments.verify_each, instrumentation=instrumentation,
        reproducer=arguments.reproducer_path, command=arguments.command, loaded=arguments.load)
    pipeline.check(context)
    names = pipeline.names()
    for flag, wanted in (("print-ir-before", arguments.print_before), ("print-ir-after", arguments.print_after)):
        for name in wanted:
            if name not in names:
                has = f"has {', '.join(dict.fromkeys(names))}" if names else "is empty"
                raise UsageError(f'--{flag}={name}: no pass of that name runs; the pipeline {has}')
    return pipeline


def _refuse_unknown_flags(arguments: Arguments, names: PassNames) -> None:
    for flag in arguments.passes:
        name, _, options = flag.removesuffix("}").partition("{")
        if names.find(name) is None and not upstream.is_pass(name):
            if (stale := renamed.answer(name, options)) is not None:
                raise UsageError(stale)
            known = [*names.table(), *upstream.places(), *SWITCHES, *VALUED]
            raise UsageError(f'there is no option or pass "--{name}"{nearest(name, known)}')


def mlir_context(arguments: Arguments, user: UserCode) -> ir.Context:
    """A context with our dialects and the user's."""
    context = make_context(user.dialects)
    context.allow_unregistered_dialects = arguments.allow_unregistered
    return context
