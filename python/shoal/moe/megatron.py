# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Megatron-Core's command line says of a model's experts and of where its parts lie."""

from __future__ import annotations

import difflib
import shlex
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from shoal.errors import TraceError, UnsupportedError

__all__ = ["cp_comm_type_of", "factorisations_of", "fields_of", "schedule_of", "sequence_roles_of"]

Flags = dict[str, list[str]]

_NUMBERS = {"moe-router-topk": int, "moe-ffn-hidden-size": int,
            "moe-router-num-groups": int, "moe-router-group-topk": int,
            "moe-router-topk-scaling-factor": float, "moe-router-bias-update-rate": float,
            "moe-expert-rank-capacity-factor": float, "moe-z-loss-coeff": float, "moe-input-jitter-eps": float,
            "moe-shared-expert-intermediate-size": int}  # fmt: skip
_WORDS = ("moe-router-score-function", "moe-router-dtype", "moe-token-drop-policy")
_SWITCHES = ("moe-router-pre-softmax", "moe-router-enable-expert-bias", "moe-shared-expert-gate",
             "moe-pad-expert-input-to-capacity")  # fmt: skip
_OTHERS = ("moe-layer-freq", "moe-router-load-balancing-type", "moe-aux-loss-coeff",
           "moe-expert-capacity-factor", "moe-token-dispatcher-type", "moe-apply-probs-on-input",
           "moe-router-topk-limited-devices")  # fmt: skip
# About how, not what: the compiler decides, or does it in any case.
_WITHOUT_EFFECT = {
    **dict.fromkeys(
        ("moe-grouped-gemm", "moe-use-legacy-grouped-gemm", "moe-permute-fusion", "moe-router-fusion",
         "moe-shared-expert-overlap", "moe-layer-recompute", "moe-enable-deepep", "moe-deepep-num-sms"),
        "the compiler decides how",
    ),
    "moe-per-layer-logging": "a model's metrics have each layer's losses in any case",
    "moe-use-upcycling": "shoal.moe.upcycle makes the parameters",
    "moe-upcycling-granularity": "shoal.moe.upcycle finds it of the sizes",
}  # fmt: skip
# About what, and there is none of it here.
_REFUSED = {
    "moe-extended-tp": "give --expert-tensor-parallel-size",
    "squared-relu": "there is no such activation",
    "quick-geglu": "there is no such activation",
    "activation-func-clamp-value": "give MoeConfig's swiglu_limit",
    "glu-linear-offset": "give MoeConfig's swiglu_limit",
}
# Stages of each device, by their layers or by their number; and what makes stages that differ.
_BY_LAYERS, _BY_STAGES = "num-layers-per-virtual-pipeline-stage", "num-virtual-stages-per-pipeline-rank"
_UNEVEN = ("decoder-first-pipeline-num-layers", "decoder-last-pipeline-num-layers",
           "pipeline-model-parallel-layout", "account-for-embedding-in-pipeline-split",
           "account-for-loss-in-pipeline-split")  # fmt: skip
_DISPATCHERS = {"allgather": "allgather", "alltoall": "alltoall", "alltoall_seq": "alltoall",
                "flex": "alltoall"}  # fmt: skip


def fields_of(arguments: str | Sequence[str]) -> dict[str, Any]:
    """Fields of `MoeConfig` of a command line, or a file's text; flags of others are left alone.

    Warns of flags of `--moe-` without an effect here; UnsupportedError names an unknown one and
    the flag that is nearest to it, TraceError one that is missing or whose value is none.
    """
    flags = _parse(arguments)
    _check_known(flags)
    fields: dict[str, Any] = {"num_experts": _number(flags, "num-experts")}
    for name, kind in _NUMBERS.items():
        if name in flags:
            fields[_field(name)] = _number(flags, name, kind)
    fields |= {_field(name): _one(flags, name) for name in _WORDS if name in flags}
    fields |= {_field(name): True for name in _SWITCHES if _switched(flags, name)}
    if "moe-ffn-hidden-size" not in flags:
        fields["moe_ffn_hidden_size"] = _hidden(flags)
    fields["gated_linear_unit"] = "swiglu" in flags
    fields["hidden_act"] = "silu" if "swiglu" in flags else "gelu"
    fields["add_bias_linear"] = "disable-bias-linear" not in flags
    return {**fields, **_balance(flags), **_capacity(flags), **_dispatch(flags), **_groups(flags)}


