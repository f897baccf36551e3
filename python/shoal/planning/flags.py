# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Command lines of Megatron-LM and torchtitan as a `Mapping`. What is not read is refused, or said to have no effect."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from shoal.errors import UnsupportedError
from shoal.moe import megatron
from shoal.moe.layout import CP_COMM_TYPES
from shoal.moe.megatron import Flags, one, schedule_of, size, switched, warn_idle
from shoal.moe.megatron_flags import REFUSED_LAYOUTS
from shoal.planning.mapping import AGAIN, Mapping
from shoal.planning.torchtitan import fields_of_titan, is_torchtitan, megatron_of_titan

__all__ = ["PLAN_FLAGS", "TYPES", "UNEVEN", "fields_of", "mapping_of"]

# Of each flag that is read beside those of `Layout.from_megatron`, what it becomes.
PLAN_FLAGS = {
    "bf16": "the type that is planned for in any case",
    "data-parallel-sharding-strategy": "zero: no_shard 0, optim 1, optim_grads 2, optim_grads_params 3",
    "exp-avg-dtype": "state_types, with --use-precision-aware-optimizer",
    "exp-avg-sq-dtype": "state_types, with --use-precision-aware-optimizer",
    "fp8-format": "type of the layers' products",
    "global-batch-size": "global_batch",
    "grad-reduce-in-bf16": "sum_type bf16, in which gradients are added up, too",
    "init-model-with-meta-device": "whole_at_start: parameters in parts are made as these; without it, and on a GPU, they are whole first",
    "main-params-dtype": "state_types, with --use-precision-aware-optimizer",
    "micro-batch-size": "micro_batch",
    "moe-layer-recompute": "recompute selective, products_again moe",
    "mtp-num-layers": "mtp",
    "moe-enable-deepep": "dispatch flex is the same with it",
    "moe-flex-dispatcher-backend": "dispatch flex is the same with each of them",
    "moe-token-dispatcher-type": "dispatch: flex once to a node, others at once to the devices of experts",
    "overlap-grad-reduce": "sums_beside",
    "overlap-moe-expert-parallel-comm": "exchange_beside",
    "overlap-param-gather": "gathers_beside",
    "recompute-granularity": "recompute: full; selective with --recompute-modules",
    "recompute-modules": "recompute: selective, but of core_attn alone, as attention is one kernel that holds no scores; products_again",
    "seq-length": "sequence",
    "use-cpu-initialization": "whole_at_start: where parameters are made on a CPU they are not",
    "use-distributed-optimizer": "zero 1",
    "use-megatron-fsdp": "zero 3, where --data-parallel-sharding-strategy says nothing else",
    "use-precision-aware-optimizer": "state_types are those of --main-params-dtype, --exp-avg-dtype and --exp-avg-sq-dtype",
    "use-torch-fsdp2": "zero 3, and sum_type bf16",
}
# What a forecast has otherwise than the job, by what is said.
_OTHERWISE = {
    "fp16": "products are planned in bfloat16",
    "cpu-offloading-num-layers": "what is offloaded is planned as held by the device",
    "fine-grained-activation-offloading": "what is offloaded is planned as held by the device",
    "offload-modules": "what is offloaded is planned as held by the device",
    "optimizer": "it is planned as AdamW",
    "optimizer-cpu-offload": "what is offloaded is planned as held by the device",
    "optimizer-offload-fraction": "what is offloaded is planned as held by the device",
}
_FP8 = ("e4m3", "hybrid")
_STRATEGIES = {"no_shard": 0, "optim": 1, "optim_grads": 2, "optim_grads_params": 3}
_FULL = ("recompute-method", "recompute-num-layers")
# Of stages, which have as many whole layers as others here.
UNEVEN = (
    "account-for-embedding-in-pipeline-split", "account-for-loss-in-pipeline-split", "decoder-first-pipeline-num-layers",
    "decoder-last-pipeline-num-layers", "pipeline-model-parallel-layout",
)  # fmt: skip
_REFUSED = {name: why for name, why in REFUSED_LAYOUTS.items() if name not in UNEVEN}
# Of Megatron-LM's names of types those of machine files.
TYPES = {"fp32": "f32", "fp16": "f16", "bf16": "bf16", "fp8": "f8E4M3FN"}
# Letters of a layout of stages, written out.
_LONGEST_LAYOUT = 100_000
_MODULES = ("core_attn", "layernorm", "mla_up_proj", "mlp", "moe", "moe_act", "shared_experts")


