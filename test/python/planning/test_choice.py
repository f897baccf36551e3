# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The mapping that is chosen where none is given: the best of all, by bounds that are bounds."""

import dataclasses
import json
import random
import re
import warnings

import pytest

import shoal
from shoal_testing import ROOT
from shoal.models import from_config
from shoal.planning import Mapping, NothingFitsError, forecast_of, mapping_of, megatron_flags, plan, torchtitan_flags
from shoal.planning.choice_text import choice_as_text, difference
from shoal.planning.command import Told, main
from shoal.planning.forecasts import key_of
from shoal.planning.job import plan_of, programs_of
from shoal.planning.least import Bounds
from shoal.planning.memory import around_bytes, weight_bytes
from shoal.planning.search import Progress, search
from shoal.planning.space import Job, mappings

SIZES = {
    "mixtral-8x7b": dict(
        num_hidden_layers=4, hidden_size=512, num_attention_heads=8, num_key_value_heads=4, intermediate_size=1024, vocab_size=1024
    ),
    "qwen1.5-moe-a2.7b": dict(
        num_hidden_layers=4, hidden_size=512, num_attention_heads=8, num_key_value_heads=4, moe_intermediate_size=256,
        intermediate_size=1024, shared_expert_intermediate_size=512, num_experts=8, num_experts_per_tok=2, vocab_size=2048,
    ),
    "deepseek-v3": dict(
        num_hidden_layers=4, first_k_dense_replace=1, hidden_size=256, num_attention_heads=8, num_key_value_heads=8,
        intermediate_size=1024, moe_intermediate_size=256, n_routed_experts=16, n_group=4, topk_group=2, num_experts_per_tok=4,
        vocab_size=1024, q_lora_rank=128, kv_lora_rank=64, qk_nope_head_dim=32, qk_rope_head_dim=16, v_head_dim=32,
    ),
    "gpt-oss-120b": dict(
        num_hidden_layers=4, hidden_size=512, num_attention_heads=8, num_key_value_heads=4, head_dim=64, intermediate_size=512,
        num_local_experts=8, num_experts_per_tok=2, vocab_size=2048, layer_types=["sliding_attention", "full_attention"] * 2,
    ),
}  # fmt: skip
MACHINES = ("dgx-h100", "h800", "gb200-nvl72", "ndv4-a100", "tpuv6e-pod")


def model(name, **fields):
    return from_config(name, **{"moe_token_dispatcher_type": "alltoall", **fields}, **SIZES[name]).config


CONFIG = model("mixtral-8x7b")


def small_machine(memory):
    text = (ROOT / "machines/dgx-h100.toml").read_text()
    return shoal.Machine(re.sub(r"memory = 85.5e9", f"memory = {memory}", text), "small.toml")


# A space of few programs.
FEW = {"pp": 1, "micro_batch": 1, "etp": 1, "ep": 4}


def choose(machine="dgx-h100", devices=8, **fields):
    return plan(CONFIG, machine=machine, devices=devices, **{"global_batch": 32, "sequence": 1024, **FEW, **fields})


@pytest.mark.parametrize(
    "name, machine, fixed",
    [
        ("mixtral-8x7b", "dgx-h100", dict(tp=1, micro_batch=1)),
        ("mixtral-8x7b", "tpuv6e-pod", dict(tp=1, cp=1, pp=1, micro_batch=1)),
        ("qwen1.5-moe-a2.7b", "h800", dict(etp=1, micro_batch=2, recompute="none", pp=1, ep=4)),
    ],
)
def test_the_pruned_search_finds_what_all_of_a_space_has_best(name, machine, fixed):
    """And what it does not simulate is not faster than it says."""
    config, found = model(name), shoal.Machine.read(machine)
    programs = programs_of(config, found)
    space = mappings(programs.config, found, Job(8, 16, 1024, fixed))
    pruned = search(config, programs_of(config, found), space)
    near = search(config, programs_of(config, found), space, within=0.2)
    every = []
    for mapping in space:
        programs.make(mapping, "layer", "around", "optimizer")
        every.append(plan_of(config, programs, mapping))
    fastest = min(made.seconds for made in every if made.fits)
    assert pruned.plans[0].seconds == pytest.approx(fastest, rel=1e-9) and pruned.gap == 0
    assert near.plans[0].seconds * (1 - near.gap) <= fastest * (1 + 1e-9) and near.gap <= 0.2
    assert len(every) == pruned.space >= pruned.simulated


