# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parts of a layer but its capacity: experts and what is beside them, routers, dispatchers.

A part has the fields that are read where it is, so that what would not be read cannot be written.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import TraceError
from shoal.moe.capacity import Room
from shoal.moe.laws import Part

__all__ = [
    "AnyRouter", "Clamp", "Cosine", "Dispatch", "ExpertChoice", "Experts", "Groups", "Hash", "OwnRouter", "Residual", "Router",
    "RouterShapes", "Shared", "Sinkhorn", "TopK", "given_to", "takes",
]  # fmt: skip

Coefficient = float | tuple[float, ...]  # of a loss, or one for each layer
# (tokens [G, S, M], parameters, configuration) and by name what it has parameters for, `bias` and `key`, to
# (experts [G, S, k], weights [G, S, k]), to these and logits [G, S, E], or to a `Routing`.
Router = Callable[..., Any]
# (configuration, model size M) to {name: shape} of the parameters that it has beside the experts'.
RouterShapes = Callable[[Any, int], Mapping[str, tuple[int, ...]]]


@dataclass(frozen=True)
class Clamp(Part):
    """gpt-oss's gate: parts are clamped, the slope is another, and hidden units are times x wi + 1."""

    limit: float = 7.0
    alpha: float = 1.702


@dataclass(frozen=True)
class Experts(Part):
    """number E of them, of `hidden` units: act(x wi) wo, or (act(x wg) * (x wi)) wo where they are `gated`
    (arXiv 2002.05202). bias: "bi", "bo" and, with a gate, "bg"."""

    number: int
    hidden: int
    act: str = "gelu"
    gated: bool = False
    clamp: Clamp | None = None
    bias: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse(self.clamp is not None and not self.gated, "gated", "the clamp is of a gate")
        self.refuse(self.clamp is not None and self.act != "silu", "act", "the clamp is SwiGLU's")


@dataclass(frozen=True)
class Shared(Part):
    """A network of all tokens, of `hidden` units; gated: times a sigmoid of the token (Qwen2-MoE)."""

    hidden: int
    gated: bool = False


@dataclass(frozen=True)
class Residual(Part):
    """One more expert of all tokens, weighed by a softmax over both (PR-MoE, arXiv 2201.05596)."""


@dataclass(frozen=True)
class Groups(Part):
    """Experts are chosen in the `chosen` best of `number` groups of neighbours; a group's score is the sum of its
    `best_of` best, by itself k // chosen."""

    number: int
    chosen: int
    best_of: int | None = None

    def best(self, k: int) -> int:
        """How many experts a group's score is of."""
        return self.best_of or k // self.chosen

    def check(self, experts: int, k: int) -> None:
        """TraceError where there are no such groups of so many experts."""
        size, best = experts // self.number, self.best(k)
        self.refuse(experts % self.number, "number", f"groups of {experts} experts are of one size")
        self.refuse(self.chosen > self.number, "chosen", f"more than the {self.number} groups that there are")
        self.refuse(k > self.chosen * size, "chosen", f"{k} choices, and these have {self.chosen * size} experts")
        self.refuse(not 1 <= best <= size, "best_of", f"a group's score is the sum of {best} of its {size} experts")


@dataclass(frozen=True)
class AnyRouter(Part):
    """A token goes to k experts.

    dtype: of logits, scores and weights, "fp32" or "fp64"; "model": logits in the tokens' type.
    """

    k: int = 2
    dtype: str = field(default="fp32", kw_only=True)

    bias = False  # what routers may have: those that do have fields of these names
    losses = {}
    z_loss = jitter = bias_rate = groups = sampling = None
    gate_noise = 0.0
    forced = False

    def check(self, experts: int) -> None:
        """TraceError where the router has no meaning for so many experts."""
        self.refuse(self.k > experts, "k", f"a token chooses each of {experts} experts once")

    def coefficient(self, name: str) -> Any:
        """Of a loss, "z_loss" too; None where there is none."""
        return self.z_loss if name == "z_loss" else self.losses.get(name)


@dataclass(frozen=True, kw_only=True)
class _OfLogits(AnyRouter):
    """Logits are the tokens, times U[1 - jitter, 1 + jitter] in training, times "router" [M, E].

    forced: they are random, for benchmarks, and have the gradient of the real ones (Megatron-Core).
    z_loss: the coefficient of the mean of logsumexp(logits)^2.
    """

    jitter: float | None = None
    forced: bool = False
    z_loss: Coefficient | None = None


