"""Macros of kernels (``@T.macro``): their statements are parsed at each call."""

import ast
from typing import Any

from legato.frontends.script.kernel.arguments import arguments
from legato.frontends.script.kernel.parser import KernelParser
from legato.frontends.script.language.functions import Macro
from legato.frontends.script.language.source import Misuse, ScriptError


def macro_of(parser: KernelParser, call: ast.Call) -> Macro | None:
    """The macro that a call calls, by its name or as a member of a class; None where it calls something else."""
    if isinstance(call.func, ast.Name) and call.func.id not in parser.scope:
        found = parser.source.names.get(call.func.id)
        return found if isinstance(found, Macro) else None
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
        owner = parser.scope.get(call.func.value.id, parser.source.names.get(call.func.value.id))
        found = vars(owner).get(call.func.attr) if isinstance(owner, type) else None
        return found if isinstance(found, Macro) else None
    return None


def expand(parser: KernelParser, macro: Macro, call: ast.Call) -> None:
    """Builds a macro's statements here, with the arguments in the places of its parameters. ScriptError, in the macro, names the call."""
    if macro in parser.expanding:
        raise Misuse("a macro that puts itself in its own place has no end")
    parser.copies.add(f"this call of '{macro.source.tree.name}'")
    keywords = {str(k.arg): parser.expression(k.value) for k in call.keywords}
    names = bound(macro, arguments(parser, call), keywords)
    source, scope, fixed = parser.source, parser.scope, parser.fixed
    parser.source = macro.source
    parser.scope = names if macro.hygienic else {**scope, **names}
    parser.fixed = set()
    parser.expanding.append(macro)
    try:
        parser.statements(macro.source.tree.body)
    except ScriptError as error:
        line, _ = source.position(call)
        place = f" (in a macro that is used at {source.filename}:{line})"
        raise ScriptError(error.message + place, error.filename, error.line, error.column, error.text, error.width) from None
    finally:
        parser.source, parser.scope, parser.fixed = source, scope, fixed
        parser.expanding.pop()


def bound(macro: Macro, given: list[Any], keywords: dict[str, Any]) -> dict[str, Any]:
    """The value of each parameter of a macro: by position, by name, or its default. Misuse where one is missing or unknown."""
    parameters = macro.source.tree.args
    names = [a.arg for a in [*parameters.posonlyargs, *parameters.args]]
    found = dict(zip(names, given))
    if parameters.vararg:
        found[parameters.vararg.arg] = tuple(given[len(names):])
    elif len(given) > len(names):
        raise Misuse(f"the macro takes {', '.join(names)}; {len(given)} arguments are given")
    every = [*names, *(a.arg for a in parameters.kwonlyargs)]
    spare = {n: v for n, v in keywords.items() if n not in every} if parameters.kwarg else {}
    if parameters.kwarg:
        found[parameters.kwarg.arg] = spare
    for name, value in keywords.items():
        if name in spare:
            continue
        if name not in every or name in found:
            raise Misuse(f"the macro takes {', '.join(every)}; '{name}' is not one of them, or given twice")
        found[name] = value
    defaults = dict(zip(reversed(names), reversed(parameters.defaults)))
    defaults |= {a.arg: d for a, d in zip(parameters.kwonlyargs, parameters.kw_defaults) if d is not None}
    for name in every:
        if name not in found:
            if name not in defaults:
                raise Misuse(f"the macro takes {', '.join(every)}; '{name}' is missing")
            found[name] = macro.source.evaluate(defaults[name], {})
    return found
