# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes and places of elements, and tensors made of nothing, against NumPy."""

import numpy as np

from frontend_testing import assert_cases

RNG = np.random.default_rng(7)
X = RNG.standard_normal((3, 4, 5)).astype(np.float32)
I = RNG.integers(-50, 50, (3, 4), np.int32)

SHAPES = {
    "reshape": lambda m, x, i: x.reshape(4, -1),
    "reshape_to_tuple": lambda m, x, i: m.reshape(x, (5, 12)),
    "T": lambda m, x, i: x.T,
    "transpose": lambda m, x, i: x.transpose(1, 2, 0),
    "swapaxes": lambda m, x, i: x.swapaxes(0, -1),
    "moveaxis": lambda m, x, i: m.moveaxis(x, 2, 0),
    "ravel": lambda m, x, i: x.ravel(),
    "expand_dims": lambda m, x, i: m.expand_dims(x, (0, 2)),
    "squeeze": lambda m, x, i: m.squeeze(x.reshape(1, 3, 1, 20)),
    "squeeze_axis": lambda m, x, i: x.reshape(1, 60, 1).squeeze(0),
    "broadcast_to": lambda m, x, i: m.broadcast_to(x[:, :1], (2, 3, 4, 5)),
    "concatenate": lambda m, x, i: m.concatenate([x, x[:1], i[:2, :, None] + x[:2]]),
    "stack": lambda m, x, i: m.stack([i, i + 1], 1),
    "pad": lambda m, x, i: m.pad(i, [(1, 0), (0, 2)]),
    "flip": lambda m, x, i: m.flip(x, (0, 2)),
    "flip_all": lambda m, x, i: m.flip(i),
    "roll": lambda m, x, i: m.roll(x, -2, 1),
    "repeat": lambda m, x, i: m.repeat(i, 2, 1),
    "tile": lambda m, x, i: m.tile(i, (2, 1, 3)),
    "zeros_like": lambda m, x, i: m.zeros_like(x) + m.ones_like(i)[:, :, None],
    "arange": lambda m, x, i: m.arange(5) + m.arange(2, 12, 2),
    "arange_down": lambda m, x, i: m.arange(5, -1, -2),
    "eye": lambda m, x, i: m.eye(3, 4) * i,
    "tril": lambda m, x, i: m.tril(i, -1),
    "triu": lambda m, x, i: m.triu(i, 1),
    "full": lambda m, x, i: m.full((2, 3), 7) + m.full((), 1.5),
}


def test_shapes(tmp_path):
    assert_cases(tmp_path, SHAPES, X, I)
