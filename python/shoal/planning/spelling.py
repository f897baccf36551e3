# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A mapping as the command lines that `mapping_of` reads: Megatron-LM's, and torchtitan's as far as it has the words."""

from __future__ import annotations

from shoal.planning.flags import TYPES
from shoal.planning.mapping import Mapping
from shoal.planning.torchtitan import TITAN_FLAGS

__all__ = ["megatron_flags", "torchtitan_flags"]

_SIZES = {
    "tp": "tensor-model-parallel-size", "cp": "context-parallel-size", "pp": "pipeline-model-parallel-size",
    "ep": "expert-model-parallel-size",
}  # fmt: skip
_STORED = {
    0: [],
    1: ["--use-distributed-optimizer"],
    2: ["--use-distributed-optimizer", "--data-parallel-sharding-strategy", "optim_grads"],
    3: ["--use-megatron-fsdp", "--data-parallel-sharding-strategy", "optim_grads_params"],
}
_RECOMPUTED = {
    "none": [],
    "selective": ["--recompute-granularity", "selective", "--recompute-modules", "layernorm", "moe_act"],
    "full": ["--recompute-granularity", "full", "--recompute-method", "uniform", "--recompute-num-layers", "1"],
}
_SWITCHES = {
    "sums_beside": "--overlap-grad-reduce",
    "gathers_beside": "--overlap-param-gather",
    "exchange_beside": "--overlap-moe-expert-parallel-comm",
}


def megatron_flags(mapping: Mapping) -> list[str]:
    """Of Megatron-LM: `mapping_of` makes the same of them, but the schedule, which is no flag there."""
    words = [word for name, flag in _SIZES.items() if (size := getattr(mapping, name)) > 1 for word in (f"--{flag}", str(size))]
    if mapping.etp != mapping.tp:
        words += ["--expert-tensor-parallel-size", str(mapping.etp)]
    if mapping.tp > 1 and mapping.sequence_parallel:
        words.append("--sequence-parallel")
    if mapping.stages > 1:
        words += ["--num-virtual-stages-per-pipeline-rank", str(mapping.stages)]
    words += ["--micro-batch-size", str(mapping.micro_batch), "--global-batch-size", str(mapping.global_batch)]
    words += ["--seq-length", str(mapping.sequence)]
    words += ["--mtp-num-layers", str(mapping.mtp)] if mapping.mtp else []
    if mapping.cp > 1:
        words += ["--cp-comm-type", mapping.cp_comm_type]
    if mapping.dispatch == "flex":
        words += ["--moe-token-dispatcher-type", "flex", "--moe-flex-dispatcher-backend", "deepep"]
    words += _RECOMPUTED[mapping.recompute]
    words += [name for name in mapping.products_again if mapping.recompute == "selective" and name != "every_second"]
    words += _STORED[mapping.zero]
    words += ["--init-model-with-meta-device"] if mapping.zero == 3 and not mapping.whole_at_start else []
    words += ["--grad-reduce-in-bf16"] if mapping.sum_type == "bf16" else []
    words += _state(mapping)
    words += [flag for name, flag in _SWITCHES.items() if getattr(mapping, name)]
    return [*words, *(["--fp8-format", "hybrid"] if mapping.type.startswith("f8") else ["--bf16"])]


def _state(mapping: Mapping) -> list[str]:
    """Of masters and moments, where they are not in float32."""
    names = {type: name for name, type in TYPES.items()}
    flags = ("--main-params-dtype", "--exp-avg-dtype", "--exp-avg-sq-dtype")
    words = [word for flag, type in zip(flags, mapping.state_types) if type != "f32" for word in (flag, names[type])]
    return ["--use-precision-aware-optimizer", *words] if words else []


def torchtitan_flags(mapping: Mapping) -> list[str]:
    """Of torchtitan: sizes, batches and recomputation. It has no words for stages a device, and stores parameters in parts
    over data parallelism, or nothing."""
    sizes = {**_SIZES, "etp": "expert-tensor-parallel-size", "global_batch": "global-batch-size", "sequence": "seq-length"}
    names = {flag: name for name, flag in TITAN_FLAGS.items()}
    always = ("etp", "global_batch", "sequence")
    words = [
        f"--{names[flag]}={size}" for name, flag in sizes.items() if (size := getattr(mapping, name)) > 1 or name in always
    ]
    # Behind a pipeline's first stage a local batch is of several micro-batches.
    if mapping.pp > 1:
        words += [f"--parallelism.pipeline_parallel_microbatch_size={mapping.micro_batch}"]
    words.append(f"--training.local_batch_size={mapping.micro_batch * (mapping.micro_batches if mapping.pp > 1 else 1)}")
    words.append(f"--activation_checkpoint.mode={mapping.recompute}")
    return [*words, *(_copies(mapping) if mapping.zero == 0 else [])]


def _copies(mapping: Mapping) -> list[str]:
    """Of torchtitan, where nothing is in parts."""
    return ["--parallelism.data_parallel_shard_degree=1", f"--parallelism.data_parallel_replicate_degree={mapping.dp}"]
