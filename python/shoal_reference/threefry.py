# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counter-based random numbers: threefry-2x32 and Shoal's use of it.

Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC'11).
"""

import numpy as np

_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
_PARITY = np.uint32(0x1BD11BDA)
_SIGNIFICAND_BITS = {"f16": 11, "bf16": 8, "f32": 24}


def _rotate_left(x, bits):
    return (x << np.uint32(bits)) | (x >> np.uint32(32 - bits))


def threefry2x32(key, counter, rounds=20):
    """Two words for each counter.

    key: two 32-bit words; counter: two words, scalars or arrays of one shape.
    """
    words = [np.uint32(w) for w in key]
    schedule = (words[0], words[1], words[0] ^ words[1] ^ _PARITY)
    x0, x1 = (np.array(word, dtype=np.uint32, ndmin=1) for word in counter)
    x0 = x0 + schedule[0]
    x1 = x1 + schedule[1]
    for round_number in range(rounds):
        x0 = x0 + x1
        x1 = _rotate_left(x1, _ROTATIONS[round_number % 8]) ^ x0
        if round_number % 4 == 3:
            injection = round_number // 4 + 1
            x0 = x0 + schedule[injection % 3]
            x1 = x1 + schedule[(injection + 1) % 3] + np.uint32(injection)
    return x0, x1


def _words(key, shape):
    """The two words of each element: the counter is the row-major index."""
    index = np.arange(np.prod(shape, dtype=np.int64), dtype=np.uint64)
    counter = ((index >> np.uint64(32)).astype(np.uint32), index.astype(np.uint32))
    x0, x1 = threefry2x32(key, counter)
    return x0.reshape(shape), x1.reshape(shape)


def uniform(key, shape, element_type="f32"):
    """Uniform numbers in [0, 1), as float64 arrays that the type holds exactly."""
    x0, x1 = _words(key, shape)
    if element_type == "f64":
        joined = (x0.astype(np.uint64) << np.uint64(32)) | x1.astype(np.uint64)
        return (joined >> np.uint64(11)).astype(np.float64) * 2.0**-53
    bits = _SIGNIFICAND_BITS[element_type]
    return (x0 >> np.uint32(32 - bits)).astype(np.float64) * 2.0**-bits


def normal(key, shape, element_type="f32"):
    """Standard normal numbers by Box and Muller, in float64 before rounding."""
    x0, x1 = (word.astype(np.float64) for word in _words(key, shape))
    if element_type == "f64":
        u0, u1 = x0 * 2.0**-32, x1 * 2.0**-32
    else:
        u0, u1 = (np.floor(x / 256.0) * 2.0**-24 for x in (x0, x1))
    return np.sqrt(-2.0 * np.log(1.0 - u0)) * np.cos(2.0 * np.pi * u1)
