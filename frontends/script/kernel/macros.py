"""Macros of a kernel's script: statements that are put in the place of each call."""

import ast
from typing import Any

from legato.frontends.script.kernel.scopes import Scopes
from legato.frontends.script.language.functions import Macro
from legato.frontends.script.language.source import Problem, ScriptError


class Macros(Scopes):
    """Expands macros at the insertion point."""

    def macro(self, call: ast.Call) -> tuple[Macro, list[Any]] | None:
        """The macro that a call calls, and the object whose method it is."""
        if isinstance(call.func, ast.Name) and call.func.id not in self.scope:
            found = self.source.names.get(call.func.id)
            return (found, []) if isinstance(found, Macro) else None
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
            owner = self.scope.get(call.func.value.id, self.source.names.get(call.func.value.id))
            found = vars(owner).get(call.func.attr) if isinstance(owner, type) else None
            return (found, []) if isinstance(found, Macro) else None
        return None

    def written_by_macro(self, call: ast.Call) -> ast.FunctionDef | None:
        found = self.macro(call)
        return found[0].source.tree if found else None

    def expand(self, macro: Macro, first: list[Any], call: ast.Call) -> None:
        """Puts a macro's statements here, with the arguments in the places of its parameters."""
        if macro in self.expanding:
            raise Problem("a macro that puts itself in its own place has no end")
        keywords = {str(k.arg): self.expression(k.value) for k in call.keywords}
        bound = self.bound(macro, [*first, *self.arguments(call)], keywords)
        source, scope, fixed = self.source, self.scope, self.fixed
        self.source = macro.source
        self.scope = bound if macro.hygienic else {**scope, **bound}
        self.fixed = set()
        self.expanding.append(macro)
        try:
            self.statements(macro.source.tree.body)
        except ScriptError as error:
            line, _ = source.position(call)
            place = f" (in a macro that is used at {source.filename}:{line})"
            raise ScriptError(error.message + place, error.filename, error.line, error.column, error.text, error.width) from None
        finally:
            self.source, self.scope, self.fixed = source, scope, fixed
            self.expanding.pop()

    def bound(self, macro: Macro, arguments: list[Any], keywords: dict[str, Any]) -> dict[str, Any]:
        """What each parameter of a macro stands for: by position, by name, by its default."""
        described = macro.source.tree.args
        names = [a.arg for a in [*described.posonlyargs, *described.args]]
        found = dict(zip(names, arguments))
        if described.vararg:
            found[described.vararg.arg] = tuple(arguments[len(names):])
        elif len(arguments) > len(names):
            raise Problem(f"the macro takes {', '.join(names)}; {len(arguments)} arguments are given")
        every = [*names, *(a.arg for a in described.kwonlyargs)]
        spare = {n: v for n, v in keywords.items() if n not in every} if described.kwarg else {}
        if described.kwarg:
            found[described.kwarg.arg] = spare
        for name, value in keywords.items():
            if name in spare:
                continue
            if name not in every or name in found:
                raise Problem(f"the macro takes {', '.join(every)}; '{name}' is not one of them, or given twice")
            found[name] = value
        defaults = dict(zip(reversed(names), reversed(described.defaults)))
        defaults |= {a.arg: d for a, d in zip(described.kwonlyargs, described.kw_defaults) if d is not None}
        for name in every:
            if name not in found:
                if name not in defaults:
                    raise Problem(f"the macro takes {', '.join(every)}; '{name}' is missing")
                found[name] = macro.source.evaluate(defaults[name], {})
        return found
