# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""In how many of several places, which share the experts in order, a token has any of its own, on average."""

from __future__ import annotations

import math

from shoal.moe.config import MoeConfig

__all__ = ["expected_places", "mean_places"]


def mean_places(config: MoeConfig, k: int, places: int, of_place: int) -> float:
    """Of k choices that this router draws evenly, in places with so many experts each."""
    experts = config.experts.number
    groups = config.router.groups if config.own is None else None
    number, chosen = (groups.number, groups.chosen) if groups else (1, 1)
    if experts != places * of_place or (number % places and places % number):
        # Places cut groups of experts, or have different numbers of these.
        return places * (1 - (1 - 1 / places) ** k)
    return expected_places(experts, places, k, number, chosen)


def expected_places(experts: int, places: int, k: int, groups: int, chosen: int) -> float:
    """The mean, of k different experts in `chosen` of so many groups, all equally likely."""
    size = experts // groups
    each, of_place = max(1, groups // places), experts // places
    hit = 0.0
    for count in range(1, min(each, chosen) + 1):
        # So many of a place's groups are chosen, and then one of its experts.
        ways = math.comb(each, count) * math.comb(groups - each, chosen - count)
        own = min(of_place, count * size)
        missed = math.comb(chosen * size - own, k) / math.comb(chosen * size, k)
        hit += ways / math.comb(groups, chosen) * (1 - missed)
    return places * hit
