"""What ``with`` opens in a kernel's script besides blocks: threads, buffers and names for the statements inside."""

import ast
from typing import Any

from legato.dialects.tir import loops
from legato.dialects.tir.loops import THREAD, THREADS
from legato.frontends.script.kernel.blocks import Blocks
from legato.frontends.script.kernel.values import Scalar, as_index
from legato.frontends.script.language.refused import refused
from legato.frontends.script.language.source import Problem


class Thread:
    """``T.env_thread("threadIdx.x")``: a thread axis that a later T.launch_thread gives its extent."""

    def __init__(self, tag: str):
        self.tag = tag


def thread_tag(tag: Any) -> str:
    if tag not in THREADS:
        reason = refused("vthread") if isinstance(tag, str) and "vthread" in tag else None
        raise Problem(reason or f"there are the threads {', '.join(THREADS)}; not {tag!r}")
    return tag


class Scopes(Blocks):
    """Builds what ``with`` opens; the statements in it are built by who inherits this (``statements``)."""

    def call_env_thread(self, node: ast.Call) -> Thread:
        given = self.named(node, "thread_tag", "dtype")
        return Thread(thread_tag(given.get("thread_tag")))

    def open_scope(self, word: str, item: ast.withitem, node: ast.With) -> None:
        """``with T.<word>(...) as name:`` for the words that open no block."""
        call = item.context_expr
        if not isinstance(call, ast.Call):
            raise Problem(f"T.{word} is called: with T.{word}(...)")
        if word == "launch_thread":
            self.launch(call, node.body, item.optional_vars)
        elif self.makes_buffer(call) and word != "match_buffer":
            if not isinstance(item.optional_vars, ast.Name):
                raise Problem(f"the buffer has a name: with T.{word}(...) as A")
            with self.inside(**{item.optional_vars.id: self.buffer(item.optional_vars.id, call)}):
                self.statements(node.body)
        elif word in ("LetStmt", "let", "Bind"):
            name, value = self.let_of(word, call, item)
            with self.inside(**{name: self.expression(value)}):
                self.statements(node.body)
        elif word == "attr" and self.is_hint(call):
            self.statements(node.body)
        else:
            raise Problem(refused(word) or f"T.{word} is not supported behind 'with', which opens a block: with T.block(\"C\")")

    def let_of(self, word: str, call: ast.Call, item: ast.withitem) -> tuple[str, ast.expr]:
        """``T.LetStmt(value) as x``, ``T.LetStmt(value, var=x)``, and ``T.let(x, value)``."""
        keywords = {k.arg: k.value for k in call.keywords}
        if word == "let" and len(call.args) == 2:
            target, value = call.args
        else:
            value = call.args[0] if call.args else keywords.get("value")
            target = item.optional_vars or keywords.get("var") or (call.args[1] if len(call.args) > 1 else None)
        if value is None or not isinstance(target, ast.Name):
            raise Problem(f"T.{word} gives a name a value: with T.LetStmt(A[i]) as x")
        return target.id, value

    def is_hint(self, call: ast.Call) -> bool:
        """Whether T.attr says something that changes no value: a pragma, or an alignment."""
        key = self.expression(call.args[1]) if len(call.args) > 1 else None
        return isinstance(key, str) and (key.startswith("pragma_") or key in ("storage_alignment", "auto_unroll_max_step", "compute_scope"))

    def launch(self, call: ast.Call, body: list[ast.stmt], target: ast.expr | None) -> None:
        """A loop over a thread axis around statements: ``with T.launch_thread("threadIdx.x", 32) as tx:``."""
        given = self.named(call, "thread", "extent")
        if len(given) != 2:
            raise Problem("T.launch_thread takes a thread and its extent: T.launch_thread(\"threadIdx.x\", 32)")
        thread, extent = given["thread"], given["extent"]
        tag = thread.tag if isinstance(thread, Thread) else thread_tag(thread)
        first = call.args[0] if call.args else None
        name = target.id if isinstance(target, ast.Name) else first.id if isinstance(first, ast.Name) else tag.replace(".", "_")
        with loops.loop(as_index(0), as_index(extent), THREAD, name, tag) as made, self.inside(**{name: Scalar(made.variable, "index")}):
            self.statements(body)
