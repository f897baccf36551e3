# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The products of an MoE layer's experts and nothing else, on all ranks: the ceiling of
sparse_layer.py.

`mpirun -n N python experts_alone.py --experts E --rows R --model M --hidden H` prints the least
seconds of a step, in which each rank multiplies [R, M] x [M, H] and [R, H] x [H, M] for each of
its E / N experts, whose arrays are their own; with --gradients the four products of the
backward pass as well. A step begins with a barrier and takes as long as its slowest rank, as
a layer's does: what else the machine does meanwhile delays both alike. It is taken by NumPy's
BLAS and by oneDNN, where that is installed; the faster counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from plain_products import Product, one_dnn

# What is multiplied, and where the result goes.
Operands = tuple[np.ndarray, np.ndarray, np.ndarray]


def products(rows: int, model: int, hidden: int, gradients: bool) -> Iterator[Operands]:
    """Of one expert."""

    def ones(*shape: int) -> np.ndarray:
        return np.ones(shape, np.float32)

    x, wi, h = ones(rows, model), ones(model, hidden), ones(rows, hidden)
    wo, y = ones(hidden, model), ones(rows, model)
    yield x, wi, h
    yield h, wo, y
    if gradients:
        dy, dh = ones(rows, model), ones(rows, hidden)
        yield h.T, dy, ones(hidden, model)
        yield dy, wo.T, dh
        yield x.T, dh, ones(model, hidden)
        yield dh, wi.T, ones(rows, model)


def least_step(ways: Sequence[Product], work: Sequence[Operands], repeat: int) -> float:
    """On the rank that takes longest, of so many steps by each way."""
    from mpi4py import MPI

    def step(multiply: Callable[..., object]) -> float:
        MPI.COMM_WORLD.Barrier()
        begin = time.perf_counter()
        for operands in work:
            multiply(*operands)
        return MPI.COMM_WORLD.allreduce(time.perf_counter() - begin, MPI.MAX)

    for multiply in ways:
        step(multiply)
    return min(step(multiply) for _ in range(repeat) for multiply in ways)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("experts", "rows", "model", "hidden"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--gradients", action="store_true")
    parser.add_argument("--threads", type=int, default=1,
                        help="of oneDNN; of BLAS, whatever its variable says (default: 1)")
    parser.add_argument("--repeat", type=int, default=3, help="steps by each library")
    args = parser.parse_args()

    from mpi4py import MPI

    sizes = args.rows, args.model, args.hidden, args.gradients
    mine = -(-args.experts // MPI.COMM_WORLD.size)
    work = [operands for _ in range(mine) for operands in products(*sizes)]
    ways: list[Product] = [lambda a, b, c: np.matmul(a, b, out=c)]
    if other := one_dnn(args.threads):
        ways.append(other)
    least = least_step(ways, work, args.repeat)
    if MPI.COMM_WORLD.rank == 0:
        print(least)


if __name__ == "__main__":
    main()
