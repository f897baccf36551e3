# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Transformer from one sequence to another, whose layers may have experts (GShard, arXiv 2006.16668, section 3).

Letters: B pairs, S places of a source, T of a target, M model size, N heads, D = M / N, V tokens.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import (
    Array, ArrayLike, argmax, as_value, broadcast_to, concatenate, einsum, fold_in, full, iota, like, logical_and, named_scope,
    or_one, rms_norm, scan, shape_of, stack, summed, where, zeros,
)  # fmt: skip
from shoal.errors import TraceError
from shoal.frontend.buffers import Buffers
from shoal.frontend.checks import check
from shoal.layers import attention, cross_entropy_sum, feed_forward
from shoal.models import parameters
from shoal.models.buffers import expert_biases
from shoal.models.documents import begins_of, is_of_one, positions_of
from shoal.models.layer import bias_of
from shoal.models.rope import rope_of, rotate
from shoal.moe.config import MoeConfig
from shoal.moe.layer import MoeMetrics, moe
from shoal.moe.layout import SINGLE, Layout
from shoal.moe.losses import stacked_losses, total_loss
from shoal.moe.noise import key_of_training
from shoal.moe.parameters import init_params, start_of
from shoal.moe.parts import ExpertChoice

__all__ = ["EncoderDecoder", "Passed"]

Params = Mapping[str, Any]


class Passed(NamedTuple):
    """x [B, S, M] behind the layers so far, the sum of their losses, the metrics and losses of those with experts."""

    x: Array
    balance: Array
    metrics: list[MoeMetrics]
    losses: list[dict[str, Array]]


