# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One-hot einsums at sparse cost on several devices: the same values, the same collectives."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

pytest.importorskip("jax")

from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P

from one_hot_programs import Layout, Sizes, layer, layer_arrays, with_gradients
from one_hot_routers import ROUTERS
from shoal_testing import mpirun, relative_difference, shoalc
from sparse_testing import import_program, masks_in

MESH = AbstractMesh((4,), ("d",))
SIZES = Sizes(G=4, S=24, E=8, C=6, M=20, H=12)
GSHARD = Layout(MESH, x=P("d"), masks=P("d"), rows=P("d"), outputs=P("d"))
LAYOUTS = {
    "groups_and_experts": GSHARD,
    # Every device has all tokens, and brings back what its experts made.
    "experts": Layout(MESH, x=P(), masks=P(None, None, "d"), rows=P("d"), outputs=P(None, "d")),
    "slots": Layout(MESH, x=P(), masks=P(None, None, None, "d"), rows=P(None, None, "d"),
                    outputs=P(None, None, "d")),
    "tokens": Layout(MESH, x=P(None, "d"), rows=P("d"), outputs=P(None, "d")),
    "tokens_of_masks": Layout(MESH, x=P(None, "d"), masks=P(None, "d"), rows=P("d")),
    "groups_experts_and_model": Layout(
        AbstractMesh((2, 2), ("d", "m")), x=P("d", None, "m"), masks=P("d"), rows=P("d"),
        outputs=P("d", None, None, "m"),
    ),
}  # fmt: skip
# No number of devices divides these.
UNEVEN = {
    "groups_and_experts": replace(SIZES, G=3, E=7),
    "experts": replace(SIZES, E=9),
    "slots": replace(SIZES, C=5),
    "tokens": replace(SIZES, S=23, E=6),
    "tokens_of_masks": replace(SIZES, S=25, C=7),
}


def imported(folder, router, layout, sizes=SIZES, gradients=False):
    forward = partial(layer, ROUTERS[router], sizes.C)

    def program(x, wg, wi, wo):
        return forward(x, wg, wi, wo, layout)

    arrays = layer_arrays(sizes)
    if not gradients:
        del arrays["target"]
    traced = with_gradients(program) if gradients else program
    return import_program(folder, traced, *arrays.values(), devices=4)


def check(program, tolerance=1e-6):
    """Partitioned and sparse, the program computes what it does as written, and sends the same."""
    expected, actual = program.evaluate(), program.evaluate_partitioned(sparse=True)
    differences = {n: relative_difference(actual[n], value) for n, value in expected.items()}
    assert max(differences.values()) <= tolerance, differences
    dense, sparse = program.collectives(sparse=False), program.collectives(sparse=True)
    assert dense["collectives"]
    assert sparse == dense


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("gradients", [False, True])
def test_layouts(tmp_path, layout, gradients):
    check(imported(tmp_path, "top_k_gating", LAYOUTS[layout], gradients=gradients))


@pytest.mark.parametrize("layout", UNEVEN)
@pytest.mark.parametrize("router", ["gshard", "flaxformer", "deepspeed_topk"])
def test_uneven(tmp_path, layout, router):
    gradients = router == "gshard"
    check(imported(tmp_path, router, LAYOUTS[layout], UNEVEN[layout], gradients))


@pytest.mark.parametrize("router", ROUTERS)
def test_routers_over_groups_and_experts(tmp_path, router):
    """No device makes a mask, not even of its own groups."""
    sizes = replace(SIZES, S=44, E=16, C=5, M=24)
    program = imported(tmp_path, router, GSHARD, sizes, gradients=True)
    check(program)
    assert masks_in(program.partitioned(sparse=False), sizes)
    assert not masks_in(program.partitioned(sparse=True), sizes)


@pytest.mark.parametrize("layout", ["groups_and_experts", "experts"])
def test_executables(tmp_path, layout):
    program = imported(tmp_path, "maxtext", LAYOUTS[layout], UNEVEN[layout], gradients=True)
    compiled = tmp_path / "compiled"
    shoalc(program.partitioned(sparse=True), compiled).expect_success()
    mpirun(4, compiled, *program.input_flags(), "--output-dir", tmp_path).expect_success()
    expected, actual = program.evaluate(), program.load(tmp_path)
    differences = {n: relative_difference(actual[n], value) for n, value in expected.items()}
    assert max(differences.values()) <= 1e-5, differences
