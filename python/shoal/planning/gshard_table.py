# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GShard's table: device times, shares and steps a second of its programs on TPUs."""

from __future__ import annotations

import sys
from typing import Any

from shoal.models.config import ModelConfig
from shoal.models.rope import rope_of
from shoal.moe.config import MoeConfig
from shoal.planning.gshard import gshard_layer
from shoal.planning.job import Plan, forecast_of, programs_of
from shoal.planning.mapping import Mapping
from shoal.planning.published_table import Bar, Table, off_by, percent, read, within
from shoal.simulation.machines import Machine

__all__ = ["gshard", "gshard_model"]

# Tokens that have places of experts for themselves.
_GROUP = 1024


def gshard_model(experts: int, layers: int) -> ModelConfig:
    """Of so many layers; every other one has experts."""
    moe = MoeConfig.gshard(experts, 8192, second_policy="all", min_capacity=1, moe_group_size=_GROUP, moe_layer_freq=2)
    return ModelConfig(
        family="gshard", vocab_size=32000, hidden_size=1024, num_attention_heads=16, num_key_value_heads=16, head_dim=128,
        rms_norm_eps=1e-6, rope=rope_of({}, 128), rope_in_windows=True, windows=(None,) * layers, moe=moe,
        moe_layers=tuple(number % 2 == 1 for number in range(layers)), intermediate_size=8192, tie_word_embeddings=True,
    )  # fmt: skip


def _gshard_mapping(experts: int, tokens: int) -> Mapping:
    return Mapping(
        experts, ep=experts, micro_batch=tokens // 128, sequence=128, type="f32", zero=0, fused_attention=False
    )


def _gshard_options() -> dict[str, Any]:
    """Masks are products, and so are embeddings; bytes alone choose shardings."""
    return {"dense_one_hots": True, "machine": "", "with_experts": gshard_layer, "by_products": True}


def _gshard_step(machine: Machine, experts: int, layers: int, tokens: int) -> tuple[float, Plan]:
    """Seconds, and the plan of one side: of the source's tokens half of the layers, of the target's the others, which look
    at the source, too, and each side has an embedding."""
    print(f"  GShard: {experts} experts, {layers} layers, {tokens} tokens a device", file=sys.stderr, flush=True)
    plan = forecast_of(gshard_model(experts, layers), machine, _gshard_mapping(experts, tokens), **_gshard_options())
    looks = sum(line.seconds for line in plan.lines if line.where.startswith("attention"))
    return plan.seconds + looks / 2 + sum(line.seconds for line in plan.lines if line.where == "embed"), plan


def _gshard_forward(machine: Machine, experts: int, tokens: int) -> tuple[float, float]:
    """Of the forward pass of a layer with experts and one without the share of exchanges, and seconds."""
    print(f"  GShard: {experts} experts, forward, {tokens} tokens a device", file=sys.stderr, flush=True)
    programs = programs_of(gshard_model(experts, 2), machine, **_gshard_options())
    mapping = _gshard_mapping(experts, tokens)
    programs.make(mapping, "layer")
    rows = [row for layer in programs.layers(mapping) for row in layer.forward]
    whole = sum(row.seconds for row in rows)
    return sum(row.seconds for row in rows if row.name == "all_to_all") / whole, whole


def _gshard_forwards(machine: Machine, tokens: int) -> tuple[tuple[float, float], tuple[float, float], float]:
    """The same with 128 and 2048 experts, and how many times as long the latter take."""
    small, large = (_gshard_forward(machine, experts, tokens) for experts in (128, 2048))
    return small, large, large[1] / small[1]


def gshard() -> Table:
    """Device time, shares and steps a second."""
    made = read("gshard")
    machine = Machine.read(made["machine"])
    rows, bars = [["figure", "simulated", "published", "off"]], []

    def add(what: str, simulated: float, published: float, share: float | None) -> None:
        share_off = off_by(simulated, published)
        rows.append([what, f"{simulated:.3g}", f"{published:.3g}", percent(share_off)])
        if share is not None:
            bars.append(Bar(f"{what} within {100 * share:.0f} %", within([share_off], share), 1))

    forward = {groups: _gshard_forwards(machine, groups * _GROUP) for groups in (2, 1, 4)}
    (share, _), (share_large, _), ratio = forward[2]
    add("device time of a pair of layers, 2048 over 128 experts", ratio, made["device_time_ratio"], 0.05)
    for megabytes in (8, 32):
        few, many = (machine.price("all_to_all", [(n, 1)], round(megabytes * 1e6 * (n - 1) / n)) for n in (16, 2048))
        add(f"all-to-all of {megabytes} MB, 2048 over 16 partitions", many / few, made["exchange_ratio"], 0.1)
    add("share of dispatch and combine, 2048 experts", share_large, made["share"]["2048"], 0.1)
    add("share of dispatch and combine, 128 experts", share, made["share"]["128"], 0.25)
    weights = []
    for which, published in made["steps_per_second"].items():
        experts, layers = map(int, which.split())
        seconds, plan = _gshard_step(machine, experts, layers, made["tokens"][str(experts)])
        kept = 1 - made["recomputed"][str(layers)]
        add(f"steps a second, {experts} experts, {layers} layers", kept / seconds, published, 0.1 if which == "128 12" else None)
        weights += [plan.memory.weights] if layers == 36 else []
    spread = max(weights) / min(weights) - 1
    rows.append(["weights of a device, 36 layers, 128 to 2048 experts, most over least", f"{1 + spread:.3f}", "flat", ""])
    bars.append(Bar("weights flat within 5 %", int(spread <= 0.05), 1))
    other = "; ".join(
        f"with {groups} they are {ratio:.2f}, {large:.3f} and {small:.3f}"
        for groups, ((small, _), (large, _), ratio) in forward.items()
        if groups != 2
    )
    rest = {part: 1e3 * plan.parts[part] for part in ("sums of gradients", "optimizer")}
    notes = (
        "Device time and shares are those of the forward pass, as in the source's figure 8. They depend on how many groups a "
        f"device has, which the source does not say: the rows above are of two; {other}.",
        "Rows with a quarter of the tokens a device are about twice as fast as published: by the paper's own rows, a step has "
        "parts of a tenth of a second and more that depend on no tokens, which are not in the model. They are not sums of gradients, "
        f"nor the optimizer: with 2048 experts and 36 layers these take {rest['sums of gradients']:.0f} and {rest['optimizer']:.0f} ms of a step.",
    )
    return Table(made["title"], made["source"], made["assumed"], rows, bars, notes)
