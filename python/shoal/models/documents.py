# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sequences that are not one document from their first place to their last: padding, and several documents in one.

Padding is a document of its own, so that one rule cuts attention: a place looks at those of its document.

Letters: B sequences, S places.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from shoal.errors import TraceTypeError
from shoal.frontend import dtypes
from shoal.frontend.broadcasting import shape_of
from shoal.frontend.checks import check
from shoal.frontend.constants import as_value
from shoal.frontend.core import ArrayLike
from shoal.frontend.creation import ones, zeros
from shoal.frontend.elementwise import logical_and, where
from shoal.frontend.reduction import cummax
from shoal.frontend.structure import concatenate, iota
from shoal.frontend.value import Value
from shoal.models.order import Order, ordered
from shoal.models.rope import Rope

__all__ = ["WHOLE", "Documents", "begins_of", "check_rope", "documents_of", "is_of_one", "positions_of"]


class Documents(NamedTuple):
    """Of tokens [B, S], each None where it is what one whole document says.

    real: bool, of tokens that are no padding. segments: integers, equal in a document and of no other.
    positions: int32, by which heads turn.
    """

    real: Value | None = None
    segments: Value | None = None
    positions: Value | None = None

    def ordered(self, order: Order) -> Documents:
        """As places lie."""
        return Documents(*(None if part is None else ordered(part, order) for part in self))

    def given(self) -> dict[str, Value]:
        """Those that are not None, by their names."""
        return {name: part for name, part in self._asdict().items() if part is not None}


WHOLE = Documents()


def documents_of(
    tokens: Value, mask: ArrayLike | None, segments: ArrayLike | None, positions: ArrayLike | None
) -> Documents:
    """Of tokens [B, S] and what the user says of them, [B, S] each.

    TraceError where shapes differ, TraceTypeError where segments or positions are no integers.
    """
    for name, given in (("mask", mask), ("segments", segments), ("positions", positions)):
        shape = tokens.shape if given is None else shape_of(given)
        check(shape == tokens.shape, f"decode: {name} {list(shape)} of tokens {list(tokens.shape)}")
    real = None if mask is None else as_value(mask).astype("bool")
    numbers = None if segments is None else _integers("segments", segments)
    places = None if positions is None else _integers("positions", positions)
    if places is None and numbers is not None:
        places = positions_of(numbers)
    if real is not None:
        numbers = zeros(tokens.shape, "int32") if numbers is None else numbers
        numbers = where(real, numbers, int(dtypes.lowest(numbers.dtype)))
    return Documents(real, numbers, places)


def _integers(name: str, given: Any) -> Value:
    value = as_value(given)
    if dtypes.is_float(value.dtype) or dtypes.is_bool(value.dtype):
        raise TraceTypeError(f"decode: expected {name} of integers, got {value.dtype}")
    return value


def begins_of(segments: Value) -> Value:
    """Bool [B, S]: where a place is the first one of its document, which stands together."""
    first = ones((segments.shape[0], 1), "bool")
    return concatenate([first, segments[:, 1:] != segments[:, :-1]], 1)


def positions_of(segments: Value) -> Value:
    """int32 [B, S]: places counted from the first one of each document, which stands together."""
    places = iota(segments.shape, 1)
    return places - cummax(where(begins_of(segments), places, 0), 1)


def is_of_one(rows: Value, columns: Value) -> Value:
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
