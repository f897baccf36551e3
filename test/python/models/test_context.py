# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention whose places lie over devices: ring, exchange and gather are the single device's."""

import numpy as np
import pytest

from frontend_testing import assert_same, evaluate, shoal
from shoal.mesh import Axis
from shoal.models import Rule, attend, attend_over
from shoal.models.context import queries_over
from shoal.models.order import order_of
from shoal.moe import Layout
from shoal.moe.layout import CP_COMM_TYPES

B, S, N, K, D, H = 2, 16, 8, 4, 6, 5
WINDOWS = {"causal": None, "window": 5, "narrow": 1}


def inputs(length=S, shared=K):
    rng = np.random.default_rng(0)
    shapes = ((B, length, N, D), (B, length, shared, D), (B, length, shared, H), (N,), (B, length, N, H))
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def expected(tmp_path, window, arrays, sinks=True):
    """(y, gradients) of q, k, v and the sinks on one device."""

    def one(q, k, v, s, dy):
        y, pull = shoal.vjp(lambda q, k, v, s: attend(q, k, v, 0.4, window, s if sinks else None), q, k, v, s)
        return y, pull(dy)

    return evaluate(tmp_path, one, *arrays)


def over(layout, window, length=S, sinks=True):
    """The same of places in the order of the layout, put back."""
    order = order_of(layout, length)

    def attention(q, k, v, s):
        rule = Rule(0.4, window, s if sinks else None, order)
        if order is None:
            return attend_over(layout, q, k, v, rule)
        y = attend_over(layout, *(shoal.take(x, order, 1) for x in (q, k, v)), rule)
        return shoal.take(y, np.argsort(order), 1)

    def many(q, k, v, s, dy):
        y, pull = shoal.vjp(attention, q, k, v, s)
        return y, pull(dy)

    return many


LAYOUTS = {
    "cp 4": {"cp": 4},
    "tp 2, cp 2": {"tp": 2, "cp": 2},
    "cp 2, dp 2": {"cp": 2, "dp": 2},
    "tp 2, cp 2, dp 2": {"tp": 2, "cp": 2, "dp": 2},
}


def check(tmp_path, layout, window, arrays, sinks=True):
    wanted = expected(tmp_path, window, arrays, sinks)
    many = over(layout, window, arrays[0].shape[1], sinks)
    made = evaluate(tmp_path, many, *arrays, mesh=layout.mesh, devices=layout.mesh.size)
    assert_same("y", made[0], wanted[0], np.float32, 2e-6)
    for name, a, b in zip(("dq", "dk", "dv", "ds"), made[1], wanted[1]):
        assert_same(name, a, b, np.float32, 1e-5)


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("kind", CP_COMM_TYPES)
@pytest.mark.parametrize("sizes", LAYOUTS)
def test_results_and_gradients(tmp_path, sizes, kind, balanced):
    """Causal, with windows and with sinks."""
    layout = Layout.folded(LAYOUTS[sizes], cp_comm_type=kind, cp_balanced=balanced)
    arrays = inputs()
    for number, window in enumerate(WINDOWS.values()):
        check(tmp_path, layout, window, arrays, sinks=number != 1)


def test_fewer_key_value_heads_than_devices(tmp_path):
    """One for all, and one for two devices of tp: queries of a group are on several devices."""
    for shared, sizes in ((1, {"cp": 4}), (2, {"tp": 2, "cp": 2}), (1, {"tp": 2, "cp": 2})):
        for kind in CP_COMM_TYPES:
            check(tmp_path, Layout.folded(sizes, cp_comm_type=kind), None, inputs(shared=shared))


@pytest.mark.parametrize("balanced", [False, True])
def test_heads_and_their_queries_over_parts_of_cp(tmp_path, balanced):
    """Fewer key-value heads than devices, and fewer queries of each than devices of cp: 2 x 2, and unevenly 3 x 2."""
    for shared, sizes in ((2, {"cp": 4}), (4, {"tp": 2, "cp": 4})):
        check(tmp_path, Layout.folded(sizes, cp_comm_type="a2a", cp_balanced=balanced), 5, inputs(shared=shared))
    assert queries_over(Layout.folded({"cp": 4}), 2, 4) == ((("tp", Axis("x0", 1, 2))), (Axis("x0", 2, 2),))
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal((B, S, n, D)).astype(np.float32) for n in (6, 3, 3)]
    arrays += [rng.standard_normal(6).astype(np.float32), rng.standard_normal((B, S, 6, D)).astype(np.float32)]
    check(tmp_path, Layout.folded({"cp": 4}, cp_comm_type="a2a", cp_balanced=balanced), None, arrays)


def test_parts_of_a_role():
    layout = Layout(shoal.Mesh(a=2, b=6), {"cp": ("a", "b")})
    assert layout.cut("cp", 1) == ((), (Axis("a"), Axis("b")))
    assert layout.cut("cp", 2) == ((Axis("a"),), (Axis("b"),))
    assert layout.cut("cp", 6) == ((Axis("a"), Axis("b", 1, 3)), (Axis("b", 3, 2),))
    assert layout.cut("cp", 12) == ((Axis("a"), Axis("b")), ())
    assert layout.cut("cp", 3) is None and layout.cut("cp", 24) is None
    assert layout.size("cp", Axis("b", 3, 2)) == 24


def test_places_that_do_not_divide(tmp_path):
    for kind in CP_COMM_TYPES:
        check(tmp_path, Layout.folded({"cp": 4}, cp_comm_type=kind), 4, inputs(length=10))


def test_what_does_not_fit():
    with pytest.raises(shoal.TraceError, match="10 places are not divisible into 2 x 4 pieces"):
        order_of(Layout.folded({"cp": 4}, cp_balanced=True), 10)
    with pytest.raises(shoal.TraceError, match='cp_comm_type "ring" is not one of'):
        Layout.folded({"cp": 4}, cp_comm_type="ring")
    layout = Layout.folded({"tp": 2, "cp": 8}, cp_comm_type="a2a")
    arrays = inputs()
    message = '4 key-value heads, which 2 queries share each, .* 2 devices of "tp" and 8 of "cp": .*"allgather" and "p2p"'
    with pytest.raises(shoal.TraceError, match=message):
        shoal.trace(over(layout, None), arrays, layout.mesh)
