"""The options of a pass: dataclass fields, in text ``{max-bytes=4096 layout=NHWC}``.

A field ``max_bytes: int = 4096`` is the option ``max-bytes``. Types: bool, int, float, str, ``Literal[...]`` of strings, ``TargetText``,
``BackendName``, ``tuple[T, ...]`` (text: ``1,2,3``) and ``T | None`` (omitted from the text if None). Values with spaces, commas or
unbalanced brackets are quoted; balanced brackets need no quotes (``target=llvm{threads=2}``).
"""
import dataclasses
import difflib
import functools
import re
import types
import typing
from collections.abc import Iterator
from typing import Any, Literal, Union, get_args, get_origin

from legato.core.interfaces import TargetLike

_CLOSING = {"{": "}", "[": "]", "(": ")"}


class TargetText(str):
    """The text of a target (``llvm{threads=2}``) as the value of an option; ``PassContext.target`` resolves it.

    ``value``: the target itself, for a pipeline made for one; it is not looked up then.
    """

    value: TargetLike | None = None

    @classmethod
    def of(cls, target: TargetLike) -> "TargetText":
        """The text of a target, with the target."""
        text = cls(str(target))
        text.value = target
        return text


class BackendName(str):
    """The name of a backend as the value of an option; ``PassContext.backend`` resolves it."""


class OptionError(ValueError):
    """Option text with an unknown name or an invalid value."""


@dataclasses.dataclass(frozen=True)
class Option:
    """One option of a pass: its field, its name in text, its type (an annotation), default and one line of help."""

    field: str
    name: str
    type: Any
    default: Any
    help: str

    def __str__(self) -> str:
        return f"{self.name}=<{type_text(self.type)}>"


def option(default: Any, help: str) -> Any:
    """A dataclass field with a line of help for ``--list-passes``: ``max_bytes: int = option(4096, "...")``."""
    return dataclasses.field(default=default, metadata={"help": help})


@functools.cache
def options_of(pass_class: type) -> tuple[Option, ...]:
    """The options of a dataclass, in the order of its fields. A pass that is no dataclass has none."""
    if not dataclasses.is_dataclass(pass_class):
        return ()
    hints = typing.get_type_hints(pass_class)
    return tuple(
        Option(field.name, field.name.replace("_", "-"), hints[field.name], field.default, field.metadata.get("help", ""))
        for field in dataclasses.fields(pass_class) if field.init)


def nearest(name: str, names: typing.Iterable[str]) -> str:
    """``; did you mean "a" or "b"?`` for the names similar to `name`, or an empty string."""
    close = difflib.get_close_matches(name, list(names), n=3, cutoff=0.6)
    return "; did you mean " + " or ".join(f'"{one}"' for one in close) + "?" if close else ""


def split_balanced(text: str, is_separator: typing.Callable[[str], bool]) -> Iterator[str]:
    """The parts of `text` between separators outside of brackets and quotes. OptionError if one of these is not closed."""
    open_brackets: list[str] = []
    quote = ""
    start = i = 0
    while i < len(text):
        char = text[i]
        if quote:
            if char == "\\":
                i += 1
            elif char == quote:
                quote = ""
        elif char in "\"'":
            quote = char
        elif char in _CLOSING:
            open_brackets.append(_CLOSING[char])
        elif char in "}])":
            if not open_brackets or open_brackets.pop() != char:
                raise OptionError(f'"{char}" closes nothing in "{text}"')
        elif not open_brackets and is_separator(char):
            yield text[start:i]
            start = i + 1
        i += 1
    if quote or open_brackets:
        raise OptionError(f'{quote or open_brackets[-1]} is missing in "{text}"')
    yield text[start:]


def split_options(text: str) -> dict[str, str | None]:
    """``a=1 flag b={x=1}`` as ``{"a": "1", "flag": None, "b": "{x=1}"}``; values as written, quotes included."""
    result: dict[str, str | None] = {}
    for part in split_balanced(text.strip(), str.isspace):
        if not part:
            continue
        name, equals, value = part.partition("=")
        if name in result:
            raise OptionError(f'option "{name}" is given twice')
        result[name] = value if equals else None
    return result


