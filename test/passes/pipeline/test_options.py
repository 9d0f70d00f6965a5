"""The options of passes, between dataclass fields and text."""
from dataclasses import dataclass
from typing import Literal

import pytest

from legato.passes.pipeline.base import ModulePass, OptionError, TargetText, option, options_of


@dataclass(frozen=True)
class Toy(ModulePass):
    """A pass with an option of every type."""

    name = "toy"
    flag: bool = False
    max_bytes: int = option(64, "how many")
    scale: float = 1.0
    text: str = ""
    layout: Literal["NHWC", "NCHW"] = "NHWC"
    sizes: tuple[int, ...] = ()
    words: tuple[str, ...] = ("a",)
    limit: int | None = None
    target: TargetText = TargetText("llvm")


@dataclass(frozen=True)
class Demanding(ModulePass):
    name = "demanding"
    level: int


@pytest.mark.parametrize(("text", "field", "value"), [
    ("flag", "flag", True), ("flag=true", "flag", True), ("flag=0", "flag", False), ("max-bytes=4096", "max_bytes", 4096),
    ("max_bytes=0x10", "max_bytes", 16), ("max-bytes=-3", "max_bytes", -3), ("scale=1e-3", "scale", 1e-3),
    ("text=plain", "text", "plain"),
    ('text="two words"', "text", "two words"), ("text='it is \"so\"'", "text", 'it is "so"'), ("layout=NCHW", "layout", "NCHW"),
    ("sizes=1,2,3", "sizes", (1, 2, 3)), ("sizes=[4]", "sizes", (4,)), ("sizes=[]", "sizes", ()),
    ('words=a,"b, c"', "words", ("a", "b, c")),
    ("limit=7", "limit", 7), ("target=llvm{threads=2 cpu=x86-64-v3}", "target", "llvm{threads=2 cpu=x86-64-v3}"),
])
def test_text_gives_values(text, field, value):
    parsed = Toy.parse(text)
    assert getattr(parsed, field) == value
    assert type(getattr(parsed, field)) is (TargetText if field == "target" else type(value))


@pytest.mark.parametrize("one", [
    Toy(), Toy(flag=True, max_bytes=-1, scale=0.1), Toy(text='a "b"\\ c'), Toy(text="{"), Toy(text="a,b"), Toy(text="'q'"),
    Toy(words=("x y", "z")), Toy(words=()), Toy(sizes=(1, 2)), Toy(limit=0), Toy(target=TargetText("llvm{threads=2}")), Toy(text="é"),
])
def test_printed_options_read_back(one):
    text = str(one)
    options = text.removeprefix("toy").removeprefix("{").removesuffix("}") if text != "toy" else ""
    assert Toy.parse(options) == one


@pytest.mark.parametrize(("text", "message"), [
    ("max-byte=3", 'no option "max-byte"; did you mean "max-bytes"?'), ("max-bytes", 'option "max-bytes" needs a value'),
    ("max-bytes=1.5", 'wants int, not "1.5"'), ("flag=maybe", "wants bool"), ("layout=HWCN", 'wants NHWC|NCHW, not "HWCN"'),
    ("sizes=1,x", "wants list of int"), ("flag flag", 'option "flag" is given twice'), ("text={", "} is missing"),
    ("text=a)", "closes nothing"),
    ('text="a', '" is missing'), ("scale=fast", "wants float"),
])
def test_wrong_text_is_refused(text, message):
    with pytest.raises(OptionError) as caught:
        Toy.parse(text)
    assert message in str(caught.value)


def test_an_option_without_default_must_be_given():
    assert Demanding.parse("level=2").level == 2
    with pytest.raises(OptionError, match="level=<int> must be given"):
        Demanding.parse("")


def test_options_are_described():
    described = {one.name: one for one in options_of(Toy)}
    assert str(described["max-bytes"]) == "max-bytes=<int>" and described["max-bytes"].help == "how many"
    assert str(described["sizes"]) == "sizes=<list of int>" and str(described["target"]) == "target=<target>"
    assert Toy.help() == "A pass with an option of every type."
