# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rows that experts get, in three forms, each with its product and its way back.

Letters: G groups, S tokens of a group, k choices of one, E experts, C rows of a buffer, M model
and H hidden size, T = S k choices of a group, D parts of the experts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from shoal.arrays import (
    Array, ArrayLike, add_rows, as_value, broadcast_to, concatenate, einsum, iota, logical_and, one_kernel, ones, pad, put_rows,
    ragged_einsum, reshape, sum, take_rows, where, zeros,
)  # fmt: skip
from shoal.moe.layout import Layout

__all__ = ["Buffers", "Masks", "Ragged", "Slots", "to_experts", "weighed"]


Rows = Array | tuple[Array, ...]


class Source(Protocol):
    """How rows lie."""

    def linear(self, rows: Array, weights: ArrayLike, bias: Any = None) -> Array:
        """Rows [..., M] times the matrix [E, M, H] of each one's expert, plus its bias [E, H]."""

    def for_any(self, rows: Array) -> Array:
        """Rows for any function of them that keeps zeros; products alone take them as they are."""

    def combine(self, rows: Rows, weights: Array) -> Array:
        """[G, S, M] float32: each token's rows times its weights [G, S, k], summed in their order."""


class Buffers(NamedTuple):
    """Rows for experts and how they lie; in chunks, `Dispatch.chunks`, a tuple of them."""

    rows: Rows
    source: Source

    def map(self, function: Callable[[Array], Array]) -> Buffers:
        """With what the function makes of the rows, of each chunk by itself."""
        rows = self.rows
        return self._replace(rows=tuple(map(function, rows)) if isinstance(rows, tuple) else function(rows))


def _of_slots(rows: Array, weights: ArrayLike, bias: Any) -> Array:
    """rows [E, G, C, M]. Rows that no token is in get a bias, too; nobody reads them."""
    made = einsum("EGCM,EMH->EGCH", rows, as_value(weights, rows))
    if bias is None:
        return made
    vectors = as_value(bias, rows)
    return made + vectors.reshape(vectors.shape[0], 1, 1, vectors.shape[1])


class _Slotted:
    """Rows [E, G, C, M], each once."""

    def linear(self, rows: Array, weights: ArrayLike, bias: Any = None) -> Array:
        return _of_slots(rows, weights, bias)

    def for_any(self, rows: Array) -> Array:
        return rows


@dataclass(frozen=True)
class Masks(_Slotted):
    """GShard's: rows [E, G, C, M] by a one-hot [G, S, E, C], which the compiler makes places of.

    choices [G, S, k, E] and places [G, S, k, C] are one-hots.
    """

    choices: Array
    places: Array
    layout: Layout

    def combine(self, rows: Rows, weights: Array) -> Array:
        home = _with_tokens(rows, self.layout)
        mask = mask_of(self.choices.astype("float32"), self.places.astype("float32"), weights)
        return einsum("GSEC,EGCM->GSM", mask, home.astype("float32"))


def mask_of(choices: Array, places: Array, weights: Array) -> Array:
    """[G, S, E, C] of one-hots and the weights of choices.

    Weights meet the whole mask of a choice: their gradient is then read at its place. With one
    factor of it, it would be a product with the gradient of all of the mask.
    """
    of_choices = einsum("GSKE,GSKC->GSKEC", choices, places)
    return sum(of_choices * weights[..., None, None].astype(choices.dtype), 2)


def places_of(order: Array) -> Array:
    """[G, T]: where each choice stands, where the choices [G, T] stand in this order."""
    return put_rows(zeros(order.shape, "int32", like=order), order, iota(order.shape, 1, like=order))


@one_kernel
def weighed(rows: Array, weights: Array) -> Array:
    """[G, S, M] float32 of rows [G, S, k, M] and their weights [G, S, k]."""
    return einsum("GSKM,GSK->GSM", rows.astype("float32"), weights.astype("float32"))


@dataclass(frozen=True)
class Slots(_Slotted):
    """Rows [E, G, C, M] by numbers: numbers [G, T] of each choice's slot e C + place, E C if none."""

    numbers: Array
    shape: tuple[int, int, int]  # S, k, C
    layout: Layout

    def combine(self, rows: Rows, weights: Array) -> Array:
        tokens, k, _ = self.shape
        flat = _home(rows, self.layout)
        read = take_rows(flat, self.numbers)
        exists = self.numbers < flat.shape[1]
        read = where(broadcast_to(exists[..., None], read.shape), read, 0.0)
        read = read.reshape(flat.shape[0], tokens, k, flat.shape[2])
        return weighed(read, weights)


