# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rotary position embeddings (RoFormer, arXiv 2104.09864) and how they are stretched."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array, as_value, concatenate, cos, halves, is_array, one_kernel, sin
from shoal.errors import InputError, UnsupportedError
from shoal.moe.schemas import rope_options

__all__ = ["Rope", "rope_of", "rotate", "turned_by"]


class Rope(NamedTuple):
    """frequencies: an angle a position for each two elements that turn, the first of a head; factor: of cos and sin;
    scale: of the softmax's scale, further.

    long: other frequencies, of sequences of more places than `original`.
    """

    frequencies: tuple[float, ...]
    factor: float = 1.0
    scale: float = 1.0
    long: tuple[float, ...] | None = None
    original: int = 0

    def of_length(self, length: int) -> tuple[float, ...]:
        """The frequencies of a sequence of so many places."""
        return self.frequencies if self.long is None or length <= self.original else self.long


def rope_of(config: Mapping[str, Any], size: int, partly: bool = False) -> Rope:
    """Of a Hugging Face `config.json`, for heads of which `size` elements turn; partly: or the first of these, as
    `partial_rotary_factor` says.

    UnsupportedError names a `rope_type` there is none of, heads of another family that turn in part, or an unknown
    option; InputError an option that is missing or that may not be so, or a list of factors of the wrong length.
    """
    options = rope_options(config)
    kind, base = options.get("rope_type", "default"), options["rope_theta"]
    size = _turning(size, options.get("partial_rotary_factor", config.get("partial_rotary_factor", 1.0)), partly)
    plain = 1.0 / base ** (np.arange(0, size, 2, dtype=np.float64) / size)
    if kind not in _KINDS:
        raise UnsupportedError(f'rope_type "{kind}" is not one of {sorted(_KINDS)}')
    name = "original_max_position_embeddings"
    longest = config.get("max_position_embeddings")
    original = options.get(name) or config.get(name) or longest
    try:
        known = {name: original, "max_position_embeddings": longest}
        given = {name: value for name, value in known.items() if value is not None}
        return _KINDS[kind](plain, {**options, **given, "base": base})
    except KeyError as missing:
        raise InputError(f"rope_parameters: {missing.args[0]} of {kind} is missing") from None


def _turning(size: int, part: float, partly: bool) -> int:
    """How many of a head's elements turn."""
    if part != 1 and not partly:
        raise UnsupportedError(f"partial_rotary_factor {part}: heads of which a part turns")
    turning = int(size * part)
    if part > 1 or turning < 2 or turning % 2:
        raise UnsupportedError(
            f"partial_rotary_factor {part}: {turning} of a head's {size} elements turn; expected an even number of them"
        )
    return turning


def _made(frequencies: np.ndarray, factor: float = 1.0, scale: float = 1.0) -> Rope:
    return Rope(tuple(frequencies.tolist()), factor, scale)


def _default(plain: np.ndarray, options: Mapping[str, Any]) -> Rope:
    return _made(plain)


def _linear(plain: np.ndarray, options: Mapping[str, Any]) -> Rope:
    return _made(plain / options["factor"])


def _llama3(plain: np.ndarray, options: Mapping[str, Any]) -> Rope:
    """Long waves are stretched, short ones are not, those between in part (Llama 3, arXiv 2407.21783)."""
    low, high = options["low_freq_factor"], options["high_freq_factor"]
    if low > high:
        raise InputError(f"rope_parameters: low_freq_factor {low}: expected at most high_freq_factor {high}")
    turns = options["original_max_position_embeddings"] * plain / (2 * math.pi)
    kept = np.clip((turns - low) / (high - low), 0, 1) if low < high else turns >= low
    return _made(plain * (kept + (1 - kept) / options["factor"]))


