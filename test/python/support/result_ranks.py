#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random results on the devices of this process, read back: `result_ranks.py DEVICES RESULTS [SEED]`.

Programs of one or several results, of any types, splits, and sizes from an element to 8 MiB. Devices are the ranks
of a job, a pool, or one of several nodes, as the process is started.
"""

import math
import random
import sys

import ml_dtypes
import numpy as np

import shoal
from shoal import P

TYPES = ["float32", "float64", "float16", "int8", "uint8", "int32", "int64", "bool", ml_dtypes.bfloat16]
MOST = 8 << 20


def mesh_of(devices):
    return shoal.Mesh(a=2, b=devices // 2)


def draw_result(rng, devices, is_large):
    """(shape, type, sharding)."""
    dtype = np.dtype(rng.choice(TYPES))
    rank = rng.randint(1, 3)
    splits = [None, "a", "b", ("a", "b")]
    dims, free = [], {"a", "b"}
    for _ in range(rank):
        split = rng.choice([s for s in splits if s is None or set(s) <= free])
        free -= set(split or ())
        dims.append(split)
    shape = [rng.choice([1, 2, 3, 5, 8, 16]) * (devices if rng.random() < 0.8 else 1) for _ in range(rank)]
    if is_large:
        others = math.prod(shape[1:]) * dtype.itemsize
        shape[0] = max(MOST // others // rng.randint(1, 8) // devices, 1) * devices
    return tuple(shape), dtype, P(*dims)


def draw_program(rng, devices):
    """Of one result as often as of several, of which no more than two are large."""
    count = 1 if rng.random() < 0.5 else rng.randint(2, 6)
    return [draw_result(rng, devices, number < 2 and rng.random() < 0.2) for number in range(count)]


def values(rng, shape, dtype):
    if dtype == bool:
        return rng.random(shape) < 0.5
    return rng.integers(0, 100, shape).astype(dtype)


def doubled(*arrays):
    return tuple(~x if x.dtype == "bool" else x + x for x in arrays)


def check_program(number, results, devices):
    rng = np.random.default_rng(number)
    arrays = [values(rng, shape, dtype) for shape, dtype, _ in results]
    places = tuple(place for *_, place in results)
    function = shoal.jit(doubled, mesh=mesh_of(devices), out_shardings=places)
    for made, array, (shape, dtype, place) in zip(function(*arrays), arrays, results):
        expected = ~array if dtype == bool else array + array
        what = f"program {number}: {dtype}{list(shape)} {place} of {len(results)} results"
        assert made.dtype == dtype and made.shape == shape, what
        for _ in range(2):
            np.testing.assert_array_equal(np.asarray(made), expected, err_msg=what)
        for shard in made.shards:
            np.testing.assert_array_equal(shard.data, expected[shard.slices], err_msg=what)


# What lies in the memory of a pool as it stands, and in that of a rank in part.
BY_ROWS = [((16, 256), np.dtype(np.float32), P(("a", "b")))]


def main(devices, results, seed=0):
    rng = random.Random(seed)
    done = number = 0
    while done < results:
        program = draw_program(rng, devices) if number else BY_ROWS
        check_program(number, program, devices)
        number += 1
        done += len(program)
    print(f"{done} results of {number} programs: passed", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
