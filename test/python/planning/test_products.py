# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of a layer that take longer, or run more often, than its program says; masters that are cast."""

from types import SimpleNamespace

import pytest

import shoal
from shoal.models import from_config
from shoal.planning import Mapping, forecast_of
from shoal.planning.added import adding_seconds
from shoal.planning.again import repeated_rows, unsaved_bytes
from shoal.planning.costs import _typed
from shoal.planning.kernels import LOSS
from shoal.planning.programs import Setting, kinds_of
from shoal.simulation.forecast import Row

MACHINE = shoal.Machine.read("dgx-h100")
MIXTRAL = from_config("mixtral-8x7b", moe_token_dispatcher_type="alltoall").config
SIZES = {
    "num_hidden_layers": 2, "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 1024,
    "vocab_size": 1024,
}  # fmt: skip
SMALL = from_config("mixtral-8x7b", moe_token_dispatcher_type="alltoall", **SIZES).config


def added(**fields):
    """Seconds of a layer of 8 experts over 8 devices."""
    (kind,) = kinds_of(MIXTRAL)
    return adding_seconds(Setting(MIXTRAL, Mapping(8, ep=8, **fields)), kind, MACHINE)


def test_sums_of_gradients_hide_behind_operations_of_many_rows():
    """Of 32,768 tokens each product multiplies longer than it moves bytes. Of 16 the gradient of a matrix is read and
    written in float32 where 2 bytes were written: 6 more for each weight, which take as long as memory has them."""
    assert added(sequence=32768) == 0
    weights = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336
    rate = 1e9 / (MACHINE.price_kernel(2 * 10**9) - MACHINE.price_kernel(10**9))
    assert added(sequence=16) == pytest.approx(6 * weights / rate, rel=0.01)
    assert added(sequence=16, sum_type="bf16") == pytest.approx(2 * weights / rate, rel=0.01)
    assert 0 < added(sequence=1024) < added(sequence=1024, type="f8E4M3FN")
    # What each micro-batch sums over devices is added up there.
    assert added(sequence=16, zero=2) == added(sequence=16, zero=3) == 0


def test_a_product_of_8_bits_is_no_faster_than_its_bytes():
    """Of few rows weights are most of what it reads, a byte each."""
    seconds = {}
    for rows in (256, 8192):
        shape = (1, rows, 8192, 8192)
        row = Row("einsum", MACHINE.price_product("bf16", shape), 1, 0, "operations", type="bf16", shape=shape)
        seconds[rows] = _typed(row, Mapping(8, type="f8E4M3FN"), MACHINE).seconds / row.seconds
    moved = 256 * 8192 + 8192 * 8192 + 2 * 256 * 8192
    assert seconds[256] == pytest.approx(MACHINE.price_kernel(moved) / MACHINE.price_product("bf16", (1, 256, 8192, 8192)))
    assert seconds[256] > 0.53 and seconds[8192] == pytest.approx(0.5, rel=0.01)


def layer(blocks):
    """A forecast of products and exchanges: of a block's name shapes, or the name of a collective."""
    rows = []
    for block, made in blocks:
        name, shape, axes = ("einsum", made, None) if isinstance(made, tuple) else (made, None, '{"ep"}')
        if shape and shape[0] > 1:
            name = "ragged_einsum"
        rows.append(Row(name, 1.0 + len(rows), 1, 0, "operations", axes=axes, layer=f"layers.0/{block}", type="bf16", shape=shape))
    return SimpleNamespace(rows=(*rows, Row("custom_call", 0.0, 1, 0, "memory", layer=LOSS), *rows))


def again(forecast, *names, config=MIXTRAL):
    setting = Setting(config, Mapping(8, ep=4, recompute="selective", products_again=names))
    rows = list(forecast.rows)
    return [rows.index(row) for row in repeated_rows(forecast, setting)], unsaved_bytes(forecast, setting)


def test_torchtitan_multiplies_every_second_product_again():
    """Of queries, keys, values and what is behind them the second and the fourth; of a gated network the one in the middle;
    of experts all, of which what goes home need not be saved."""
    heads = [("attention", (1, 64, n, 4096)) for n in (4096, 1024, 1024, 4096)]
    dense = [("dense", (1, 64, 14336, 4096)), ("dense", (1, 64, 14336, 4096)), ("dense", (1, 64, 4096, 14336))]
    assert again(layer(heads + dense), "every_second") == ([1, 3, 5], 2 * 64 * (1024 + 4096 + 14336))
    experts = [("experts", (1, 64, 8, 4096)), ("experts", "ragged_all_to_all"), ("experts", (2, 64, 14336, 4096)), ("experts", (2, 64, 4096, 14336)),
               ("experts", (64, 4096, 1, 8)), ("experts", (1, 64, 2048, 4096))]  # fmt: skip
    assert again(layer(heads + experts), "every_second") == ([1, 3, 6, 7], 2 * 64 * (1024 + 4096 + 2 * 14336))
    # A shared network's second product, as the router's and sums by weights do not count.
    shared = [*experts, ("experts", (1, 64, 2048, 4096))]
    assert again(layer(heads + shared), "every_second")[0] == [1, 3, 6, 7, 10]


def test_modules_are_multiplied_again():
    rows = [("attention", (1, 64, 4096, 4096)), ("experts", (1, 64, 8, 4096)), ("experts", "ragged_all_to_all"), ("experts", (2, 64, 14336, 4096)),
            ("experts", (1, 64, 2048, 4096)), ("dense", (1, 64, 4096, 14336))]  # fmt: skip
    made = layer(rows)
    assert [again(made, name)[0] for name in ("mlp", "moe", "shared_experts", "mla_up_proj")] == [[5], [1, 2, 3, 4], [4], []]
    assert again(made)[0] == [] and again(made, "mlp", "shared_experts")[0] == [4, 5]
    latent = from_config("deepseek-v3").config
    assert again(layer([("attention", (1, 64, 4096, 7168)), ("attention", (1, 64, 4096, 1536))]), "mla_up_proj", config=latent)[0] == [1]


def test_products_again_take_time_and_hold_less():
    base = Mapping(8, ep=4, sequence=512, recompute="selective")
    plain, second = (forecast_of(SMALL, MACHINE, base.replace(products_again=names)) for names in ((), ("every_second",)))
    assert second.parts["micro-batches"] > plain.parts["micro-batches"]
    # Keys, what is behind attention, and both of hidden units: of a device's 512 tokens and their 1,024 rows.
    products = 512 * (256 + 512) + 1024 * 2 * 1024
    assert plain.memory.activations - second.memory.activations == 2 * 2 * products


def test_masters_are_all_that_is_in_parts():
    """They are cast as they are gathered; in bfloat16 gradients and moments are, too."""
    base = Mapping(8, ep=4, sequence=512, zero=3)
    narrow, cast, small = (
        forecast_of(SMALL, MACHINE, base.replace(**fields)).memory
        for fields in ({}, dict(casts_masters=True), dict(casts_masters=True, state_types=("bf16",) * 3))
    )
    assert narrow.weights > 0 == cast.weights and cast.optimizer == narrow.optimizer == 6 * narrow.weights
    assert (small.optimizer, small.gradients) == (cast.optimizer / 2, cast.gradients / 2)
    # Whole from step to step, they are so as they were gathered.
    assert forecast_of(SMALL, MACHINE, base.replace(zero=1, casts_masters=True)).memory.weights > 0