def _yarn(plain: np.ndarray, options: Mapping[str, Any]) -> Rope:
    """YaRN (arXiv 2309.00071), section 3.2 and 3.4; DeepSeek's also scales the softmax."""
    factor, size = options["factor"], 2 * len(plain)

    def place(turns: float) -> float:
        wave = options["original_max_position_embeddings"] / (turns * 2 * math.pi)
        return size * math.log(wave) / (2 * math.log(options["base"]))

    low, high = place(options.get("beta_fast") or 32), place(options.get("beta_slow") or 1)
    if options.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, size - 1)
    stretched = np.clip((np.arange(size // 2) - low) / (high - low or 0.001), 0, 1)
    all_dims = options.get("mscale_all_dim")
    return _made(
        plain * (1 - stretched + stretched / factor),
        _yarn_factor(options, factor),
        _magnitude(factor, all_dims) ** 2 if all_dims else 1.0,
    )


def _yarn_factor(options: Mapping[str, Any], factor: float) -> float:
    if options.get("attention_factor") is not None:
        return options["attention_factor"]
    own, all_dims = options.get("mscale"), options.get("mscale_all_dim")
    if own and all_dims:
        return _magnitude(factor, own) / _magnitude(factor, all_dims)
    return _magnitude(factor, 1.0)


def _magnitude(factor: float, weight: float) -> float:
    return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1


def _longrope(plain: np.ndarray, options: Mapping[str, Any]) -> Rope:
    """LongRoPE (arXiv 2402.13753), as Phi-3 has it: a factor for each wave, others for long sequences."""
    original = options["original_max_position_embeddings"]

    def stretched(name: str) -> tuple[float, ...]:
        factors = np.asarray(options[name], np.float64)
        if factors.shape != plain.shape:
            raise InputError(f"rope_parameters: {name} has {factors.size} factors; expected {plain.size}")
        return tuple((plain / factors).tolist())

    if original < 2:
        raise InputError(f"rope_parameters: original_max_position_embeddings {original} of longrope: expected 2 or more")
    factor = options.get("factor") or options["max_position_embeddings"] / original
    given = options.get("attention_factor")
    made = math.sqrt(1 + math.log(factor) / math.log(original)) if factor > 1 else 1.0
    return Rope(stretched("short_factor"), made if given is None else given, 1.0, stretched("long_factor"), original)


_KINDS: dict[str, Callable[[np.ndarray, Mapping[str, Any]], Rope]] = {
    "default": _default,
    "linear": _linear,
    "llama3": _llama3,
    "longrope": _longrope,
    "yarn": _yarn,
}


# In the place of constants.
_TABLES: ContextVar[tuple[Array, Array] | None] = ContextVar("tables", default=None)


@contextlib.contextmanager
def turned_by(cos: Array, sin: Array) -> Iterator[None]:
    """While it is open, positions that are known are these values' [S, 1, D / 2]: a program has them as arguments, and
    not as constants."""
    token = _TABLES.set((cos, sin))
    try:
        yield
    finally:
        _TABLES.reset(token)


def _turns(rope: Rope, length: int, positions: np.ndarray | Array | None, x: Array) -> tuple[Array, Array]:
    """cos and sin [S, 1, D / 2] of positions that are known, [B, S, 1, D / 2] of a value's."""
    tables = _TABLES.get()
    if tables is not None and not is_array(positions):
        return tables
    frequencies = np.asarray(rope.of_length(length))
    if is_array(positions):
        angles = positions.astype("float64")[..., None, None] * frequencies
        return tuple((f(angles) * rope.factor).astype("float32") for f in (cos, sin))
    places = np.arange(length) if positions is None else positions
    angles = (places[:, None] * frequencies)[:, None]
    return tuple(as_value((f(angles) * rope.factor).astype(np.float32), x) for f in (np.cos, np.sin))


@one_kernel
def rotate(
    x: Array, rope: Rope, interleaved: bool = False, positions: np.ndarray | Array | None = None
) -> Array:
    """x [B, S, N, D] turned by the positions [S], by default 0 ... S - 1, or by those of a value [B, S].

    Of the R that turn, elements i and i + R / 2 are a pair; interleaved: 2 i and 2 i + 1, of which the first ones come
    first in the result, where scores are the same. Angles are float64, cos and sin float32.
    """
    *outer, heads, size = x.shape
    turning = 2 * len(rope.frequencies)
    if turning < size:
        return concatenate([rotate(x[..., :turning], rope, interleaved, positions), x[..., turning:]], -1)
    cos, sin = _turns(rope, outer[-1], positions, x)
    if interleaved:
        pairs = x.reshape(*outer, heads, size // 2, 2)
        first, second = pairs[..., 0], pairs[..., 1]
    else:
        first, second = halves(x, -1)
    wide = first.astype("float32"), second.astype("float32")
    turned = wide[0] * cos - wide[1] * sin, wide[1] * cos + wide[0] * sin
    return concatenate(list(turned), -1).astype(x.dtype)
