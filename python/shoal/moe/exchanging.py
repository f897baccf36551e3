# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows to the devices of their experts and back, as many as there are: ragged all-to-alls.

Letters: n tokens and T = n k choices of a device; the p = e t devices of a group, of which each has
X = E / e experts and 1 / t of their hidden units; R rows that it gets at most, p T or fewer by
`moe_expert_rank_capacity_factor`; O devices along all other axes of tokens.

The t devices that share an expert need each other's rows. Where R is chosen, rows go to one of them, which
has the sender's place there, and lie in parts over the t: products of hidden units gather them, and products
back scatter their sums, as Megatron-Core's AlltoAll dispatcher does (arXiv 2504.14960, section 3.3). A row
crosses slow links once. Where R is for the most that could come, buffers are mostly empty, and to gather them
would send what is not there: rows go to all t, and the terms that these make are added at home.
Whether rows are gathered or weights is the compiler's choice, by what sends less; `shared_by` may leave it none.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from shoal.arrays import (
    Array, ArrayLike, P, advise, as_value, constrain, cumsum, iota, manual, ones, pad, ragged_einsum, sum, take_rows, where,
)  # fmt: skip
from shoal.frontend.checks import check
from shoal.moe.buffers import Buffers, places_of, weighed
from shoal.moe.config import MoeConfig
from shoal.moe.hops import Hop, Lists, counts_of, in_order
from shoal.moe.layout import Layout
from shoal.moe.routing import Routing

__all__ = ["Exchanged", "Places", "Spread", "bounds_of", "exchange_rows", "places_for", "shared_by"]

# Of a value of rows where it is to lie, and where its cotangent is: the value.
Placed = Callable[[Array, P, P], Array]
_PLACED: ContextVar[Placed | None] = ContextVar("placed", default=None)


@contextlib.contextmanager
def shared_by(placed: Placed) -> Iterator[None]:
    """While it is open, devices that share an expert have all of its rows in front of it, and terms of their sums behind it,
    as in Megatron-Core, by this function; of cotangents the other way round."""
    token = _PLACED.set(placed)
    try:
        yield
    finally:
        _PLACED.reset(token)


