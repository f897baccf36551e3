# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many rows an expert's buffer has, by four libraries' rules as they compute, and which choices these are for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shoal.moe.laws import Part

__all__ = ["Capacity", "Room"]


@dataclass(frozen=True)
class Room(Part):
    """Rows of an expert: a factor of a fair share, by the "megatron", "gshard", "deepspeed" or "tutel" rule.

    factor: below 0 it is Tutel's bound on as many as are needed. least: of GShard's rule and DeepSpeed's. alignment:
    of Tutel's, a divisor of the rows.
    """

    factor: float = 1.0
    rule: str = "megatron"
    least: int = 1
    alignment: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        is_tutels = self.rule == "tutel"
        self.refuse(self.factor == 0, "factor", "to drop nothing is to have no capacity")
        self.refuse(self.factor < 0 and not is_tutels, "factor", "Tutel's rule alone has one below 0")
        self.refuse(self.alignment > 1 and not is_tutels, "alignment", "Tutel's rule alone has it")
        self.refuse(self.least > 1 and self.rule in ("megatron", "tutel"), "least", f'the rule "{self.rule}" has no minimum')

    def rows(self, tokens: int, experts: int, k: int) -> int:
        """C of a group, at most all of its tokens."""
        rows = max(self.least, RULES[self.rule](tokens, experts, k, self.factor))
        return min(-(-rows // self.alignment) * self.alignment, tokens)


@dataclass(frozen=True)
class Capacity(Room):
    """Choices beyond an expert's rows are dropped.

    drops: those of the smallest weights stay behind, "probs"; or "random" ones, by the key of training; or later ones,
      by "position": all first choices come before all second ones, or token comes by token, "position of token".
    prioritized: tokens with larger scores have earlier positions (arXiv 2106.05974).
    renormalize: weights of what stays are divided by their sum. padded: all rows are sent, filled or not.
    """

    drops: str = "probs"
    prioritized: bool = False
    renormalize: bool = False
    padded: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse(self.prioritized and "position" not in self.drops, "drops", "prioritized orders positions")


# Of S tokens of a group, E experts, k choices and the factor.
RULES: dict[str, Callable[[int, int, int, float], int]] = {
    "gshard": lambda tokens, experts, k, factor: math.ceil(factor * k * tokens / experts),
    # In float32, as DeepSpeed's tensors are.
    "deepspeed": lambda tokens, experts, k, factor: math.ceil(np.float32(tokens / experts) * np.float32(factor * k)),
    "megatron": lambda tokens, experts, k, factor: math.ceil(tokens * k / experts * factor),
    "tutel": lambda tokens, experts, k, factor: k * int(abs(factor) * -(-tokens // experts)),
}
