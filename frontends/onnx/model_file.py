"""Model files, whose large initializers are read once each, into arrays of their own, while the rest is imported.

To parse a file as a protobuf copies its tensors, and to take them out of the protobuf again: for a model of 2 GB that would be 4 GB more.
What remains of the file is a protobuf as any other.
"""
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError
from onnx import TensorProto

from legato.frontends.onnx.reads import Reads
from legato.frontends.onnx.tensors import FIXED_SIZES

LARGE = 1 << 16                            # bytes of an initializer from which on it is read apart
IN_ARRAY = "memory"                        # the location of such an initializer's data
GRAPH, INITIALIZER, RAW_DATA = 7, 5, 9     # numbers of fields: of ModelProto, GraphProto and TensorProto
VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5


class OtherFormat(Exception):
    """A file that is no protobuf, or is cut off."""


class WireField(NamedTuple):
    """A field of a message: where it begins, where its value begins, and where it ends, in bytes of the file."""

    number: int
    kind: int
    begin: int
    value: int
    end: int


def read_model_file(path: Path) -> tuple[bytes, Reads]:
    """A model's bytes without the data of large initializers, and the reads of these, to be finished. OSError if it cannot be read; a file
    that is no protobuf, and a pipe, are returned as they are."""
    reads = Reads(path)
    try:
        rest = _rest(reads)
        reads.begin()
        return rest, reads
    except BaseException:
        reads.finish()
        raise


def _rest(reads: Reads) -> bytes:
    """What a file holds beside the arrays, which are added to the reads."""
    file = reads.file
    if not file.seekable():
        return file.read()
    try:
        return _ModelFile(file, reads).read()
    except OtherFormat:
        reads.clear()
        file.seek(0)
        return file.read()


def mark_in_array(tensor: TensorProto) -> TensorProto:
    """Says in a tensor without elements that these are in an array beside the protobuf. Returns the tensor."""
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=IN_ARRAY)
    return tensor


def is_in_array(tensor: TensorProto) -> bool:
    """Whether a tensor's elements are in an array beside the protobuf."""
    return tensor.data_location == TensorProto.EXTERNAL and any(
        entry.key == "location" and entry.value == IN_ARRAY for entry in tensor.external_data)


class _ModelFile:
    def __init__(self, file: BinaryIO, reads: Reads) -> None:
        self.file, self.reads = file, reads
        if sys.byteorder != "little":    # as ONNX stores elements
            raise OtherFormat

    def read(self) -> bytes:
        """The bytes beside the arrays."""
        pieces: list[bytes] = []
        for field in self._fields(0, self.file.seek(0, os.SEEK_END)):
            if (field.number, field.kind) == (GRAPH, LENGTH):
                pieces += _message(GRAPH, b"".join(self._graph(field)))
            else:
                pieces.append(self._bytes(field.begin, field.end))
        return b"".join(pieces)

    def _graph(self, graph: WireField) -> Iterator[bytes]:
        for field in self._fields(graph.value, graph.end):
            tensor = None
            if (field.number, field.kind) == (INITIALIZER, LENGTH) and field.end - field.value >= LARGE:
                tensor = self._initializer(field)
            yield from [self._bytes(field.begin, field.end)] if tensor is None else _message(INITIALIZER, tensor.SerializeToString())

    def _initializer(self, field: WireField) -> TensorProto | None:
        """The tensor without its data, which becomes an array; None for one that is stored in another way, or not as its shape says."""
        fields = list(self._fields(field.value, field.end))
        data = [one for one in fields if one.number == RAW_DATA]
        if len(data) != 1 or data[0].kind != LENGTH or data[0].end - data[0].value < LARGE:
            return None
        try:
            tensor = TensorProto.FromString(b"".join(self._bytes(one.begin, one.end) for one in fields if one.number != RAW_DATA))
        except DecodeError:
            return None
        dtype, count = FIXED_SIZES.get(tensor.data_type), math.prod(tensor.dims)
        whole = dtype is not None and count * dtype.itemsize == data[0].end - data[0].value and all(size > 0 for size in tensor.dims)
        if dtype is None or not whole or tensor.external_data or tensor.HasField("segment") or tensor.name in self.reads.arrays:
            return None
        self.reads.add(tensor.name, np.empty(tuple(tensor.dims), dtype), data[0].value)
        return mark_in_array(tensor)

    # --- the wire format of protobuf ---

    def _fields(self, begin: int, end: int) -> Iterator[WireField]:
        """The fields of a message."""
        at = begin
        while at < end:
            self.file.seek(at)
            key, value = self._varint(at)
            kind = key & 7
            if kind == VARINT:
                done = self._varint(value)[1]
            elif kind == LENGTH:
                length, value = self._varint(value)
                done = value + length
            elif kind in (FIXED64, FIXED32):
                done = value + (8 if kind == FIXED64 else 4)
            else:
                raise OtherFormat
            if done > end or key >> 3 == 0:
                raise OtherFormat
            yield WireField(key >> 3, kind, at, value, done)
            at = done

    def _varint(self, at: int) -> tuple[int, int]:
        """The number at a place, which the file is at, and where it ends."""
        number, shift = 0, 0
        while shift < 70:
            byte = self.file.read(1)
            if not byte:
                break
            number |= (byte[0] & 0x7F) << shift
            shift += 7
            at += 1
            if byte[0] < 0x80:
                return number, at
        raise OtherFormat

    def _bytes(self, begin: int, end: int) -> bytes:
        self.file.seek(begin)
        return self.file.read(end - begin)


def _message(number: int, content: bytes) -> tuple[bytes, bytes]:
    """A field of this number that holds a message."""
    header = bytearray([number << 3 | LENGTH])
    length = len(content)
    while length >= 0x80:
        header.append(length & 0x7F | 0x80)
        length >>= 7
    header.append(length)
    return bytes(header), content
