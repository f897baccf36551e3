#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What could be gained by starting collectives early on a CPU: MPI's non-blocking ones around a
product, beside the same one after the other.

Usage: mpirun -n N python overlap_ceiling.py [--mib 0.25 1 4 16] [--pieces P] [--repeat N]

Rank 0 prints the least time of the product, of the collective (the blocking call, or a start and a wait:
they may be other algorithms), of both in turn, and of the product between the start and the wait: as one
call, and in P pieces with a test of the request behind each, as a library without a thread of its own
moves data in its calls alone. "hidden" is the share of the collective's time that was not seen.
"""

import argparse
import os
import time

os.environ |= {"OPENBLAS_NUM_THREADS": "1"}

import numpy as np  # noqa: E402
from mpi4py import MPI  # noqa: E402

WORLD = MPI.COMM_WORLD


def collectives(size):
    """(blocking, non-blocking) of buffers of a MiB count; MPI's buffers are made once."""
    count = int(size * 2**18) // WORLD.size * WORLD.size
    source, target = np.ones(count, np.float32), np.empty(count, np.float32)
    return {
        "all_reduce": (
            lambda: WORLD.Allreduce(source, target),
            lambda: WORLD.Iallreduce(source, target),
        ),
        "all_to_all": (
            lambda: WORLD.Alltoall(source, target),
            lambda: WORLD.Ialltoall(source, target),
        ),
    }


class Product:
    """Takes about as long as a collective does, as rows of a left operand."""

    def __init__(self, seconds, pieces):
        self.right = np.ones((512, 512), np.float32)
        tile = np.ones((16 * pieces, 512), np.float32)
        rate = least(lambda: tile @ self.right, 5) / len(tile)
        self.left = np.ones((max(pieces, int(seconds / rate) // pieces * pieces), 512), np.float32)
        self.out = np.empty_like(self.left)
        self.rows = len(self.left) // pieces

    def whole(self):
        np.matmul(self.left, self.right, out=self.out)

    def parts(self):
        for begin in range(0, len(self.left), self.rows):
            rows = slice(begin, begin + self.rows)
            np.matmul(self.left[rows], self.right, out=self.out[rows])
            yield


def least(function, repeat):
    found = []
    for _ in range(repeat):
        WORLD.Barrier()
        begin = time.perf_counter()
        function()
        found.append(WORLD.allreduce(time.perf_counter() - begin, MPI.MAX))
    return min(found)


def measure(blocking, starting, options):
    seconds = least(blocking, options.repeat)
    product = Product(WORLD.bcast(seconds), options.pieces)

    def started():
        starting().Wait()

    collective = min((blocking, started), key=lambda way: least(way, options.repeat))

    def in_turn():
        product.whole()
        collective()

    def around():
        request = starting()
        product.whole()
        request.Wait()

    def tested():
        request = starting()
        for _ in product.parts():
            request.Test()
        request.Wait()

    ways = {
        "product": product.whole,
        "collective": collective,
        "in turn": in_turn,
        "around": around,
        "tested": tested,
    }
    rounds = [{name: least(way, options.repeat) for name, way in ways.items()} for _ in range(3)]
    return {name: min(each[name] for each in rounds) for name in ways}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=float, nargs="+", default=[0.25, 1, 4, 16])
    parser.add_argument("--pieces", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=10)
    options = parser.parse_args()
    if WORLD.rank == 0:
        print(f"{WORLD.size} ranks, {len(os.sched_getaffinity(0))} cores; milliseconds")
        print(f"{'':18} {'product':>8} {'alone':>8} {'in turn':>8} {'around':>8} {'tested':>8}   hidden")
    for size in options.mib:
        for name, (blocking, starting) in collectives(size).items():
            found = measure(blocking, starting, options)
            if WORLD.rank == 0:
                best = min(found["around"], found["tested"])
                hidden = (found["in turn"] - best) / found["collective"]
                figures = " ".join(f"{1e3 * seconds:8.2f}" for seconds in found.values())
                print(f"{name:10} {size:4g} MiB {figures}   {hidden:6.2f}", flush=True)


main()
