"""Thread axes of a kernel: ``T.env_thread``, ``T.launch_thread``."""

import ast
from dataclasses import dataclass
from typing import Any

from legato.dialects.tir import loops
from legato.dialects.tir.loops import THREAD, THREADS
from legato.frontends.script.kernel.arguments import named
from legato.frontends.script.kernel.parser import KernelParser
from legato.frontends.script.kernel.values import as_index, index_value
from legato.frontends.script.language.refused import refused
from legato.frontends.script.language.source import Misuse


@dataclass(frozen=True)
class Thread:
    """``T.env_thread("threadIdx.x")``: a thread axis, whose extent a later T.launch_thread gives."""

    tag: str


def thread_tag(tag: Any) -> str:
    """The name of a thread axis. Misuse for any other value."""
    if tag not in THREADS:
        reason = refused("vthread") if isinstance(tag, str) and "vthread" in tag else None
        raise Misuse(reason or f"there are the threads {', '.join(THREADS)}; not {tag!r}")
    return tag


def env_thread(parser: KernelParser, node: ast.Call) -> Thread:
    """``tx = T.env_thread("threadIdx.x")``."""
    return Thread(thread_tag(named(parser, node, "thread_tag", "dtype").get("thread_tag")))


def launch(parser: KernelParser, call: ast.Call, body: list[ast.stmt], target: ast.expr | None = None) -> None:
    """A loop over a thread axis around statements: ``with T.launch_thread("threadIdx.x", 32) as tx:``, or around those behind it:
    ``tx = T.launch_thread("threadIdx.x", 32)``."""
    given = named(parser, call, "thread", "extent")
    if len(given) != 2:
        raise Misuse("T.launch_thread takes a thread and its extent: T.launch_thread(\"threadIdx.x\", 32)")
    thread, extent = given["thread"], given["extent"]
    tag = thread.tag if isinstance(thread, Thread) else thread_tag(thread)
    first = call.args[0] if call.args else None
    name = target.id if isinstance(target, ast.Name) else first.id if isinstance(first, ast.Name) else tag.replace(".", "_")
    with loops.loop(as_index(0), as_index(extent), THREAD, name, tag) as made, parser.inside(**{name: index_value(made.variable)}):
        parser.statements(body)


TO_THE_END = {"launch_thread": launch}  # as a statement, or assigned, it applies to the statements after it
