# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forecasts of training jobs, of small models."""

import json
import os
import re
import subprocess
import sys

import math

import pytest

import shoal
from paths import PATHS
from shoal_testing import ROOT
from shoal.models import from_config
from shoal.planning import Mapping, forecast_of, smallest_change
from shoal.planning.arithmetic import active_weights, flops_of_token
from shoal.planning.command import main
from shoal.planning.fitting import changes
from shoal.planning.job import programs_of
from shoal.planning.schedule import in_flight
from shoal.planning.published_table import Bar
from shoal.planning.tables import exchange, model_of

MACHINE = shoal.Machine.read("dgx-h100")
SIZES = {
    "num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 1024,
    "vocab_size": 1024,
}  # fmt: skip
CONFIG = from_config("mixtral-8x7b", moe_token_dispatcher_type="alltoall", **SIZES).config
WIDE = from_config(
    "mixtral-8x7b", moe_token_dispatcher_type="alltoall", **{**SIZES, "num_hidden_layers": 2, "hidden_size": 2048, "num_attention_heads": 16}
).config
BASE = Mapping(8, ep=4, pp=2, sequence=512, global_batch=32)


def plan_of(**fields):
    return forecast_of(CONFIG, MACHINE, BASE.replace(**fields))


@pytest.fixture(scope="module")
def plan():
    return plan_of()


def test_parts_are_the_step(plan):
    assert plan.seconds == sum(plan.parts.values()) > 0
    assert 0 < plan.exposed < plan.seconds
    assert plan.tokens_per_second == 32 * 512 / plan.seconds
    assert 0 < plan.mfu < 0.5


def test_memory_is_that_of_the_parameters(plan):
    """Experts over ep 4, a half of four layers, one of the two tables."""
    attention = 512 * 512 * 2 + 512 * 256 * 2 + 2 * 512 + 512 * 8
    experts = 8 * 3 * 512 * 1024 / 4
    elements = 2 * (attention + experts) + 1024 * 512
    assert plan.memory.weights == 2 * elements
    assert plan.memory.gradients == 4 * elements
    # Experts have the same on one device of the four, all else on all: state is in four parts but of small vectors.
    assert plan.memory.optimizer == pytest.approx(12 * (2 * experts + (2 * attention + 1024 * 512) / 4), rel=0.01)


def test_a_longer_batch_has_the_same_memory_and_a_smaller_bubble(plan):
    longer = plan_of(global_batch=64)
    assert longer.memory == plan.memory
    assert longer.parts["pipeline's waiting"] == plan.parts["pipeline's waiting"]
    assert longer.parts["micro-batches"] == pytest.approx(2 * plan.parts["micro-batches"])
    assert longer.mfu > plan.mfu


def test_recomputation_trades_time_for_memory(plan):
    again = plan_of(recompute="full")
    assert again.memory.activations < 0.3 * plan.memory.activations
    assert again.parts["micro-batches"] > plan.parts["micro-batches"]
    assert again.flops < plan.flops


def test_selective_recomputation_is_between_none_and_full(plan):
    """Norms and activations: a third of experts' hidden units, and little time."""
    some, again = plan_of(recompute="selective"), plan_of(recompute="full")
    assert again.memory.activations < some.memory.activations < 0.9 * plan.memory.activations
    assert plan.parts["micro-batches"] < some.parts["micro-batches"] < again.parts["micro-batches"]
    products = [sum(line.seconds for line in made.lines if line.what == "ragged_einsum") for made in (plan, some)]
    assert products[0] == pytest.approx(products[1])


def test_saved_is_what_products_and_norms_are_given():
    """On one device of tp 2, experts over 4: X of the layer, behind attention and twice normed, once gathered; queries, keys,
    values and what attention makes; rows there and back; three of hidden units. Routing is the rest."""
    (layer,) = layers_of(Mapping(8, tp=2, ep=4, etp=1, sequence=1024, micro_batch=1))
    x, rows, hidden = (2 * 512 * size for size in (512, 2 * 512, 2 * 1024))
    values = 2 * 1024 * (2 * 8 + 2 * 4) * 64 / 2
    assert layer.saved == pytest.approx(5 * x + values + 2 * rows + 3 * hidden, rel=0.1)


