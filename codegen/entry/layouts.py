"""What the entry's functions find in memory: the tables of a model (written by model.py), the instance, the frame of a call."""
from typing import Annotated

from legato.codegen.entry.abi import Object
from legato.codegen.native.language import Inline, Int32, Struct, Text, Words, extern, table

ARENAS = 16     # arenas that an instance keeps


class Counts(Struct):
    """How many of each there are. ``sizes``: that @main_sizes computes. ``packed``: functions that main calls."""

    inputs: int
    outputs: int
    symbols: int
    sizes: int
    weights: int
    packed: int
    requirements: int


class Input(Struct):
    """An input, or, behind the inputs, a result of a packed function, by the function's name. ``name`` and ``expected``, the type as people
    read it: offsets into the strings. ``first_axis``: its first row in the axes. ``width``: bytes of an element."""

    name: int
    expected: int
    dtype: int
    rank: int
    first_axis: int
    width: int


class Axis(Struct):
    """An axis of an input: its size has to be ``symbol * scale + offset``. ``symbol``: its number; -1 where the size is ``offset``."""

    symbol: int
    scale: int
    offset: int


class Output(Struct):
    """``first_size``: where its shape stands in the sizes; -1 where main asks for its memory itself, once it knows the shape."""

    dtype: int
    rank: int
    first_size: int
    width: int


class Symbol(Struct):
    """``name``: an offset into the strings. Behind the inputs' symbols stand those that results of packed functions give."""

    name: int


class Requirement(Struct):
    """What sizes must satisfy. ``text``: an offset into the strings. ``size``: where it stands in the sizes; -1 where main checks it.
    ``equal``: 1 if it must equal the size behind it, 0 if it must not be negative."""

    text: int
    size: int
    equal: int


class Packed(Struct):
    """The name of a packed function: an offset into the strings, and its length in bytes."""

    name: int
    length: int


class FrameCounts(Struct):
    """How many results of packed functions a call holds, and how many arenas it asks for late."""

    held: int
    arenas: int


COUNTS = table(Counts, "legato.counts")
INPUTS = table(Input, "legato.inputs")
AXES = table(Axis, "legato.axes")
OUTPUTS = table(Output, "legato.outputs")
SYMBOLS = table(Symbol, "legato.symbols")
REQUIREMENTS = table(Requirement, "legato.requirements")
PACKED = table(Packed, "legato.packed")
FRAME_COUNTS = table(FrameCounts, "legato.frame_counts")
STRINGS = table(Text, "legato.strings")     # texts, each with a zero behind it; the first is the signature of main


class Instance(Struct):
    """An instance of the model. ``owner``: the object that holds its code and weights. ``array``: the function ffi.Array. ``handles``: the
    address of each weight, then each packed function. Instances share nothing."""

    owner: Object
    array: Object
    arenas: Annotated[Words, Inline(ARENAS)]
    handles: Annotated[Words, Inline(0)]


class Held(Struct):
    """A result of a packed function: the object that came back, and its copy if one had to be made."""

    object: Object
    copy: Words


class Frame(Struct):
    """What a call holds until its end, if its sizes depend on data: see frame.py. ``blocks``: of main's results. Behind ``held`` stand the
    arenas that were asked for late."""

    instance: Instance
    blocks: Words
    symbols: Words
    held: Annotated[Held, Inline(0)]


@extern()
def main_sizes(symbols: Words, sizes: Words) -> None: ...
@extern("legato.main")
def run_main(instance: Instance, data: Words, arena: Words, symbols: Words, blocks: Words) -> Int32: ...
