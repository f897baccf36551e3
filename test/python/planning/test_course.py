# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step put together from seconds of layers; what products in 8 bits round."""

import pytest

from shoal.models import from_config, parameters
from shoal.planning import Mapping
from shoal.planning.arithmetic import rounded_values
from shoal.planning.costs import rounding_seconds
from shoal.planning.course import Around, Spent, step_of
from shoal.planning.programs import Setting, kinds_of
from shoal.planning.schedule import shares_of_stage
from shoal.simulation import Machine


def work_of(layers, head, **sizes):
    """Seconds of the slowest stage for a micro-batch, of layers of a second each."""
    mapping = Mapping(devices=sizes["pp"], global_batch=1, schedule="dualpipe", **sizes)
    around = Around(Spent(computed=head + 0.25), behind=head)
    return step_of(mapping, Machine.read("h800"), [(Spent(computed=1.0), layers)], around, 0).parts["micro-batches"]


def test_a_stage_has_whole_layers():
    assert work_of(64, 0.5, pp=16) == pytest.approx(4.5)
    # 13 of 16 stages have four layers; the last one has the head and one layer, or four less.
    assert work_of(61, 0.5, pp=16) == pytest.approx(4.0)
    assert work_of(61, 3.5, pp=16) == pytest.approx(4.5)
    assert work_of(63, 2.0, pp=16) == pytest.approx(5.0)
    # One layer for two stages: the last one has none.
    assert work_of(1, 0.5, pp=2) == pytest.approx(1.0)
    # Of one stage all of it.
    assert work_of(3, 0.5, pp=1) == pytest.approx(3.75)


def test_kinds_share_a_stage_as_they_share_the_model():
    assert shares_of_stage([3, 58], 16) == pytest.approx([3 * 4 / 61, 58 * 4 / 61])
    assert shares_of_stage([32], 4) == [8]


def test_what_products_of_8_bits_round_by_hand():
    config = from_config("mixtral-8x7b").config
    shapes = parameters.shapes(config)["layers"][0]
    mapping = Mapping(devices=8, tp=2, ep=4, etp=1, type="f8E4M3FN")
    tokens, rows = 4096, 4096 / 2 * 2
    # Queries, keys and values are given the same 4096; they are in two parts, and so is what the last product is given.
    attention = 4096 + (4096 + 1024 + 1024) / 2 + 4096 / 2 + 4096
    experts = 4096 + 2 * 14336 + 14336 + 4096
    assert rounded_values(shapes, config, mapping) == tokens * attention + rows * experts


def test_rounding_is_read_once_and_written_twice():
    config, machine = from_config("mixtral-8x7b").config, Machine.read("dgx-h100")
    (kind,) = kinds_of(config)
    seconds = {}
    for type in ("bf16", "f8E4M3FN"):
        setting = Setting(config, Mapping(devices=8, ep=8, type=type))
        seconds[type] = rounding_seconds(setting, kind, machine)
    values = rounded_values(parameters.shapes(config)["layers"][0], config, Mapping(devices=8, ep=8))
    assert seconds == {"bf16": 0.0, "f8E4M3FN": machine.price_kernel(int(4 * values))}