def test_programs_verified_behind_each_pass_say_the_same():
    mapping = Mapping(8, tp=2, ep=4, etp=1, sequence=1024, micro_batch=1)
    assert layers_of(mapping) == layers_of(mapping, verify_each=True)


def layers_of(mapping, **options):
    programs = programs_of(CONFIG, MACHINE, **options)
    programs.make(mapping, "layer")
    return programs.layers(mapping)


@pytest.mark.parametrize("stages, held", [(1, [4, 3, 2, 1]), (4, [4.75, 4.25, 3.75, 3.25])])
def test_later_stages_hold_less(stages, held):
    """arXiv 2603.07685, table 4: 15 of 16 chunks on the third of four stages."""
    mapping = Mapping(4, pp=4, stages=stages, global_batch=64)
    assert [in_flight(mapping, stage) for stage in range(4)] == held


def test_sums_are_of_a_step_and_not_of_a_micro_batch(plan):
    """Nor are tokens moved to save them: each micro-batch leaves addends."""
    assert plan.parts["sums of gradients"] > 0
    places = {line.where for line in plan.lines if line.is_collective}
    assert "sums of gradients" in places and not any(place.startswith(("gradients", "measured")) for place in places)
    sums = {line.what for line in plan.lines if line.where == "sums of gradients"}
    assert all(what.startswith(("reduce_scatter", "all_reduce")) for what in sums)
    longer = plan_of(global_batch=64)
    assert longer.parts["sums of gradients"] == plan.parts["sums of gradients"]


def test_folded_experts_stay_in_a_node():
    """arXiv 2504.14960: experts over the devices of tp and dp are faster than of dp alone. A plan that saved sums would
    move tokens over nodes."""
    wide = from_config("mixtral-8x7b", **{**SIZES, "hidden_size": 2048, "intermediate_size": 4096}).config
    fields = dict(devices=32, tp=2, pp=2, sequence=2048, global_batch=64)
    apart = forecast_of(wide, MACHINE, Mapping(**fields, ep=4))
    folded = forecast_of(wide, MACHINE, Mapping(**fields, ep=8, etp=1))
    assert folded.seconds < apart.seconds
    crossing = [line for line in folded.lines if line.is_collective and line.where == "experts" and "rails" in line.bound]
    assert not crossing


def test_interleaving_waits_less(plan):
    assert plan_of(stages=2).parts["pipeline's waiting"] < plan.parts["pipeline's waiting"]


def test_sums_hide_behind_the_last_backward_pass(plan):
    assert plan_of(sums_beside=True).parts["sums of gradients"] < plan.parts["sums of gradients"]


def test_state_in_parts_is_smaller(plan):
    whole = plan_of(zero=0)
    assert whole.memory.optimizer > plan.memory.optimizer
    assert plan_of(zero=3).memory.weights < plan.memory.weights


def test_parameters_in_parts_are_gathered_and_summed_by_each_micro_batch():
    """Of layers that are the same: two gathers in bfloat16 and a sum in float32, as of a step that does so once."""
    once, parts = plan_of(), plan_of(zero=3)
    batches = once.mapping.micro_batches
    for where, times in (("sums of gradients", batches), ("optimizer", 2 * batches)):
        assert seconds_of(once, where) > 0
        assert seconds_of(parts, where) == pytest.approx(times * seconds_of(once, where))
    assert parts.parts["sums of gradients"] == parts.parts["gathers of parameters"] == 0
    beside = plan_of(zero=3, sums_beside=True, gathers_beside=True)
    assert once.parts["micro-batches"] < beside.parts["micro-batches"] < parts.parts["micro-batches"]


def seconds_of(plan, where):
    return sum(line.seconds for line in plan.lines if line.where == where and line.is_collective)


def test_gradients_in_parts_are_summed_by_each_micro_batch():
    two, three = plan_of(zero=2), plan_of(zero=3)
    assert seconds_of(two, "sums of gradients") == seconds_of(three, "sums of gradients")
    assert two.parts["gathers of parameters"] > 0 == two.parts["sums of gradients"]


def test_parameters_may_be_whole_before_they_are_cut():
    """On one stage of 8 devices, of which none has experts of its own: eight times what is held, and more than all else."""
    alone = BASE.replace(ep=1, pp=1, zero=3, sequence=32, global_batch=8)
    cut, whole = (forecast_of(CONFIG, MACHINE, alone.replace(whole_at_start=start)) for start in (False, True))
    assert cut.memory.start == 0 and "start" not in cut.memory.parts()
    # Vectors are in as many parts, too.
    assert whole.memory.total == pytest.approx(max(8 * cut.memory.weights, cut.memory.total), rel=0.01)
    assert whole.memory.total == pytest.approx(cut.memory.total + whole.memory.start)


