"""The words of the script language: the namespaces ``T``, ``R`` and ``I``, and how syntax trees refer to their words."""

import ast
from collections.abc import Callable, Collection, Iterable, Mapping
from types import ModuleType
from typing import Any

from legato.core.errors import LegatoError

Words = Callable[[], Iterable[str]]  # the names of a namespace's words, for dir and TAB
# called when Python calls a word: (word, arguments, keywords) -> a tuple of the result, or None
Call = Callable[[str, tuple[Any, ...], dict[str, Any]], tuple[Any] | None]

NAMES_OF_SIZES = ("var", "Var", "size_var", "SizeVar", "dyn")  # T.var("int64"), T.Var("n", "int64"): a new size symbol


class Namespace:
    """A namespace of the script language.

    ``members`` are values in Python too: decorators, and types for annotations. Any other name is a Word. ``call`` is run when Python,
    not a script, calls a word. ``words``: the other words.
    """

    def __init__(self, name: str, doc: str, members: Mapping[str, Any], call: Call, words: Words):
        self._name, self._members, self._call, self._words = name, members, call, words
        self.__doc__ = doc

    def __dir__(self) -> list[str]:
        return sorted({*self._members, *(word.partition(".")[0] for word in self._words())})

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return self._members[attribute] if attribute in self._members else Word(self._name, attribute, self._call, self._words)

    def __repr__(self) -> str:
        return f"<the script language's {self._name}>"


class Word:
    """A word that the parsers interpret: ``T.exp``, ``R.nn.relu``."""

    def __init__(self, namespace: str, name: str, call: Call, words: Words):
        self._namespace, self._name, self._call, self._words = namespace, name, call, words

    def __dir__(self) -> list[str]:
        prefix = f"{self._name}."
        return sorted({word.removeprefix(prefix).partition(".")[0] for word in self._words() if word.startswith(prefix)})

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        found = self._call(self._name, arguments, keywords)
        if found is None:
            raise LegatoError(f"{self._namespace}.{self._name}(...) has a meaning inside of a script only: in a function under "
                              "@T.prim_func or @R.function, or in a class under @I.ir_module")
        return found[0]

    def __getattr__(self, attribute: str) -> "Word":
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return Word(self._namespace, f"{self._name}.{attribute}", self._call, self._words)


def word_path(node: ast.AST, names: Mapping[str, Any], scope: Collection[str]) -> list[str] | None:
    """The word that an expression is, or calls: ``["R", "nn", "relu"]``; None where it is no word.

    ``names``: the values of the function's free names; ``scope``: local names, which hide them.
    """
    if isinstance(node, ast.Call):
        node = node.func
    path = []
    while isinstance(node, ast.Attribute):
        path.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id in scope:
        return None
    found = names.get(node.id)
    while isinstance(found, ModuleType) and path:  # import legato.script: legato.script.tir.grid
        found = getattr(found, path.pop(), None)
    if isinstance(found, Namespace):
        return [found._name, *reversed(path)]
    if isinstance(found, Word):  # grid = T.grid
        return [found._namespace, *found._name.split("."), *reversed(path)]
    return None


def makes_size(word: str | None, node: ast.expr) -> bool:
    """Whether a call of a word of ``T`` makes a size symbol: ``n = T.int64()``, ``n = T.var("int64")``."""
    return isinstance(node, ast.Call) and (word in NAMES_OF_SIZES or (word in ("int32", "int64") and not node.args))
