# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The flat names of Megatron-Core, Hugging Face and Tutel, and where each value lies in the parts of a `MoeConfig`.

A value that its part has no field for, or whose part is not there, is an error that names the field which chose so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields as fields_of
from typing import Any, NamedTuple, NoReturn

from shoal.errors import TraceError
from shoal.moe import capacity as c, parts as p
from shoal.moe.laws import LAWS, LOSSES, Law, check_value
from shoal.names import nearest

__all__ = ["FLAT", "flat_of", "named", "parts_of", "read"]

Fields = Mapping[str, Any]


class Row(NamedTuple):
    """Where a value lies: in which part, in which field; "" is the configuration, or with others in a part's field."""

    part: str
    field: str
    default: Any = None


FLAT: dict[str, Row] = {
    "num_experts": Row("experts", "number"), "moe_ffn_hidden_size": Row("experts", "hidden"),
    "moe_router_topk": Row("router", "k", 2), "moe_layer_freq": Row("", "layer_freq", 1),
    "router_type": Row("", "", "topk"), "moe_router_score_function": Row("router", "scores", "softmax"),
    "moe_router_pre_softmax": Row("router", "scores", False), "norm_topk_prob": Row("router", "normalize"),
    "moe_router_num_groups": Row("groups", "number"), "moe_router_group_topk": Row("groups", "chosen"),
    "group_best_of": Row("groups", "best_of"), "moe_router_topk_scaling_factor": Row("router", "scaling"),
    "moe_router_enable_expert_bias": Row("router", "bias_rate", False), "moe_router_bias_update_rate": Row("", "", 1e-3),
    "add_router_bias": Row("router", "bias", False), "moe_router_dtype": Row("router", "dtype", "fp32"),
    "moe_router_force_load_balancing": Row("router", "forced", False), "moe_input_jitter_eps": Row("router", "jitter"),
    "gate_noise": Row("router", "gate_noise", 0.0), "noisy_gate_policy": Row("router", "sampling"),
    "second_policy": Row("router", "sampling", "all"), "moe_router_load_balancing_type": Row("", "", ("aux_loss",)),
    "moe_aux_loss_coeff": Row("router", "losses", 0.0), "moe_z_loss_coeff": Row("router", "z_loss"),
    "moe_expert_capacity_factor": Row("capacity", "factor"), "capacity_rule": Row("capacity", "rule", "megatron"),
    "min_capacity": Row("capacity", "least", 1), "capacity_alignment": Row("capacity", "alignment", 1),
    "moe_group_size": Row("", "group_size"), "moe_token_drop_policy": Row("capacity", "drops", "probs"),
    "position_order": Row("capacity", "drops", "choice"),
    "batch_prioritized_routing": Row("capacity", "prioritized", False),
    "renormalize_after_drop": Row("capacity", "renormalize", False),
    "moe_pad_expert_input_to_capacity": Row("capacity", "padded", False),
    "moe_expert_rank_capacity_factor": Row("dispatch", "rank_factor"),
    "a2a_ffn_overlap_degree": Row("dispatch", "chunks", 1),
    "moe_token_dispatcher_type": Row("dispatch", "how", "auto"), "is_postscore": Row("dispatch", "before", True),
    "hidden_act": Row("experts", "act", "gelu"), "gated_linear_unit": Row("experts", "gated", False),
    "swiglu_limit": Row("clamp", "limit"), "swiglu_alpha": Row("clamp", "alpha", 1.702),
    "add_bias_linear": Row("experts", "bias", False), "router": Row("own", "function"),
    "router_shapes": Row("own", "shapes"), "moe_shared_expert_intermediate_size": Row("beside", "hidden"),
    "moe_shared_expert_gate": Row("beside", "gated", False), "use_residual": Row("", "", False),
}  # fmt: skip

# Fields that several names make.


def _scores(given: Fields) -> str:
    name = "moe_router_score_function"
    if given["moe_router_pre_softmax"] and given[name] != "softmax":
        _refuse(given, "moe_router_pre_softmax", name, "there is no softmax")
    return "softmax_of_chosen" if given[name] == "softmax" and not given["moe_router_pre_softmax"] else given[name]


def _sampling(given: Fields) -> str | None:
    asked = [_SAMPLING[word] for word in (given["noisy_gate_policy"], given["second_policy"]) if word in _SAMPLING]
    if len(asked) > 1:
        _refuse(given, "noisy_gate_policy", "second_policy", "one choice is sampled, or a second one")
    return asked[0] if asked else None


