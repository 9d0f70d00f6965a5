"""``R.func_attr``: marks of a graph. None is kept; one that is not a hint to TVM's own passes is reported."""

import ast
import warnings
from typing import Any

from legato.frontends.script.graph.parser import GraphParser

TVMS = frozenset((
    "global_symbol", "num_input", "Primitive", "op_pattern", "target", "kind", "shape_func", "tir_var_upper_bound", "tir_var_lower_bound",
    "tir_non_negative_var", "relax.force_pure", "relax.params_in_dataflow", "operator_name", "WorkspaceSize"))
_told: dict[Any, Any] = {}  # the warnings that were given, in the form of the module warnings: a graph is parsed several times


def report_marks(parser: GraphParser, call: ast.Call) -> None:
    """Warns, at its line, of each mark that changes nothing here and is not one of TVM's hints."""
    arguments = [*call.args, *(k.value for k in call.keywords)]
    for key in [k for a in arguments if isinstance(a, ast.Dict) for k in a.keys]:
        if not isinstance(key, ast.Constant) or key.value in TVMS:
            continue
        instead = ("give the backend to the compile, whose patterns choose its ops" if key.value in (
            "Composite", "Codegen", "relax.composite", "relax.codegen") else "a pass can mark the functions and ops of a module")
        line, _ = parser.source.position(key)
        warnings.warn_explicit(f"R.func_attr: the mark {key.value!r} is dropped; {instead}", UserWarning, parser.source.filename, line,
                               registry=_told)
