# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Megatron-Core's command line says of a model's experts and of where its parts lie."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shoal.errors import TraceError, UnsupportedError
from shoal.frames import user_stacklevel
from shoal.moe.megatron_flags import REFUSED_LAYERS, REFUSED_LAYOUTS, WITHOUT_EFFECT
from shoal.names import nearest
from shoal.moe.patterns import moe_layers

__all__ = [
    "LAYER_FLAGS", "LAYOUT_FLAGS", "cp_comm_type_of", "factorisations_of", "fields_of", "hidden_of", "known_flags",
    "node_of", "number", "one", "pairs_of", "schedule_of", "sequence_roles_of", "size", "switched", "warn_idle", "words_of",
]  # fmt: skip

# The words behind each flag.
Flags = Mapping[str, list[str]]

_NUMBERS = {"moe-router-topk": int, "moe-ffn-hidden-size": int,
            "moe-router-num-groups": int, "moe-router-group-topk": int,
            "moe-router-topk-scaling-factor": float, "moe-router-bias-update-rate": float,
            "moe-expert-rank-capacity-factor": float, "moe-z-loss-coeff": float, "moe-input-jitter-eps": float,
            "moe-shared-expert-intermediate-size": int}  # fmt: skip
_WORDS = ("moe-router-score-function", "moe-router-dtype", "moe-token-drop-policy")
_SWITCHES = ("moe-router-pre-softmax", "moe-router-enable-expert-bias", "moe-router-force-load-balancing",
             "moe-shared-expert-gate", "moe-pad-expert-input-to-capacity")  # fmt: skip
_BESIDE = {"moe-router-bias-update-rate": ("moe-router-enable-expert-bias", "experts have no bias"),
           "moe-token-drop-policy": ("moe-expert-capacity-factor", "nothing is dropped")}  # fmt: skip
# Stages of each device, by their layers or by their number.
_BY_LAYERS, _BY_STAGES = "num-layers-per-virtual-pipeline-stage", "num-virtual-stages-per-pipeline-rank"
_OF_STAGES = ("micro-batch-size", "global-batch-size", _BY_LAYERS, _BY_STAGES)
_DISPATCHERS = {"allgather": "allgather", "alltoall": "alltoall", "alltoall_seq": "alltoall",
                "flex": "flex"}  # fmt: skip
_LOSSES = ("aux_loss", "seq_aux_loss", "global_aux_loss")
_GPT_OSS = ("quick-geglu", "activation-func-clamp-value", "glu-linear-offset")


def _field(name: str) -> str:
    return name.replace("-", "_")


# Of each flag that is read, what it becomes.
LAYER_FLAGS = {
    **{name: _field(name) for name in ("num-experts", *_NUMBERS, *_WORDS, *_SWITCHES)},
    "activation-func-clamp-value": "swiglu_limit",
    "disable-bias-linear": "add_bias_linear=False",
    "ffn-hidden-size": "moe_ffn_hidden_size, without --moe-ffn-hidden-size",
    "glu-linear-offset": "swiglu_limit's, if it is 1",
    "hidden-size": "moe_ffn_hidden_size, without both of these",
    "moe-apply-probs-on-input": "is_postscore=False",
    "moe-aux-loss-coeff": "moe_aux_loss_coeff, one or one for each loss",
    "moe-expert-capacity-factor": "moe_expert_capacity_factor; below 0 None",
    "moe-layer-freq": "moe_layer_freq",
    "moe-router-load-balancing-type": "moe_router_load_balancing_type, or router_type",
    "moe-router-topk-limited-devices": "moe_router_group_topk of as many groups as --expert-model-parallel-size",
    "moe-token-dispatcher-type": "moe_token_dispatcher_type",
    "num-layers": "what moe_layer_freq is checked by",
    "quick-geglu": "gpt-oss's gate, with --activation-func-clamp-value and --glu-linear-offset 1",
    "swiglu": 'gated_linear_unit=True, hidden_act="silu"',
}
LAYOUT_FLAGS = {
    "context-parallel-size": "cp",
    "cp-comm-type": "cp_comm_type",
    "expert-model-parallel-size": "ep",
    "expert-tensor-parallel-size": "etp",
    "global-batch-size": "schedule.microbatches",
    "micro-batch-size": "schedule.microbatches",
    "nproc-per-node": "nodes, with --moe-token-dispatcher-type flex",
    "num-layers": "schedule.interleave",
    _BY_LAYERS: "schedule.interleave",
    _BY_STAGES: "schedule.interleave",
    "pipeline-model-parallel-size": "pp",
    "sequence-parallel": "sp",
    "tensor-model-parallel-size": "tp",
    "use-tp-pp-dp-mapping": "the order of the axes",
}