@dataclass(frozen=True, kw_only=True)
class _Best(_OfLogits):
    """What `TopK` and `Cosine` have."""

    scores: str = "softmax_of_chosen"
    normalize: bool | None = None
    scaling: float | None = None
    bias_rate: float | None = None
    groups: Groups | None = None
    losses: Mapping[str, Coefficient] = field(default_factory=dict, hash=False)
    gate_noise: float = 0.0
    sampling: str | None = None

    def check(self, experts: int) -> None:
        """Also for its choices, losses and groups."""
        super().check(experts)
        k, loaded = self.k, "importance" in self.losses
        least, most = {"first": (1, 1), "second": (2, 2), "later": (2, k)}.get(self.sampling or "", (k, k))
        self.refuse(not least <= k <= max(least, most), "sampling", f"not of k={k} choices")
        self.refuse(self.is_late and self.normalize is False, "normalize", "the softmax of those chosen is of sum 1")
        self.refuse(self.is_late and k == 1 and not self.normalize, "scores", _NO_GRADIENT)
        self.refuse(loaded and not self.gate_noise > 0, "gate_noise", 'the load of "importance" is of noise')
        self.refuse(loaded and experts < 2, "losses", "one expert has no variance")
        if self.groups is not None:
            self.groups.check(experts, k)

    @property
    def is_late(self) -> bool:
        """Whether the softmax is over those chosen; a sampled choice is of scores of all."""
        return self.scores == "softmax_of_chosen" and self.sampling not in ("first", "second")

    @property
    def function(self) -> str:
        """The name of the scores' function."""
        return "softmax" if self.scores == "softmax_of_chosen" else self.scores

    @property
    def normalizes(self) -> bool:
        """Whether the chosen scores are divided by their sum."""
        return self.normalize if self.normalize is not None else self.function != "softmax" and self.k > 1


_NO_GRADIENT = "the softmax of one choice is 1, and no gradient reaches the router; normalize=True asks for that"


@dataclass(frozen=True, kw_only=True)
class TopK(_Best):
    """The k best experts of each token.

    scores: softmax over the experts that were chosen, by logits, or over all, or sigmoids, or roots of softplus.
    normalize: weights are divided by their sum; None: where scores are no softmax and k > 1. scaling: their factor.
    bias_rate: choices are made with a bias of each expert, which moves by this much a step (arXiv 2408.15664).
    groups: limits the choice. losses: {name: coefficient} of the balance.
    gate_noise: times n / E of normal n is added to the logits (Tutel).
    sampling, in training: the "first" choice is one of softmax(logits), of k = 1; so is the "second", of k = 2
      (DeepSpeed); or "later" choices than the first stay as often as twice their weight says (GShard).
    bias: "router_bias" [E] is added to the logits.
    """

    bias: bool = False


@dataclass(frozen=True, kw_only=True)
class Cosine(_Best):
    """Logits are cosines of projected tokens and experts, by a learnt scale (Tutel); else as `TopK`."""


@dataclass(frozen=True, kw_only=True)
class Sinkhorn(_OfLogits):
    """Chosen by a matrix that is balanced in training, weighed by the plain activation (Megatron-Core)."""

    bias: bool = False


@dataclass(frozen=True, kw_only=True)
class ExpertChoice(_OfLogits):
    """Each expert takes its best tokens, as many as it has room for (arXiv 2202.09368); k is of the room's rule alone."""

    room: Room = Room()
    bias: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse(self.room.factor < 0, "room", "each expert takes f k S / E tokens")


@dataclass(frozen=True, kw_only=True)
class Hash(AnyRouter):
    """Experts by the token's number alone (arXiv 2106.04426); choices are E // k apart."""


def takes(router: Router | None, name: str) -> bool:
    """Whether the function has a parameter of this name."""
    return router is not None and name in _parameters(router)


def given_to(router: Router, **values: Any) -> dict[str, Any]:
    """Of the values those that the function has parameters for."""
    known = _parameters(router)
    return {name: value for name, value in values.items() if name in known}


def _parameters(router: Router) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(router).parameters
    except (TypeError, ValueError):
        raise TraceError(f"OwnRouter: function={router!r} is not a function whose parameters are known") from None


@dataclass(frozen=True)
class OwnRouter(Part):
    """function(tokens, params, config), see `shoal.moe.route`, in the place of a router's choice; shapes(config, M): of its
    parameters, None those of the router. It draws for itself, by its parameter `key`."""

    function: Router
    shapes: RouterShapes | None = None

    def check(self, router: AnyRouter) -> None:
        """TraceError for a router of which the function would not read what it says."""
        drawn = [name for name in ("jitter", "forced", "gate_noise", "sampling") if getattr(router, name)]
        self.refuse(not isinstance(router, TopK), "function", f"it is in the place of TopK, not of {type(router).__name__}")
        self.refuse(drawn, "function", f"it draws for itself, by its key, and reads no {', '.join(drawn)}")
        has_none = router.bias_rate is not None and not takes(self.function, "bias")
        self.refuse(has_none, "function", "it has no parameter bias, which bias_rate is of")


@dataclass(frozen=True)
class Dispatch(Part):
    """How rows get to experts: by GShard's masks, "einsum"; in order of experts, "sort"; all tokens to all devices,
    "allgather"; to the devices of their experts, "alltoall", or first once to each node that has one of them, "flex", where
    the layout has nodes; "auto" is what sends least.

    before: the weights of choices are multiplied in before the experts, not behind. rank_factor: rows that a device has
    room for, in multiples of the mean of all devices' choices, where rows are exchanged; None: for all that could come.
    chunks: experts' buffers travel, and are multiplied, in so many parts of their rows, so that one part's exchange runs
    beside another's products (Tutel's adaptive pipelining, arXiv 2206.03382, section 3.3).
    """

    how: str = "auto"
    before: bool = False
    rank_factor: float | None = None
    chunks: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        is_exchanged = self.how in ("auto", "alltoall", "flex")
        self.refuse(self.rank_factor is not None and not is_exchanged, "how", "only exchanged rows have a buffer of a device")
