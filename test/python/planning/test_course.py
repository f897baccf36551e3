# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step put together from seconds of layers; what products in 8 bits round."""

import pytest

from shoal.models import from_config, parameters
from shoal.planning import Mapping
from shoal.planning.arithmetic import rounded_values
from shoal.planning.beside import longer, room, together
from shoal.planning.costs import rounding_seconds
from shoal.planning.course import Around, Spent, step_of
from shoal.planning.programs import Setting, kinds_of
from shoal.planning.schedule import shares_of_stage
from shoal.simulation import Machine


def test_what_is_sent_beside_kernels_slows_them_until_it_ends():
    """Kernels of 3 s take 3.75 beside something: what is sent for less costs a fifth of it, what is sent for longer is what
    both take."""
    machine, alone = Machine.read("h800"), Machine.read("box")
    assert [float(together(sent, 3.0, machine)) for sent in (0.0, 1.5, 3.75, 4.0)] == pytest.approx([3.0, 3.3, 3.75, 4.0])
    assert float(longer(1.5, 3.0, machine)) == pytest.approx(0.3) and room(3.0, machine) == pytest.approx(3.75)
    # Half a micro-batch after the other is as long as the whole, where either is long enough.
    assert 2 * float(together(0.75, 1.5, machine)) == pytest.approx(3.3)
    assert not alone.overlaps and float(together(1.2, 3.0, alone)) == pytest.approx(4.2)


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


def test_layers_that_predict_further_tokens_are_on_the_last_stage():
    # Three places of it are free.
    assert work_of(61, 0.5, pp=16, mtp=1) == pytest.approx(4.0)
    assert work_of(61, 2.5, pp=16, mtp=1) == pytest.approx(4.5)
    assert work_of(64, 0.5, pp=16, mtp=2) == pytest.approx(6.5)
    assert work_of(3, 0.5, pp=1, mtp=1) == pytest.approx(4.75)


def step_on_h800(layers, **fields):
    """Of layers of 3 s of kernels, 1 s forward; beside something they take 5 s for 4, so that a second that is sent costs a
    fifth."""
    machine = Machine.read("h800")
    assert machine.overlap_tax == pytest.approx(0.25)
    mapping = Mapping(devices=1, global_batch=1, sums_beside=True, gathers_beside=True, **fields)
    return step_of(mapping, machine, layers, Around(), 0).parts


def test_the_first_layer_gathers_and_the_last_one_sums_beside_nothing():
    """Of four layers 8 s of kernels back are beside 2 s of sums, but for a quarter; of 10 s what three of them do not take is
    waited for."""
    parts = step_on_h800([(Spent(computed=3.0, sums=0.5, gathers=0.25), 4)])
    assert parts["sums of gradients"] == pytest.approx(0.5 + 0.2 * 1.5)
    assert parts["gathers of parameters"] == pytest.approx(0.25 + 0.2 * 0.75)
    parts = step_on_h800([(Spent(computed=3.0, sums=2.5), 4)])
    assert parts["sums of gradients"] == pytest.approx(10 - 6)


def test_gradients_of_a_stage_are_summed_while_micro_batches_pass_the_others():
    """Of two stages a device, of two layers each, 10 s of sums: the last stage's are complete when two micro-batches have 4 s
    each of the first one to go back through, beside which 10 s may be sent; what is left, half of all, has one more layer's
    2 s beside it."""
    machine = Machine.read("h800")
    mapping = Mapping(devices=2, pp=2, stages=2, global_batch=4, sums_beside=True)
    parts = step_of(mapping, machine, [(Spent(computed=3.0, sums=2.5), 8)], Around(), 0).parts
    assert parts["sums of gradients"] == pytest.approx(5 - 2.5 + 0.2 * 7.5)
    slow = step_of(mapping, machine, [(Spent(computed=3.0, sums=5.0), 8)], Around(), 0).parts
    assert slow["sums of gradients"] == pytest.approx(20 - 8 - 2)


def test_what_is_in_parts_moves_beside_the_kernels_of_its_pass():
    """Forward 0.5 s beside 1 s, back 1.5 s beside 2 s."""
    parts = step_on_h800([(Spent(computed=3.0, sums=1.0, gathers=0.5), 1)], zero=3)
    assert parts["micro-batches"] == pytest.approx(1 + 0.1 + 2 + 0.3)
    # What takes longer than kernels is waited for, and so is what is sent for other things.
    parts = step_on_h800([(Spent(sent=0.25, computed=3.0, sums=1.0, gathers=1.5), 1)], zero=3)
    assert parts["micro-batches"] == pytest.approx(0.25 + 1.5 + 2.5)
    assert parts["sums of gradients"] == parts["gathers of parameters"] == 0
    gradients = step_on_h800([(Spent(computed=3.0, sums=1.0, gathers=0.5), 1)], zero=2)
    assert gradients["micro-batches"] == pytest.approx(1 + 2 + 0.2) and gradients["gathers of parameters"] == pytest.approx(0.5)


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