@dataclass(frozen=True)
class Chosen(_Slotted):
    """Rows [E, G, C, M] of tokens [G, E C] that experts chose: a token has any number of them."""

    tokens: Array
    count: int  # S
    layout: Layout

    def combine(self, rows: Rows, weights: Array) -> Array:
        flat = _home(rows, self.layout).astype("float32")
        groups, slots, model = flat.shape
        weighted = flat * weights.reshape(groups, slots, 1).astype("float32")
        start = zeros((groups, self.count, model), "float32", like=flat)
        return add_rows(start, self.tokens, weighted)


def to_experts(rows: Array, layout: Layout, chunks: int) -> Rows:
    """[E, G, C, M], experts and what is left of groups on their devices; of several chunks those of C, the last of which
    may have fewer rows."""
    size = -(-rows.shape[2] // chunks)
    if size == rows.shape[2]:
        return layout.constrain(rows, "ep", "edp", None, None)
    cut = [rows[:, :, begin : begin + size] for begin in range(0, rows.shape[2], size)]
    # Cut where tokens are: of all rows at once it would be one exchange.
    there = [layout.constrain(chunk, None, "tokens", None, None) for chunk in cut]
    return tuple(layout.constrain(chunk, "ep", "edp", None, None) for chunk in there)


def _with_tokens(rows: Rows, layout: Layout) -> Array:
    """[E, G, C, M] with the groups of their tokens."""
    chunks = rows if isinstance(rows, tuple) else (rows,)
    home = [layout.constrain(chunk, None, "tokens", None, None) for chunk in chunks]
    return concatenate(home, 2) if len(home) > 1 else home[0]


def _home(rows: Rows, layout: Layout) -> Array:
    """[E, G, C, M] back with the groups of their tokens: [G, E C, M]."""
    home = _with_tokens(rows, layout)
    experts, groups, room, model = home.shape
    return home.transpose(1, 0, 2, 3).reshape(groups, experts * room, model)


@dataclass(frozen=True)
class Ragged:
    """Rows [G, T, M] sorted by expert: those of expert e are begins[g, e] ... ends[g, e] - 1.

    Experts are D parts of neighbours, begins and ends [G, D, E / D]. Products are [D, G, T, H], of
    which each row is zero in all parts but its expert's: with the parts on as many devices, each
    multiplies the rows of its own experts, and only the sum over parts at the end is sent.
    order [G, T]: which choice each row is. Groups are the layout's own here.
    """

    order: Array
    begins: Array
    ends: Array
    layout: Layout

    def linear(self, rows: Array, weights: ArrayLike, bias: Any = None) -> Array:
        made = self._product(rows, as_value(weights, rows))
        if bias is None:
            return made
        matrix = as_value(bias, rows)
        column = matrix.reshape(matrix.shape[0], 1, matrix.shape[1])
        return made + self._product(ones((*self.order.shape, 1), made.dtype, like=made), column)

    def for_any(self, rows: Array) -> Array:
        """[D, G, T, M]: zero in all parts but that of the row's expert, as products are."""
        parts = self.begins.shape[1]
        shape = (parts, *rows.shape)

        def edge(bounds: Array) -> Array:
            return broadcast_to(bounds.transpose(1, 0).reshape(parts, rows.shape[0], 1, 1), shape)

        place = iota(shape, 2, like=rows)
        own = logical_and(place >= edge(self.begins[:, :, 0]), place < edge(self.ends[:, :, -1]))
        made = where(own, broadcast_to(rows[None], shape), 0.0)
        return self.layout.constrain(made, "ep", "edp", None, "?")

    def _product(self, rows: Array, weights: Array) -> Array:
        parts, size = self.begins.shape[1:]
        missing = parts * size - weights.shape[0]
        even = pad(weights, [(0, missing, 0), (0, 0, 0), (0, 0, 0)], 0) if missing else weights
        cut = self.layout.constrain(reshape(even, (parts, size, *weights.shape[1:])), "ep", None, None, "?")
        spec = "GTM,DEMH,GDE->DGTH" if rows.ndim == 3 else "DGTM,DEMH,GDE->DGTH"
        return ragged_einsum(spec, "T", rows, cut, self.begins, self.ends)

    def combine(self, rows: Array, weights: Array) -> Array:
        (groups, count), shape = self.order.shape, weights.shape
        k, model = shape[2], rows.shape[-1]
        weights = self.layout.constrain(weights.reshape(groups, count // k, k), "edp", None, None)
        where_now = places_of(self.order)
        read = take_rows(rows.transpose(1, 2, 0, 3), where_now)
        read = read.reshape(groups, count // k, k, rows.shape[0], model)
        of_parts = einsum("GSKDM,GSK->GSDM", read.astype("float32"), weights.astype("float32"))
        # So that a gradient gathers what comes back of tokens, and not of their k choices. It only asks: forward,
        # terms of hidden units over etp need no sum before they go home.
        of_parts = self.layout.constrain(of_parts, "edp", None, "ep", "?", hint=True)
        return sum(of_parts, 2).reshape(*shape[:2], model)
