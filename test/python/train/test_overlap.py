# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Micro-batches beside each other: the same bits, and kernels of one while another's rows travel."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shoal
from frontend_testing import evaluate
from moe_layouts import MoeConfig, moe
from shoal import TraceError, TraceTypeError, optim, train
from shoal.moe import Layout, init_params, param_shapes, param_shardings, total_loss
from shoal_testing import BIN, load_json, mpirun, needs_emulation, run, shoalc

RNG = np.random.default_rng(7)
PARAMS = {"w": np.float32(RNG.standard_normal((6, 4))), "b": np.float32(RNG.standard_normal(4))}
ROWS = np.float32(RNG.standard_normal((16, 6)))
WEIGHTS = np.float32(RNG.integers(1, 4, 16))


def assert_bits(actual, expected):
    for one, other in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        assert np.array_equal(np.asarray(one), np.asarray(other))


def weighted_loss(params, x, weights, key):
    """With a metric of each kind, and noise."""
    made = shoal.square(x @ params["w"] + params["b"] + shoal.random.normal(key, (x.shape[0], 4))).sum(-1)
    metrics = {"rows": train.summed(weights), "most": train.largest(made.max()), "mean": made.mean(), "many": weights > 1.5}
    return ((made * weights).sum(), weights.sum()), metrics


@pytest.mark.parametrize("overlap", [2, 4, 8])
def test_the_bits_are_those_of_one_after_the_other(tmp_path, overlap):
    """Of 8 micro-batches, in four trips, in two and in no loop."""

    def run_with(overlap):
        def step(params, x, weights):
            key = shoal.random.key(3)
            return optim.accumulate(weighted_loss, 8, has_aux=True, weighted=True, key=key, overlap=overlap)(params, x, weights)

        return evaluate(tmp_path, step, PARAMS, ROWS, WEIGHTS)

    assert_bits(run_with(overlap), run_with(1))


def test_the_bits_in_the_world_of_jax():
    def loss(params, x):
        made = ((x @ params["w"] + params["b"]) ** 2).sum(-1)
        return made.mean(), {"most": made.max()}

    def run_with(overlap):
        return jax.jit(optim.accumulate(loss, 4, has_aux=True, overlap=overlap))(PARAMS, jnp.asarray(ROWS))

    for one, other in zip(jax.tree.leaves(run_with(2)), jax.tree.leaves(run_with(1)), strict=True):
        assert np.allclose(one, other, rtol=2e-6, atol=2e-6)  # XLA sums in an order of its own


def test_what_has_no_meaning_is_refused():
    def square(params, x):
        return (x @ params["w"]).sum()

    with pytest.raises(TraceError, match="4 micro-batches are not divisible by overlap=3"):
        optim.accumulate(square, 4, overlap=3)
    with pytest.raises(TraceError, match="2 micro-batches are not divisible by overlap=0"):
        optim.accumulate(square, 2, overlap=0)
    with pytest.raises(TraceTypeError, match="expected the loss to be a scalar of floats"):
        shoal.trace(optim.accumulate(lambda params, x: x @ params["w"], 2, overlap=2), (PARAMS, ROWS))


def step_text(devices, dispatcher, overlap, model=32):
    """A training step of two layers of experts, of two half batches."""
    layout = Layout.folded({"dp": devices}, {"ep": devices})
    config = MoeConfig.flat(
        8, 2 * model, gated_linear_unit=True, hidden_act="silu", moe_group_size=32, moe_aux_loss_coeff=0.01,
        moe_token_dispatcher_type=dispatcher, moe_expert_capacity_factor=1.5 if dispatcher == "sort" else None,
    )  # fmt: skip

    def loss(params, x):
        losses = 0.0
        for layer in params:
            out = moe(x, layer, config, layout)
            x, losses = x + out.y, losses + total_loss(out.losses, config)
        return shoal.mean(x**2) + losses

    optimizer = optim.sgd(0.1, 0.9)
    step = train.step(loss, optimizer, micro_batches=2, overlap=overlap)
    state = train.init([{name: shoal.TensorSpec(s, "float32") for name, s in param_shapes(config, model).items()}] * 2, optimizer)
    places = train.shardings(state, [param_shardings(config, layout)] * 2)
    batch = shoal.TensorSpec((2 * devices, 64, model), "float32")
    return shoal.trace(
        step, (state, batch), layout.mesh, in_shardings=(places, layout.P("dp")), out_shardings=(places, None)
    )


def results_of(folder, run_program):
    """Of random inputs."""
    run_program("--random-inputs=1", "--output-dir", folder).expect_success()
    return {path.name: np.load(path) for path in sorted(folder.glob("*.npy"))}


def written(tmp_path, devices, dispatcher):
    """The step's file with and without overlap."""
    files = {overlap: tmp_path / f"step{overlap}.mlir" for overlap in (1, 2)}
    for overlap, path in files.items():
        path.write_text(step_text(devices, dispatcher, overlap))
    return files


@pytest.mark.parametrize("dispatcher", ["sort", "alltoall"])
@pytest.mark.parametrize("devices", [2, 4])
def test_a_training_step_of_experts_has_the_same_bits(tmp_path, devices, dispatcher):
    """By the interpreter, of the program of all devices and of the partitioned one, and under mpirun."""
    made = {}
    for overlap, source in written(tmp_path, devices, dispatcher).items():
        program, spmd = tmp_path / f"program{overlap}", tmp_path / f"spmd{overlap}.mlir"
        shoalc(source, program).expect_success()
        run(BIN / "shoalc", source, "--emit=spmd", "-o", spmd).expect_success()
        made["interpreted", overlap] = results_of(
            tmp_path / f"i{overlap}", lambda *flags, s=spmd: run(BIN / "shoal-run", s, f"--devices={devices}", *flags)
        )
        made["mpirun", overlap] = results_of(tmp_path / f"m{overlap}", lambda *flags, p=program: mpirun(devices, p, *flags))
    for way in ("interpreted", "mpirun"):
        assert made[way, 1] and made[way, 1].keys() == made[way, 2].keys()
        assert_bits(made[way, 2], made[way, 1])


def between_exchanges(events):
    """How often what computes stands between the start of one exchange and the wait for it: products, of a trace of the
    emulated device, whose streams run in turn, in the order in which they are enqueued."""
    names = [event["name"] for event in sorted(events, key=lambda event: event["ts"])]
    return [name for name in names if name in ("all_to_all", "einsum")]


@needs_emulation
def test_the_trace_of_halves(tmp_path):
    """On the emulated device: the same bits, and the two halves' exchanges in turns with their products."""
    made, orders = {}, {}
    for overlap, source in written(tmp_path, 2, "sort").items():
        program, trace = tmp_path / f"program{overlap}", tmp_path / f"trace{overlap}.json"
        flags = ("--target=cuda", "--cuda-arch=emulated", "--overlap-memory=4")
        run(BIN / "shoalc", source, "-o", program, *flags).expect_success()
        made[overlap] = results_of(
            tmp_path / f"o{overlap}", lambda *flags, p=program, t=trace: mpirun(2, p, "--trace", t, *flags)
        )
        events = [event for event in load_json(trace)["traceEvents"] if event["ph"] == "X" and event["tid"] == 0]
        orders[overlap] = between_exchanges(events)
    assert_bits(made[2], made[1])
    assert sorted(orders[1]) == sorted(orders[2])
    # Both halves' tokens are on their way before an expert multiplies: of one half alone there is nothing beside.
    first = orders[2].index("all_to_all")
    assert orders[2][first : first + 3] != orders[1][first : first + 3]
