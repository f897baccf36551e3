# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stand-ins for torchtitan's classes of plans, and plans of three models as such data: which fields and forms there are."""

import dataclasses
import enum
from typing import Any


class Axis(str, enum.Enum):
    DP, CP, TP, EP, EFSDP, DP_REPLICATE = "dp", "cp", "tp", "ep", "efsdp", "dp_replicate"


class Kind(enum.Enum):
    R, I, V, P = "R", "I", "V", "P"  # noqa: E741


@dataclasses.dataclass(frozen=True)
class S:
    dim: int


@dataclasses.dataclass(frozen=True)
class Layout:
    axis_types: dict
    partition_spec: Any = None


@dataclasses.dataclass
class ShardingConfig:
    state_shardings: dict = dataclasses.field(default_factory=dict)
    in_src_shardings: Any = None
    in_dst_shardings: Any = None
    out_src_shardings: Any = None
    out_dst_shardings: Any = None
    local_map: Any = None


DP, CP, TP, EP = Axis.DP, Axis.CP, Axis.TP, Axis.EP
R, V, SUM = Kind.R, Kind.V, Kind.P


def state(tp):
    return Layout({DP: R, CP: R, TP: tp})


def of_expert():
    return Layout({Axis.DP_REPLICATE: R, Axis.EFSDP: R, EP: S(0)})


ROWS = Layout({DP: V, CP: V, TP: Kind.I}, ((DP, CP), None))
SPLIT_ROWS = Layout({DP: V, CP: V, TP: V}, ((DP, CP, TP), None))
COLUMNS = Layout({DP: V, CP: V, TP: V}, ((DP, CP), TP))
SUMS = Layout({DP: V, CP: V, TP: SUM}, ((DP, CP), None))
HEADS = Layout({DP: S(0), CP: R, TP: S(1)})


def colwise():
    return ShardingConfig({"weight": state(S(0)), "bias": state(S(0))}, out_src_shardings=COLUMNS)


def rowwise():
    return ShardingConfig({"weight": state(S(1)), "bias": state(R)}, out_src_shardings=SUMS, out_dst_shardings=SPLIT_ROWS)


def whole():
    return ShardingConfig({"weight": state(R)})


def norm():
    return ShardingConfig({"weight": state(R)}, {"input": SPLIT_ROWS}, out_src_shardings=SPLIT_ROWS)


def inner_attention():
    return ShardingConfig({}, {"q": HEADS}, {"q": HEADS}, HEADS)


def decoder(layer):
    ends = {
        "tok_embeddings": ShardingConfig({"weight": state(S(0))}, {"input": Layout({DP: V, CP: V, TP: R}, ((DP, CP),))}, out_src_shardings=SUMS,
                                         out_dst_shardings=SPLIT_ROWS),
        "norm": ShardingConfig({"weight": state(R)}, {"input": SPLIT_ROWS}, out_src_shardings=SPLIT_ROWS, out_dst_shardings=ROWS),
        "lm_head": ShardingConfig({"weight": state(S(0))}, out_src_shardings=COLUMNS, out_dst_shardings=COLUMNS),
    }  # fmt: skip
    return ends | {f"layers.0.{path}": config for path, config in layer.items()}


def moe(names, shared=False):
    counted = Layout({DP: SUM, CP: SUM, TP: SUM})
    found = {
        "moe": ShardingConfig({"expert_bias_E": state(R), "tokens_per_expert_E": counted}, {"x_TD": SPLIT_ROWS}, {"x_TD": SPLIT_ROWS}, SPLIT_ROWS, SPLIT_ROWS),
        "moe.router.gate": ShardingConfig({"weight": state(R), "bias": state(R)}, out_src_shardings=SPLIT_ROWS),
        "moe.routed_experts": ShardingConfig({}, {"x_TD": SPLIT_ROWS}, {"x_TD": SPLIT_ROWS}, SPLIT_ROWS, SPLIT_ROWS),
        "moe.routed_experts.inner_experts": ShardingConfig({name: of_expert() for name in names}),
    }
    return found | ({f"moe.shared_experts.{w}": config() for w, config in (("w1", colwise), ("w2", rowwise), ("w3", colwise))} if shared else {})


GROUPED = ("w1_EFD", "w2_EDF", "w3_EFD")
MODELS = {
    "qwen3": decoder({
        "attention_norm": norm(), "ffn_norm": norm(), "attention": ShardingConfig({}, {"x_TD": SPLIT_ROWS}, {"x_TD": ROWS}),
        "attention.rope": ShardingConfig({"cache": state(R)}), "attention.qkv_linear.wq": colwise(), "attention.qkv_linear.wkv": colwise(),
        "attention.qk_norm": ShardingConfig({"weight": state(R)}, {"input": HEADS}, {"input": HEADS}, HEADS, HEADS),
        "attention.inner_attention": inner_attention(), "attention.wo": rowwise(), **moe(GROUPED),
    }),
    "deepseek_v3": decoder({
        "attention_norm": norm(), "attention.wkv_a": whole(), "attention.kv_norm": whole(), "attention.wkv_b": colwise(), "attention.wq_a": whole(),
        "attention.q_norm": whole(), "attention.wq_b": colwise(), "attention.wo": rowwise(), "attention.inner_attention": inner_attention(),
        "feed_forward.w1": colwise(), "feed_forward.w2": rowwise(), "feed_forward.w3": colwise(), **moe(GROUPED, shared=True),
    }),
    "gpt_oss": decoder({
        "attention_norm": norm(), "attention": ShardingConfig({"sinks": state(S(0))}), "attention.qkv_linear.wqkv": colwise(), "attention.wo": rowwise(),
        **moe(("mlp1_weight_EGD", "mlp1_bias_EG", "mlp2_weight_EDF", "mlp2_bias_ED")),
    }),
}  # fmt: skip


def ranks(configs):
    """Of every state that is named: vectors, matrices, and of experts what the name's letters say."""
    names = {f"{path}.{name}": name for path, config in configs.items() for name in config.state_shardings}
    return {full: len(name.rpartition("_")[2]) if name.rpartition("_")[2].isupper() else 1 if name in ("bias", "sinks") else 2 for full, name in names.items()}
