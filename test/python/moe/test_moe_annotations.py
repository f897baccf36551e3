# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All-gather expert parallelism by annotations alone: a plain dropless layer, its weights split."""

import numpy as np
import pytest

from frontend_testing import assert_same, evaluate, shoal
from moe_layouts import statistics
from shoal import P
from shoal.frontend.pytrees import flatten

T, M, E, H, K = 512, 64, 8, 128, 2


def layer(x, w, experts, wi, wg, wo):
    """Tokens x [T, M] to K experts each, of weights w [T, K]."""
    order = shoal.argsort(experts.reshape(T * K))
    sizes = shoal.sum(shoal.one_hot(experts.reshape(T * K), E, "int32"), 0)
    rows = x[order // K]
    gate, up = (shoal.ragged_dot(rows, weights, sizes) for weights in (wg, wi))
    made = shoal.ragged_dot(shoal.silu(gate) * up, wo, sizes)
    read = made[shoal.argsort(order)].reshape(T, K, M)
    return shoal.einsum("TKM,TK->TM", read, w)


def annotated(x, w, experts, *weights):
    """Tokens lie on all devices while they are with experts, and those on one each."""
    whole = [shoal.constrain(value, P()) for value in (x, w, experts)]
    split = [shoal.constrain(matrix, P("ep")) for matrix in weights]
    return shoal.constrain(layer(*whole, *split), P("ep"))


def arrays():
    rng = np.random.default_rng(0)
    draw = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    experts = np.argsort(rng.random((T, E)), -1)[:, :K].astype(np.int32)
    return draw(T, M), draw(T, K), experts, draw(E, M, H), draw(E, M, H), draw(E, H, M)


def test_forward_is_gathers_and_one_reduce_scatter():
    mesh = shoal.Mesh(ep=4)
    places = (P("ep"), P("ep"), P("ep"), P("ep"), P("ep"), P("ep"))
    specs = [shoal.TensorSpec(a.shape, str(a.dtype), place) for a, place in zip(arrays(), places)]
    program = shoal.trace(annotated, specs, mesh, out_shardings=P("ep"))
    sent, kinds = statistics(program)
    assert set(kinds) == {"all_gather", "reduce_scatter"} and kinds["reduce_scatter"] == 1, kinds
    tokens = T // 4 * M * 4
    assert sent["reduce_scatter"] == 3 * tokens, sent
    total = 3 * 4  # how many rows the experts of a device have
    assert sent["all_gather"] == 3 * tokens + 3 * (T // 4) * K * 8 + total, sent


@pytest.mark.parametrize("devices", [2, 4])
def test_values_and_gradients_are_those_of_one_device(tmp_path, devices):
    def step(function, *args):
        def loss(x, w, *weights):
            return shoal.sum(function(x, w, args[2], *weights) ** 2)

        return shoal.value_and_grad(loss, (0, 1, 2, 3, 4))(*args[:2], *args[3:])

    one = evaluate(tmp_path, lambda *args: step(layer, *args), *arrays())
    mesh = shoal.Mesh(ep=devices)
    many = evaluate(tmp_path, lambda *args: step(annotated, *args), *arrays(), mesh=mesh, devices=devices)
    for expected, actual in zip(flatten(one)[0], flatten(many)[0]):
        assert_same("step", actual, expected, np.float32, 1e-5)
