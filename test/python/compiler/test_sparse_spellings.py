# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MoE layers in the spellings of the open libraries compute at sparse cost what they do dense."""

from functools import partial

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp

from one_hot_programs import (
    Sizes, layer, layer_arrays, layer_merged, layer_ungrouped, routed_by_places, with_gradients,
)  # fmt: skip
from one_hot_routers import ROUTERS, eye_rows
from shoal_testing import relative_difference
from sparse_testing import import_program, masks_in

SIZES = Sizes()
FORMS = {"layer": layer, "merged": layer_merged, "ungrouped": layer_ungrouped}
# One row a token comes back, so that no order of a sum differs.
TOP_1 = {"switch", "deepspeed_top1"}


def imported(folder, name, form="layer", gradients=False, sizes=SIZES, **arrays):
    """A layer with a router, or with that of a name, and the values of its arguments."""
    forward = partial(FORMS[form], ROUTERS.get(name, name), sizes.C)
    arguments = layer_arrays(sizes, groups=form != "ungrouped") | arrays
    if gradients:
        return import_program(folder, with_gradients(forward), *arguments.values())
    del arguments["target"]
    return import_program(folder, lambda x, wg, wi, wo: forward(x, wg, wi, wo), *arguments.values())


def check(program, equal=(), tolerance=1e-6, sizes=SIZES):
    """Sparse results are those of the program as written, and no mask is left.

    equal: the results that agree to the last bit.
    """
    expected, actual = program.evaluate(), program.evaluate_partitioned(sparse=True)
    for name, value in expected.items():
        if name in equal:
            np.testing.assert_array_equal(actual[name], value, name)
        difference = relative_difference(actual[name], value)
        assert difference <= tolerance, f"{name}: {difference}"
    assert masks_in(program.partitioned(sparse=False), sizes)
    assert not masks_in(program.partitioned(sparse=True), sizes)


@pytest.mark.parametrize("name", ROUTERS)
def test_layer(tmp_path, name):
    program = imported(tmp_path, name)
    y, rows = program.types
    check(program, equal=(rows, y) if name in TOP_1 else (rows,))


@pytest.mark.parametrize("name", ROUTERS)
def test_gradients(tmp_path, name):
    check(imported(tmp_path, name, gradients=True))


@pytest.mark.parametrize("gradients", [False, True])
def test_the_program_does_not_grow_with_the_choices(tmp_path, gradients):
    sizes = Sizes(E=40)
    lengths = set()
    for k in (9, 33):
        router = partial(eye_rows, k=k)
        program = imported(tmp_path, router, gradients=gradients, sizes=sizes)
        check(program, tolerance=2e-6, sizes=sizes)
        lengths.add(len(program.partitioned(sparse=True).read_text().splitlines()))
    assert len(lengths) == 1, lengths


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("name", ["gshard", "praxis", "flaxformer", "deepspeed_topk"])
def test_bfloat16(tmp_path, name, gradients):
    arrays = layer_arrays(dtype=jnp.bfloat16)
    check(imported(tmp_path, name, gradients=gradients, **arrays), tolerance=2e-2)


@pytest.mark.parametrize("form", ["merged", "ungrouped"])
@pytest.mark.parametrize("name", ["gshard", "maxtext", "deepspeed_top1", "deepspeed_topk"])
def test_forms_of_masks(tmp_path, form, name):
    check(imported(tmp_path, name, form, gradients=True))


@pytest.mark.parametrize("name", ROUTERS)
def test_ties_and_many_that_find_no_room(tmp_path, name):
    sizes = Sizes(C=7)
    random = np.random.default_rng(1)
    tied = {
        "x": random.integers(-1, 2, sizes.shape("GSM")).astype(np.float32),
        "wg": random.integers(-1, 2, sizes.shape("ME")).astype(np.float32),
    }
    tied["x"][:, :20] = 0
    program = imported(tmp_path, name, sizes=sizes, **tied)
    check(program, equal=list(program.types)[1:], sizes=sizes)


#
# What no router makes
#


def places(sizes=SIZES, choices=2):
    """Weights and places of choices, random, some of them out of range."""
    random = np.random.default_rng(2)
    shape = choices, sizes.S
    return {
        "weights": random.uniform(0.1, 1, shape).astype(np.float32),
        "experts": random.integers(-1, sizes.E + 1, shape, np.int32),
        "slots": random.integers(-2, sizes.C + 2, shape, np.int32),
    }


def routed(folder, **choices):
    """`routed_by_places` and its gradients, where some of the choices are given."""
    random = np.random.default_rng(3)
    x = random.standard_normal(SIZES.shape("SM"), np.float32)
    outputs = random.standard_normal(SIZES.shape("ECM"), np.float32)

    def program(x, outputs, weights, experts, slots):
        def loss(*differentiable):
            rows, back = results = routed_by_places(*differentiable, experts, slots)
            return (jnp.sin(rows) * outputs).sum() + (back * x).sum(), results

        return jax.grad(loss, argnums=(0, 1, 2), has_aux=True)(x, outputs, weights)

    return import_program(folder, program, x, outputs, *(places() | choices).values())


def test_places_out_of_range_and_shared(tmp_path):
    """Several tokens in one slot, and slots that are nowhere."""
    check(routed(tmp_path))


def test_choices_that_meet_are_summed_before_they_are_compared(tmp_path):
    """0.5 and -0.5 in one slot weigh nothing, so that no row is sent; -0.5 and 0.75 send one."""
    given = places()
    for name in ("experts", "slots"):
        given[name][1, ::2] = given[name][0, ::2] = np.abs(given[name][0, ::2]) % SIZES.C
    given["weights"][:] = 0.5
    given["weights"][1, :48] = -0.5
    given["weights"][1, 48:] = -0.75
    check(routed(tmp_path, **given))


def test_weights_of_zero_send_no_rows(tmp_path):
    given = places()
    given["weights"][:, ::3] = 0
    check(routed(tmp_path, **given))


def test_a_token_that_is_not_a_number_poisons_no_other(tmp_path):
    """Dense, 0 times NaN reaches every slot and from there every token."""
    sizes, bad = SIZES, 7
    arrays = layer_arrays(groups=False)
    logits = np.random.default_rng(4).standard_normal(sizes.shape("SE"), np.float32)

    def program(x, logits, wi, wo):
        def router(_, capacity):
            return ROUTERS["top_k_gating"](logits[None], capacity)

        wg = jnp.zeros((sizes.M, sizes.E))
        return layer_ungrouped(router, sizes.C, x, wg, wi, wo)[0]

    def evaluate(x, sparse):
        made = import_program(tmp_path, program, x, logits, arrays["wi"], arrays["wo"])
        return made.evaluate_partitioned(sparse)["result"]

    clean = np.asarray(arrays["x"])
    poisoned = clean.copy()
    poisoned[bad] = np.nan
    expected, dense, sparse = evaluate(clean, False), evaluate(poisoned, False), evaluate(poisoned, True)
    others = np.arange(sizes.S) != bad
    assert np.isnan(dense).all()
    assert np.isnan(sparse[bad]).all()
    assert relative_difference(sparse[others], expected[others]) <= 1e-6