def parse_options(pass_class: type, text: str) -> dict[str, Any]:
    """The constructor's keyword arguments for an option text. OptionError for an unknown name (with similar ones) or a bad value."""
    known = {one.name: one for one in options_of(pass_class)}
    values = {}
    for name, value in split_options(text).items():
        one = known.get(name) or known.get(name.replace("_", "-"))
        if one is None:
            has = f"it has {', '.join(map(str, known.values()))}" if known else "it has no options"
            raise OptionError(f'no option "{name}"{nearest(name, known)} ({has})')
        if value is None:
            if one.type is not bool:
                raise OptionError(f'option "{name}" needs a value: {one}')
            value = "true"
        try:
            values[one.field] = parse_value(one.type, value)
        except ValueError as error:
            raise OptionError(f'option "{name}" wants {type_text(one.type)}, not "{value}"{f" ({error})" if str(error) else ""}') from None
    missing = [one for one in known.values() if one.default is dataclasses.MISSING and one.field not in values]
    if missing:
        raise OptionError(f"option {', '.join(map(str, missing))} must be given")
    return values


def print_options(instance: Any) -> str:
    """The options that differ from their defaults, as text that `parse_options` accepts."""
    given = []
    for one in options_of(type(instance)):
        value = getattr(instance, one.field)
        if value is None or (one.default is not dataclasses.MISSING and value == one.default):
            continue
        given.append(f"{one.name}={print_value(value)}")
    return " ".join(given)


def type_text(annotation: Any) -> str:
    """The name of an option's type in messages: bool, int, float, str, target, ``A|B``, ``list of int``."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return "|".join(arguments)
    if origin in (tuple, list):
        return f"list of {type_text(arguments[0])}"
    if origin in (Union, types.UnionType):
        return "|".join(type_text(one) for one in arguments if one is not types.NoneType)
    return "target" if annotation is TargetText else "backend" if annotation is BackendName else annotation.__name__


def parse_value(annotation: Any, text: str) -> Any:
    """A value of the annotated type. ValueError, with a reason if the type alone does not explain it."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return parse_value(next(one for one in arguments if one is not types.NoneType), text)
    if origin in (tuple, list):
        inner = text[1:-1] if text[:1] in ("[", "{") else text
        return tuple(parse_value(arguments[0], part.strip()) for part in split_balanced(inner, ",".__eq__) if part.strip())
    if origin is Literal:
        if _unquote(text) not in arguments:
            raise ValueError
        return _unquote(text)
    if annotation is bool:
        if text not in ("true", "false", "1", "0"):
            raise ValueError
        return text in ("true", "1")
    if annotation is int:
        if not re.fullmatch(r"[+-]?(0x[0-9a-fA-F]+|[0-9]+)", text):
            raise ValueError
        return int(text, 16 if "x" in text else 10)
    if annotation is float:
        try:
            return float(text)
        except ValueError:
            raise ValueError from None
    if annotation in (str, TargetText, BackendName):
        return annotation(_unquote(text))
    raise TypeError(f"a pass's option cannot have the type {annotation}: bool, int, float, str, Literal, TargetText, BackendName, "
                    "tuple[T, ...]")


def print_value(value: Any) -> str:
    """One option's value as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return ",".join(print_value(one) for one in value) if len(value) != 0 else "[]"
    if not isinstance(value, str):
        return repr(value)
    return value if _is_plain(value) else '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'


def _is_plain(text: str) -> bool:
    """Whether the text parses to itself without quotes."""
    if text == "" or text[0] in "\"'[{" or "\\" in text:
        return False
    try:
        return len(list(split_balanced(text, lambda char: char.isspace() or char == ","))) == 1
    except OptionError:
        return False


def _unquote(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text
