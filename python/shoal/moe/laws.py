# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a value of a configuration may be, by the name that it has in its part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from math import inf
from numbers import Integral, Real
from typing import Any, NamedTuple

from shoal.errors import TraceError

__all__ = ["LAWS", "Part", "check_value"]


class Law(NamedTuple):
    """holds: of values that are there; what: as an error says it; is_optional: None is one, too."""

    holds: Callable[[Any], bool]
    what: str
    is_optional: bool = False


def _number(holds: Callable[[Any], bool], what: str, is_optional: bool = False) -> Law:
    """A real number, and no boolean; NaN is in no range."""
    return Law(lambda x: isinstance(x, Real) and not isinstance(x, bool) and holds(x), what, is_optional)


def _one_of(*words: str, is_optional: bool = False) -> Law:
    listed = [*([None] if is_optional else []), *words]
    return Law(lambda x: isinstance(x, str) and x in words, f"one of {listed}", is_optional)


def _is_coefficient(value: Any) -> bool:
    """A number, or one for each layer."""
    listed = value if isinstance(value, tuple) and value else (value,)
    return all(FINITE.holds(number) for number in listed)


FINITE = _number(lambda x: -inf < x < inf, "a number")
_SIZE = Law(lambda x: isinstance(x, Integral) and not isinstance(x, bool) and x >= 1, "a positive integer")
_POSITIVE = _number(lambda x: 0 < x < inf, "a positive number")
_AT_LEAST_0 = _number(lambda x: 0 <= x < inf, "a number of at least 0")
_COEFFICIENT = "neither a number nor a tuple of one for each layer"
LOSSES = ("aux_loss", "seq_aux_loss", "global_aux_loss", "gshard", "importance")

LAWS: dict[str, Law] = {
    **dict.fromkeys(("number", "hidden", "k", "chosen", "least", "alignment", "microbatches", "interleave", "chunks"), _SIZE),
    **dict.fromkeys(("best_of", "group_size"), _SIZE._replace(is_optional=True)),
    **dict.fromkeys(("scaling", "rank_factor"), _POSITIVE._replace(is_optional=True)),
    "limit": _POSITIVE,
    "alpha": FINITE,
    "factor": FINITE,
    "gate_noise": _AT_LEAST_0,
    "bias_rate": _AT_LEAST_0._replace(is_optional=True),
    "jitter": _number(lambda x: 0 <= x < 1, "a number from 0 to 1", is_optional=True),
    "scores": _one_of("softmax_of_chosen", "softmax", "sigmoid", "sqrtsoftplus"),
    "sampling": _one_of("first", "second", "later", is_optional=True),
    "dtype": _one_of("fp32", "fp64", "model"),
    "rule": _one_of("megatron", "gshard", "deepspeed", "tutel"),
    "drops": _one_of("probs", "position", "position of token", "random"),
    "how": _one_of("auto", "einsum", "sort", "allgather", "alltoall", "flex"),
    "act": _one_of("gelu", "gelu_tanh", "relu", "silu"),
    "z_loss": Law(_is_coefficient, _COEFFICIENT, is_optional=True),
    "losses": Law(
        lambda x: isinstance(x, Mapping) and {*x} <= {*LOSSES} and all(map(_is_coefficient, x.values())),
        f"coefficients, each a number or a tuple of one for each layer, of some of {list(LOSSES)}",
    ),
}  # fmt: skip


def check_value(place: str, name: str, value: Any, law: Law) -> None:
    """TraceError, which says the place, the name and what was expected."""
    if not (law.is_optional and value is None) and not law.holds(value):
        raise TraceError(f"{place}: {name}={value!r} is {'' if law.what.startswith('neither') else 'not '}{law.what}")


class Part:
    """Of a configuration, a frozen dataclass whose values are what `LAWS` says."""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            if field.name in LAWS:
                check_value(type(self).__name__, field.name, getattr(self, field.name), LAWS[field.name])

    def refuse(self, is_wrong: object, name: str, why: str) -> None:
        """TraceError where a value has no meaning beside the part's others."""
        if is_wrong:
            raise TraceError(f"{type(self).__name__}: {name}={getattr(self, name)!r}: {why}")
