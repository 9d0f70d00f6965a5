"""Reads a shared object without loading it: its machine, and the contents of exported variables."""
import struct

MACHINES = {62: ("x86-64", ("x86_64", "AMD64")), 183: ("aarch64", ("aarch64", "arm64"))}   # e_machine: name, values of platform.machine()
_LOADED, _DYNAMIC_SYMBOLS = 1, 11   # types of program and section headers
_DAMAGED = "it is cut off, or damaged"


class ElfError(ValueError):
    """The file is not a complete 64-bit little-endian shared object."""


class ElfFile:
    """The headers of a shared object, from the bytes of its file. Raises ElfError if it is not one, is truncated or damaged."""

    def __init__(self, data: bytes) -> None:
        self._bytes = data
        if not data:
            raise ElfError("the file is empty")
        if self._bytes[:6] != b"\x7fELF\x02\x01":
            raise ElfError("it is not a shared object for 64-bit Linux")
        self._read_headers()

    def data(self, name: str) -> bytes | None:
        """The bytes of an exported variable, or None if there is none of that name."""
        for at in range(self._symbols, self._symbols + self._symbols_size - 23, 24):
            name_at, _, _, section, value, size = self._unpack("<IBBHQQ", at)
            if section and self._text(self._names + name_at) == name:
                return self._at_address(value, size)
        return None

    def _read_headers(self) -> None:
        _, self.machine, _, _, programs, sections = self._unpack("<HHIQQQ", 16)
        program_size, program_count, section_size, section_count = self._unpack("<HHHH", 54)
        self._programs = [self._unpack("<IIQQQQQQ", programs + i * program_size) for i in range(program_count)]
        headers = [self._unpack("<IIQQQQIIQQ", sections + i * section_size) for i in range(section_count)]
        symbols = next((h for h in headers if h[1] == _DYNAMIC_SYMBOLS), None)
        if symbols is None:
            raise ElfError("it exports nothing")
        self._symbols, self._symbols_size, names = symbols[4], symbols[5], symbols[6]
        if self._symbols + self._symbols_size > len(self._bytes) or names >= len(headers):
            raise ElfError(_DAMAGED)
        self._names = headers[names][4]

    def _unpack(self, fields: str, at: int) -> tuple[int, ...]:
        if at + struct.calcsize(fields) > len(self._bytes):
            raise ElfError(_DAMAGED)
        return struct.unpack_from(fields, self._bytes, at)

    def _text(self, at: int) -> str:
        end = self._bytes.find(b"\0", at)
        return self._bytes[at:end].decode(errors="replace")

    def _at_address(self, address: int, size: int) -> bytes:
        for kind, _, offset, start, _, in_file, _, _ in self._programs:
            if kind == _LOADED and start <= address and address + size <= start + in_file:
                found = self._bytes[offset + address - start : offset + address - start + size]
                if len(found) == size:
                    return found
        raise ElfError(_DAMAGED)
