"""Texts that end upstream's parser by a signal: they are refused before it reads them, or lose what it would stumble over."""
import re

from legato.core.errors import LegatoError

# the short forms of these ops need a list of integers after the word; `linalg.transpose` none of no elements
_OP = re.compile(r'(?<!")\blinalg\.(transpose|broadcast|reduce)\b')
_WORD = re.compile(r"\b(permutation|dimensions)\s*=\s*")
_INTEGER = r"(?:-?\d{1,18}|0x[\da-fA-F]{1,15})"
_LIST = re.compile(rf"\[\s*((?:{_INTEGER}(?:\s*,\s*{_INTEGER})*)?)\s*\]")
# the verifier of masked vector.transfer_read and transfer_write takes it for granted that a map's results are dimensions or constants
_PERMUTATION = re.compile(r"\bpermutation_map\s*=\s*(#[\w$.-]+|affine_map<[^>]*->[^>]*>)")
_ALIAS = re.compile(r"^(#[\w$.-]+)\s*=\s*(affine_map<.*>)\s*$", re.MULTILINE)
_RESULT = r"\s*(?:[A-Za-z_][\w$.]*|-?\d+)\s*"
_PROJECTION = re.compile(rf"affine_map<\([^()]*\)\s*->\s*\((?:{_RESULT}(?:,{_RESULT})*)?\)>")
MEMOIZED = "linalg.memoized_indexing_maps"
BYTECODE = b"ML\xefR"


def parsable(text: str | bytes) -> str | bytes:
    """The text for upstream's parser. LegatoError, with the line, where that would end the process. Bytecode is not looked at."""
    if not isinstance(text, str | bytes):
        raise LegatoError(f"MLIR is parsed from a text, or bytecode, not from {type(text).__name__}")
    if isinstance(text, bytes):
        if text.startswith(BYTECODE):
            return text
        whole = text.decode(errors="replace")
        checked = parsable(whole)
        return text if checked == whole else checked
    if "linalg." in text:
        _check_lists(text)
    if "permutation_map" in text:
        _check_permutations(text)
    return _without_memoized_maps(text)


def _check_permutations(text: str) -> None:
    aliases = dict(_ALIAS.findall(text))
    for found in _PERMUTATION.finditer(text):
        given = aliases.get(found[1], found[1])
        if given.startswith("affine_map") and not _PROJECTION.fullmatch(given):
            raise LegatoError(f"line {text.count(chr(10), 0, found.start()) + 1}: permutation_map = {given}: its results must be "
                              "dimensions or constants, without symbols, such as affine_map<(d0, d1) -> (d1, 0)>")


def _check_lists(text: str) -> None:
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


def _without_memoized_maps(text: str) -> str:
    """Text without the attributes in which linalg keeps the maps of named ops, which it makes again: its verifier trusts their number."""
    pieces, done = [], 0
    while (begin := text.find(MEMOIZED, done)) >= 0:
        end, depth = begin + len(MEMOIZED), 0
        while end < len(text) and (depth > 0 or text[end] not in ",}"):
            depth += {"[": 1, "(": 1, "<": 1, "]": -1, ")": -1, ">": -1 if text[end - 1] != "-" else 0}.get(text[end], 0)
            end += 1
        before = text[done:begin].rstrip()
        if before.endswith(","):
            before = before[:-1]
        elif text[end:end + 1] == ",":
            end += 1
        pieces.append(before)
        done = end
    return "".join([*pieces, text[done:]])
