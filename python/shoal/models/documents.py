# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sequences that are not one document from their first place to their last: padding, and several documents in one.

Padding is a document of its own, so that one rule cuts attention: a place looks at those of its document.

Letters: B sequences, S places.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from shoal.arrays import Array, ArrayLike, as_value, concatenate, cummax, iota, ones, shape_of, where, zeros
from shoal.errors import TraceTypeError
from shoal.frontend import dtypes
from shoal.frontend.checks import check
from shoal.models.order import Order, ordered
from shoal.models.rope import Rope

__all__ = ["WHOLE", "Documents", "begins_of", "check_rope", "documents_of", "is_of_one", "positions_of"]


class Documents(NamedTuple):
    """Of tokens [B, S], each None where it is what one whole document says.

    real: bool, of tokens that are no padding. segments: integers, equal in a document and of no other.
    positions: int32, by which heads turn.
    """

    real: Array | None = None
    segments: Array | None = None
    positions: Array | None = None

    def ordered(self, order: Order) -> Documents:
        """As places lie."""
        return Documents(*(None if part is None else ordered(part, order) for part in self))

    def given(self) -> dict[str, Array]:
        """Those that are not None, by their names."""
        return {name: part for name, part in self._asdict().items() if part is not None}


WHOLE = Documents()


def documents_of(
    tokens: Array, mask: ArrayLike | None, segments: ArrayLike | None, positions: ArrayLike | None
) -> Documents:
    """Of tokens [B, S] and what the user says of them, [B, S] each.

    TraceError where shapes differ, TraceTypeError where segments or positions are no integers.
    """
    for name, given in (("mask", mask), ("segments", segments), ("positions", positions)):
        shape = tokens.shape if given is None else shape_of(given)
        check(shape == tokens.shape, f"decode: {name} {list(shape)} of tokens {list(tokens.shape)}")
    real = None if mask is None else as_value(mask, tokens).astype("bool")
    numbers = None if segments is None else _integers("segments", segments, tokens)
    places = None if positions is None else _integers("positions", positions, tokens)
    if places is None and numbers is not None:
        places = positions_of(numbers)
    if real is not None:
        numbers = zeros(tokens.shape, "int32", like=tokens) if numbers is None else numbers
        numbers = where(real, numbers, int(dtypes.lowest(numbers.dtype)))
    return Documents(real, numbers, places)


def _integers(name: str, given: Any, tokens: Array) -> Array:
    value = as_value(given, tokens)
    if dtypes.is_float(value.dtype) or dtypes.is_bool(value.dtype):
        raise TraceTypeError(f"decode: expected {name} of integers, got {value.dtype}")
    return value


def begins_of(segments: Array) -> Array:
    """Bool [B, S]: where a place is the first one of its document, which stands together."""
    first = ones((segments.shape[0], 1), "bool", like=segments)
    return concatenate([first, segments[:, 1:] != segments[:, :-1]], 1)


def positions_of(segments: Array) -> Array:
    """int32 [B, S]: places counted from the first one of each document, which stands together."""
    places = iota(segments.shape, 1, like=segments)
    return places - cummax(where(begins_of(segments), places, 0), 1)


def is_of_one(rows: Array, columns: Array) -> Array:
    """Bool [B, S, T] of segments [B, S] and [B, T]: whether both are of one document."""
    return rows[:, :, None] == columns[:, None, :]


def check_rope(rope: Rope, length: int, documents: Documents) -> None:
    """TraceError where frequencies depend on a document's length, which the program does not know."""
    if rope.long is None or documents.positions is None:
        return
    check(
        length <= rope.original,
        f"decode: positions or segments of {length} places with a longrope, whose frequencies are other ones in"
        f" documents of more than {rope.original}: how long each is is not known before the program runs",
    )
