# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Torchtitan's options, which stand in sections, as Megatron-LM's flags."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from typing import Any

from shoal.errors import InputError, UnsupportedError
from shoal.moe.megatron import warn_idle
from shoal.names import nearest

__all__ = ["TITAN_FLAGS", "fields_of_titan", "is_torchtitan", "megatron_of_titan"]

# Of each option that says the same as one flag.
TITAN_FLAGS = {
    "parallelism.tensor_parallel_degree": "tensor-model-parallel-size",
    "parallelism.context_parallel_degree": "context-parallel-size",
    "parallelism.pipeline_parallel_degree": "pipeline-model-parallel-size",
    "parallelism.expert_parallel_degree": "expert-model-parallel-size",
    "parallelism.expert_tensor_parallel_degree": "expert-tensor-parallel-size",
    "training.global_batch_size": "global-batch-size",
    "training.seq_len": "seq-length",
}
# Of `activation_checkpoint.mode`.
_MODES = {
    "none": [], "selective": ["--recompute-granularity", "selective", "--recompute-modules", "layernorm", "moe_act"],
    "full": ["--recompute-granularity", "full"],
}  # fmt: skip
# Read here, or of no effect on a forecast.
_TITAN_OWN = ("activation_checkpoint.mode", "activation_checkpoint.selective_ac_option", "model.converters", "parallelism.data_parallel_shard_degree",
              "parallelism.expert_parallel_comm_backend", "parallelism.fsdp_reshard_after_forward",
              "parallelism.pipeline_parallel_microbatch_size", "parallelism.pipeline_parallel_schedule",
              "training.dtype", "training.local_batch_size", "training.mixed_precision_reduce")  # fmt: skip
# What a forecast has otherwise than the job, by what is said.
_TITAN_OTHERWISE = {
    "training.enable_cpu_offload": "what is offloaded is planned as held by the device",
    "training.mixed_precision_param": "products are planned in bfloat16",
    "parallelism.data_parallel_replicate_degree": "parameters are planned in parts over all of data parallelism",
    "parallelism.enable_async_tensor_parallel": "what tensor parallelism sends is planned as waited for",
    "compile.enable": "kernels are planned as fused",
    "training.compile": "kernels are planned as fused",
}
_REPLICAS = "parallelism.data_parallel_replicate_degree"
# Without effect where they say this.
_TITAN_PLAIN = {"training.enable_cpu_offload": "false", "training.mixed_precision_param": "bfloat16",
                "parallelism.data_parallel_replicate_degree": "1", "parallelism.enable_async_tensor_parallel": "false",
                "compile.enable": "true", "training.compile": "true"}  # fmt: skip
# Of types those of machine files.
_TYPES = {"float32": "f32", "bfloat16": "bf16"}
_TITAN_IDLE = ("job.", "profiling.", "metrics.", "checkpoint.", "comm.", "optimizer.", "lr_scheduler.", "compile.", "model.", "debug.",
               "float8.", "mx.", "quantize.", "validation.", "fault_tolerance.", "experimental.", "memory_estimation.",
               "activation_checkpoint.", "training.steps", "training.dataset", "training.max_norm", "training.seed",
               "training.gc_freq", "parallelism.disable_loss_parallel", "parallelism.context_parallel_rotate_method",
               "parallelism.context_parallel_load_balancer", "parallelism.enable_compiled_autograd")  # fmt: skip
# Those with several stages a device have two, if nothing else is said.
_INTERLEAVED = ("interleaved1f1b", "loopedbfs", "interleavedzerobubble", "zbvzerobubble", "dualpipev")
_SCHEDULES = ("1f1b", "gpipe", *_INTERLEAVED)
# Which wait less than what they are planned as.
_ZERO_BUBBLE = ("interleavedzerobubble", "zbvzerobubble", "dualpipev")


def is_torchtitan(arguments: str | Sequence[str]) -> bool:
    """Whether options stand in sections."""
    text = arguments if isinstance(arguments, str) else " ".join(arguments)
    return re.search(r"--(parallelism|training|activation_checkpoint|model)\.", text) is not None


def megatron_of_titan(arguments: str | Sequence[str], devices: int) -> list[str]:
    """The same as Megatron-LM's words. Torchtitan stores parameters in parts over data parallelism, which it makes as these,
    sums in float32, and sums and gathers beside kernels; its tensor parallelism has sequences in parts."""
    options = _titan_options(arguments)
    _warn_of_idle(options)
    _check_parts(options, devices)
    words = ["--sequence-parallel", "--init-model-with-meta-device", "--overlap-grad-reduce", "--overlap-param-gather"]
    words += [word for name, value in options.items() if name in TITAN_FLAGS for word in (f"--{TITAN_FLAGS[name]}", value)]
    words += _titan_recompute(options) + _titan_batches(options, devices) + _titan_parts(options)
    if any(name in options.get("model.converters", "") for name in ("float8", "mx")):
        words += ["--fp8-format", "hybrid"]
    if options.get("parallelism.expert_parallel_comm_backend", "standard") != "standard":
        words += ["--moe-token-dispatcher-type", "flex"]
    if "parallelism.expert_parallel_degree" in options and "parallelism.expert_tensor_parallel_degree" not in options:
        words += ["--expert-tensor-parallel-size", "1"]
    return words


def fields_of_titan(arguments: str | Sequence[str]) -> dict[str, Any]:
    """Fields of a mapping that no flag of Megatron-LM says. Parameters in parts are the masters, in `training.dtype`, as are
    moments."""
    type = _titan_options(arguments).get("training.dtype", "float32")
    if type not in _TYPES:
        raise UnsupportedError(f"plan: --training.dtype={type} is not one of {[*_TYPES]}")
    made = {"gathers_again": False, "casts_masters": True, "products_again": ("every_second",), "state_types": (_TYPES[type],) * 3}
    return made | ({"schedule": "gpipe"} if _schedule_of(_titan_options(arguments)) == "gpipe" else {})