def test_rows_are_copied_into_the_order_of_several_experts():
    """Read and written, there and back, and so are their cotangents: 8 experts over 4 devices, but not over 8."""
    copies = {ep: sum(line.seconds for line in plan_of(ep=ep, pp=1).lines if line.what == "rows in order") for ep in (4, 8)}
    rows = 512 * 2 * 512 * 2
    assert copies == {4: pytest.approx(4 * 4 * 4 * MACHINE.price_kernel(2 * rows)), 8: 0}


def test_devices_of_one_sequence_sum_gradients_once():
    """With cp 2 for dp 2 a micro-batch exchanges keys and no gradients, and state is in as many parts."""
    apart, together = (plan_of(pp=1, ep=4, **fields) for fields in (dict(cp=1), dict(cp=2)))
    assert together.memory.optimizer == pytest.approx(apart.memory.optimizer)
    assert not [line for line in together.lines if "gradients (" in line.where and line.is_collective]
    once, twice = (seconds_of(plan_of(pp=1, ep=4, cp=2, global_batch=batch), "sums of gradients") for batch in (32, 64))
    assert once == twice > 0


def wide_plan(**fields):
    """Of two layers over tp 2, whose products take longer than what is sent beside them."""
    return forecast_of(WIDE, MACHINE, Mapping(8, tp=2, ep=4, etp=1, sequence=4096, **fields))


def test_what_is_gathered_over_tp_is_not_saved():
    saved, again = (wide_plan(gathers_again=gathers_again) for gathers_again in (False, True))
    others = 2 * 4096 * 2048 / 2
    assert saved.memory.activations - again.memory.activations == pytest.approx(2 * others)
    full = [wide_plan(gathers_again=gathers_again, recompute="full").memory.activations for gathers_again in (False, True)]
    assert full[0] == full[1]


