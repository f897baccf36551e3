# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A job's flags as a mapping, and how its micro-batches pass a pipeline."""

import warnings

import pytest

import shoal
from shoal.planning import Mapping, mapping_of, megatron_flags
from shoal.planning.schedule import in_flight, passage

MEGATRON = (
    "--tensor-model-parallel-size 2 --expert-model-parallel-size 8 --expert-tensor-parallel-size 1 --sequence-parallel "
    "--pipeline-model-parallel-size 4 --num-layers 32 --num-layers-per-virtual-pipeline-stage 2 --micro-batch-size 2 "
    "--global-batch-size 256 --seq-length 8192 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather "
    "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1 --bf16"
)


def test_megatrons_flags_are_read():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = mapping_of(MEGATRON, 64)
    assert made == Mapping(
        64, tp=2, ep=8, etp=1, pp=4, stages=4, micro_batch=2, global_batch=256, sequence=8192, zero=1, sums_beside=True,
        gathers_beside=True, recompute="full",
    )  # fmt: skip
    assert (made.dp, made.edp, made.micro_batches, made.stage_devices) == (8, 2, 16, 16)


TITAN = (
    "torchrun train.py --parallelism.tensor_parallel_degree=2 --parallelism.expert_parallel_degree 8 --training.seq_len 2048 "
    "--training.local_batch_size 4 --activation_checkpoint.mode full"
)
STAGES = f"{TITAN} --parallelism.pipeline_parallel_degree 2"


def test_torchtitans_options_are_read():
    made = mapping_of(f"{TITAN} --training.global_batch_size 64", 32)
    assert made == Mapping(
        32, tp=2, ep=8, etp=1, micro_batch=4, global_batch=64, sequence=2048, zero=3, recompute="full", gathers_again=False,
        sums_beside=True, gathers_beside=True, casts_masters=True, products_again=("every_second",),
    )  # fmt: skip


@pytest.mark.parametrize(
    "more, fields",
    [
        ("", dict(micro_batch=1, global_batch=32, stages=1)),
        ("--parallelism.pipeline_parallel_schedule 1F1B", dict(stages=1)),
        ("--parallelism.pipeline_parallel_schedule Interleaved1F1B", dict(stages=2)),
        ("--parallelism.pipeline_parallel_schedule GPipe", dict(stages=1, schedule="gpipe")),
        ("--parallelism.pipeline_parallel_microbatch_size 2", dict(micro_batch=2, micro_batches=2)),
        ("--training.global_batch_size 64", dict(micro_batch=1, micro_batches=8)),
    ],
)
def test_torchtitan_cuts_a_local_batch_for_a_pipeline(more, fields):
    """Which has parameters whole from one step to the next, and sums once."""
    made = mapping_of(f"{STAGES} {more}", 32)
    assert {name: getattr(made, name) for name in fields} == fields and made.zero == 1


@pytest.mark.parametrize(
    "more, fields",
    [
        ("--parallelism.fsdp_reshard_after_forward never", dict(zero=2)),
        ("--parallelism.fsdp_reshard_after_forward always", dict(zero=3)),
        ("--parallelism.data_parallel_shard_degree 1 --parallelism.data_parallel_replicate_degree 16", dict(zero=0)),
        ("--model.converters float8", dict(type="f8E4M3FN")),
        ("--parallelism.expert_parallel_comm_backend deepep", dict(dispatch="flex")),
        ("--training.dtype bfloat16", dict(state_types=("bf16",) * 3, sum_type="f32")),
        ("--activation_checkpoint.mode selective --activation_checkpoint.selective_ac_option 1", dict(recompute="full")),
        ("--activation_checkpoint.mode selective --activation_checkpoint.selective_ac_option op", dict(recompute="selective")),
    ],
)
def test_torchtitans_further_options_are_read(more, fields):
    made = mapping_of(f"{TITAN} {more}", 32)
    assert {name: getattr(made, name) for name in fields} == fields


def test_modules_that_multiply_again_are_read_and_written():
    made = mapping_of("--recompute-granularity selective --recompute-modules mla_up_proj mlp layernorm", 8)
    assert (made.recompute, made.products_again) == ("selective", ("mlp", "mla_up_proj"))
    assert mapping_of(megatron_flags(made), 8) == made
    assert mapping_of("--moe-layer-recompute", 8).products_again == ("moe",)
    assert mapping_of("--recompute-modules mlp", 8).products_again == ()
    with pytest.raises(shoal.InputError, match="products_again .'norm'. are not among"):
        Mapping(8, products_again=("norm",))


def test_types_of_sums_and_states_are_read_and_written():
    flags = "--grad-reduce-in-bf16 --use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype fp8"
    made = mapping_of(flags, 8)
    assert (made.sum_type, made.state_types) == ("bf16", ("f32", "bf16", "f8E4M3FN"))
    assert mapping_of(megatron_flags(made), 8) == made
    # PyTorch's sums in the type of parameters there, and in float32 as torchtitan calls it.
    assert [mapping_of(flags, 8).sum_type for flags in ("--use-torch-fsdp2", "--use-megatron-fsdp", "--training.seq_len 128")] == ["bf16", "f32", "f32"]
    with pytest.raises(shoal.UnsupportedError, match="--exp-avg-dtype int8 is not one of"):
        mapping_of("--use-precision-aware-optimizer --exp-avg-dtype int8", 8)


