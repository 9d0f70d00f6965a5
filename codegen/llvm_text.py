"""Converts LLVM IR text for an LLVM that is two versions older than MLIR's.

The newer one prints numbers in the fewest digits of their type, and infinities and NaNs by name; the older one accepts decimals only if
they are exact, and otherwise bits.
"""
import re
import struct

BITS = {"half": (5, 10), "bfloat": (8, 7), "float": (8, 23), "double": (11, 52)}  # of exponent and mantissa
TOKEN = re.compile(
    r'"[^"]*"|(?P<type>\b(?:half|bfloat|float|double)\b)|[%@!#][\w.$-]+|'
    r"(?P<number>[+-]?\bf0x[0-9A-Fa-f]+|[+-](?:inf|qnan)\b|[+-]s?nan\(0x[0-9A-Fa-f]+\)|(?<![\w.])[+-]?\d+\.\d+(?:e[+-]?\d+)?)")


def for_llvm_22(text: str) -> str:
    """The same module in the syntax of LLVM 22."""
    return "\n".join(_line(line) for line in text.split("\n"))


def _line(line: str) -> str:
    type_ = None

    def replaced(match: re.Match) -> str:
        nonlocal type_
        type_ = match["type"] or type_
        return match[0] if match["number"] is None or type_ is None else _written(type_, _bits(type_, match["number"]))

    return TOKEN.sub(replaced, line)


def _bits(type_: str, number: str) -> int:
    """The bits of a number in its type."""
    exponent, mantissa = BITS[type_]
    if "f0x" in number:
        return int(number.split("f0x")[1], 16)
    sign, infinity = (number[0] == "-") << (exponent + mantissa), ((1 << exponent) - 1) << mantissa
    if number[1:] == "inf":
        return sign | infinity
    if "nan" in number:
        payload = int(number[number.index("(") + 3:-1], 16) if "(" in number else 0
        return sign | infinity | payload | (0 if number[1:5] == "snan" else 1 << (mantissa - 1))
    if type_ == "bfloat":  # rounded to even
        single = struct.unpack("<I", struct.pack("<f", float(number)))[0]
        return (single + 0x7FFF + (single >> 16 & 1)) >> 16
    code = {"half": "He", "float": "If", "double": "Qd"}[type_]
    return struct.unpack(f"<{code[0]}", struct.pack(f"<{code[1]}", float(number)))[0]


def _written(type_: str, bits: int) -> str:
    """A number's bits in the syntax of LLVM 22: a float's are those of the double with its value."""
    if type_ == "half":
        return f"0xH{bits:04X}"
    if type_ == "bfloat":
        return f"0xR{bits:04X}"
    if type_ == "double":
        return f"0x{bits:016X}"
    if bits >> 23 & 255 == 255 and bits & 0x7FFFFF:  # a NaN keeps its payload
        return f"0x{bits >> 31 << 63 | 0x7FF << 52 | (bits & 0x7FFFFF) << 29:016X}"
    value = struct.unpack("<f", struct.pack("<I", bits))[0]
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
