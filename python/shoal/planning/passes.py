# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How often a layer's kernels pass memory between products, and what of it is saved, at least: counted in programs as they
are.

By how rows reach experts: "alltoall", they are exchanged; "flex", once to a node; "sort", all experts are on the device;
"capacity", experts have places; "dense", there are none. Letters are those of `shoal.planning.bounds`.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    ("flex", "none"): Kernels(150, 42, 5, 8, 34, 10),
    ("flex", "selective"): Kernels(250, 46, 5, 10, 35, 13),
    ("flex", "full"): Kernels(280, 58, 5, 11, 36, 12),
    ("sort", "none"): Kernels(75, 30, 5, 8, 33, 10),
    ("sort", "selective"): Kernels(85, 32, 5, 10, 33, 13),
    ("sort", "full"): Kernels(100, 42, 5, 11, 33, 12),
    ("capacity", "none"): Kernels(20, 20, 0, 4, 3, 10),
    ("capacity", "selective"): Kernels(20, 20, 0, 4, 3, 10),
    ("capacity", "full"): Kernels(25, 25, 0, 6, 5, 13),
    ("dense", "none"): Kernels(55, 36, 5, 8, 0, 10),
    ("dense", "selective"): Kernels(70, 40, 5, 10, 0, 12),
    ("dense", "full"): Kernels(80, 50, 5, 10, 0, 12),
}
# Of activations that are not gated.
PLAIN = 0.4
# How many of H and R the backward pass finds at least: of H what activations are given and make, of R what experts are
# given and make, and where rows were exchanged what they are weighed as.
SAVED_H, SAVED_H_AGAIN = {True: 3, False: 2}, {True: 2, False: 1}
SAVED_R = {"alltoall": 2, "sort": 2, "capacity": 1}
