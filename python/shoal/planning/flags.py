# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Command lines of Megatron-LM and torchtitan as a `Mapping`. What is not read is refused, or said to have no effect."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

from shoal.errors import UnsupportedError
from shoal.moe import megatron
from shoal.moe.layout import CP_COMM_TYPES
from shoal.moe.megatron import Flags, one, schedule_of, size, switched, warn_idle
from shoal.moe.megatron_flags import REFUSED_LAYOUTS
from shoal.names import nearest
from shoal.planning.mapping import Mapping

__all__ = ["PLAN_FLAGS", "TITAN_FLAGS", "fields_of", "is_torchtitan", "mapping_of", "megatron_of_titan"]

# Of each flag that is read beside those of `Layout.from_megatron`, what it becomes.
PLAN_FLAGS = {
    "bf16": "the type that is planned for in any case",
    "data-parallel-sharding-strategy": "zero: no_shard 0, optim 1, optim_grads 2, optim_grads_params 3",
    "fp8-format": "type of the layers' products",
    "global-batch-size": "global_batch",
    "init-model-with-meta-device": "whole_at_start: parameters in parts are made as these; without it, and on a GPU, they are whole first",
    "micro-batch-size": "micro_batch",
    "mtp-num-layers": "mtp",
    "moe-enable-deepep": "dispatch flex is the same with it",
    "moe-flex-dispatcher-backend": "dispatch flex is the same with each of them",
    "moe-token-dispatcher-type": "dispatch: flex once to a node, others as the model has it",
    "overlap-grad-reduce": "sums_beside",
    "overlap-moe-expert-parallel-comm": "exchange_beside",
    "overlap-param-gather": "gathers_beside",
    "recompute-granularity": "recompute: full; selective with --recompute-modules",
    "recompute-modules": "recompute: selective, but of core_attn alone, as attention is one kernel that holds no scores",
    "seq-length": "sequence",
    "use-cpu-initialization": "whole_at_start: where parameters are made on a CPU they are not",
    "use-distributed-optimizer": "zero 1",
    "use-megatron-fsdp": "zero 3, where --data-parallel-sharding-strategy says nothing else",
    "use-torch-fsdp2": "zero 3",
}
_STRATEGIES = {"no_shard": 0, "optim": 1, "optim_grads": 2, "optim_grads_params": 3}
_FULL = ("recompute-method", "recompute-num-layers")
_MODULES = ("core_attn", "layernorm", "mla_up_proj", "mlp", "moe", "moe_act", "shared_experts")


def mapping_of(arguments: str | Sequence[str], devices: int, **fields: Any) -> Mapping:
    """Of a command line of Megatron-LM or torchtitan for so many devices; fields: in place of what it says.

    InputError and TraceError for sizes that do not divide, UnsupportedError for flags that there is no counterpart of;
    UserWarning for those that have no effect, a line for each reason.
    """
    if is_torchtitan(arguments):
        arguments = megatron_of_titan(arguments, devices)
    flags = megatron.known_flags(arguments, REFUSED_LAYOUTS, (*PLAN_FLAGS, *_FULL))
    if switched(flags, "use-tp-pp-dp-mapping"):
        raise UnsupportedError("plan: --use-tp-pp-dp-mapping: stages lie on devices that are next to each other")
    sizes = {
        "tp": size(flags, "tensor-model-parallel-size"), "cp": size(flags, "context-parallel-size"),
        "pp": size(flags, "pipeline-model-parallel-size"), "ep": size(flags, "expert-model-parallel-size"),
    }  # fmt: skip
    said: dict[str, Any] = {
        **sizes,
        "etp": size(flags, "expert-tensor-parallel-size", sizes["tp"]),
        "stages": schedule_of(flags, devices)[1] if sizes["pp"] > 1 else 1,
        "micro_batch": size(flags, "micro-batch-size"),
        "sequence": size(flags, "seq-length", 4096),
        "sequence_parallel": switched(flags, "sequence-parallel") or sizes["tp"] == 1,
        "cp_comm_type": _context(flags, sizes["cp"]),
        "recompute": _recompute(flags),
        "zero": _zero(flags),
        "sums_beside": switched(flags, "overlap-grad-reduce"),
        "gathers_beside": switched(flags, "overlap-param-gather"),
        "exchange_beside": switched(flags, "overlap-moe-expert-parallel-comm"),
        "dispatch": _dispatch(flags),
        "type": "f8E4M3FN" if "fp8-format" in flags else "bf16",
        "mtp": size(flags, "mtp-num-layers") if "mtp-num-layers" in flags else 0,
        "whole_at_start": _whole_at_start(flags),
    }
    if "global-batch-size" in flags:
        said["global_batch"] = size(flags, "global-batch-size")
    return Mapping(devices, **{**said, **fields})


