# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of a program that are written for one device, and their collectives."""

import numpy as np
import pytest

from frontend_testing import assert_same, evaluate, shoal
from shoal import P

MESH = shoal.Mesh(data=2, expert=4)
X = np.arange(16 * 8, dtype=np.float32).reshape(16, 8)
ROWS = P(("data", "expert"))


def test_manual(tmp_path):
    def local(x, w):
        i = shoal.axis_index(("data", "expert"))
        shoal.axis_index("expert")
        total = shoal.all_reduce(x.sum(0), ("data", "expert"))
        whole = shoal.all_gather(x, "expert")
        part = shoal.reduce_scatter(whole, "expert") / 4
        moved = shoal.all_to_all(x, "expert", 0, 1)
        shifted = shoal.ring_shift(x, ("data", "expert"))
        return {
            "index": i.reshape(1),
            "total": total + w,
            "same": part,
            "moved": moved,
            "shifted": shifted,
            "largest": shoal.all_reduce(x.max(), ("data", "expert"), "max"),
        }

    def layer(x, w):
        outs = {
            "index": ROWS,
            "total": None,
            "same": ROWS,
            "moved": P("data", "expert"),
            "shifted": ROWS,
            "largest": None,
        }
        return shoal.manual(local, (ROWS, None), outs)(x, w)

    actual = evaluate(tmp_path, layer, X, X[0], mesh=MESH, devices=8)
    assert actual["index"].tolist() == list(range(8))
    assert_same("total", actual["total"], X.sum(0) + X[0])
    assert_same("same", actual["same"], X)
    assert_same("moved", actual["moved"], X)
    assert_same("shifted", actual["shifted"], np.roll(X, 2, 0))
    assert actual["largest"] == X.max()


def test_manual_along_some_axes(tmp_path):
    def layer(x):
        local = shoal.manual(lambda x: shoal.all_reduce(x * 2, "data"), P("data"), P(), "data")
        return shoal.split(local(x), 0, 4) + 1

    actual = evaluate(tmp_path, layer, X, mesh=MESH, devices=8)
    assert_same("sum", actual, (X[:8] + X[8:]) * 2 + 1)


def test_manual_in_manual(tmp_path):
    """Rows over "data" outside, columns over "expert" inside; sums over both, each and none."""

    def inner(x, total):
        rows = shoal.all_reduce(x.sum(1), "expert")
        index = shoal.axis_index(("data", "expert"))
        everything = shoal.all_reduce(x.sum(), ("data", "expert"))
        return x + total, rows, index.reshape(1), everything

    def outer(x):
        total = shoal.all_reduce(x.sum(0), "data")
        outs = (P(None, "expert"), None, P("expert"), None)
        return shoal.manual(inner, (P(None, "expert"), P("expert")), outs)(x, total)

    def layer(x):
        outs = (P("data"), P("data"), P("data"), None)
        return shoal.manual(outer, P("data"), outs, "data")(x)

    added, rows, index, everything = evaluate(tmp_path, layer, X, mesh=MESH, devices=8)
    assert_same("added", added, X + X.sum(0))
    assert_same("rows", rows, X.sum(1))
    assert index.tolist() == list(range(8))
    assert_same("everything", everything, X.sum())


def test_manual_of_rows_that_do_not_divide(tmp_path):
    """13 rows on 8 devices are 2 each, 3 of them past the end: zero."""

    def local(x):
        return x + 1, shoal.all_reduce(x.sum(0), ("data", "expert"))

    def layer(x):
        y, total = shoal.manual(local, ROWS, (ROWS, None))(x[:13])
        return y[:13], y[13:], total

    y, past, total = evaluate(tmp_path, layer, X, mesh=MESH, devices=8)
    assert_same("y", y, X[:13] + 1)
    assert_same("past", past, np.ones((3, X.shape[1]), np.float32))
    assert_same("total", total, X[:13].sum(0))


def test_permute(tmp_path):
    """Of 8 devices with two rows each some send, one keeps its own, and who gets nothing has zeros."""
    pairs = [(0, 7), (7, 2), (3, 3), (5, 0)]

    def loss(x):
        moved = shoal.manual(lambda x: shoal.permute(x, ("data", "expert"), pairs), ROWS, ROWS)(x)
        return (moved * X).sum(), moved

    def layer(x):
        (_, moved), gradient = shoal.value_and_grad(loss, has_aux=True)(x)
        return moved, gradient

    moved, gradient = evaluate(tmp_path, layer, X, mesh=MESH, devices=8)
    rows = X.reshape(8, 2, 8)
    expected, back = np.zeros_like(rows), np.zeros_like(rows)
    for source, target in pairs:
        expected[target], back[source] = rows[source], rows[target]
    assert_same("moved", moved, expected.reshape(X.shape))
    assert_same("gradient", gradient, back.reshape(X.shape))


@pytest.mark.parametrize(
    "pairs, message",
    [
        ([(0, 1), (0, 2)], "permute: device 0 is a source twice"),
        ([(0, 1), (2, 1)], "permute: device 1 is a target twice"),
        ([(0, 8)], "permute: target 8 is none of 8 devices"),
        ([(-1, 0)], "permute: source -1 is none of 8 devices"),
        ([(0, 1, 2)], r"permute: \(0, 1, 2\) is no pair of a source and a target"),
    ],
)
def test_permute_of_no_permutation(tmp_path, pairs, message):
    local = lambda x: shoal.permute(x, ("data", "expert"), pairs)
    with pytest.raises(shoal.TraceError, match=message):
        evaluate(tmp_path, shoal.manual(local, ROWS, ROWS), X, mesh=MESH, devices=8)