def _losses(given: Fields) -> Fields:
    """Of the balance; none where the one that there is by itself counts for nothing."""
    names, rates = given["moe_router_load_balancing_type"], given["moe_aux_loss_coeff"]
    if not isinstance(rates, Mapping):
        return {} if names == FLAT["moe_router_load_balancing_type"].default and rates == 0 else dict.fromkeys(names, rates)
    if not set(rates) <= set(names):
        why = "a coefficient of a loss that is not among them"
        _refuse(given, "moe_aux_loss_coeff", "moe_router_load_balancing_type", why)
    return {name: rates.get(name, 0.0) for name in names}


def _drops(given: Fields) -> str:
    policy, by_token = given["moe_token_drop_policy"], given["position_order"] == "token"
    if by_token and policy != "position":
        _refuse(given, "position_order", "moe_token_drop_policy", "it orders positions")
    return "position of token" if by_token else policy


def _bias_rate(given: Fields) -> float | None:
    return given["moe_router_bias_update_rate"] if given["moe_router_enable_expert_bias"] else None


JOINED: dict[str, Callable[[Fields], Any]] = {
    "scores": _scores, "sampling": _sampling, "losses": _losses, "bias_rate": _bias_rate, "drops": _drops,
    "before": lambda given: not given["is_postscore"],
}  # fmt: skip

ROUTERS = {"topk": p.TopK, "sinkhorn": p.Sinkhorn, "expert_choice": p.ExpertChoice, "hash": p.Hash, "cosine": p.Cosine}
_SHARED = "moe_shared_expert_intermediate_size"
_SAMPLING = {"RSample": "first", "gumbel": "second", "random": "later"}
_WORDS: dict[str, tuple[Any, ...]] = {
    "router_type": tuple(ROUTERS),
    "moe_router_score_function": ("softmax", "sigmoid", "sqrtsoftplus"),
    "noisy_gate_policy": (None, "RSample"),
    "second_policy": ("all", "random", "gumbel"),
    "moe_token_drop_policy": ("probs", "position", "random"),
    "position_order": ("choice", "token"),
}
_LAWS: dict[str, Law] = {
    **{name: LAWS[row.field] for name, row in FLAT.items() if row.field in LAWS and row.field not in JOINED},
    **{name: Law(words.__contains__, f"one of {list(words)}") for name, words in _WORDS.items()},
    **dict.fromkeys(("moe_router_num_groups", "moe_router_group_topk", _SHARED), LAWS["group_size"]),
    "moe_expert_capacity_factor": LAWS["factor"]._replace(is_optional=True),
    "moe_router_bias_update_rate": LAWS["gate_noise"],
    "swiglu_limit": LAWS["limit"]._replace(is_optional=True),
    "moe_aux_loss_coeff": Law(lambda x: LAWS["losses"].holds(x if isinstance(x, Mapping) else {"aux_loss": x}), LAWS["z_loss"].what),
}  # fmt: skip
# What says more of a capacity, and nothing where there is none.
_IDLE = ("capacity_rule", "min_capacity", "capacity_alignment", "moe_token_drop_policy", "position_order")


def parts_of(fields: Fields) -> dict[str, Any]:
    """The parts, by their names in a `MoeConfig`.

    TraceError names a field that there is none of, or one whose value has no meaning, alone or beside another's.
    """
    given = _checked(fields)
    made: dict[str, Any] = {}
    for part, (kind, chooser) in _kinds(given).items():
        has = [field.name for field in fields_of(kind)] if kind else []
        values = {name: made.pop(name) for name in has if made.get(name) is not None}
        for name, row in FLAT.items():
            if row.part == part and row.field in has:
                values[row.field] = JOINED[row.field](given) if row.field in JOINED else given[name]
            elif row.part == part and given[name] and given[name] != row.default and name not in _IDLE:
                _refuse(given, name, chooser, f"{kind.__name__} has no {row.field}" if kind else "there is none")
        made["room" if kind is c.Room else part] = kind(**values) if kind else None
    whole = ("experts", "router", "own", "capacity", "dispatch", "beside")
    return {name: made.get(name) for name in whole} | {name: given[f"moe_{name}"] for name in ("layer_freq", "group_size")}


def _checked(fields: Fields) -> dict[str, Any]:
    """All of them, each what it may be."""
    for name in fields:
        if name not in FLAT:
            raise TraceError(f"MoeConfig: {name} is not a field{nearest(name, FLAT)}")
    given = {name: fields.get(name, row.default) for name, row in FLAT.items()}
    types = given["moe_router_load_balancing_type"] or ()
    given["moe_router_load_balancing_type"] = types = (types,) if isinstance(types, str) else tuple(types)
    for name in types:
        if name not in LOSSES:
            raise TraceError(f"MoeConfig: moe_router_load_balancing_type={name!r} is not one of {list(LOSSES)}")
    for name in ("moe_aux_loss_coeff", "moe_z_loss_coeff"):
        given[name] = _tuples(given[name])
    for name, law in _LAWS.items():
        check_value("MoeConfig", name, given[name], law)
    return given


