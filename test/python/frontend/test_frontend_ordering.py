# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Orders along a dimension, by the frontend and by NumPy."""

import numpy as np

from frontend_testing import assert_cases, assert_same, evaluate, shoal

RNG = np.random.default_rng(7)
X = RNG.standard_normal((3, 4, 5)).astype(np.float32)
I = RNG.integers(-50, 50, (3, 4), np.int32)
U = RNG.integers(0, 2**32, (3, 4), np.uint32)

ORDERS = {
    "argmax": lambda m, x, i, u: x.argmax(1),
    "argmin": lambda m, x, i, u: m.argmin(x, 2),
    "argmax_of_all": lambda m, x, i, u: x.argmax(),
    "unsigned_argmax": lambda m, x, i, u: u.argmax(1),
    "sort": lambda m, x, i, u: m.sort(x, 1),
    "sort_last": lambda m, x, i, u: m.sort(i),
    "unsigned_sort": lambda m, x, i, u: m.sort(u),
    "argsort": lambda m, x, i, u: m.argsort(x, 2),
    "unsigned_argsort": lambda m, x, i, u: m.argsort(u, 0),
}


def test_orders(tmp_path):
    assert_cases(tmp_path, ORDERS, X, I, U)


def test_orders_of_unsigned_integers(tmp_path):
    def run(u):
        return {
            "descending": shoal.sort(u, descending=True),
            "top": shoal.top_k(u, 2),
            "by": shoal.sort_by([u % 2, u], 1, num_keys=2)[1],
        }

    actual = evaluate(tmp_path, run, U)
    order = np.argsort(U, 1)[:, ::-1]
    descending = np.take_along_axis(U, order, 1)
    assert_same("descending", actual["descending"], descending)
    assert_same("top", actual["top"][0], descending[:, :2])
    assert_same("places", actual["top"][1], order[:, :2], np.int32)
    by = np.stack([row[np.lexsort((row, row % 2))] for row in U])
    assert_same("by", actual["by"], by)
