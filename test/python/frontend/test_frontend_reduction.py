# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions of the frontend, also running ones, against NumPy."""

import numpy as np
import pytest

from frontend_testing import assert_cases, assert_same, evaluate, shoal

RNG = np.random.default_rng(7)
X = RNG.standard_normal((3, 4, 5)).astype(np.float32)
I = RNG.integers(-50, 50, (3, 4), np.int32)
U = RNG.integers(0, 2**32, (3, 4), np.uint32)
B = np.array([[True, False, True], [False, False, False]])
AXES = (None, 0, -1, (0, 2))

REDUCTIONS = {
    f"{name} {axis} {keep}": lambda m, x, i, u, b, name=name, axis=axis, keep=keep: getattr(
        m, name
    )(x, axis=axis, keepdims=keep)
    for name in ("sum", "prod", "max", "min", "mean", "var", "std")
    for axis in AXES
    for keep in (False, True)
} | {
    "methods": lambda m, x, i, u, b: x.sum(1) + x.max(1) + x.min(axis=1) + x.mean(1) + x.prod(1),
    "integers": lambda m, x, i, u, b: i.sum() + i.max(0) + i.min(0),
    "small_integers": lambda m, x, i, u, b: i.astype(np.int8).sum(1),
    "unsigned_max": lambda m, x, i, u, b: u.max(0),
    "unsigned_min": lambda m, x, i, u, b: u.min(),
    "count": lambda m, x, i, u, b: b.sum(1),
    "any": lambda m, x, i, u, b: b.any(1),
    "all": lambda m, x, i, u, b: m.all(b[:, ::2], axis=1),
    "any_number": lambda m, x, i, u, b: m.any(i, axis=0),
    "max_of_bools": lambda m, x, i, u, b: b.max(1) & ~b.min(1),
    "cumsum": lambda m, x, i, u, b: x.cumsum(1),
    "cumsum_of_bools": lambda m, x, i, u, b: m.cumsum(b, 1),
    "cumprod": lambda m, x, i, u, b: m.cumprod(x, 2),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_reductions(tmp_path):
    assert_cases(tmp_path, REDUCTIONS, X, I, U, B, tolerance=1e-5)


def test_running_extrema_of_unsigned_integers(tmp_path):
    def run(x, u):
        return {
            "max": shoal.cummax(u, 1),
            "min": shoal.cummin(u, 1, reverse=True),
            "exclusive": shoal.cumsum(x, 2, exclusive=True),
        }

    actual = evaluate(tmp_path, run, X, U)
    assert_same("max", actual["max"], np.maximum.accumulate(U, 1))
    assert_same("min", actual["min"], np.minimum.accumulate(U[:, ::-1], 1)[:, ::-1])
    assert_same("exclusive", actual["exclusive"], np.cumsum(X, 2) - X, np.float32, 1e-5)