def factorisations_of(arguments: str | Sequence[str], devices: int) -> tuple[dict[str, int], ...]:
    """The devices of attention and of experts, as `Layout.folded` takes them, fastest first."""
    flags = _parse(arguments)
    tp, cp = (_size(flags, f"{name}-parallel-size") for name in ("tensor-model", "context"))
    pp = _size(flags, "pipeline-model-parallel-size")
    ep, etp = _size(flags, "expert-model-parallel-size"), _size(flags, "expert-tensor-parallel-size", tp)
    dp = _rest(devices, tp=tp, cp=cp, pp=pp)
    edp = _rest(devices, etp=etp, ep=ep, pp=pp)
    if _switched(flags, "use-tp-pp-dp-mapping"):
        return {"tp": tp, "cp": cp, "pp": pp, "dp": dp}, {"etp": etp, "ep": ep, "pp": pp, "edp": edp}
    return {"tp": tp, "cp": cp, "dp": dp, "pp": pp}, {"etp": etp, "ep": ep, "edp": edp, "pp": pp}


def schedule_of(arguments: str | Sequence[str], devices: int) -> tuple[int, int]:
    """(micro-batches, stages of a device), of --pipeline-model-parallel-size above 1; else (1, 1).

    Micro-batches are --global-batch-size over dp times --micro-batch-size; without these, 1.
    """
    flags = _parse(arguments)
    pp = _size(flags, "pipeline-model-parallel-size")
    for name in _UNEVEN:
        if name in flags:
            raise UnsupportedError(f"from_megatron: --{name}: stages of different numbers of layers")
    if pp == 1:
        return 1, 1
    attention, _ = factorisations_of(arguments, devices)
    micro = _size(flags, "micro-batch-size") * attention["dp"]
    whole = _size(flags, "global-batch-size", micro)
    if whole % micro:
        raise TraceError(
            f"from_megatron: --global-batch-size {whole} is not divisible by --micro-batch-size times dp = {micro}"
        )
    return whole // micro, _stages_of_device(flags, pp)


def _stages_of_device(flags: Flags, pp: int) -> int:
    if _BY_LAYERS not in flags:
        return _size(flags, _BY_STAGES)
    if _BY_STAGES in flags:
        raise TraceError(f"from_megatron: --{_BY_LAYERS} and --{_BY_STAGES} say the same")
    layers, each = _number(flags, "num-layers"), _size(flags, _BY_LAYERS)
    if layers % (each * pp):
        raise TraceError(
            f"from_megatron: --num-layers {layers} is not divisible by --{_BY_LAYERS} {each} times pp = {pp}"
        )
    return layers // (each * pp)


def _size(flags: Flags, name: str, default: int = 1) -> int:
    size = _number(flags, name) if name in flags else default
    if size < 1:
        raise TraceError(f"from_megatron: --{name} {size} is not positive")
    return size


def sequence_roles_of(arguments: str | Sequence[str]) -> tuple[str, ...]:
    """Over which roles places lie around attention and dense networks."""
    return ("cp", "tp") if "sequence-parallel" in _parse(arguments) else ("cp",)


def cp_comm_type_of(arguments: str | Sequence[str], known: Sequence[str]) -> str:
    """The one of --cp-comm-type; UnsupportedError for others, and for one of each layer."""
    named = _parse(arguments).get("cp-comm-type", ["p2p"])
    if len(named) != 1 or named[0] not in known:
        raise UnsupportedError(f"from_megatron: --cp-comm-type {' '.join(named)}; expected one of {list(known)}")
    return named[0]


def _rest(devices: int, **sizes: int) -> int:
    if devices < 1:
        raise TraceError(f"from_megatron: {devices} devices; expected at least 1")
    product = 1
    for size in sizes.values():
        product *= size
    if devices % product:
        listed = " x ".join(f"{name} {size}" for name, size in sizes.items())
        raise TraceError(f"from_megatron: {listed} = {product} does not divide {devices} devices")
    return devices // product


def _parse(arguments: str | Sequence[str]) -> Flags:
    """The words behind each flag; lines may end with a backslash, and # begins a comment."""
    if isinstance(arguments, str):
        try:
            arguments = shlex.split(arguments.replace("\\\n", " "), comments=True)
        except ValueError as error:
            raise TraceError(f"from_megatron: {str(error).lower()}: {arguments[-40:]!r}") from None
    flags: Flags = {}
    last: list[str] = []
    for word in arguments:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            last = flags[name.replace("_", "-")] = [value] if equals else []
        else:
            last.append(word)
    return flags


