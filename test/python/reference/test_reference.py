# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The NumPy statements themselves, against published and hand-worked values."""

import numpy as np
import pytest

from shoal_reference import expert_capacity, moe_layer, normal, threefry2x32
from shoal_reference import top_k_gating, uniform


@pytest.mark.parametrize(
    "key, counter, expected",
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
        (
            (0x13198A2E, 0x03707344),
            (0x243F6A88, 0x85A308D3),
            (0xC4923A9C, 0x483DF7A0),
        ),
    ],
)
def test_threefry_gives_the_known_answers(key, counter, expected):
    x0, x1 = threefry2x32(key, counter)
    assert (int(x0[0]), int(x1[0])) == expected


@pytest.mark.parametrize("element_type, bits", [("bf16", 8), ("f16", 11), ("f32", 24)])
def test_uniform_is_on_the_types_own_grid_below_one(element_type, bits):
    u = uniform((1, 2), (10_000,), element_type)
    scaled = u * 2.0**bits
    assert np.array_equal(scaled, np.floor(scaled))
    assert 0.0 <= u.min() and u.max() < 1.0
    assert abs(u.mean() - 0.5) < 0.01


@pytest.mark.parametrize("element_type", ["f32", "f64"])
def test_normal_has_its_moments(element_type):
    n = normal((7, 9), (100_000,), element_type)
    assert abs(n.mean()) < 0.01
    assert abs(n.var() - 1.0) < 0.02
    assert abs((n**4).mean() - 3.0) < 0.1


def test_random_numbers_depend_on_the_row_major_index_alone():
    assert np.array_equal(uniform((3, 4), (6, 5)).ravel(), uniform((3, 4), (30,)))


@pytest.mark.parametrize(
    "k, tokens, experts, factor, minimum, expected",
    [
        (2, 512, 8, 1.0, 4, 128),
        (2, 10, 3, 1.25, 4, 9),
        (1, 8, 8, 1.0, 4, 4),
        (2, 512, 8, 2.0, 4, 256),
    ],
)
def test_capacity(k, tokens, experts, factor, minimum, expected):
    assert expert_capacity(k, tokens, experts, factor, minimum) == expected


# Four tokens, three experts; worked by hand from Algorithm 1.
GATES = np.array([[[0.6, 0.3, 0.1], [0.5, 0.1, 0.4], [0.7, 0.2, 0.1], [0.2, 0.5, 0.3]]])


def test_first_choices_come_before_second_choices():
    gating = top_k_gating(GATES, k=2, capacity=2)
    assert gating.experts[0].tolist() == [[0, 1], [0, 2], [0, 1], [1, 2]]
    # Expert 1: token 3's first choice has place 0, before tokens 0 and 2.
    assert gating.positions[0].tolist() == [[0, 1], [1, 0], [2, 2], [0, 1]]
    assert gating.kept[0].tolist() == [
        [True, True],
        [True, True],
        [False, False],
        [True, True],
    ]


def test_a_token_over_capacity_has_a_zero_row():
    gating = top_k_gating(GATES, k=2, capacity=2)
    assert not gating.combine[0, 2].any()
    assert not gating.dispatch[0, 2].any()
    assert gating.routed_per_expert().tolist() == [3, 3, 2]
    assert gating.kept_per_expert().tolist() == [2, 2, 2]


def test_weights_are_renormalised_over_the_chosen():
    gating = top_k_gating(GATES, k=2, capacity=4)
    assert gating.combine[0, 0, 0, 0] == pytest.approx(0.6 / 0.9)
    assert gating.combine[0, 0, 1, 1] == pytest.approx(0.3 / 0.9)
    assert np.allclose(gating.combine.sum(axis=(2, 3)), 1.0)


def test_auxiliary_loss_counts_first_choices_without_capacity():
    expected = (3 / 4 * 0.5 + 1 / 4 * 0.275 + 0 * 0.225) / 3
    for capacity in (1, 4):
        aux = top_k_gating(GATES, k=2, capacity=capacity).aux
        assert aux == pytest.approx(expected)


def test_random_routing_spares_first_choices_and_still_counts():
    rng = np.random.default_rng(0)
    gates = rng.dirichlet(np.full(8, 0.3), size=(4, 256))
    plain = top_k_gating(gates, k=3, capacity=256)
    routed = top_k_gating(gates, k=3, capacity=256, key=(1, 2))
    assert np.array_equal(plain.positions, routed.positions)
    assert routed.kept[..., 0].all()
    weights = np.take_along_axis(gates, plain.experts, axis=2)
    weights /= weights.sum(axis=2, keepdims=True)
    for j in (1, 2):
        wanted = 2 * weights[..., j] > uniform((1, 2 + j), (4, 256))
        assert np.array_equal(routed.kept[..., j], wanted)
        assert 0 < wanted.mean() < 1


@pytest.mark.parametrize("k", [1, 2, 3])
def test_dispatch_has_one_token_a_place(k):
    rng = np.random.default_rng(k)
    gates = rng.dirichlet(np.ones(5), size=(3, 17))
    gating = top_k_gating(gates, k=k, capacity=4)
    assert gating.dispatch.sum(axis=1).max() <= 1
    assert gating.dispatch.sum() == gating.kept.sum()


def test_layer_equals_token_by_token_evaluation():
    rng = np.random.default_rng(5)
    x, wg = rng.standard_normal((2, 9, 4)), rng.standard_normal((4, 3))
    wi, wo = rng.standard_normal((3, 4, 6)), rng.standard_normal((3, 6, 4))
    y, gating = moe_layer(x, wg, wi, wo, k=2, capacity=5)
    for g, s in np.ndindex(2, 9):
        expected = np.zeros(4)
        for e in range(3):
            weight = gating.combine[g, s, e].sum()
            expected += weight * (np.maximum(x[g, s] @ wi[e], 0) @ wo[e])
        assert np.allclose(y[g, s], expected)