def _schedule_of(options: dict[str, str]) -> str:
    """In small letters, as torchtitan compares them too."""
    name = options.get("parallelism.pipeline_parallel_schedule", "1F1B")
    if name.lower() not in _SCHEDULES:
        raise UnsupportedError(f"plan: --parallelism.pipeline_parallel_schedule={name} is not one of {[*_SCHEDULES]}")
    return name.lower()


def _warn_of_idle(options: dict[str, str]) -> None:
    """Of those that are not read; UnsupportedError for those that nobody knows."""
    idle: dict[str, list[str]] = {}
    for name, value in options.items():
        if name in TITAN_FLAGS or name in _TITAN_OWN:
            continue
        if name == _REPLICAS and options.get("parallelism.data_parallel_shard_degree") == "1":
            continue  # nothing is in parts
        if name in _TITAN_OTHERWISE:
            if value.lower() != _TITAN_PLAIN[name]:
                idle.setdefault(_TITAN_OTHERWISE[name], []).append(f"--{name}")
        elif name.startswith(_TITAN_IDLE):
            idle.setdefault("a forecast does not depend on them", []).append(f"--{name}")
        else:
            known = {*TITAN_FLAGS, *_TITAN_OWN, *_TITAN_OTHERWISE}
            raise UnsupportedError(f"plan: --{name} is not read of torchtitan{nearest(name, known, '--')}")
    for why, names in idle.items():
        warn_idle(names, why)
    if _degree(options, "pipeline") > 1 and _schedule_of(options) in _ZERO_BUBBLE:
        warn_idle([f"--parallelism.pipeline_parallel_schedule {_schedule_of(options)}"], "it is planned as Interleaved1F1B, whose pipeline waits longer")


def _check_parts(options: dict[str, str], devices: int) -> None:
    """Degrees of data parallelism are all that others leave, or said by one of them (parallel_dims.py)."""
    given = options.get("parallelism.data_parallel_shard_degree", "-1")
    if not given.lstrip("-").isdigit() or given in ("0", "-0"):
        raise InputError(f"plan: --parallelism.data_parallel_shard_degree={given}: expected a number, or -1 for all that others leave")
    others = _degree(options, "tensor", "context", "pipeline")
    copies = options.get(_REPLICAS, "1")
    whole = int(given) * (int(copies) if copies.isdigit() else 1)
    if int(given) > 0 and whole * others != devices:
        raise InputError(
            f"plan: --parallelism.data_parallel_shard_degree={given} times replicas = {whole} times tp, cp and pp = {others}"
            f" make {whole * others} devices, not {devices}"
        )


def _titan_recompute(options: dict[str, str]) -> list[str]:
    """By op where nothing is said, as in all of its models' configurations; by layers whole, where it is each."""
    mode = options.get("activation_checkpoint.mode", "selective")
    if mode not in _MODES:
        raise UnsupportedError(f"plan: --activation_checkpoint.mode={mode} is not one of {[*_MODES]}")
    option = options.get("activation_checkpoint.selective_ac_option", "op")
    if mode == "selective" and option == "1":
        mode = "full"
    elif mode == "selective" and option != "op":
        warn_idle([f"--activation_checkpoint.selective_ac_option={option}"], "layers are planned alike, as with op")
    return _MODES[mode]


def _degree(options: dict[str, str], *names: str) -> int:
    """Of these together; what is no size is left to who reads it."""
    texts = (options.get(f"parallelism.{name}_parallel_degree", "1") for name in names)
    return math.prod(int(text) if text.isdigit() and int(text) else 1 for text in texts)


def _titan_batches(options: dict[str, str], devices: int) -> list[str]:
    """A local batch is a micro-batch; with a pipeline it is cut into micro-batches, of one sequence if nothing else is
    said."""
    local = options.get("training.local_batch_size")
    if _degree(options, "pipeline") == 1:
        return ["--micro-batch-size", local] if local else []
    words = ["--micro-batch-size", options.get("parallelism.pipeline_parallel_microbatch_size", "1")]
    if _schedule_of(options) in _INTERLEAVED:
        words += ["--num-virtual-stages-per-pipeline-rank", "2"]
    if "training.global_batch_size" not in options and local and local.isdigit():
        copies = devices // _degree(options, "tensor", "context", "pipeline")
        words += ["--global-batch-size", str(int(local) * max(copies, 1))]
    return words


def _titan_parts(options: dict[str, str]) -> list[str]:
    """Parameters are whole between passes where that is said, and by default in a pipeline, whose stages sum once."""
    if options.get("parallelism.data_parallel_shard_degree", "-1") == "1":
        return []
    is_pipeline = _degree(options, "pipeline") > 1
    again = options.get("parallelism.fsdp_reshard_after_forward", "default")
    if again == "always" or (again == "default" and not is_pipeline):
        return ["--use-megatron-fsdp"]
    return ["--use-distributed-optimizer", *([] if is_pipeline else ["--data-parallel-sharding-strategy", "optim_grads"])]


def _titan_options(arguments: str | Sequence[str]) -> dict[str, str]:
    words = shlex.split(arguments.replace("\\\n", " "), comments=True) if isinstance(arguments, str) else list(arguments)
    options: dict[str, str] = {}
    name = None
    for word in words:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            options[name] = value if equals else "true"
        elif name is None:
            continue  # torchrun, or a script
        else:
            options[name] = word
    return options