def test_the_best_ones_are_proven_on_request():
    """All of a space, simulated, have the same first three; nothing that does not fit is among them."""
    config, found = model("mixtral-8x7b"), shoal.Machine.read("dgx-h100")
    programs = programs_of(config, found)
    space = mappings(programs.config, found, Job(8, 16, 1024, dict(tp=1, cp=1, micro_batch=1)))
    made = search(config, programs_of(config, found), space, top=5, proven=3)
    for mapping in space:
        programs.make(mapping, "layer", "around", "optimizer")
    every = sorted(each.seconds for each in (plan_of(config, programs, mapping) for mapping in space) if each.fits)
    assert [each.seconds for each in made.plans[:3]] == pytest.approx(every[:3], rel=1e-9)
    assert made.gap == 0 and made.bound >= every[2] * (1 - 1e-9) and all(each.fits for each in made.plans)
    chosen = choose(tp=1, top=2, proven=2)
    assert len(chosen.plans) == 2 and "no further mapping of this space has a" in choice_as_text(chosen)


def drawn(seed, **fields):
    """A model, a machine, one of its mappings and those that share its layer's program, also of more devices."""
    draw = random.Random(seed)
    name, machine = sorted(SIZES)[seed % len(SIZES)], draw.choice(MACHINES)
    devices, sequence = draw.choice([2, 4, 8, 16, 64]), draw.choice([1024, 2048, 4096])
    found = shoal.Machine.read(machine)
    programs = programs_of(model(name, **fields), found)
    each = draw.choice([2, 8])
    spaces = [mappings(programs.config, found, Job(n, n * each, sequence)) for n in (devices, 2 * devices, 8 * devices)]
    mapping = draw.choice(spaces[0])
    key = key_of("layer", mapping)
    return programs, mapping, [other for space in spaces for other in space if key_of("layer", other) == key]


def where(mapping, programs):
    return f"{mapping} of {programs.machine.name}, micro-batches of {mapping.micro_batch}, {mapping.recompute}"


# Experts with a capacity have room for fewer rows, or for more.
ROOMS = [{"moe_expert_capacity_factor": 0.5}, {"moe_expert_capacity_factor": 1.25, "moe_pad_expert_input_to_capacity": True}]
DRAWN = [(seed, {}) for seed in range(24)] + [(seed, ROOMS[seed % 2]) for seed in range(24, 36)]


@pytest.mark.parametrize("seed, fields", DRAWN, ids=[seed for seed, _ in DRAWN])
def test_bounds_are_below_what_is_simulated(seed, fields):
    """Of a mapping with all its programs, and of all that share its layer."""
    programs, mapping, alike = drawn(seed, **fields)
    before = Bounds(programs)
    least = {each: (before.seconds(each), before.memory(each).total) for each in alike}
    programs.make(mapping, "layer", "around", "optimizer")
    made, after = plan_of(programs.config, programs, mapping), Bounds(programs)
    assert after.seconds(mapping) == pytest.approx(made.seconds, rel=1e-12)
    assert after.memory(mapping).total == pytest.approx(made.memory.total, rel=1e-12)
    for each, (seconds, memory) in least.items():
        assert 0 < seconds <= after.seconds(each) * (1 + 1e-9), where(each, programs)
        assert memory <= after.memory(each).total * (1 + 1e-9), where(each, programs)


def test_bounds_count_rows_that_a_capacity_lets_through():
    """Of products that take most of a layer."""
    fields = {"moe_token_dispatcher_type": "alltoall", "moe_expert_capacity_factor": 0.5}
    programs = programs_of(from_config("mixtral-8x7b", num_hidden_layers=1, **fields).config, shoal.Machine.read("dgx-h100"))
    mapping = Mapping(8, ep=8, global_batch=8)
    least = Bounds(programs).seconds(mapping)
    programs.make(mapping, "layer", "around", "optimizer")
    assert 0.8 * Bounds(programs).seconds(mapping) < least < Bounds(programs).seconds(mapping)