# By which flags a field of a mapping is said.
_SAID_BY = {
    "tp": ("tensor-model-parallel-size",), "cp": ("context-parallel-size",), "pp": ("pipeline-model-parallel-size",),
    "ep": ("expert-model-parallel-size",), "etp": ("expert-tensor-parallel-size",),
    "stages": ("num-virtual-stages-per-pipeline-rank",), "micro_batch": ("micro-batch-size",),
    "global_batch": ("global-batch-size",), "sequence": ("seq-length",), "cp_comm_type": ("cp-comm-type",),
    "recompute": ("recompute-granularity",), "exchange_beside": ("overlap-moe-expert-parallel-comm",),
    "zero": ("use-distributed-optimizer", "data-parallel-sharding-strategy", "use-megatron-fsdp", "use-torch-fsdp2"),
    "type": ("fp8-format",), "dispatch": ("moe-token-dispatcher-type",), "mtp": ("mtp-num-layers",),
    "whole_at_start": ("init-model-with-meta-device", "use-cpu-initialization"),
}  # fmt: skip
_SIZES = {"tp", "cp", "pp", "ep", "etp", "stages", "micro_batch", "global_batch", "sequence", "mtp"}


def fields_of(arguments: str | Sequence[str], devices: int) -> dict[str, Any]:
    """The fields of a mapping that a command line says, without those that it leaves open; errors as of `mapping_of`."""
    if is_torchtitan(arguments):
        arguments = megatron_of_titan(arguments, devices)
    flags = megatron.known_flags(arguments, REFUSED_LAYOUTS, (*PLAN_FLAGS, *_FULL))
    made: dict[str, Any] = {}
    for name, by in _SAID_BY.items():
        if given := [flag for flag in by if flag in flags]:
            made[name] = size(flags, given[0]) if name in _SIZES else _other(name, flags)
    return made


def _other(name: str, flags: Flags) -> Any:
    """A field that is no size."""
    made = {
        "recompute": _recompute, "zero": _zero, "cp_comm_type": lambda found: _context(found, 2),
        "exchange_beside": lambda found: switched(found, "overlap-moe-expert-parallel-comm"), "type": lambda _: "f8E4M3FN",
        "dispatch": _dispatch, "whole_at_start": _whole_at_start,
    }  # fmt: skip
    return made[name](flags)


def _context(flags: Flags, cp: int) -> str:
    """A ring passes keys round while it computes; it is planned as a gather of them, which sends as much."""
    kind = megatron.cp_comm_type_of(flags, CP_COMM_TYPES)
    if kind == "p2p" and cp > 1:
        warn_idle(["--cp-comm-type p2p"], "a ring is planned as the gather that sends as much")
    return "allgather" if kind == "p2p" else kind


def _dispatch(flags: Flags) -> str:
    """What is no flex is the model's."""
    return "flex" if flags.get("moe-token-dispatcher-type") == ["flex"] else "alltoall"


def _recompute(flags: Flags) -> str:
    kind = one(flags, "recompute-granularity") if "recompute-granularity" in flags else "none"
    if kind not in ("none", "full", "selective"):
        raise UnsupportedError(f"plan: --recompute-granularity {kind}; expected full or selective")
    if kind == "selective":
        return _selected(flags)
    if kind == "full" and "recompute-method" in flags and one(flags, "recompute-method") == "block":
        warn_idle(["--recompute-method block"], "all layers are computed again")
    return "full" if kind == "full" else "none"


def _selected(flags: Flags) -> str:
    """Norms and activations, whichever modules beside attention's kernel are named."""
    modules = flags.get("recompute-modules", ["core_attn"])
    for name in modules:
        if name not in _MODULES:
            raise UnsupportedError(f"plan: --recompute-modules {name} is not one of {[*_MODULES]}")
    if set(modules) == {"core_attn"}:
        warn_idle(["--recompute-granularity selective"], "attention is one kernel that holds no scores")
        return "none"
    return "selective"


