"""Bijective maps of indices, read as numbers of mixed radix: each index is cut into digits, and each result is made of digits."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from legato.core.mlir import ir

Extent = int | None  # None: not known; only the most significant digit of an index may be


@dataclass(frozen=True)
class MapDigit:
    """``index // weight % extent`` of index number ``source``, times ``scale``."""

    scale: int
    source: int
    weight: int
    extent: Extent


@dataclass(frozen=True)
class Bijection:
    """``results``: for each result its digits, most significant first; ``indices``: for each index its digits, most significant first, each
    with the number of the result that has it."""

    results: list[list[MapDigit]]
    indices: list[list[tuple[int, MapDigit]]]


class NotBijectiveError(Exception):
    """Why a map is not known to be bijective."""


def bijection(index_map: ir.AffineMap, extents: Sequence[Extent]) -> Bijection:
    """A map of indices from 0 below ``extents`` onto results that take all values below theirs. NotBijectiveError for other maps."""
    starts = [[] if extent == 1 else [MapDigit(1, n, 1, extent)] for n, extent in enumerate(extents)]
    results = [_sorted(_digits(e, starts)) for e in index_map.results]
    for number, digits in enumerate(results):
        expected: Extent = 1
        for digit in reversed(digits):
            if expected is None or digit.scale != expected:
                raise NotBijectiveError(f"result {number} leaves values out, or takes one twice")
            expected = None if digit.extent is None else expected * digit.extent
    indices = []
    for n, start in enumerate(starts):
        mine = sorted(((at, d) for at, digits in enumerate(results) for d in digits if d.source == n), key=lambda one: -one[1].weight)
        weights = [d.weight * (d.extent or 0) for _, d in mine]
        whole = not mine or (weights[0] == (extents[n] or 0) and mine[-1][1].weight == 1)
        if bool(mine) != bool(start) or not whole or any(a[1].weight != end for a, end in zip(mine, weights[1:])):
            raise NotBijectiveError(f"no results say which value index {n} has, or several do")
        indices.append(mine)
    return Bijection(results, indices)


def _sorted(digits: list[MapDigit]) -> list[MapDigit]:
    """Digits, most significant first, with those joined that are neighbours in one index."""
    found: list[MapDigit] = []
    for digit in sorted(digits, key=lambda d: d.scale):
        last = found[-1] if found else None
        if last is not None and last.extent is not None and digit.source == last.source and (
                digit.scale, digit.weight) == (last.scale * last.extent, last.weight * last.extent):
            found[-1] = MapDigit(last.scale, last.source, last.weight, None if digit.extent is None else last.extent * digit.extent)
        else:
            found.append(digit)
    for low, high in pairwise(found):
        if low.extent is None or low.scale * low.extent > high.scale:
            raise NotBijectiveError("it adds indices that overlap")
    return found[::-1]


def _digits(expression: ir.AffineExpr, indices: list[list[MapDigit]]) -> list[MapDigit]:
    e = expression.maybe_downcast()
    if isinstance(e, ir.AffineDimExpr):
        return indices[e.position]
    if isinstance(e, ir.AffineConstantExpr):
        if e.value:
            raise NotBijectiveError(f"it has the constant {e.value}")
        return []
    if isinstance(e, ir.AffineAddExpr):
        return [*_digits(e.lhs, indices), *_digits(e.rhs, indices)]
    number = e.rhs.maybe_downcast()
    if not isinstance(number, ir.AffineConstantExpr) or number.value <= 0 or isinstance(e, ir.AffineCeilDivExpr):
        raise NotBijectiveError(f"'{e}' is not made by +, * of a positive number, // or %")
    digits = _sorted(_digits(e.lhs, indices))
    if isinstance(e, ir.AffineMulExpr):
        return [MapDigit(d.scale * number.value, d.source, d.weight, d.extent) for d in digits]
    high, low = _cut(digits, number.value)
    return low if isinstance(e, ir.AffineModExpr) else high


def _cut(digits: list[MapDigit], at: int) -> tuple[list[MapDigit], list[MapDigit]]:
    """The digits of the quotient, and of the remainder, by a number."""
    high, low = [], []
    for d in digits:
        if d.scale % at == 0:
            high.append(MapDigit(d.scale // at, d.source, d.weight, d.extent))
        elif d.extent is not None and d.scale * d.extent <= at:
            low.append(d)
        elif at % d.scale or d.extent is None or d.extent % (at // d.scale):
            raise NotBijectiveError(f"an index of {d.extent if d.extent is not None else 'unknown'} values is not divided evenly")
        else:
            part = at // d.scale
            low.append(MapDigit(d.scale, d.source, d.weight, part))
            high.append(MapDigit(1, d.source, d.weight * part, d.extent // part))
    return high, low


def indices_in(expression: ir.AffineExpr) -> set[int]:
    """The numbers of the indices that an expression has."""
    e = expression.maybe_downcast()
    if isinstance(e, ir.AffineDimExpr):
        return {e.position}
    return indices_in(e.lhs) | indices_in(e.rhs) if isinstance(e, ir.AffineBinaryExpr) else set()


def extent_of(digits: Sequence[MapDigit]) -> Extent:
    """How many values digits make."""
    return None if any(d.extent is None for d in digits) else prod(d.extent or 1 for d in digits)