# What steps and memory depend on beside sizes.
FIXED = [
    {},
    {"zero": 3},
    {"schedule": "dualpipe"},
    {"zero": 2, "exchange_beside": True},
    {"zero": 3, "mtp": 2, "whole_at_start": True, "sums_beside": False},
    {"mtp": 1, "gathers_beside": False},
    {"type": "f8E4M3FN", "sum_type": "bf16", "state_types": ("f32", "bf16", "bf16"), "gathers_again": False},
]


@pytest.mark.parametrize("seed, fixed", enumerate(FIXED))
def test_columns_say_what_each_mapping_says(seed, fixed):
    """Of a whole space at once, to the bit: also where some programs are there."""
    programs, mapping, _ = drawn(seed)
    job = Job(mapping.devices, mapping.global_batch, mapping.sequence, fixed)
    space = mappings(programs.config, programs.machine, job)[::7]
    for _ in range(2):
        bounds = Bounds(programs)
        assert bounds.seconds_of_all(space).tolist() == [bounds.seconds(each) for each in space]
        assert bounds.memory_of_all(space).total.tolist() == [bounds.memory(each).total for each in space]
        programs.make(space[0], "layer", "around")


@pytest.mark.parametrize("fixed", [{}, {"zero": 3, "mtp": 1}])
def test_weights_are_counted_by_role_as_the_layout_has_them(fixed):
    """Each mapping's by itself, and those of all by the sizes of roles."""
    config = model("deepseek-v3")
    programs = programs_of(config, shoal.Machine.read("dgx-h100"))
    for mapping in mappings(programs.config, programs.machine, Job(16, 64, 1024, fixed))[::97]:
        setting = programs.setting(mapping)
        around, *layers = programs.held(mapping)
        whole = [weight_bytes(setting, kind) for kind in programs.kinds]
        assert [held[-1] for held in layers] == pytest.approx(whole, rel=1e-12)
        assert mapping.zero == 3 or [held[0] for held in layers] == pytest.approx(whole, rel=1e-12)
        assert around == pytest.approx(around_bytes(setting), rel=1e-12)


def test_sizes_without_a_mesh_are_no_mappings():
    """Groups of two devices for tokens and of three for experts lie in no mesh."""
    config = model("qwen1.5-moe-a2.7b")
    config = dataclasses.replace(config, moe=config.moe.replace(num_experts=12))
    machine = shoal.Machine.read("dgx-h100")
    space = mappings(config, machine, Job(24, 48, 2048))
    assert {mapping.ep for mapping in space} >= {1, 2, 3, 6} and all(mapping.layout(8) for mapping in space)


def test_these_are_hundreds_of_mappings():
    assert sum(len(drawn(seed)[2]) for seed in range(24)) >= 200


def test_a_layer_is_that_of_the_fewest_devices():
    """A forecast of each mapping alone is that of programs that mappings share."""
    made = choose(tp=1)
    for each in made.plans[:2]:
        alone = forecast_of(CONFIG, each.machine, each.mapping)
        assert alone.seconds == each.seconds and alone.memory == each.memory


def test_it_is_the_same_each_time():
    assert choice_as_text(choose(tp=1), "m") == choice_as_text(choose(tp=1), "m")


def test_what_holds_is_held():
    made = choose(tp=2, recompute="full", within=0.9)
    assert {(each.mapping.tp, each.mapping.recompute) for each in made.plans} == {(2, "full")}


def test_gathered_tokens_are_planned_by_few_programs():
    """Where bounds of a dispatcher are far from its programs, most of a space is simulated."""
    config = model("mixtral-8x7b", moe_token_dispatcher_type="allgather", moe_expert_capacity_factor=1.0)
    made = plan(config, machine="dgx-h100", devices=8, global_batch=32, sequence=1024, pp=1, micro_batch=1)
    assert made.programs <= 40 and made.gap <= 0.01