@dataclass(frozen=True)
class EncoderDecoder:
    """What the model is, where it lies, and its functions, for `shoal.jit` and `shoal.train`.

    encoder, decoder: of each layer whether it has experts, those of `moe`; the others have a network of
      `intermediate_size` units with ReLU. Norms stand before what they norm (RMSNorm), places are rotary, in
      self-attention alone; one matrix embeds sources and targets and gives the logits.
    pad, begin, end: tokens. Padding stands behind a sequence, and counts in no attention, router or loss.
    """

    vocab_size: int
    hidden_size: int
    num_attention_heads: int
    intermediate_size: int
    encoder: tuple[bool, ...]
    decoder: tuple[bool, ...]
    moe: MoeConfig | None = None
    layout: Layout = SINGLE
    pad: int = 0
    begin: int = 1
    end: int = 2
    rms_norm_eps: float = 1e-6

    def __post_init__(self) -> None:
        model, heads = self.hidden_size, self.num_attention_heads
        if model % (2 * heads):
            raise TraceError(f"EncoderDecoder: hidden_size {model} in {heads} heads of an even number of elements")
        if any((*self.encoder, *self.decoder)) and self.moe is None:
            raise TraceError("EncoderDecoder: layers with experts, and moe is None")
        if any(self.decoder) and self.moe is not None and isinstance(self.moe.router, ExpertChoice):
            warnings.warn(
                'EncoderDecoder: decoder layers with ExpertChoice: experts choose among all places,'
                " so that one's result depends on those behind it",
                stacklevel=3,
            )
        tokens = (self.pad, self.begin, self.end)
        if len(set(tokens)) < 3 or not all(0 <= token < self.vocab_size for token in tokens):
            raise TraceError(f"EncoderDecoder: pad, begin, end {tokens}: expected three of {self.vocab_size} tokens")

    def shapes(self) -> dict[str, Any]:
        """{name: shape}: "embed" [V, M], "encoder" and "decoder" lists of layers, and a norm [M] behind each."""
        return {
            "embed": (self.vocab_size, self.hidden_size),
            "encoder": [self._layer(has_experts, ("attention",)) for has_experts in self.encoder],
            "encoder_norm": (self.hidden_size,),
            "decoder": [self._layer(has_experts, ("attention", "cross")) for has_experts in self.decoder],
            "decoder_norm": (self.hidden_size,),
        }

    def _layer(self, has_experts: bool, attentions: tuple[str, ...]) -> dict[str, Any]:
        model, hidden, heads = self.hidden_size, self.intermediate_size, self.num_attention_heads
        size = model // heads
        projections = {name: (model, heads, size) for name in ("wq", "wk", "wv")} | {"wo": (heads, size, model)}
        made: dict[str, Any] = {name: dict(projections) for name in attentions}
        made |= {f"{name}_norm": (model,) for name in (*attentions, "post")}
        if has_experts and self.moe is not None:
            return made | {"moe": parameters.expert_shapes(self.moe, model)}
        return made | {"dense": {"wi": (model, hidden), "wo": (hidden, model)}}

    def init(self, seed: int = 0) -> dict[str, Any]:
        """Normal numbers of NumPy, float32, of deviation the root of 1 / fan-in; norms are 1. The same for every
        layout."""
        rng = np.random.default_rng(seed)

        def made(part: str, name: str, node: Any) -> Any:
            if name == "moe" and self.moe is not None:
                drawn = init_params(self.moe, self.hidden_size, int(rng.integers(2**32)))
                zeros = {key: np.zeros(shape, np.float32) for key, shape in node.items() if key not in drawn}
                return drawn | zeros  # the experts' bias
            if isinstance(node, dict):
                return {key: made(name, key, node[key]) for key in sorted(node)}
            if isinstance(node, list):
                return [made(name, "", layer) for layer in node]
            start = start_of(name)
            if start is not None:
                return np.full(node, start, np.float32)
            return (rng.standard_normal(node) * _fan_in(part, name, node) ** -0.5).astype(np.float32)

        return made("", "", self.shapes())

    def shardings(self) -> dict[str, Any]:
        """Where parameters are stored, a tree of P."""
        return parameters.shardings_of(self.shapes(), self.moe, self.layout)

    def buffers(self) -> Buffers:
        """The experts' biases, which `train.step` moves."""
        return expert_biases(self.moe, ("encoder", "decoder"))

    def encode(
        self, params: Params, source: ArrayLike, *, key: ArrayLike | None = None, segments: ArrayLike | None = None
    ) -> Passed:
        """Of source [B, S] its memory [B, S, M]. key: of the routers' noise. segments [B, S]: integers, which of
        several sources a token is of, each of which stands together."""
        tokens = as_value(source, like(source, params))
        passed = self._embed(params, tokens)
        seen = tokens != self.pad
        for number, layer in enumerate(params["encoder"]):
            with named_scope(f"encoder.{number}"):
                passed = self._self_attention(passed, layer, seen, segments, causal=False)
                passed = self._feed_forward(passed, layer, seen, _folded(key, number))
        return passed._replace(x=self._norm(passed.x, params["encoder_norm"]))

    def decode(
        self, params: Params, memory: Array, source: ArrayLike, inputs: ArrayLike, *, key: ArrayLike | None = None,
        segments: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Passed:  # fmt: skip
        """Of inputs [B, T], `begin` and a target's tokens but the last, what logits are made of, [B, T, M].

        memory [B, S, M] of source [B, S]. A place sees itself and those before it; `end` and padding are no
        inputs. segments: of the source [B, S] and of the inputs [B, T], each of which sees what is of its own.
        """
        of_source, of_inputs = segments or (None, None)
        tokens, seen = as_value(inputs, memory), as_value(source, memory) != self.pad
        real = logical_and(tokens != self.pad, tokens != self.end)
        real = logical_and(real, broadcast_to(seen[:, :1], real.shape))  # none of a row that is padding alone
        passed = self._embed(params, tokens)
        for number, layer in enumerate(params["decoder"]):
            with named_scope(f"decoder.{number}"):
                passed = self._self_attention(passed, layer, real, of_inputs, causal=True)
                passed = self._cross_attention(passed, layer, memory, _visible(seen, of_inputs, of_source))
                passed = self._feed_forward(passed, layer, real, _folded(key, len(self.encoder) + number))
        return passed._replace(x=self._norm(passed.x, params["decoder_norm"]))

    def logits(self, params: Params, x: Array) -> Array:
        """[..., V] of what `decode` made, [..., M]."""
        letters = "ABCDEFG"[: x.ndim - 1]
        return einsum(f"{letters}M,VM->{letters}V", x, as_value(params["embed"], x), dtype="float32")

    def loss(
        self, params: Params, batch: Mapping[str, ArrayLike], *, key: ArrayLike | None = None, training: bool = True
    ) -> tuple[Array, dict[str, Array]]:
        """The weighted mean of -log p of each target token, `end` among them, plus the routers' losses times their
        coefficients over the number of layers with experts; and metrics: "nll", "balance", "weight", the sum of the
        tokens' weights, and, where there are experts, those of `MoeMetrics` and the losses by their names, a row for
        each such layer, the encoder's first.

        batch: "source" [B, S] and "target" [B, T], which ends with `end` and then padding. Further "weights" [B, T],
        how much each token of a target counts; and, where several pairs are one row, "source_segments" [B, S] and
        "target_segments" [B, T], integers that say of which pair a token is, each of whose parts stands together.
        key, training: as of `loss_of`. TraceError for other names, and for shapes that differ.
        """
        key = key_of_training("loss", self.moe if any((*self.encoder, *self.decoder)) else None, key, training)
        target = as_value(batch.get("target", 0), like(dict(batch), params))
        segments = _checked(batch, target)
        encoded = self.encode(params, batch["source"], key=key, segments=segments and segments[0])
        decoded = self.decode(
            params, encoded.x, batch["source"], self._inputs(target, segments), key=key, segments=segments
        )
        with named_scope("head"):
            logits = self.logits(params, decoded.x)
        with named_scope("loss"):
            return self._loss(logits, target, batch.get("weights"), encoded, decoded)

    def _inputs(self, target: Array, segments: tuple[Array, Array] | None) -> Array:
        """`begin` and all tokens but the last, of each target."""
        first = full((target.shape[0], 1), self.begin, target.dtype, like=target)
        behind = concatenate([first, target[:, :-1]], 1)
        if segments is None:
            return behind
        begins = logical_and(begins_of(segments[1]), target != self.pad)  # padding is a segment without a target
        return where(begins, self.begin, behind)

    def _loss(
        self, logits: Array, target: Array, weights: ArrayLike | None, encoded: Passed, decoded: Passed
    ) -> tuple[Array, dict[str, Array]]:
        total, weight = cross_entropy_sum(logits, target, mask=target != self.pad, weights=weights, ignore_index=None)
        nll = total / or_one(weight)
        layers = [*encoded.metrics, *decoded.metrics]
        balance = (encoded.balance + decoded.balance) / float(len(layers) or 1)
        stacked = MoeMetrics(*map(stack, zip(*layers))).marked()._asdict() if layers else {}
        losses = stacked_losses([*encoded.losses, *decoded.losses])
        return nll + balance, {"nll": nll, "balance": balance, "weight": summed(weight), **stacked, **losses}

    def translate(self, params: Params, source: ArrayLike, length: int) -> Array:
        """Of source [B, S] the likeliest next token at each of `length` places, int32 [B, length]; padding behind
        `end`.

        The encoder runs once, the decoder over all places for each token: there is no cache of keys.
        """
        memory = self.encode(params, source).x
        places = iota((memory.shape[0], length), 1, like=memory)
        start = where(places == 0, full(places.shape, self.begin, "int32", like=memory), self.pad)

        def step(inputs: Array, place: Array) -> tuple[Array, Array]:
            x = self.decode(params, memory, source, inputs).x
            token = argmax(self.logits(params, x[:, place]), -1)
            last = inputs[:, place]
            token = where(logical_and(last != self.end, last != self.pad), token, self.pad)
            return where(places == place + 1, token.reshape(-1, 1), inputs), token

        tokens = scan(step, start, iota((length,), 0, like=memory))[1]
        return tokens.swapaxes(0, 1)

    def over(self, layout: Layout) -> EncoderDecoder:
        """The same over devices."""
        return replace(self, layout=layout)

    def _norm(self, x: Array, scale: ArrayLike) -> Array:
        return rms_norm(x, epsilon=self.rms_norm_eps) * as_value(scale, x)

    def _embed(self, params: Params, tokens: Array) -> Passed:
        with named_scope("embed"):
            x = as_value(params["embed"], tokens)[tokens] * self.hidden_size**0.5
            return Passed(self.layout.spread(x, "outside"), zeros((), "float32", like=x), [], [])

    def _add(self, passed: Passed, y: Array) -> Passed:
        return passed._replace(x=self.layout.spread(passed.x + y, "outside"))

    def _self_attention(
        self, passed: Passed, layer: Params, real: Array, segments: ArrayLike | None, *, causal: bool
    ) -> Passed:
        with named_scope("attention"):
            y, weights = self._norm(passed.x, layer["attention_norm"]), layer["attention"]
            rope = rope_of({}, self.hidden_size // self.num_attention_heads)
            q, k, v = (einsum("BSM,MND->BSND", y, as_value(weights[name], y)) for name in ("wq", "wk", "wv"))
            positions = None if segments is None else positions_of(as_value(segments, y))
            q, k = rotate(q, rope, positions=positions), rotate(k, rope, positions=positions)
            made = attention(q, k, v, mask=_visible(real, segments, segments), causal=causal)
            return self._add(passed, einsum("BSND,NDM->BSM", made, as_value(weights["wo"], y)))

    def _cross_attention(self, passed: Passed, layer: Params, memory: Array, mask: Array) -> Passed:
        with named_scope("cross"):
            y, weights = self._norm(passed.x, layer["cross_norm"]), layer["cross"]
            q = einsum("BSM,MND->BSND", y, as_value(weights["wq"], y))
            k, v = (einsum("BTM,MND->BTND", memory, as_value(weights[name], y)) for name in ("wk", "wv"))
            made = attention(q, k, v, mask=mask)
            return self._add(passed, einsum("BSND,NDM->BSM", made, as_value(weights["wo"], y)))

    def _feed_forward(self, passed: Passed, layer: Params, real: Array, key: Array | None) -> Passed:
        with named_scope("dense" if "dense" in layer else "experts"):
            y = self._norm(passed.x, layer["post_norm"])
            if "dense" in layer:
                return self._add(passed, feed_forward(y, layer["dense"]["wi"], layer["dense"]["wo"]))
            assert self.moe is not None
            bias = bias_of(layer["moe"])
            made = moe(y, layer["moe"], self.moe, self.layout, bias=bias, key=key, mask=real)
            balance = passed.balance + total_loss(made.losses, self.moe)
            experts = [*passed.metrics, made.metrics], [*passed.losses, made.losses]
            return self._add(Passed(passed.x, balance, *experts), made.y)


def _fan_in(part: str, name: str, shape: tuple[int, ...]) -> int:
    """Of how many products each element of a matrix's result is a sum."""
    if name == "embed":
        return shape[1]  # as logits are made by it
    return math.prod(shape[:-1]) if name == "wo" or part == "dense" else shape[0]


def _folded(key: ArrayLike | None, number: int) -> Array | None:
    """A layer's key."""
    return None if key is None else fold_in(key, number)


def _visible(real: Array, rows: ArrayLike | None, columns: ArrayLike | None) -> Array:
    """real [B, T], which places may be looked at, as a mask of scores [B, N, S, T]: by those of their own segment,
    where there are segments rows [B, S] and columns [B, T]."""
    of_all = real.reshape(real.shape[0], 1, 1, real.shape[1])
    if rows is None or columns is None:
        return of_all
    same = is_of_one(as_value(rows, real), as_value(columns, real))
    same = same.reshape(same.shape[0], 1, *same.shape[1:])
    return logical_and(same, broadcast_to(of_all, same.shape))


def _checked(batch: Mapping[str, ArrayLike], like: Array) -> tuple[Array, Array] | None:
    """The segments of sources and targets, where there are any; TraceError for a batch that is none."""
    shaped = {"weights": "target", "source_segments": "source", "target_segments": "target"}
    segments = [name for name in ("source_segments", "target_segments") if name in batch]
    if not {"source", "target"} <= set(batch) <= {"source", "target", *shaped} or len(segments) == 1:
        raise TraceError(
            'EncoderDecoder: expected a batch of "source", "target" and any of "weights" and both of'
            f' "source_segments", "target_segments"; got {sorted(batch)}'
        )
    for name, other in shaped.items():
        if name in batch:
            shape, wanted = shape_of(batch[name]), shape_of(batch[other])
            check(shape == wanted, f"EncoderDecoder: {name} {list(shape)} of {other} {list(wanted)}")
    return (as_value(batch[segments[0]], like), as_value(batch[segments[1]], like)) if segments else None
