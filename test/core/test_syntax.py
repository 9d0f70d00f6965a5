"""Syntax trees in several threads."""
import ast
import gc
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from legato.core import syntax

SOURCE = "\n".join(f"def f{n}(x):\n    return g(x + {n}, [x * y for y in range({n})])" for n in range(300))


@pytest.fixture
def taking_turns():
    """Each collection of garbage gives other threads a turn, as callbacks of weak references may."""
    def turn(phase: str, info: object) -> None:
        time.sleep(1e-5)

    gc.callbacks.append(turn)
    yield
    gc.callbacks.remove(turn)


def at_depth(depth: int) -> ast.AST:
    """The tree, made by so many functions that call each other."""
    return at_depth(depth - 1) if depth else syntax.parse(SOURCE)


def test_threads_parse_side_by_side(taking_turns):
    with ThreadPoolExecutor(4) as threads:
        trees = list(threads.map(at_depth, range(40)))
    assert {ast.dump(tree) for tree in trees} == {ast.dump(syntax.parse(SOURCE))}


def test_what_another_thread_disturbs_is_done_again():
    calls = []

    def read():
        calls.append(None)
        if len(calls) < 3:
            raise SystemError("AST constructor recursion depth mismatch (before=84, after=54)")
        return "read"

    assert syntax.undisturbed(read) == "read" and len(calls) == 3


def test_errors_are_raised():
    with pytest.raises(SyntaxError):
        syntax.parse("x +")

    def broken():
        raise SystemError("broken")

    with pytest.raises(SystemError, match="broken"):
        syntax.undisturbed(broken)
