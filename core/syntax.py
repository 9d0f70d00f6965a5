"""Syntax trees of Python's source, in several threads.

Until 3.11.8 and 3.12.2, Python counts the depth of all the trees that are being made in one place. A collection of garbage meanwhile may
run Python's code, in a callback, and with it other threads: where one of these makes a tree, too, ``ast.parse`` raises ``SystemError:
AST constructor recursion depth mismatch``.
"""
import ast
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")
ATTEMPTS = 100      # threads that are not ours may parse, too

_alone = threading.RLock()


def parse(text: str, mode: str = "exec") -> Any:
    """``ast.parse`` of text, in any thread."""
    return undisturbed(lambda: ast.parse(text, mode=mode))


def undisturbed(read: Callable[[], T]) -> T:
    """What ``read`` returns, which makes syntax trees, as ``inspect`` does of classes. Raises what it raises."""
    with _alone:
        for _ in range(ATTEMPTS - 1):
            with suppress(SystemError):
                return read()
        return read()