@dataclass(frozen=True)
class Places:
    """The devices that exchange rows, and how many there are of what."""

    layout: Layout
    tokens: int  # n
    k: int
    experts: int
    factor: float | None = None  # of the mean of rows that a device gets

    @property
    def gathers(self) -> bool:
        """Whether rows lie in parts over the devices that share an expert."""
        return self.factor is not None and self.shared > 1

    @property
    def holders(self) -> tuple[str, ...]:
        """The axes over which experts and their hidden units lie."""
        return self.layout.axes("ep", "etp")

    @property
    def others(self) -> tuple[str, ...]:
        """The axes of tokens along which each has experts of its own."""
        listed = dict.fromkeys(self.layout.axes("tokens", "edp"))
        return tuple(axis for axis in listed if axis not in self.holders)

    @property
    def all(self) -> tuple[str, ...]:
        """Those of tokens first: they lie there already."""
        return tuple(dict.fromkeys((*self.layout.axes("tokens"), *self.others, *self.holders)))

    @property
    def devices(self) -> int:
        return math.prod(self.layout.mesh.axes[axis] for axis in self.all)

    @property
    def parts(self) -> int:  # e
        return self.layout.size("ep")

    @property
    def shared(self) -> int:  # t
        return self.layout.size("etp")

    @property
    def copies(self) -> int:
        """How many devices a row goes to."""
        return 1 if self.gathers else self.shared

    @property
    def local(self) -> int:  # X
        return -(-self.experts // self.parts)

    @property
    def choices(self) -> int:  # T
        return self.tokens * self.k

    @property
    def room(self) -> int:  # R
        most = self.parts * self.copies * self.choices
        return most if self.factor is None else min(most, math.ceil(self.factor * self.copies * self.choices))

    @property
    def hop(self) -> Hop:
        """How rows travel."""
        axes = self.layout.axes("ep") if self.gathers else self.holders
        return Hop(axes, self.parts, self.copies, self.local, self.choices, self.room, self.factor is not None)

    def by_device(self, rank: int) -> P:
        """A dimension for all devices, and what each has."""
        return P(self.all, *[None] * (rank - 1))

    def by_expert(self, rank: int) -> P:
        """[O, e, t, ...], and [O, e, t, t, ...] of hidden units of gathered rows, which the second t splits."""
        entries: list[Any] = [self.others or None, self.layout.axes("ep") or None, self.layout.axes("etp") or None]
        if rank == 6:
            entries.insert(2, None)
        return P(*entries, *[None] * (rank - len(entries)))


def exchange_rows(tokens: Array, routing: Routing, config: MoeConfig, layout: Layout) -> Buffers:
    """The rows of tokens [G, S, M] on the devices of their experts: nothing is dropped or padded."""
    places, spread = places_for(tokens, routing, config, layout)
    expert = spread.out(where(routing.kept, routing.experts, config.experts.number), config.experts.number)
    weights = spread.out(routing.weights) if config.dispatch.before else None
    rows, order, lists, begins, ends = _send(places, spread.out(tokens), expert, weights)
    return Buffers(rows, Exchanged(order, lists, begins, ends, spread))


def places_for(tokens: Array, routing: Routing, config: MoeConfig, layout: Layout) -> tuple[Places, Spread]:
    """Of tokens [G, S, M]; warns where their buffers are large."""
    groups, count, k = routing.experts.shape
    devices = Places(layout, 1, k, config.experts.number).devices
    factor = config.dispatch.rank_factor
    places = Places(layout, -(-groups * count // devices), k, config.experts.number, factor)
    _warn_of_room(places, config, tokens)
    return places, Spread(places, groups, count)


# Buffers of fewer bytes are let be.
_LARGE = 1 << 30


def _warn_of_room(places: Places, config: MoeConfig, tokens: Array) -> None:
    """Of buffers for rows that would come if all tokens chose one device's experts, where they are large: no value
    drops nothing, so who runs out of memory has to choose one."""
    mean = places.copies * places.choices
    units = config.experts.hidden // places.shared * (2 if config.experts.gated else 1)
    size = tokens.dtype.itemsize * (2 * tokens.shape[2] + units)
    if places.factor is not None or places.room <= mean or places.room * size < _LARGE:
        return
    advise(
        f"moe: moe_expert_rank_capacity_factor=None: each layer's buffers are for the {places.room} rows that a device gets"
        f" at most, {places.room * size / 2**30:.1f} GiB; {mean} rows come on average, {mean * size / 2**30:.1f} GiB. Give"
        " a factor, as 1.5, to have that many times the average and drop what does not fit",
        like=tokens,
    )


@dataclass(frozen=True)
class Spread:
    """Tokens [G, S, ...] as [W, n, ...], for W devices: the last one may have fewer."""

    places: Places
    groups: int
    count: int

    def out(self, value: Array, fill: int = 0) -> Array:
        rest = value.shape[2:]
        flat = value.reshape(self.groups * self.count, *rest)
        missing = self.places.devices * self.places.tokens - flat.shape[0]
        if missing:
            flat = pad(flat, [(0, missing, 0), *[(0, 0, 0)] * len(rest)], fill)
        cut = flat.reshape(self.places.devices, self.places.tokens, *rest)
        return constrain(cut, self.places.by_device(cut.ndim), self.places.layout.mesh)

    def home(self, value: Array) -> Array:
        flat = value.reshape(self.places.devices * self.places.tokens, *value.shape[2:])
        return flat[: self.groups * self.count].reshape(self.groups, self.count, *value.shape[2:])


def _send(places: Places, tokens: Array, expert: Array, weights: Array | None) -> tuple[Array, ...]:
    """rows [O, e, t, R, M], order [W, T], lists [W, 6, p X] or, where rows are gathered, [W, 6, e X], begins and ends
    [O, e, t, X]."""
    hop, k = places.hop, places.k

    def on_device(tokens: Array, expert: Array, *weights: Array) -> tuple[Array, ...]:
        flat = expert.reshape(1, hop.rows)
        order = in_order(flat, hop.rows)
        rows = take_rows(tokens, order // k)
        for weight in weights:
            rows = rows * take_rows(weight.reshape(1, hop.rows), order)[..., None].astype(rows.dtype)
        lists = hop.lists(counts_of(flat, hop.parts * hop.local, hop.rows))
        got = hop.forth(rows, lists)
        bounds = bounds_of(lists, hop.local)
        return got.reshape(1, 1, 1, *got.shape), order, lists.stacked(), *bounds

    given = (tokens, expert) if weights is None else (tokens, expert, weights)
    ins = tuple(places.by_device(value.ndim) for value in given)
    outs = (places.by_expert(5), places.by_device(2), places.by_device(3), *[places.by_expert(4)] * 2)
    return manual(on_device, ins, outs, places.all, places.layout.mesh)(*given)


def bounds_of(lists: Lists, size: int) -> tuple[Array, Array]:
    """begins and ends [1, 1, 1, X] of the rows of the device's experts."""
    sizes = sum(lists.come.rows.reshape(-1, size), 0)
    ends = cumsum(sizes, 0)
    return (ends - sizes).reshape(1, 1, 1, size), ends.reshape(1, 1, 1, size)


@dataclass(frozen=True)
class Exchanged:
    """Rows [O, e, t, R, M], on each device those of its experts: begins and ends [O, e, t, X].

    The t devices of an expert have the same rows, and each the products with its hidden units; what
    they make are terms of a sum, which are added where the rows came from. Where rows are gathered each has
    its own, hidden units are [O, e, t, t, R, H / t], of rows of the first t, and sums are whole.
    order [W, T]: which choice each row was; lists: what was sent and what came, as `_send` makes them.
    """

    order: Array
    lists: Array
    begins: Array
    ends: Array
    spread: Spread

    def kept(self) -> Array:
        """[E] float32: rows of each expert that there was room for."""
        of_device = sum(self.ends - self.begins, 0)
        of_part = sum(of_device, 1) if self.spread.places.gathers else of_device[:, 0]
        return of_part.reshape(-1)[: self.spread.places.experts].astype("float32")

    def for_any(self, rows: Array) -> Array:
        """TraceError where experts must be two layers, of which the second makes terms of a sum."""
        copies = self.spread.places.copies
        check(
            copies == 1,
            f'moe: an expert of your own, whose hidden units lie over {copies} devices of "etp", with'
            ' moe_token_dispatcher_type="alltoall" and no capacity; "allgather" takes it, and so does'
            " moe_expert_rank_capacity_factor",
        )
        return rows

    def linear(self, rows: Array, weights: ArrayLike, bias: Any = None) -> Array:
        """To hidden units, which lie in t parts, or from them, to terms of a sum."""
        matrix = as_value(weights, rows)
        widens = rows.shape[-1] == matrix.shape[1]
        made = self._widened(rows, matrix) if widens else self._summed(rows, matrix)
        if bias is None:
            return made
        vectors = as_value(bias, rows)
        column = vectors.reshape(vectors.shape[0], 1, vectors.shape[1])
        places = self.spread.places
        one = ones((*made.shape[:3], places.room, 1), made.dtype, like=made)
        if widens:
            return made + self._widened(one, column)
        if places.copies > 1:  # in one of the terms
            one = where(iota(one.shape, 2, like=one) == 0, one, 0.0)
        return made + self._product("OETRM,EXMH,OETX->OETRH", one, self._cut(column, None))

    def _widened(self, rows: Array, weights: Array) -> Array:
        """By [E, M, H], whose H lies in t parts."""
        spec = "OESRM,EXMTH,OESX->OESTRH" if self.spread.places.gathers else "OETRM,EXMTH,OETX->OETRH"
        return self._product(spec, self._shared(rows, is_sum=False), self._cut(weights, 2))

    def _summed(self, rows: Array, weights: Array) -> Array:
        """By [E, H, M], whose H lies in t parts; each part's sum, or the whole one."""
        spec = "OESTRH,EXTHM,OESX->OESRM" if self.spread.places.gathers else "OETRH,EXTHM,OETX->OETRM"
        return self._product(spec, rows, self._cut(weights, 1), is_sum=True)

    def _product(self, spec: str, rows: Array, weights: Array, is_sum: bool = False) -> Array:
        made = ragged_einsum(spec, "R", rows, weights, self.begins, self.ends)
        made = self._shared(made, is_sum=True) if is_sum else made
        return constrain(made, self.spread.places.by_expert(made.ndim), self.spread.places.layout.mesh)

    def _shared(self, rows: Array, is_sum: bool) -> Array:
        """Rows that all t devices have, or terms of sums of them."""
        places, placed = self.spread.places, _PLACED.get()
        if placed is None or not places.gathers:
            return rows
        entries = (places.others or None, places.layout.axes("ep") or None, None, None, None)
        whole, terms = (P(*entries, partial=axes) for axes in ((), places.layout.axes("etp")))
        return placed(rows, terms, whole) if is_sum else placed(rows, whole, terms)

    def _cut(self, weights: Array, dim: int | None) -> Array:
        """[E, ...] as [e, X, ...], and dimension `dim` as [t, ...] in its place."""
        places = self.spread.places
        parts = {0: places.parts} | ({dim: places.shared} if dim else {})
        shape: list[int] = []
        entries: list[Any] = []
        missing = []
        for d, size in enumerate(weights.shape):
            count = parts.get(d)
            part = -(-size // count) if count else size
            missing.append((0, part * (count or 1) - size, 0))
            shape += [count, part] if count else [part]
            entries += ["ep" if d == 0 else "etp", None] if count else [None]
        even = pad(weights, missing, 0) if any(m for _, m, _ in missing) else weights
        return places.layout.constrain(even.reshape(shape), *entries)

    def combine(self, rows: Array, weights: Array) -> Array:
        places, hop = self.spread.places, self.spread.places.hop

        def on_device(made: Array, order: Array, lists: Array) -> Array:
            home = hop.back(made.reshape(hop.room, -1), Lists.of(lists))
            return take_rows(home[None], places_of(order)).reshape(1, places.tokens, places.k, -1)

        ins = (places.by_expert(5), places.by_device(2), places.by_device(3))
        made = manual(on_device, ins, places.by_device(4), places.all, places.layout.mesh)(rows, self.order, self.lists)
        read = self.spread.home(made)
        return weighed(read, weights)