def mapping_of(arguments: str | Sequence[str], devices: int, **fields: Any) -> Mapping:
    """Of a command line of Megatron-LM or torchtitan for so many devices; fields: in place of what it says.

    InputError and TraceError for sizes that do not divide, UnsupportedError for flags that there is no counterpart of;
    UserWarning for those that have no effect, a line for each reason.
    """
    own: dict[str, Any] = {}
    if is_torchtitan(arguments):
        own, arguments = fields_of_titan(arguments), megatron_of_titan(arguments, devices)
    flags = _known(arguments)
    if uneven := [f"--{name}" for name in UNEVEN if name in flags]:
        warn_idle(uneven, "stages are planned with as many whole layers as others")
    if switched(flags, "use-tp-pp-dp-mapping"):
        raise UnsupportedError("plan: --use-tp-pp-dp-mapping: stages lie on devices that are next to each other")
    sizes = {
        "tp": size(flags, "tensor-model-parallel-size"), "cp": size(flags, "context-parallel-size"),
        "pp": size(flags, "pipeline-model-parallel-size"), "ep": size(flags, "expert-model-parallel-size"),
    }  # fmt: skip
    said: dict[str, Any] = {
        **sizes,
        "etp": size(flags, "expert-tensor-parallel-size", sizes["tp"]),
        "stages": _stages(flags, sizes["pp"], devices),
        "micro_batch": size(flags, "micro-batch-size"),
        "sequence": size(flags, "seq-length", 4096),
        "sequence_parallel": switched(flags, "sequence-parallel") or sizes["tp"] == 1,
        "cp_comm_type": _context(flags, sizes["cp"]),
        "recompute": _recompute(flags),
        "products_again": _again(flags),
        "zero": _zero(flags),
        "sum_type": _sum_type(flags),
        "state_types": _state_types(flags),
        "sums_beside": switched(flags, "overlap-grad-reduce"),
        "gathers_beside": switched(flags, "overlap-param-gather"),
        "exchange_beside": switched(flags, "overlap-moe-expert-parallel-comm"),
        "dispatch": _dispatch(flags),
        "type": _type(flags),
        "mtp": size(flags, "mtp-num-layers") if "mtp-num-layers" in flags else 0,
        "whole_at_start": _whole_at_start(flags),
    }
    if "global-batch-size" in flags:
        said["global_batch"] = size(flags, "global-batch-size")
    return Mapping(devices, **{**said, **own, **fields})


def _known(arguments: str | Sequence[str]) -> Flags:
    """The words behind each flag; a warning names what a forecast has otherwise than the job."""
    flags = megatron.known_flags(arguments, _REFUSED, (*PLAN_FLAGS, *_FULL, *_OTHERWISE))
    otherwise: dict[str, list[str]] = {}
    for name in flags:
        if name in _OTHERWISE and not (name == "optimizer" and flags[name] == ["adam"]):
            otherwise.setdefault(_OTHERWISE[name], []).append(f"--{name}")
    for why, names in otherwise.items():
        warn_idle(names, why)
    return flags


# By which flags a field of a mapping is said.
_SAID_BY = {
    "tp": ("tensor-model-parallel-size",), "cp": ("context-parallel-size",), "pp": ("pipeline-model-parallel-size",),
    "ep": ("expert-model-parallel-size",), "etp": ("expert-tensor-parallel-size",),
    "stages": ("num-virtual-stages-per-pipeline-rank",), "micro_batch": ("micro-batch-size",),
    "global_batch": ("global-batch-size",), "sequence": ("seq-length",), "cp_comm_type": ("cp-comm-type",),
    "recompute": ("recompute-granularity",), "products_again": ("recompute-modules", "moe-layer-recompute"), "exchange_beside": ("overlap-moe-expert-parallel-comm",),
    "zero": ("use-distributed-optimizer", "data-parallel-sharding-strategy", "use-megatron-fsdp", "use-torch-fsdp2"),
    "sum_type": ("grad-reduce-in-bf16", "use-torch-fsdp2"), "state_types": ("use-precision-aware-optimizer",),
    "type": ("fp8-format",), "dispatch": ("moe-token-dispatcher-type",), "mtp": ("mtp-num-layers",),
    "whole_at_start": ("init-model-with-meta-device", "use-cpu-initialization"),
}  # fmt: skip
_SIZES = {"tp", "cp", "pp", "ep", "etp", "stages", "micro_batch", "global_batch", "sequence", "mtp"}


def fields_of(arguments: str | Sequence[str], devices: int) -> dict[str, Any]:
    """The fields of a mapping that a command line says, without those that it leaves open; errors as of `mapping_of`."""
    made: dict[str, Any] = {}
    own: dict[str, Any] = {}
    if is_torchtitan(arguments):
        own, arguments = fields_of_titan(arguments), megatron_of_titan(arguments, devices)
    flags = _known(arguments)
    for name, by in _SAID_BY.items():
        if given := [flag for flag in by if flag in flags]:
            made[name] = size(flags, given[0]) if name in _SIZES else _other(name, flags)
    return made | own


