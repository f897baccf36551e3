# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tutel's adaptive parallelism: which degree r sends least (arXiv 2206.03382, section 3)."""

from __future__ import annotations

from typing import NamedTuple

from shoal.errors import TraceError

__all__ = ["Work", "best_degree", "bytes_of_degree", "degrees"]


class Work(NamedTuple):
    """What a layer moves: bytes of a device's rows for experts, R = k f n M b, and of all
    experts' parameters."""

    rows: float
    parameters: float


def degrees(experts: int, devices: int) -> list[int]:
    """The r that there are: 0 and the divisors of s = W / E."""
    if experts < 1 or devices % experts:
        raise TraceError(f"degrees: {experts} experts do not divide {devices} devices")
    shards = devices // experts
    return [0, *(r for r in range(1, shards + 1) if shards % r == 0)]


def bytes_of_degree(work: Work, experts: int, devices: int, r: int) -> tuple[float, float]:
    """(tokens, parameters): bytes that a device sends forward with degree r."""
    if r == 0:
        return 0.0, work.parameters * (devices - 1) / devices
    shards = devices // experts
    tokens = 2 * work.rows * ((experts - 1) / experts + r - 1)
    return tokens, work.parameters / (experts * r) * (1 - r / shards)


def best_degree(work: Work, experts: int, devices: int) -> int:
    """The r of the least bytes; of equal ones the largest, which gathers the fewest parameters."""
    costs = {r: sum(bytes_of_degree(work, experts, devices, r)) for r in degrees(experts, devices)}
    return min(costs, key=lambda r: (costs[r], -r))