def known_flags(arguments: str | Sequence[str], refused: Mapping[str, str], read: Sequence[str] = ()) -> Flags:
    """The words behind each flag of a command line, or of a file's text.

    Warns of those without an effect here, a line for each reason. UnsupportedError names one of `refused` with its
    reason, and one that Megatron-LM has not with the one that is nearest to it; TraceError words that are no flag's.
    read: flags that have an effect beside those of layers of experts and of layouts.
    """
    flags = pairs_of(arguments)
    known = {*LAYER_FLAGS, *LAYOUT_FLAGS, *WITHOUT_EFFECT, *REFUSED_LAYERS, *REFUSED_LAYOUTS}
    idle: dict[str, list[str]] = {}
    for name in flags:
        if name in refused:
            raise UnsupportedError(f"from_megatron: --{name}: {refused[name]}")
        if name not in known:
            raise UnsupportedError(f"from_megatron: --{name} is not known{nearest(name, known, '--')}")
        if name in WITHOUT_EFFECT and name not in read:
            idle.setdefault(WITHOUT_EFFECT[name], []).append(f"--{name}")
    for why, names in idle.items():
        warn_idle(names, why)
    return flags


def warn_idle(names: Sequence[str], why: str) -> None:
    """At the user's line."""
    have = "has" if len(names) == 1 else "have"
    warnings.warn(f"from_megatron: {', '.join(names)} {have} no effect: {why}", stacklevel=user_stacklevel())


def fields_of(flags: Flags) -> dict[str, Any]:
    """Fields of `MoeConfig`; TraceError names a flag that is missing or whose value is none."""
    fields: dict[str, Any] = {"num_experts": number(flags, "num-experts")}
    for name, kind in _NUMBERS.items():
        if name in flags:
            fields[_field(name)] = number(flags, name, kind)
    fields |= {_field(name): one(flags, name) for name in _WORDS if name in flags}
    fields |= {_field(name): True for name in _SWITCHES if switched(flags, name)}
    if "moe-ffn-hidden-size" not in flags:
        fields["moe_ffn_hidden_size"] = hidden_of(flags)
    if fields.get("moe_router_score_function", "softmax") != "softmax" and fields.pop("moe_router_pre_softmax", False):
        warn_idle(["--moe-router-pre-softmax"], "these scores are no softmax")
    for name, (other, why) in _BESIDE.items():
        if name in flags and other not in flags:
            warn_idle([f"--{name}"], why)
    fields["add_bias_linear"] = not switched(flags, "disable-bias-linear")
    return {**fields, **_activation(flags), **_balance(flags), **_capacity(flags), **_dispatch(flags), **_groups(flags)}


def _activation(flags: Flags) -> dict[str, Any]:
    """Of GELU, SwiGLU or what gpt-oss has, whose three flags have no meaning alone."""
    given = [f"--{name}" for name in _GPT_OSS if name in flags]
    if not given:
        gated = switched(flags, "swiglu")
        return {"gated_linear_unit": gated, "hidden_act": "silu" if gated else "gelu"}
    if len(given) < len(_GPT_OSS) or number(flags, _GPT_OSS[2], float) != 1 or "swiglu" in flags:
        raise UnsupportedError(
            f"from_megatron: {', '.join(given)}: there is no such activation; gpt-oss's is --quick-geglu with"
            " --activation-func-clamp-value and --glu-linear-offset 1.0, without --swiglu"
        )
    switched(flags, "quick-geglu")
    limit = number(flags, "activation-func-clamp-value", float)
    return {"gated_linear_unit": True, "hidden_act": "silu", "swiglu_limit": limit}