def test_a_layout_of_stages_says_how_many_there_are():
    with pytest.warns(UserWarning, match="stages are planned with as many whole layers as others"):
        made = mapping_of("--pipeline-model-parallel-size 8 --global-batch-size 64 --pipeline-model-parallel-layout Et*3|(tt|)*29,m|L", 8)
    assert made.stages == 4
    with pytest.raises(shoal.UnsupportedError, match="has 3 stages, which pp 8 does not divide"), pytest.warns(UserWarning):
        mapping_of("--pipeline-model-parallel-size 8 --pipeline-model-parallel-layout Et|t|L", 8)
    with pytest.raises(shoal.UnsupportedError, match="--pipeline-model-parallel-layout has"), pytest.warns(UserWarning):
        mapping_of("--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout (((t|)*9999)*9999)*9999", 2)


@pytest.mark.parametrize(
    "flags, zero",
    [
        ("", 0),
        ("--use-distributed-optimizer", 1),
        ("--use-distributed-optimizer --data-parallel-sharding-strategy optim_grads", 2),
        ("--use-megatron-fsdp", 3),
    ],
)
def test_what_is_stored_in_parts(flags, zero):
    assert mapping_of(flags, 8).zero == zero


@pytest.mark.parametrize(
    "flags, whole",
    [
        ("--use-megatron-fsdp", True),
        ("--use-megatron-fsdp --init-model-with-meta-device", False),
        ("--use-torch-fsdp2 --use-cpu-initialization", False),
        ("--use-distributed-optimizer", False),
        ("--parallelism.tensor_parallel_degree 1", False),
    ],
)
def test_where_parameters_in_parts_are_made(flags, whole):
    """Megatron-LM makes them whole on a GPU, torchtitan does not."""
    assert mapping_of(flags, 8).whole_at_start == whole


def test_further_tokens_are_read():
    assert mapping_of("--mtp-num-layers 2", 8).mtp == 2 and mapping_of("", 8).mtp == 0
    assert "--mtp-num-layers 2" in " ".join(megatron_flags(Mapping(8, mtp=2)))
    with pytest.raises(shoal.InputError, match="mtp -1 is negative"):
        Mapping(8, mtp=-1)


@pytest.mark.parametrize(
    "flags, note",
    [
        ("--moe-permute-fusion", "--moe-permute-fusion has no effect"),
        ("--decoder-first-pipeline-num-layers 3", "as many whole layers as others"),
        ("--moe-token-dispatcher-type allgather", "rows are planned as exchanged"),
        ("--exp-avg-dtype bf16", "in float32 without --use-precision-aware-optimizer"),
        ("--recompute-granularity selective", "attention is one kernel that holds no scores"),
        ("--context-parallel-size 2", "a ring is planned as the gather that sends as much"),
        ("--parallelism.tensor_parallel_degree 2 --job.dump_folder x", "--job.dump_folder has no effect"),
        ("--parallelism.pipeline_parallel_degree 2 --parallelism.pipeline_parallel_schedule ZBVZeroBubble --training.local_batch_size 4", "planned as Interleaved1F1B"),
        ("--training.seq_len 64 --training.enable_cpu_offload true", "planned as held by the device"),
        ("--training.seq_len 64 --parallelism.data_parallel_replicate_degree 2", "in parts over all of data parallelism"),
        ("--training.seq_len 64 --activation_checkpoint.selective_ac_option 2", "layers are planned alike, as with op"),
    ],
)
def test_flags_without_an_effect_are_said(flags, note):
    with pytest.warns(UserWarning, match=note):
        mapping_of(flags, 8)


@pytest.mark.parametrize(
    "flags, message",
    [
        ("--expert-model-parallel-size 3", "etp 1 x ep 3 x pp 1 = 3 does not divide 8 devices"),
        ("--global-batch-size 12", "a global batch of 12 is not divisible by micro-batches times dp = 8"),
        ("--tensor-paralel-size 2", "--tensor-paralel-size is not known"),
        ("--use-tp-pp-dp-mapping", "stages lie on devices that are next to each other"),
        ("--recompute-granularity selective --recompute-modules norm", "norm is not one of"),
        ("--recompute-granularity some", "expected full or selective"),
        ("--data-parallel-sharding-strategy all", "expected one of"),
        ("--parallelism.pipeline_parallel_degree 2 --parallelism.pipeline_parallel_schedule 2F2B", "=2F2B is not one of"),
        ("--training.dtype float8", "--training.dtype=float8 is not one of"),
        ("--parallelism.tensor_parallel_degre 2", "nearest is --parallelism.tensor_parallel_degree"),
    ],
)
def test_what_is_refused(flags, message):
    with pytest.raises(shoal.ShoalError, match=message):
        mapping_of(flags, 8)


def test_a_schedule_has_to_be_known():
    with pytest.raises(shoal.InputError, match='schedule "2f2b" is not one of'):
        Mapping(8, schedule="2f2b")


def test_the_bubble_is_what_all_other_stages_take():
    plain = Mapping(8, pp=4, global_batch=16)
    made = passage(plain, 1.0, 4.0)
    assert (made.work, made.bubble) == (8.0, 3.0)
    assert passage(plain.replace(stages=3), 1.0, 4.0).bubble == 1.0
    assert passage(plain.replace(schedule="dualpipe"), 1.0, 4.0).bubble == 1.0
    # With several stages a device as much is sent.
    assert passage(plain, 1.0, 4.0, 0.5).bubble == 3.5 and passage(plain.replace(stages=3), 1.0, 4.0, 0.5).bubble == 1.5


def test_how_many_micro_batches_are_held():
    mapping = Mapping(8, pp=4, global_batch=64)
    assert in_flight(mapping) == 4
    assert in_flight(mapping.replace(schedule="gpipe")) == 32
    assert in_flight(mapping.replace(stages=3)) == 5
    assert in_flight(mapping.replace(schedule="dualpipe")) == 5
    assert in_flight(mapping.replace(global_batch=4)) == 2