def _whole_at_start(flags: Flags) -> bool:
    """Megatron-LM builds a model on the GPU, and cuts its parameters when it is wrapped."""
    return _zero(flags) == 3 and not any(switched(flags, name) for name in ("init-model-with-meta-device", "use-cpu-initialization"))


def _zero(flags: Flags) -> int:
    if "data-parallel-sharding-strategy" in flags:
        name = one(flags, "data-parallel-sharding-strategy")
        if name not in _STRATEGIES:
            raise UnsupportedError(f"plan: --data-parallel-sharding-strategy {name}; expected one of {[*_STRATEGIES]}")
        return _STRATEGIES[name]
    if switched(flags, "use-megatron-fsdp") or switched(flags, "use-torch-fsdp2"):
        return 3
    return 1 if switched(flags, "use-distributed-optimizer") else 0


# Torchtitan's options, which stand in sections, as Megatron-LM's flags.
TITAN_FLAGS = {
    "parallelism.tensor_parallel_degree": "tensor-model-parallel-size",
    "parallelism.context_parallel_degree": "context-parallel-size",
    "parallelism.pipeline_parallel_degree": "pipeline-model-parallel-size",
    "parallelism.expert_parallel_degree": "expert-model-parallel-size",
    "parallelism.expert_tensor_parallel_degree": "expert-tensor-parallel-size",
    "training.local_batch_size": "micro-batch-size",
    "training.global_batch_size": "global-batch-size",
    "training.seq_len": "seq-length",
}
# Of `activation_checkpoint.mode`.
_MODES = {
    "none": [], "selective": ["--recompute-granularity", "selective", "--recompute-modules", "layernorm", "moe_act"],
    "full": ["--recompute-granularity", "full"],
}  # fmt: skip
# Read here, or of no effect on a forecast.
_TITAN_OWN = ("activation_checkpoint.mode", "parallelism.data_parallel_shard_degree", "parallelism.pipeline_parallel_microbatch_size")
_TITAN_IDLE = ("job.", "profiling.", "metrics.", "checkpoint.", "comm.", "optimizer.", "lr_scheduler.", "compile.", "model.",
               "training.steps", "training.dataset", "training.compile", "training.max_norm", "parallelism.data_parallel_replicate_degree",
               "parallelism.enable_async_tensor_parallel", "parallelism.pipeline_parallel_schedule")  # fmt: skip


def is_torchtitan(arguments: str | Sequence[str]) -> bool:
    """Whether options stand in sections."""
    text = arguments if isinstance(arguments, str) else " ".join(arguments)
    return re.search(r"--(parallelism|training|activation_checkpoint|model)\.", text) is not None


def megatron_of_titan(arguments: str | Sequence[str], devices: int) -> list[str]:
    """The same as Megatron-LM's words. Torchtitan stores parameters in parts over data parallelism, which it makes as these,
    and its tensor parallelism has sequences in parts."""
    options = _titan_options(arguments)
    words = ["--sequence-parallel", "--init-model-with-meta-device"]
    idle = []
    for name, value in options.items():
        if name in TITAN_FLAGS:
            words += [f"--{TITAN_FLAGS[name]}", value]
        elif name.startswith(_TITAN_IDLE):
            idle.append(f"--{name}")
        elif name not in _TITAN_OWN:
            known = {*TITAN_FLAGS, *_TITAN_OWN}
            raise UnsupportedError(f"plan: --{name} is not read of torchtitan{nearest(name, known, '--')}")
    if idle:
        warn_idle(idle, "a forecast does not depend on them")
    mode = options.get("activation_checkpoint.mode", "selective")
    if mode not in _MODES:
        raise UnsupportedError(f"plan: --activation_checkpoint.mode={mode} is not one of {[*_MODES]}")
    words += _MODES[mode]
    words += ["--use-torch-fsdp2"] if options.get("parallelism.data_parallel_shard_degree", "-1") != "1" else []
    if "parallelism.expert_parallel_degree" in options and "parallelism.expert_tensor_parallel_degree" not in options:
        words += ["--expert-tensor-parallel-size", "1"]
    return words


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
