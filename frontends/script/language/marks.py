"""``R.func_attr``, ``T.func_attr`` and annotations: marks that change nothing here, and are no hints to TVM's own passes, are reported."""

import ast
import warnings
from typing import Any

from legato.frontends.script.language.source import Source

TVMS = frozenset((
    "global_symbol", "num_input", "Primitive", "op_pattern", "target", "kind", "shape_func", "tir_var_upper_bound", "tir_var_lower_bound",
    "tir_non_negative_var", "relax.force_pure", "relax.params_in_dataflow", "operator_name", "WorkspaceSize"))
TVMS_KERNEL = frozenset((  # without the prefix "tir." or "tirx.", where they have one
    "global_symbol", "op_pattern", "target", "noalias", "is_scheduled", "is_entry_func", "is_host_func", "is_global_func",
    "tir_var_upper_bound", "tir_var_lower_bound", "tir_non_negative_var", "layout_free_buffers", "from_legacy_te_schedule"))
BACKENDS = ("Composite", "Codegen", "relax.composite", "relax.codegen")
_told: dict[Any, Any] = {}  # the warnings that were given, in the form of the module warnings: a script is parsed several times


def without_prefix(key: str) -> str:
    """TVM's name for a mark of a kernel without ``tir.``, which newer versions spell ``tirx.``."""
    return key.removeprefix("tirx.").removeprefix("tir.")


def report_graph_marks(source: Source, call: ast.Call) -> None:
    """Warns, at its line, of each mark of R.func_attr that is not one of TVM's hints."""
    for key in keys_of(call):
        if key.value not in TVMS:
            instead = ("give the backend to the compile, whose patterns choose its ops" if key.value in BACKENDS
                       else "a pass can mark the functions and ops of a module")
            report(source, key, f"R.func_attr: the mark {key.value!r} is dropped; {instead}")


def report_kernel_marks(source: Source, call: ast.Call) -> None:
    """Warns, at its line, of each mark of T.func_attr that is neither kept nor one of TVM's hints."""
    for key in keys_of(call):
        if not isinstance(key.value, str) or without_prefix(key.value) not in TVMS_KERNEL:
            report(source, key, f"T.func_attr: the mark {key.value!r} is dropped; a pass can mark the kernels of a module")


def keys_of(call: ast.Call) -> list[ast.Constant]:
    """The constant keys of the dictionaries that a call is given."""
    arguments = [*call.args, *(k.value for k in call.keywords)]
    return [key for a in arguments if isinstance(a, ast.Dict) for key in a.keys if isinstance(key, ast.Constant)]


def report(source: Source, node: ast.AST, message: str) -> None:
    """A warning at the line of a node, given once."""
    line, _ = source.position(node)
    warnings.warn_explicit(message, UserWarning, source.filename, line, registry=_told)