def test_memory_is_a_limit():
    free = choose(within=0.0, tp=1)
    room = free.best.memory.total + 2.0e9 - 1e6
    tight = choose(machine=small_machine(room), within=0.0, tp=1)
    assert tight.best.memory.total <= room - 2.0e9
    assert tight.best.seconds >= free.best.seconds and tight.too_large > free.too_large


def test_nothing_fits():
    told = r"none of \d+ mappings fits: the smallest, .*, holds .* of it optimizer .*; \d+ devices fit"
    with pytest.raises(NothingFitsError, match=told):
        choose(machine=small_machine(2.25e9), devices=4)
    with pytest.raises(NothingFitsError, match="nor does any of dgx-h100's 16384 devices"):
        choose(machine=small_machine(2.001e9), devices=4)


def test_no_mapping_has_such_a_batch():
    with pytest.raises(shoal.InputError, match="no mapping of 8 devices has a global batch of 32 with .*pp 3"):
        choose(pp=3)


def test_a_mapping_that_is_near_the_best_is_named_so():
    best = choose(tp=1).best
    made = choose(tp=1, against=best.mapping)
    assert made.against.is_near and made.against.slower == 0
    assert "as good as number 1: 0.0 % longer" in choice_as_text(made)
    slow = choose(tp=1, against=best.mapping.replace(recompute="full"))
    assert not slow.against.is_near and "recompute full in place of none" in choice_as_text(slow)


def test_a_difference_says_what_and_what_it_costs():
    best = choose(tp=1, recompute="none").best
    other = forecast_of(CONFIG, best.machine, best.mapping.replace(recompute="full"))
    text = difference(other, best)
    assert text.startswith("recompute full in place of none: +") and "micro-batches +" in text


def dispatched(config, sequence):
    """The choice of 16 devices in two nodes, with experts over all of them."""
    held = dict(tp=1, cp=1, pp=1, ep=16, etp=1, micro_batch=1, recompute="full")
    return plan(config, machine="dgx-h100", devices=16, global_batch=64, sequence=sequence, within=0.0, **held)


def test_rows_go_once_to_a_node_where_that_is_faster():
    """Of DeepSeek-V3's layers it is; of few small rows, whose exchanges wait for messages, it is not."""
    large = from_config("deepseek-v3", moe_token_dispatcher_type="alltoall", num_hidden_layers=2, first_k_dense_replace=1).config
    made = {"large": dispatched(large, 4096), "small": dispatched(model("deepseek-v3"), 128)}
    assert {name: choice.best.mapping.dispatch for name, choice in made.items()} == {"large": "flex", "small": "alltoall"}
    text = choice_as_text(made["large"])
    assert "ep 16, rows once to a node, dp 16" in text and "--moe-token-dispatcher-type flex" in text
    assert made["large"].mappings == 2 and made["large"].gap == 0
    held = Job(16, 64, fixed=dict(tp=1, cp=1, pp=1, etp=1, micro_batch=1, recompute="full"))
    space = mappings(large, shoal.Machine.read("dgx-h100"), held)
    assert {mapping.ep for mapping in space if mapping.dispatch == "flex"} == {16}


@pytest.mark.parametrize("seed", range(40))
def test_flags_of_megatron_say_the_same(seed):
    draw = random.Random(seed)
    job = Job(64, 256, 4096, draw.choice([{}, {"zero": 3}, {"type": "f8E4M3FN", "exchange_beside": True}, {"zero": 0}]))
    mapping = draw.choice(mappings(CONFIG, shoal.Machine.read("dgx-h100"), job))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mapping_of(megatron_flags(mapping), 64) == mapping
        # Of its context parallelism torchtitan says no kind.
        warnings.filterwarnings("ignore", "from_megatron: --cp-comm-type p2p has no effect")
        titan = mapping_of(torchtitan_flags(mapping), 64)
    names = ("tp", "cp", "ep", "etp", "pp", "micro_batch", "global_batch", "sequence", "recompute")
    assert all(getattr(titan, name) == getattr(mapping, name) for name in names)