def _one(flags: Flags, name: str) -> str:
    if name not in flags:
        raise TraceError(f"from_megatron: --{name} is missing")
    if len(flags[name]) != 1:
        raise TraceError(f"from_megatron: --{name} takes one value, got {flags[name]}")
    return flags[name][0]


def _number(flags: Flags, name: str, kind: Callable[[str], Any] = int) -> Any:
    return _value(name, _one(flags, name), kind)


def _value(name: str, word: str, kind: Callable[[str], Any]) -> Any:
    try:
        return kind(word)
    except ValueError:
        of_kind = "an integer" if kind is int else "a number"
        raise TraceError(f"from_megatron: --{name} {word}: expected {of_kind}") from None


def _switched(flags: Flags, name: str) -> bool:
    if flags.get(name):
        raise TraceError(f"from_megatron: --{name} takes no value, got {flags[name]}")
    return name in flags


def _hidden(flags: Flags) -> int:
    """Of a dense network; Megatron-Core's own where it is not given."""
    if "ffn-hidden-size" in flags or "hidden-size" not in flags:
        return _number(flags, "ffn-hidden-size")
    whole = 4 * _number(flags, "hidden-size")
    return int(whole * 2 / 3 / 64) * 64 if "swiglu" in flags else whole


def _field(name: str) -> str:
    return name.replace("-", "_")


def _check_known(flags: Flags) -> None:
    known = ("num-experts", *_NUMBERS, *_WORDS, *_SWITCHES, *_OTHERS, *_WITHOUT_EFFECT)
    for name in flags:
        if name in _REFUSED:
            raise UnsupportedError(f"from_megatron: --{name}: {_REFUSED[name]}")
        if name in _WITHOUT_EFFECT:
            warnings.warn(f"--{name} has no effect: {_WITHOUT_EFFECT[name]}", stacklevel=3)
        elif name.startswith("moe-") and name not in known:
            nearest = difflib.get_close_matches(name, known, 1, 0.0)[0]
            raise UnsupportedError(f"from_megatron: --{name} is not known; nearest is --{nearest}")


def _balance(flags: Flags) -> dict[str, Any]:
    kinds = flags.get("moe-router-load-balancing-type", ["aux_loss"])
    name = "moe-aux-loss-coeff"
    rates = [_value(name, rate, float) for rate in flags.get(name, ["0"])]
    if kinds in (["none"], ["sinkhorn"]):
        router = {"router_type": "sinkhorn"} if kinds == ["sinkhorn"] else {}
        return {**router, "moe_router_load_balancing_type": ()}
    if len(rates) not in (1, len(kinds)):
        raise TraceError(f"from_megatron: --moe-aux-loss-coeff {rates} for {len(kinds)} losses, {kinds}")
    rates = rates * len(kinds) if len(rates) == 1 else rates
    return {
        "moe_router_load_balancing_type": tuple(kinds),
        "moe_aux_loss_coeff": dict(zip(kinds, rates)),
    }


def _capacity(flags: Flags) -> dict[str, Any]:
    if "moe-expert-capacity-factor" not in flags:
        return {}
    factor = _number(flags, "moe-expert-capacity-factor", float)
    return {"moe_expert_capacity_factor": None if factor < 0 else factor}


def _dispatch(flags: Flags) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if "moe-layer-freq" in flags:
        freq = _one(flags, "moe-layer-freq")
        fields["moe_layer_freq"] = int(freq) if freq.isdigit() else freq
    if "moe-apply-probs-on-input" in flags:
        fields["is_postscore"] = False
    name = _one(flags, "moe-token-dispatcher-type") if "moe-token-dispatcher-type" in flags else "allgather"
    if name not in _DISPATCHERS:
        raise UnsupportedError(f'from_megatron: --moe-token-dispatcher-type {name}')
    return {**fields, "moe_token_dispatcher_type": _DISPATCHERS[name]}


def _groups(flags: Flags) -> dict[str, Any]:
    """The old name of limits to devices."""
    if "moe-router-topk-limited-devices" not in flags:
        return {}
    return {
        "moe_router_num_groups": _number(flags, "expert-model-parallel-size"),
        "moe_router_group_topk": _number(flags, "moe-router-topk-limited-devices"),
    }