def _other(name: str, flags: Flags) -> Any:
    """A field that is no size."""
    made = {
        "recompute": _recompute, "products_again": _again, "zero": _zero, "cp_comm_type": lambda found: _context(found, 2),
        "exchange_beside": lambda found: switched(found, "overlap-moe-expert-parallel-comm"), "type": _type,
        "dispatch": _dispatch, "whole_at_start": _whole_at_start, "state_types": _state_types, "sum_type": _sum_type,
    }  # fmt: skip
    return made[name](flags)


def _context(flags: Flags, cp: int) -> str:
    """A ring passes keys round while it computes; it is planned as a gather of them, which sends as much."""
    kind = megatron.cp_comm_type_of(flags, CP_COMM_TYPES)
    if kind == "p2p" and cp > 1:
        warn_idle(["--cp-comm-type p2p"], "a ring is planned as the gather that sends as much")
    return "allgather" if kind == "p2p" else kind


def _dispatch(flags: Flags) -> str:
    """What is no flex is an exchange of rows."""
    if flags.get("moe-token-dispatcher-type") == ["allgather"]:
        warn_idle(["--moe-token-dispatcher-type allgather"], "rows are planned as exchanged")
    return "flex" if flags.get("moe-token-dispatcher-type") == ["flex"] else "alltoall"


def _stages(flags: Flags, pp: int, devices: int) -> int:
    """Of a device; of a layout as many as it has bars for."""
    if pp == 1:
        return 1
    if "pipeline-model-parallel-layout" not in flags:
        return schedule_of(flags, devices)[1]
    text = one(flags, "pipeline-model-parallel-layout")
    while (group := re.search(r"\(([^()]*)\)\*(\d{1,4})|([^()*])\*(\d{1,4})", text)) and len(text) < _LONGEST_LAYOUT:
        repeated = (group[1] or group[3]) * int(group[2] or group[4])
        text = text[: group.start()] + repeated + text[group.end() :]
    stages = text.count("|") + 1
    if stages % pp or len(text) >= _LONGEST_LAYOUT:
        raise UnsupportedError(f"plan: --pipeline-model-parallel-layout has {stages} stages, which pp {pp} does not divide")
    return stages // pp


def _type(flags: Flags) -> str:
    """Of the layers' products."""
    if "fp8-format" not in flags:
        return "bf16"
    name = one(flags, "fp8-format")
    if name not in _FP8:
        raise UnsupportedError(f"plan: --fp8-format {name}; expected one of {[*_FP8]}")
    return "f8E4M3FN"


def _sum_type(flags: Flags) -> str:
    """PyTorch's FSDP sums in the type of parameters, as Megatron-LM calls it (torch_fully_sharded_data_parallel.py)."""
    return "bf16" if switched(flags, "grad-reduce-in-bf16") or switched(flags, "use-torch-fsdp2") else "f32"


def _state_types(flags: Flags) -> tuple[str, str, str]:
    """Of masters and both moments."""
    names = ("main-params-dtype", "exp-avg-dtype", "exp-avg-sq-dtype")
    if not switched(flags, "use-precision-aware-optimizer"):
        if idle := [f"--{name}" for name in names if name in flags]:
            warn_idle(idle, "masters and moments are in float32 without --use-precision-aware-optimizer")
        return ("f32",) * 3
    given = [one(flags, name) if name in flags else "fp32" for name in names]
    for name, type in zip(names, given):
        if type not in TYPES:
            raise UnsupportedError(f"plan: --{name} {type} is not one of {[*TYPES]}")
    return tuple(TYPES[type] for type in given)


def _recompute_kind(flags: Flags) -> str:
    return one(flags, "recompute-granularity") if "recompute-granularity" in flags else "none"


def _recompute(flags: Flags) -> str:
    kind = _recompute_kind(flags)
    if kind == "none" and switched(flags, "moe-layer-recompute"):
        return "selective"
    if kind not in ("none", "full", "selective"):
        raise UnsupportedError(f"plan: --recompute-granularity {kind}; expected full or selective")
    if kind == "selective":
        return _selected(flags)
    if kind == "full" and "recompute-method" in flags and one(flags, "recompute-method") == "block":
        warn_idle(["--recompute-method block"], "all layers are computed again")
    return "full" if kind == "full" else "none"


def _selected(flags: Flags) -> str:
    """Norms and activations, whichever modules beside attention's kernel are named; `_again` says which products, too."""
    modules = flags.get("recompute-modules", ["core_attn"])
    for name in modules:
        if name not in _MODULES:
            raise UnsupportedError(f"plan: --recompute-modules {name} is not one of {[*_MODULES]}")
    if set(modules) == {"core_attn"}:
        warn_idle(["--recompute-granularity selective"], "attention is one kernel that holds no scores")
        return "none"
    return "selective"


def _again(flags: Flags) -> tuple[str, ...]:
    """What modules multiply again, where they count."""
    if _recompute_kind(flags) == "none" and switched(flags, "moe-layer-recompute"):
        return ("moe",)
    return tuple(name for name in AGAIN if _recompute_kind(flags) == "selective" and name in flags.get("recompute-modules", []))


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