def test_gradients_of_what_is_gathered_are_scattered_beside_products():
    """A scatter for each of two layers' attention costs a fifth of its time, and a further gather as much."""
    whole, beside = (wide_plan(gathers_again=gathers_again) for gathers_again in (False, True))
    seconds = {}
    for name, plan in (("whole", whole), ("beside", beside)):
        for what in ("all_gather", "reduce_scatter"):
            seconds[name, what] = sum(line.seconds for line in plan.lines if line.what.startswith(what) and line.where.startswith("attention"))
    batches = whole.mapping.micro_batches
    one = MACHINE.price("reduce_scatter", [(2, 1)], 2 * 4096 * 2048 // 2)
    assert seconds["whole", "reduce_scatter"] - seconds["beside", "reduce_scatter"] == pytest.approx(2 * 0.8 * one * batches, rel=0.02)
    assert seconds["beside", "all_gather"] - seconds["whole", "all_gather"] == pytest.approx(2 * 0.2 * one * batches, rel=0.02)
    no_sequences = [wide_plan(gathers_again=gathers_again, sequence_parallel=False).seconds for gathers_again in (False, True)]
    assert no_sequences[0] == no_sequences[1]


def test_a_token_is_sent_once_to_each_device_of_a_node():
    """Of 2 choices among 8 devices 8 (1 - 6/7 x 7/8) = 2; among 4 devices of two experts each 1.71."""
    large = {"hidden_size": 1024}
    config = from_config("mixtral-8x7b", moe_token_dispatcher_type="alltoall", **{**SIZES, **large}).config

    def sent(dispatch, ep):
        plan = forecast_of(config, MACHINE, Mapping(8, ep=ep, sequence=8192, dispatch=dispatch))
        return sum(line.seconds for line in plan.lines if line.what.startswith("ragged_all_to_all"))

    places = 4 * (1 - math.comb(6, 2) / math.comb(8, 2))
    assert sent("flex", 4) == pytest.approx(places / 2 * sent("alltoall", 4))
    assert sent("flex", 8) == pytest.approx(sent("alltoall", 8))


@pytest.mark.parametrize("fields", [{"moe_token_dispatcher_type": "allgather"}, {"moe_expert_capacity_factor": 1.0}])
def test_rows_are_exchanged_and_balanced(plan, fields):
    """Whatever the dispatcher; a capacity as large as an expert's share drops nothing of that."""
    config = from_config("mixtral-8x7b", **{"moe_token_dispatcher_type": "alltoall", **SIZES, **fields}).config
    assert forecast_of(config, MACHINE, BASE).seconds == plan.seconds


def test_rows_that_fill_up_a_capacity_count(plan):
    fields = {"moe_token_dispatcher_type": "alltoall", "moe_expert_capacity_factor": 2.0, **SIZES}
    filled = forecast_of(from_config("mixtral-8x7b", **fields, moe_pad_expert_input_to_capacity=True).config, MACHINE, BASE)
    dropped = forecast_of(from_config("mixtral-8x7b", **fields).config, MACHINE, BASE)
    assert filled.seconds > dropped.seconds == plan.seconds
    # Of large ones, which take longer than what they begin with.
    sizes = {"num_hidden_layers": 1, "hidden_size": 2048, "num_attention_heads": 16}
    made = [
        forecast_of(from_config("mixtral-8x7b", **{**fields, **sizes}, moe_pad_expert_input_to_capacity=pad).config, MACHINE, Mapping(8, ep=8))
        for pad in (False, True)
    ]
    for name in ("ragged_einsum", "ragged_all_to_all"):
        rows = [sum(line.seconds for line in plan.lines if line.what.startswith(name)) for plan in made]
        assert rows[1] == pytest.approx(2 * rows[0], rel=0.1)


def test_the_head_works_while_all_is_saved():
    """Of one stage: logits of 2,048 tokens in bfloat16 and float32, and as much for their cotangent."""
    few, many = (
        forecast_of(from_config("mixtral-8x7b", **{**SIZES, "vocab_size": size}).config, MACHINE, Mapping(8, ep=4, sequence=2048)).memory.buffers
        for size in (1024, 65536)
    )
    assert many >= 2048 * 65536 * 6 > few


def test_products_of_8_bits_save_bytes():
    wide, narrow = (wide_plan(type=type, gathers_again=False).memory.activations for type in ("bf16", "f8E4M3FN"))
    attention, rows = 4096 * 2048, 4096 / 2 * 2 * (2048 + 1024)
    assert wide - narrow == 2 * (attention + rows)
    again = [wide_plan(type=type, recompute="selective").memory.activations for type in ("bf16", "f8E4M3FN")]
    assert again[0] - again[1] == 2 * 4096 * 2048


def test_sums_in_bfloat16_are_half_as_long_and_as_large():
    wide, narrow = plan_of(ep=1, pp=1), plan_of(ep=1, pp=1, sum_type="bf16")
    assert narrow.memory.gradients == wide.memory.gradients / 2
    assert 0.4 < seconds_of(narrow, "sums of gradients") / seconds_of(wide, "sums of gradients") < 0.9
    halves = plan_of(state_types=("f32", "bf16", "bf16"))
    assert halves.memory.optimizer == pytest.approx(8 / 12 * plan_of().memory.optimizer)


def test_devices_that_share_experts_gather_rows_and_no_weights():
    """Of 16 experts of 256 hidden units over 2 x 4 devices, which are less than the rows of 16,384 tokens."""
    many = from_config("mixtral-8x7b", **{**SIZES, "num_local_experts": 16, "intermediate_size": 256}).config
    plan = forecast_of(many, MACHINE, Mapping(8, tp=4, ep=2, sequence=16384))
    sending = [line for line in plan.lines if line.where == "experts" and line.is_collective and line.bound.startswith("link")]
    seconds = {line.what.split()[0]: line.seconds for line in sending if not line.what.startswith("ragged")}
    # Two of each in four layers: forward, and of cotangents. A device has a quarter of 32,768 rows of 512 elements.
    whole = MACHINE.price("all_gather", [(4, 1)], 2 * 16384 * 512 * 2 * 3 // 4)
    assert seconds == {name: pytest.approx(4 * 2 * whole, rel=0.02) for name in ("all_gather", "reduce_scatter")}


def test_a_layer_that_predicts_a_further_token_is_the_last_stages():
    """With another head and product, where it makes this one the slowest: of one stage it is one layer more."""
    plain, further = (forecast_of(CONFIG, MACHINE, BASE.replace(pp=1, mtp=mtp)) for mtp in (0, 1))
    heads = [sum(line.seconds for line in made.lines if line.where in ("head", "loss")) for made in (plain, further)]
    assert heads[1] == pytest.approx(2 * heads[0], rel=0.1)
    assert further.parts["micro-batches"] > 1.25 * plain.parts["micro-batches"]
    assert further.memory.weights > 1.2 * plain.memory.weights
    assert flops_of_token(CONFIG, 512, 1) / flops_of_token(CONFIG, 512) > 1.25


def test_what_does_not_fit_says_what_does():
    text = (ROOT / "machines/dgx-h100.toml").read_text()
    small = shoal.Machine(re.sub(r"memory = 85.5e9", "memory = 2.27e9", text), "small.toml")
    plan = forecast_of(CONFIG, small, BASE.replace(micro_batch=2, zero=0))
    assert not plan.fits
    what, made = smallest_change(plan)
    assert made.fits and what
    assert forecast_of(CONFIG, small, made.mapping).memory == made.memory
    # No other change fits and is faster; most of them have no program.
    programs = programs_of(CONFIG, small)
    listed = [forecast_of(CONFIG, small, mapping) for _, mapping in changes(plan.mapping, CONFIG.num_hidden_layers, CONFIG.moe.num_experts)]
    assert made.seconds == min(each.seconds for each in listed if each.fits)
    forecast_of(CONFIG, small, plan.mapping, programs)
    before = programs.simulated
    assert smallest_change(plan, programs)[0] == what and programs.simulated - before < 3 * len(listed)


def test_too_many_devices_are_an_error():
    with pytest.raises(shoal.InputError, match="plan: 8 devices, but box has 2"):
        forecast_of(CONFIG, shoal.Machine.read("box"), BASE)


@pytest.mark.parametrize(
    "name, published", [("deepseek-v3", 249.7e9), ("qwen3-30b-a3b", 23.1e9)], ids=["deepseek-v3", "qwen3-30b"]
)
def test_operations_of_a_token_are_those_that_others_count(name, published):
    assert flops_of_token(from_config(name).config, 4096) == pytest.approx(published, rel=0.02)


def test_weights_that_a_token_meets():
    assert active_weights(from_config("mixtral-8x7b").config) == pytest.approx(12.75e9, rel=0.01)


def test_bars_say_whether_they_hold():
    assert str(Bar("within 5 %", 11, 12, 11)) == "within 5 %: 11 of 12, 11 needed: kept"
    assert str(Bar("within 5 %", 11, 12)) == "within 5 %: 11 of 12: MISSED"


def test_published_exchanges_are_within_twenty_percent():
    table = exchange()
    assert len(table.rows) == 9
    (bar,) = table.bars
    assert (bar.kept, bar.of) == (24, 24)


def test_published_models_are_read():
    names = json.loads((ROOT / "python/shoal/planning/published/models.json").read_text())["models"]
    assert {name: model_of(name).num_hidden_layers for name in names}["Llama3-8x70B"] == 80


def commands():
    """The page's example, as words."""
    page = (ROOT / "docs/guide/Machines.md").read_text()
    text = re.search(r"<!-- run: test_plan_command -->\n```sh\nshoal plan (.*?)\n```\n```\n(.*?)\n```", page, re.S)
    return text[1].replace("\\\n", " ").split(), text[2]


def test_plan_command(capsys):
    words, shown = commands()
    assert main(words) == 0
    assert capsys.readouterr().out.rstrip() == shown


def test_plan_as_json(tmp_path, capsys):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "mixtral", "max_position_embeddings": 512, **SIZES,
                                                      "num_local_experts": 8, "num_experts_per_tok": 2}))  # fmt: skip
    words = [str(tmp_path), "--machine=h800", "--devices=4", "--json", "--layout=--expert-model-parallel-size 4 --seq-length 512"]
    assert main(words) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["simulated"] and made["fits"] and made["machine"] == "h800"
    assert made["step_seconds"] == pytest.approx(sum(made["seconds_by_part"].values()))


def test_it_is_a_command_of_the_package():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)}
    command = [sys.executable, "-m", "shoal", "plan", "--help"]
    made = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert made.returncode == 0 and "--layout FLAGS" in made.stdout
