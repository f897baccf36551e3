# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a decoder is trained on: tokens, and which of them count as what. Letters: B sequences, S inputs of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from shoal.arrays import Array, ArrayLike, as_value, is_array, logical_and, named_scope, shape_of
from shoal.errors import TraceError
from shoal.frontend.checks import check
from shoal.frontend.constants import as_array
from shoal.models.checking import as_tokens
from shoal.models.documents import Documents, documents_of

__all__ = ["Batch", "batch_of"]

NAMES = ("mask", "labels", "weights", "segments", "positions")


class Batch(NamedTuple):
    """Inputs [B, S] and their documents; labels [B, S], which of them count, or None of all, and how much, or None."""

    inputs: Array
    documents: Documents
    labels: ArrayLike
    mask: Array | None
    weights: ArrayLike | None


def batch_of(tokens: ArrayLike | Mapping[str, ArrayLike], given: Mapping[str, Any], like: Any = None) -> Batch:
    """Of tokens [B, S + 1] and arrays like them by their names. TraceError for other names and shapes."""
    named = _named(tokens, given)
    whole = as_tokens(named["tokens"], "loss", "[B, S + 1]", like)
    check(whole.shape[1] > 1, f"loss: tokens: expected [B, S + 1] with S of at least 1, got {list(whole.shape)}")
    for name, array in named.items():
        shape = shape_of(array)
        check(shape == whole.shape, f"loss: {name} {list(shape)} of tokens {list(whole.shape)}")
    mask, segments = (None if named.get(name) is None else as_value(named[name], whole) for name in ("mask", "segments"))
    with named_scope("embed"):
        inputs = whole[:, :-1]
    ahead = {name: named[name][:, :-1] for name in ("mask", "segments", "positions") if name in named}
    documents = documents_of(inputs, *(ahead.get(name) for name in ("mask", "segments", "positions")))
    follows = _follows(mask, segments)
    labels = named.get("labels", named["tokens"])[:, 1:]
    weights = named["weights"][:, 1:] if "weights" in named else None
    return Batch(inputs, documents._replace(real=follows), labels, follows, weights)


def _named(tokens: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """All that is not None, by its name; lists as arrays."""
    batch = tokens if isinstance(tokens, Mapping) else {"tokens": tokens}
    batch, beside = ({name: array for name, array in of.items() if array is not None} for of in (batch, given))
    if not {"tokens"} <= set(batch) <= {"tokens", *NAMES} or set(batch) & set(beside):
        raise TraceError(
            f'loss: expected "tokens" and any of {list(NAMES)}, each once; got {sorted(batch)} and {sorted(beside)}'
        )
    found = {**batch, **beside}
    return {name: array if is_array(array) else as_array(array, f"loss: {name}") for name, array in found.items()}


def _follows(mask: Array | None, segments: Array | None) -> Array | None:
    """Bool [B, S]: where a real token is followed by one of its document; None where that is so everywhere."""
    made = None
    if mask is not None:
        real = mask.astype("bool")
        made = logical_and(real[:, :-1], real[:, 1:])
    if segments is not None:
        same = segments[:, :-1] == segments[:, 1:]
        made = same if made is None else logical_and(made, same)
    return made