def factorisations_of(flags: Flags, devices: int) -> tuple[dict[str, int], ...]:
    """The devices of attention and of experts, as `Layout.folded` takes them, fastest first."""
    tp, cp = (size(flags, f"{name}-parallel-size") for name in ("tensor-model", "context"))
    pp = size(flags, "pipeline-model-parallel-size")
    ep, etp = size(flags, "expert-model-parallel-size"), size(flags, "expert-tensor-parallel-size", tp)
    dp = _rest(devices, tp=tp, cp=cp, pp=pp)
    edp = _rest(devices, etp=etp, ep=ep, pp=pp)
    if switched(flags, "use-tp-pp-dp-mapping"):
        return {"tp": tp, "cp": cp, "pp": pp, "dp": dp}, {"etp": etp, "ep": ep, "pp": pp, "edp": edp}
    return {"tp": tp, "cp": cp, "dp": dp, "pp": pp}, {"etp": etp, "ep": ep, "edp": edp, "pp": pp}


def node_of(flags: Flags) -> int | None:
    """How many devices a node has, where rows go once to each; None where torchrun's flag does not say it."""
    said = flags.get("nproc-per-node", [])
    sends = flags.get("moe-token-dispatcher-type") == ["flex"]
    return int(said[0]) if sends and len(said) == 1 and said[0].isdigit() else None


def schedule_of(flags: Flags, devices: int) -> tuple[int, int]:
    """(micro-batches, stages of a device), of --pipeline-model-parallel-size above 1; else (1, 1).

    Micro-batches are --global-batch-size over dp times --micro-batch-size; without these, 1.
    """
    pp = size(flags, "pipeline-model-parallel-size")
    if pp == 1:
        idle = [f"--{name}" for name in _OF_STAGES if name in flags]
        if idle:
            warn_idle(idle, "without stages micro-batches are train.step's")
        return 1, 1
    attention, _ = factorisations_of(flags, devices)
    micro = size(flags, "micro-batch-size") * attention["dp"]
    whole = size(flags, "global-batch-size", micro)
    if whole % micro:
        raise TraceError(
            f"from_megatron: --global-batch-size {whole} is not divisible by --micro-batch-size times dp = {micro}"
        )
    return whole // micro, _stages_of_device(flags, pp)


def _stages_of_device(flags: Flags, pp: int) -> int:
    if _BY_LAYERS not in flags:
        return size(flags, _BY_STAGES)
    if _BY_STAGES in flags:
        raise TraceError(f"from_megatron: --{_BY_LAYERS} and --{_BY_STAGES} say the same")
    layers, each = number(flags, "num-layers"), size(flags, _BY_LAYERS)
    if layers % (each * pp):
        raise TraceError(
            f"from_megatron: --num-layers {layers} is not divisible by --{_BY_LAYERS} {each} times pp = {pp}"
        )
    return layers // (each * pp)


def size(flags: Flags, name: str, default: int = 1) -> int:
    """A positive number, or the default where the flag is not there; TraceError."""
    found = number(flags, name) if name in flags else default
    if found < 1:
        raise TraceError(f"from_megatron: --{name} {found} is not positive")
    return found


def sequence_roles_of(flags: Flags) -> tuple[str, ...]:
    """Over which roles places lie around attention and dense networks."""
    return ("cp", "tp") if switched(flags, "sequence-parallel") else ("cp",)


def cp_comm_type_of(flags: Flags, known: Sequence[str]) -> str:
    """The one of --cp-comm-type; UnsupportedError for others, and for one of each layer."""
    named = flags.get("cp-comm-type", ["p2p"])
    if len(named) != 1 or named[0] not in known:
        raise UnsupportedError(f"from_megatron: --cp-comm-type {' '.join(named)}; expected one of {list(known)}")
    return named[0]


def _rest(devices: int, **sizes: int) -> int:
    if devices < 1:
        raise TraceError(f"from_megatron: {devices} devices; expected at least 1")
    product = 1
    for of_role in sizes.values():
        product *= of_role
    if devices % product:
        listed = " x ".join(f"{name} {of_role}" for name, of_role in sizes.items())
        raise TraceError(f"from_megatron: {listed} = {product} does not divide {devices} devices")
    return devices // product


def words_of(arguments: str) -> list[str]:
    """A command line's words from its first flag on."""
    words = _split(arguments)
    return words[next((place for place, word in enumerate(words) if word.startswith("--")), len(words)) :]


def pairs_of(arguments: str | Sequence[str]) -> Flags:
    """The words behind each flag, whichever it is; lines may end with a backslash, and # begins a comment.

    In front of the first flag the command may stand: "torchrun" or a script's name.
    """
    words = _split(arguments) if isinstance(arguments, str) else list(map(str, arguments))
    flags: dict[str, list[str]] = {}
    front: list[str] = []
    last = front
    for word in words:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            last = flags[name.replace("_", "-")] = [value] if equals else []
            continue
        if _NO_VALUE.match(word):
            raise TraceError(f"from_megatron: {word!r} is neither a flag, which begins with --, nor a value")
        last.append(word)
    if front and not any(word.endswith(("torchrun", ".py")) for word in front):
        raise TraceError(f"from_megatron: {front[0]!r} stands in front of the first flag")
    return flags


