"""Thrift's compact protocol, as far as Parquet's metadata uses it: bytes to plain values and back, whatever the structure.

A structure is a dict of field number → (wire type, value), a list a pair (wire type of its items, items). Unknown fields keep their
place, so that what is read from one writer's file can be written again with a few values changed.

Source: Apache Thrift, "Thrift Compact Protocol encoding" (doc/specs/thrift-compact-protocol.md).
"""

from __future__ import annotations

from typing import Any, TypeAlias

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
#: Field number → (wire type, value).
Struct: TypeAlias = "dict[int, tuple[int, Any]]"

_INTEGERS = frozenset({I16, I32, I64})
_COMPOSITE = frozenset({LIST, SET, STRUCT})
_LONGEST_SHORT_LIST = 14


def decoded(data: bytes) -> Struct:
    """The structure that `data` begins with.

    Raises:
        ValueError: a wire type that Parquet's metadata does not have.
        IndexError: the data ends within the structure.
    """
    return _Reader(data).struct()


def encoded(struct: Struct) -> bytes:
    """A structure as bytes; fields in order of their numbers."""
    into = bytearray()
    _write_struct(into, struct)
    return bytes(into)


def continued(beginning: bytes, last: int, struct: Struct) -> bytes:
    """A structure whose first fields, up to number `last`, are encoded already (without the end that `encoded` puts)."""
    into = bytearray(beginning)
    _write_struct(into, struct, last)
    return bytes(into)


def preencoded(struct: Struct) -> Struct:
    """The same with its lists and structures as bytes, which `encoded` takes as they are: for what is written many times."""
    return {number: (kind, _value_bytes(kind, value)) for number, (kind, value) in struct.items()}


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def struct(self) -> Struct:
        fields: Struct = {}
        number = 0
        while True:
            header = self._byte()
            if header == 0:
                return fields
            step, kind = header >> 4, header & 15
            number = number + step if step else _unzigzag(self._varint())
            fields[number] = (kind, kind == TRUE if kind in (TRUE, FALSE) else self._value(kind))

    def _value(self, kind: int) -> Any:
        if kind in _INTEGERS:
            return _unzigzag(self._varint())
        if kind in (TRUE, FALSE, BYTE):  # a boolean is a byte in lists alone
            return self._byte()
        if kind == DOUBLE:
            return self._bytes(8)
        if kind == BINARY:
            return self._bytes(self._varint())
        if kind in (LIST, SET):
            header = self._byte()
            count, item = header >> 4, header & 15
            if count > _LONGEST_SHORT_LIST:
                count = self._varint()
            return item, [self._value(item) for _ in range(count)]
        if kind == STRUCT:
            return self.struct()
        raise ValueError(f"wire type {kind}")

    def _byte(self) -> int:
        byte = self._data[self._place]
        self._place += 1
        return byte

    def _bytes(self, count: int) -> bytes:
        if self._place + count > len(self._data):
            raise IndexError("the data ends within a value")
        self._place += count
        return self._data[self._place - count : self._place]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7


def varint(value: int) -> bytes:
    """An unsigned number in groups of seven bits, the lowest first."""
    into = bytearray()
    while value > 127:
        into.append(value & 127 | 128)
        value >>= 7
    into.append(value)
    return bytes(into)


def _write_struct(into: bytearray, struct: Struct, previous: int = 0) -> None:
    for number, (kind, value) in sorted(struct.items()):
        if kind in (TRUE, FALSE):
            kind = TRUE if value else FALSE
        step = number - previous
        if 0 < step < 16:
            into.append(step << 4 | kind)
        else:
            into.append(kind)
            into += varint(_zigzag(number))
        previous = number
        if kind in _INTEGERS:  # most fields: written here, for a call more each would be a third of the time
            value = value << 1 ^ value >> 63
            while value > 127:
                into.append(value & 127 | 128)
                value >>= 7
            into.append(value)
        elif kind not in (TRUE, FALSE):
            _write_value(into, kind, value)
    into.append(0)


def _value_bytes(kind: int, value: Any) -> Any:
    if kind not in _COMPOSITE:
        return value
    into = bytearray()
    _write_value(into, kind, value)
    return bytes(into)


def _write_value(into: bytearray, kind: int, value: Any) -> None:
    if kind in _COMPOSITE and isinstance(value, bytes):
        into += value
    elif kind in _INTEGERS:
        into += varint(_zigzag(value))
    elif kind in (TRUE, FALSE, BYTE):
        into.append(value)
    elif kind == DOUBLE:
        into += value
    elif kind == BINARY:
        into += varint(len(value)) + value
    elif kind in (LIST, SET):
        item, values = value
        if len(values) > _LONGEST_SHORT_LIST:
            into.append(15 << 4 | item)
            into += varint(len(values))
        else:
            into.append(len(values) << 4 | item)
        for each in values:
            _write_value(into, item, each)
    elif kind == STRUCT:
        _write_struct(into, value)
    else:
        raise ValueError(f"wire type {kind}")


def _zigzag(value: int) -> int:
    return value << 1 ^ value >> 63


def _unzigzag(value: int) -> int:
    return value >> 1 ^ -(value & 1)
