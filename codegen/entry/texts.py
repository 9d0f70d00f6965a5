"""Globals of the entry as text in the LLVM dialect: tables, zeros, texts."""
from collections.abc import Sequence

from legato.codegen.native.language import Struct, fields, size_of


class Strings:
    """A sequence of zero-terminated texts."""

    def __init__(self) -> None:
        self.text = ""
        self._bytes = 0

    def add(self, text: str) -> int:
        """Appends a text. Returns its offset in bytes."""
        at = self._bytes
        self.text += text + "\0"
        self._bytes += len(text.encode()) + 1
        return at


def table_text(struct: type[Struct], name: str, rows: Sequence[dict[str, int]]) -> str:
    """A global with rows of a struct of words."""
    columns = list(fields(struct))
    # a constant cannot be empty; this row is not read
    words = [[row[column] for column in columns] for row in rows] or [[0] * len(columns)]
    return (f"llvm.mlir.global internal constant @legato.{name}(dense<{words}> : tensor<{len(words)}x{len(columns)}xi64>) : "
            f"!llvm.array<{len(words)} x array<{len(columns)} x i64>>")


def zeros_text(name: str, struct: type[Struct]) -> str:
    """A global for a struct, at first with zeros."""
    type_ = f"!llvm.array<{size_of(struct) // 8} x i64>"
    return (f"llvm.mlir.global internal @legato.{name}() {{alignment = 64 : i64}} : {type_} {{\n  %0 = llvm.mlir.zero : {type_}\n"
            f"  llvm.return %0 : {type_}\n}}")
