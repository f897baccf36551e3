# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Experts' buffers that travel in chunks: the same sums, and one chunk's exchange beside another's products."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shoal
from frontend_testing import assert_same, evaluate
from moe_layouts import MoeConfig, moe
from shoal import TraceError
from shoal.moe import Layout, init_params, param_shapes, param_shardings, total_loss

LAYOUT = Layout.folded({"dp": 4}, {"ep": 4})
X = np.float32(np.random.default_rng(1).standard_normal((4, 64, 16)))


def config_of(dispatcher, chunks, **fields):
    given = {"moe_expert_capacity_factor": 1.25, "moe_aux_loss_coeff": 0.01, "moe_group_size": 32, **fields}
    return MoeConfig.flat(
        8, 32, gated_linear_unit=True, hidden_act="silu", moe_token_dispatcher_type=dispatcher,
        a2a_ffn_overlap_degree=chunks, **given,
    )  # fmt: skip


def loss_of(config, layout):
    def loss(params, x):
        out = moe(x, params, config, layout)
        return ((x + out.y) ** 2).mean() + total_loss(out.losses, config), out.y

    return loss


def step_of(config, layout=LAYOUT):
    return lambda params, x: shoal.value_and_grad(loss_of(config, layout), (0, 1), has_aux=True)(params, x)


@pytest.mark.parametrize("dispatcher", ["sort", "einsum", "alltoall", "auto"])
@pytest.mark.parametrize("chunks", [2, 4, 8])
def test_results_have_the_bits_of_one_chunk(tmp_path, dispatcher, chunks):
    """Of 10 rows, which 4 and 8 do not divide, too. Gradients of experts' weights are sums over rows: of each chunk first."""

    def made(chunks):
        config = config_of(dispatcher, chunks)
        places = (param_shardings(config, LAYOUT), LAYOUT.P("dp"))
        return evaluate(tmp_path, step_of(config), init_params(config, 16), X, mesh=LAYOUT.mesh, in_shardings=places, devices=4)

    (loss, y), (params, x) = made(chunks)
    (expected_loss, expected_y), (expected_params, expected_x) = made(1)
    assert loss == expected_loss and np.array_equal(y, expected_y)
    assert np.array_equal(x, expected_x) and np.array_equal(params["router"], expected_params["router"])
    for name, leaf in params.items():
        assert_same(name, leaf, expected_params[name])


def test_experts_that_choose_and_experts_of_ones_own(tmp_path):
    def scaled(linear, rows, params, config):
        return linear(rows, params["wi"]) @ np.ones((32, 16), np.float32)

    for expert, fields in ((None, {"router_type": "expert_choice", "moe_aux_loss_coeff": 0.0}), (scaled, {})):
        results = []
        for chunks in (1, 4):
            config = config_of("sort", chunks, **fields)
            results.append(evaluate(
                tmp_path, lambda p, x, c=config: moe(x, p, c, LAYOUT, expert=expert).y, init_params(config, 16), X, mesh=LAYOUT.mesh
            ))  # fmt: skip
        assert np.array_equal(*results)


def test_results_in_the_world_of_jax():
    config = config_of("sort", 4)
    params = {name: jnp.asarray(leaf) for name, leaf in init_params(config, 16).items()}
    made, expected = (jax.jit(lambda p, x, c=c: moe(x, p, c).y)(params, jnp.asarray(X)) for c in (config, config_of("sort", 1)))
    assert np.allclose(made, expected, rtol=2e-6, atol=2e-6)


def program_of(chunks, model=256):
    """A layer's program; exchanges are too large to be packed together."""
    config = MoeConfig.flat(
        8, 2 * model, moe_group_size=2 * model, moe_token_dispatcher_type="sort", moe_expert_capacity_factor=1.0,
        a2a_ffn_overlap_degree=chunks,
    )  # fmt: skip
    stored, outside = param_shardings(config, LAYOUT), LAYOUT.P("outside")
    params = {name: shoal.TensorSpec(shape, "float32") for name, shape in param_shapes(config, model).items()}
    x = shoal.TensorSpec((16, 2 * model, model), "float32")
    return shoal.trace(
        lambda x, p: moe(x, p, config, LAYOUT).y, (x, params), LAYOUT.mesh, in_shardings=(outside, stored), out_shardings=outside
    )


@pytest.mark.parametrize("chunks", [1, 2, 4])
def test_each_chunk_travels_while_another_is_multiplied(chunks):
    """An all-to-all there and one back for each; of one chunk no expert's product has one beside it."""
    forecast = shoal.simulate(program_of(chunks), machine="ndv4-a100", overlap_memory=1.0)
    sent = [row for row in forecast.rows if row.name == "all_to_all"]
    products = [row for row in forecast.rows if row.name == "einsum" and row.shape[2:] in ((512, 256), (256, 512))]
    assert len(sent) == 2 * chunks and len(products) == 2 * chunks
    beside = [row for row in products if any(other.start <= row.start < other.start + other.seconds for other in sent)]
    assert bool(beside) == (chunks > 1), (products, sent)


def test_what_has_no_chunks_is_refused():
    with pytest.raises(TraceError, match="chunks are of the rows of experts' buffers"):
        config_of("alltoall", 2, moe_expert_capacity_factor=None)
    with pytest.raises(TraceError, match="chunks are of the rows of experts' buffers"):
        config_of("allgather", 2)
    with pytest.raises(TraceError, match="a2a_ffn_overlap_degree=0 is not a positive integer"):
        config_of("sort", 0)
