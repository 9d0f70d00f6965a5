"""Texts that end upstream's parser by a signal: they are refused before it reads them."""
import re

from legato.core.errors import LegatoError

# the short forms of these ops need a list of integers after the word; `linalg.transpose` none of no elements
_OP = re.compile(r'(?<!")\blinalg\.(transpose|broadcast|reduce)\b')
_WORD = re.compile(r"\b(permutation|dimensions)\s*=\s*")
_INTEGER = r"(?:-?\d{1,18}|0x[\da-fA-F]{1,15})"
_LIST = re.compile(rf"\[\s*((?:{_INTEGER}(?:\s*,\s*{_INTEGER})*)?)\s*\]")
BYTECODE = b"ML\xefR"


def refuse_what_crashes(text: str | bytes) -> None:
    """LegatoError, with the line, for text of MLIR on which upstream's parser ends the process. Bytecode is not looked at."""
    if isinstance(text, bytes):
        if text.startswith(BYTECODE):
            return
        text = text.decode(errors="replace")
    if "linalg." not in text:
        return
    ops = list(_OP.finditer(text))
    for op, end in zip(ops, [*(one.start() for one in ops[1:]), len(text)]):
        word = _WORD.search(text, op.end(), end)
        if word is None:
            continue
        given = _LIST.match(text, word.end())
        line, name = text.count("\n", 0, op.start()) + 1, f"linalg.{op[1]}"
        if given is None:
            raise LegatoError(f"line {line}: {name}: expected a list of integers after '{word[1]} =', such as [1, 0]")
        if given[1] == "" and op[1] == "transpose":
            raise LegatoError(f"line {line}: {name} of no axes: upstream's parser cannot read it")
