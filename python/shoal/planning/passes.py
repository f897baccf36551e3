# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How often a layer's kernels pass memory between products, and what of it is saved, at least: counted in programs as they
are, by how rows reach experts.

"alltoall": rows are exchanged; "sort": all experts are on the device; "allgather": tokens are gathered, and the rows of all of
them sorted; "slots": experts have a capacity, and rows places; "capacity": the same by other dispatchers; "dense": no
experts. Letters are those of `shoal.planning.bounds`.
"""

from __future__ import annotations

from dataclasses import dataclass

from shoal.planning.mapping import RECOMPUTED

__all__ = ["KERNELS", "Kernels", "PLAIN", "SAVED_H", "SAVED_H_AGAIN", "SAVED_R"]


@dataclass(frozen=True)
class Kernels:
    """How many kernels a layer has between products, forward and back, at least, and how often they pass X and what of X is
    gathered over tp, queries and keys, R and H.

    X: norms, sums of what a layer adds, the router. R: taken in the order of experts, brought home, widened, weighed and
    summed, and all of that back. H: forward what activations are given and make, back the same with its cotangents.
    """

    count: int
    own: float
    gathered: float
    heads: float
    rows: float
    hidden: float


# As programs are now, by how rows reach experts and what is computed again.
KERNELS = {
    ("alltoall", "none"): Kernels(95, 42, 5, 8, 36, 10),
    ("alltoall", "selective"): Kernels(115, 46, 5, 10, 36, 13),
    ("alltoall", "full"): Kernels(145, 58, 5, 11, 36, 12),
    ("sort", "none"): Kernels(75, 30, 5, 8, 33, 10),
    ("sort", "selective"): Kernels(85, 32, 5, 10, 33, 13),
    ("sort", "full"): Kernels(100, 42, 5, 11, 33, 12),
    ("slots", "none"): Kernels(75, 36, 0, 8, 30, 10),
    ("slots", "selective"): Kernels(100, 38, 0, 10, 30, 13),
    ("slots", "full"): Kernels(100, 44, 0, 11, 31, 13),
    ("capacity", "none"): Kernels(20, 20, 0, 4, 3, 10),
    ("capacity", "selective"): Kernels(20, 20, 0, 4, 3, 10),
    ("capacity", "full"): Kernels(25, 25, 0, 6, 5, 13),
    ("dense", "none"): Kernels(55, 36, 5, 8, 0, 10),
    ("dense", "selective"): Kernels(70, 40, 5, 10, 0, 12),
    ("dense", "full"): Kernels(80, 50, 5, 10, 0, 12),
}
# Devices that gather tokens sort the rows of all of them.
KERNELS |= {("allgather", again): KERNELS["sort", again] for again in RECOMPUTED}
# Of activations that are not gated.
PLAIN = 0.4
# How many of H and R the backward pass finds at least: of H what activations are given and make, of R what experts are
# given and make, and where rows were exchanged what they are weighed as.
SAVED_H, SAVED_H_AGAIN = {True: 3, False: 2}, {True: 2, False: 1}
SAVED_R = {"alltoall": 2, "sort": 2, "allgather": 1, "slots": 1, "capacity": 1}