def test_a_layout_reads_what_is_printed():
    mapping = choose(tp=2, within=0.9, recompute="none").best.mapping
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layout = shoal.moe.Layout.from_megatron(megatron_flags(mapping), devices=8)
    sizes = [layout.size(role) for role in ("tp", "cp", "ep", "etp", "pp")]
    assert sizes == [mapping.tp, mapping.cp, mapping.ep, mapping.etp, mapping.pp]


def folder(tmp_path):
    fields = {"model_type": "mixtral", "max_position_embeddings": 4096, "num_local_experts": 8, "num_experts_per_tok": 2}
    (tmp_path / "config.json").write_text(json.dumps({**fields, **SIZES["mixtral-8x7b"]}))
    return [str(tmp_path), "--machine=dgx-h100", "--devices=8", "--global-batch-size=32", "--seq-length=1024",
            "--within=60"]


def test_the_command_prints_plans_certificate_and_flags(tmp_path, capsys):
    assert main(folder(tmp_path)) == 0
    text = capsys.readouterr().out
    assert "  1  " in text and "MFU" in text and "for Megatron-LM" in text and "for torchtitan" in text
    assert re.search(r"no mapping of this space has a (shorter step|step that is more than [\d.]+ % shorter) in this model", text)
    assert re.search(r"[\d,]+ mappings: [\d,]+ too large, [\d,]+ excluded by bounds, \d+ simulated, of \d+ programs", text)


def test_the_command_as_json(tmp_path, capsys):
    words = [*folder(tmp_path), "--json", "--top=2", "--fixed", "--tensor-model-parallel-size", "2", "--against",
             "--tensor-model-parallel-size", "2", "--sequence-parallel", "--use-distributed-optimizer"]  # fmt: skip
    assert main(words) == 0
    made = json.loads(capsys.readouterr().out)
    assert len(made["plans"]) <= 2 and all(each["mapping"]["tp"] == 2 for each in made["plans"])
    assert made["against"]["slower"] >= 0 or made["gap"] > 0


def test_the_command_says_that_nothing_fits(tmp_path, capsys):
    (tmp_path / "small.toml").write_text((ROOT / "machines/dgx-h100.toml").read_text().replace("memory = 85.5e9", "memory = 2.001e9"))
    words = [word for word in folder(tmp_path) if not word.startswith("--machine")]
    assert main([*words, f"--machine={tmp_path / 'small.toml'}"]) == 3
    assert capsys.readouterr().err.startswith("error: plan: none of ")


def test_a_long_search_says_how_far_it_is(capsys):
    told = Told(after=0.0, every=60.0)
    told(Progress(3, 2.5, 2.4))
    told(Progress(4, 2.5, 2.4))
    assert capsys.readouterr().err == "plan: 3 programs simulated, best step 2.50 s, no other below 2.40 s\n"


def test_recomputation_computes_layers_again():
    """Products of experts, too: an inner segment would leave them saved."""
    plain = forecast_of(CONFIG, shoal.Machine.read("dgx-h100"), Mapping(8, ep=4, pp=2, sequence=4096, global_batch=32))
    again = forecast_of(CONFIG, plain.machine, plain.mapping.replace(recompute="full"))

    def experts(made):
        return sum(line.seconds for line in made.lines if line.where == "experts" and line.what == "ragged_einsum")

    assert experts(again) == pytest.approx(4 / 3 * experts(plain), rel=0.02)


def test_one_device_has_a_plan():
    made = plan(CONFIG, machine="dgx-h100", devices=1, global_batch=4, sequence=1024, within=0.9)
    assert made.best.mapping.stage_devices == 1 and made.best.seconds > 0


def test_choose_command(capsys):
    page = (ROOT / "docs/guide/Planning.md").read_text()
    text = re.search(r"<!-- run: test_choose_command -->\n```sh\nshoal plan (.*?)\n```\n```\n(.*?)\n```", page, re.S)
    assert main(text[1].split()) == 0
    assert capsys.readouterr().out.rstrip() == text[2]