# A dash too few, or a list of the shell's, which only the shell can write out.
_NO_VALUE = re.compile(r"-[a-zA-Z]|\$\{?\w+\[")


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text.replace("\\\n", " "), comments=True)
    except ValueError as error:
        raise TraceError(f"from_megatron: {str(error).lower()}: {text[-40:]!r}") from None


def one(flags: Flags, name: str) -> str:
    """The one word behind a flag; TraceError."""
    if name not in flags:
        raise TraceError(f"from_megatron: --{name} is missing")
    if len(flags[name]) != 1:
        raise TraceError(f"from_megatron: --{name} takes one value, got {flags[name]}")
    return flags[name][0]


def number(flags: Flags, name: str, kind: Callable[[str], Any] = int) -> Any:
    """The same as a number; TraceError."""
    return _value(name, one(flags, name), kind)


def _value(name: str, word: str, kind: Callable[[str], Any]) -> Any:
    try:
        return kind(word)
    except ValueError:
        of_kind = "an integer" if kind is int else "a number"
        raise TraceError(f"from_megatron: --{name} {word}: expected {of_kind}") from None


def switched(flags: Flags, name: str) -> bool:
    """Whether a flag without words is there; TraceError where it has any."""
    if flags.get(name):
        raise TraceError(f"from_megatron: --{name} takes no value, got {flags[name]}")
    return name in flags


def hidden_of(flags: Flags) -> int:
    """Of a dense network; Megatron-Core's own where it is not given."""
    if "ffn-hidden-size" in flags or "hidden-size" not in flags:
        return number(flags, "ffn-hidden-size")
    whole = 4 * number(flags, "hidden-size")
    return int(whole * 2 / 3 / 64) * 64 if "swiglu" in flags else whole


def _balance(flags: Flags) -> dict[str, Any]:
    kinds = flags.get("moe-router-load-balancing-type", ["aux_loss"])
    name = "moe-aux-loss-coeff"
    rates = [_value(name, rate, float) for rate in flags.get(name, ["0"])]
    if kinds in (["none"], ["sinkhorn"]):
        if any(rates):
            warn_idle([f"--{name}"], f"--moe-router-load-balancing-type {kinds[0]} has no loss")
        router = {"router_type": "sinkhorn"} if kinds == ["sinkhorn"] else {}
        return {**router, "moe_router_load_balancing_type": ()}
    if not kinds or not set(kinds) <= set(_LOSSES):
        raise UnsupportedError(
            f"from_megatron: --moe-router-load-balancing-type {' '.join(kinds)}; expected some of {list(_LOSSES)},"
            ' or "sinkhorn" or "none"'
        )
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
    factor = number(flags, "moe-expert-capacity-factor", float)
    return {"moe_expert_capacity_factor": None if factor < 0 else factor}


def _dispatch(flags: Flags) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if "moe-layer-freq" in flags:
        freq = one(flags, "moe-layer-freq").strip("'\"")  # scripts quote it for a second shell
        fields["moe_layer_freq"] = int(freq) if freq.isdigit() else freq
        if "num-layers" in flags:
            moe_layers(fields["moe_layer_freq"], size(flags, "num-layers"))
    if switched(flags, "moe-apply-probs-on-input"):
        fields["is_postscore"] = False
    name = one(flags, "moe-token-dispatcher-type") if "moe-token-dispatcher-type" in flags else "allgather"
    if name not in _DISPATCHERS:
        raise UnsupportedError(
            f"from_megatron: --moe-token-dispatcher-type {name}; expected one of {list(_DISPATCHERS)}"
        )
    return {**fields, "moe_token_dispatcher_type": _DISPATCHERS[name]}


def _groups(flags: Flags) -> dict[str, Any]:
    """The old name of limits to devices."""
    if "moe-router-topk-limited-devices" not in flags:
        return {}
    return {
        "moe_router_num_groups": number(flags, "expert-model-parallel-size"),
        "moe_router_group_topk": number(flags, "moe-router-topk-limited-devices"),
    }
