# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A shared expert is computed while the rows of others travel, where collectives run in the background."""

import re

import pytest

import jax
import jax_text
import shoal
from context_layouts import spec_of
from moe_layouts import MoeConfig, moe, param_shapes, param_shardings
from shoal.moe import Layout
from shoal_testing import BIN, load_json, mpirun, needs_emulation, run

LAYOUT = Layout.folded({"dp": 4}, {"ep": 4})
BESIDE = {
    "shared": {"moe_shared_expert_intermediate_size": 1},
    "gated": {"moe_shared_expert_intermediate_size": 1, "moe_shared_expert_gate": True},
    "residual": {"use_residual": True},
}
# Products of the network beside the experts, and of its gate.
PRODUCTS = {"shared": 3, "gated": 4, "residual": 4}


# Of each world the program of a function, and its gradient.
WORLDS = {"frontend": (shoal.trace, shoal.grad), "JAX": (jax_text.trace, jax.grad)}


def text_of(beside, dispatcher, gradient=False, model=256, world="frontend"):
    """Of 16 groups of 2 M tokens, and 2 M hidden units."""
    trace, grad = WORLDS[world]
    config = MoeConfig.flat(
        8, 2 * model, gated_linear_unit=True, hidden_act="silu", moe_group_size=2 * model,
        moe_token_dispatcher_type=dispatcher, moe_expert_capacity_factor=1.0 if dispatcher == "sort" else None,
        **{name: size * 2 * model if size is not True else size for name, size in BESIDE[beside].items()},
    )  # fmt: skip
    stored, outside = param_shardings(config, LAYOUT), LAYOUT.P("outside")
    given = shoal.TensorSpec((16, 2 * model, model), "float32", outside), spec_of(param_shapes(config, model), stored)

    def layer(x, params):
        return moe(x, params, config, LAYOUT).y

    def loss(x, params):
        return (layer(x, params) ** 2).sum()

    step, places = (grad(loss, (0, 1)), (outside, stored)) if gradient else (layer, outside)
    return trace(step, given, LAYOUT.mesh, out_shardings=places)


def schedule(tmp_path, text):
    """Of the CUDA target's program, in order: ("start", what, number), ("wait", number), ("product", its einsum)."""
    source = tmp_path / "layer.mlir"
    source.write_text(text)
    passes = ("--shoal-partition", "--shoal-lower-to-cuda", "--mlir-print-ir-after=shoal-insert-waits")
    printed = run(BIN / "shoal-opt", source, *passes, "-o", "/dev/null").expect_success().stderr
    found = []
    for line in printed.splitlines():
        if start := re.search(r"rt\.(\w+) @mesh .*collective = (\d+)", line):
            found.append(("start", start[1], int(start[2])))
        elif wait := re.search(r"rt\.wait (\d+)", line):
            found.append(("wait", int(wait[1])))
        elif product := re.search(r'rt\.\w*einsum "(\S+)"', line):
            found.append(("product", product[1]))
    return found


def under_way(found):
    """Of each forward product beside the experts, the kinds of collectives that are under way."""
    flying, listed = {}, []
    for entry in found:
        if entry[0] == "start":
            flying[entry[2]] = entry[1]
        elif entry[0] == "wait":  # collectives follow one another in their stream
            flying = {number: kind for number, kind in flying.items() if number > entry[1]}
        elif entry[1] == "ABM,MH->ABH":
            listed.append(list(flying.items()))
    return listed


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("dispatcher", ["sort", "alltoall"])
@pytest.mark.parametrize("beside", BESIDE)
def test_what_is_beside_the_experts_is_computed_while_rows_travel(tmp_path, beside, dispatcher, gradient, world):
    """All of its products; those of a shared expert while the first exchange of slots is under way."""
    listed = under_way(schedule(tmp_path, text_of(beside, dispatcher, gradient, world=world)))
    assert len(listed) == PRODUCTS[beside] and all(listed), listed
    if dispatcher == "sort" and beside == "shared":
        assert listed == [[(0, "all_to_all")]] * 3


@needs_emulation
def test_the_trace_of_a_step(tmp_path):
    """Behind the first exchange, in front of the experts. Streams of the emulated device run in turn: it shows the order."""
    source, program, trace = (tmp_path / name for name in ("layer.mlir", "layer", "trace.json"))
    source.write_text(text_of("shared", "sort", model=32))
    run(BIN / "shoalc", source, "-o", program, "--target=cuda", "--cuda-arch=emulated").expect_success()
    mpirun(4, program, "--random-inputs=1", "--trace", trace).expect_success()
    events = [event for event in load_json(trace)["traceEvents"] if event["ph"] == "X" and event["tid"] == 0]
    names = [event["name"] for event in sorted(events, key=lambda event: event["ts"])]
    router, exchange, product = "einsum", "all_to_all", "einsum"
    expected = [router, exchange, *[product] * (3 + 3), exchange, product]
    assert [name for name in names if name in (exchange, product)] == expected