def _tuples(coefficient: Any) -> Any:
    """With lists, which files have, as tuples."""
    if isinstance(coefficient, Mapping):
        return {name: _tuples(of_loss) for name, of_loss in coefficient.items()}
    return tuple(coefficient) if isinstance(coefficient, list) else coefficient


def named(error: TraceError, fields: Fields) -> TraceError:
    """An error of a part, with the flat names that were given for its field."""
    field = str(error).split("=")[0].split(": ")[-1]
    said = ", ".join(f"{name}={fields[name]!r}" for name, row in FLAT.items() if row.field == field and name in fields)
    return TraceError(f"{error} ({said})" if said else str(error))


def _refuse(given: Fields, first: str, second: str, why: str) -> NoReturn:
    raise TraceError(f"MoeConfig: {first}={given[first]!r} with {second}={given[second]!r}: {why}")


def _kinds(given: Fields) -> dict[str, tuple[Any, str]]:
    """Of each part its class, or None, and which field says so; parts of parts come first."""
    router, factor, groups = ROUTERS[given["router_type"]], "moe_expert_capacity_factor", "moe_router_num_groups"
    chooses, grouped = router is p.ExpertChoice, "groups" in router.__dataclass_fields__
    if chooses and not given[factor]:
        _refuse(given, factor, "router_type", "each expert takes f k S / E tokens")
    return {
        "clamp": (None if given["swiglu_limit"] is None else p.Clamp, "swiglu_limit"),
        "groups": (p.Groups if grouped and given[groups] is not None else None, groups if grouped else "router_type"),
        "capacity": (c.Room if chooses else c.Capacity if given[factor] else None, "router_type" if chooses else factor),
        "experts": (p.Experts, "num_experts"),
        "router": (router, "router_type"),
        "own": (None if given["router"] is None else p.OwnRouter, "router"),
        "dispatch": (p.Dispatch, "moe_token_dispatcher_type"),
        "beside": (_beside(given), _SHARED),
    }


def _beside(given: Fields) -> type | None:
    if given["use_residual"] and given[_SHARED] is not None:
        _refuse(given, "use_residual", _SHARED, "the residual expert is the shared one with weights")
    return p.Residual if given["use_residual"] else p.Shared if given[_SHARED] is not None else None


def flat_of(config: Any) -> dict[str, Any]:
    """All flat fields of a `MoeConfig`, of which `parts_of` makes the same parts."""
    return {name: read(config, name) for name in FLAT}


def read(config: Any, name: str) -> Any:
    """What a flat field says; of a part that is not there, or has no such field, its default."""
    if name in _READ:
        return _READ[name](config)
    row = FLAT[name]
    parts = {"": config, "clamp": config.experts.clamp, "groups": config.router.groups, "capacity": config.room}
    found = parts[row.part] if row.part in parts else getattr(config, row.part)
    return getattr(found, row.field, row.default)


def _rates(config: Any) -> Any:
    """One coefficient where all losses have the same."""
    rates = list(config.router.losses.values()) or [0.0]
    return rates[0] if all(rate == rates[0] for rate in rates) else dict(config.router.losses)


_SECOND = {part: word for word, part in _SAMPLING.items() if part != "first"}
_READ: dict[str, Callable[[Any], Any]] = {
    "router_type": lambda config: next(word for word, kind in ROUTERS.items() if type(config.router) is kind),
    "moe_router_score_function": lambda config: getattr(config.router, "function", "softmax"),
    "moe_router_pre_softmax": lambda config: getattr(config.router, "scores", None) == "softmax",
    "moe_router_enable_expert_bias": lambda config: config.router.bias_rate is not None,
    "moe_router_bias_update_rate": lambda config: 1e-3 if config.router.bias_rate is None else config.router.bias_rate,
    "noisy_gate_policy": lambda config: "RSample" if config.router.sampling == "first" else None,
    "second_policy": lambda config: _SECOND.get(config.router.sampling, "all"),
    "moe_router_load_balancing_type": lambda config: tuple(config.router.losses) or ("aux_loss",),
    "moe_aux_loss_coeff": _rates,
    "moe_token_drop_policy": lambda config: getattr(config.room, "drops", "probs").split(" ")[0],
    "position_order": lambda config: "token" if getattr(config.room, "drops", "").endswith("token") else "choice",
    "is_postscore": lambda config: not config.dispatch.before,
    "use_residual": lambda config: isinstance(config.beside, p.Residual),
}
