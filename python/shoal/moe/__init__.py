# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixture-of-Experts layers as pure functions of arrays (docs/guide/MoE.md).

    x -> route -> limit -> dispatch -> apply_experts -> combine -> y

`moe` composes the five, and each can be used, or replaced, alone. A `MoeConfig` says what the
layer is, a `Layout` where it lies; the result does not depend on the latter. `moe_layer` is GShard's
layer in one function.

Letters: G groups, S tokens of a group, M model size, E experts, k choices of a token, C rows of
an expert's buffer, H hidden size; B sequences.
"""

from shoal.moe.buffers import Buffers
from shoal.moe.capacity import Capacity, Room
from shoal.moe.config import MoeConfig
from shoal.moe.dispatching import combine, dispatch, plan_dispatch
from shoal.moe.experts import apply_experts
from shoal.moe.folding import fold
from shoal.moe.gshard import GShardOutput, moe_layer
from shoal.moe.layer import MoeMetrics, MoeOutput, metrics_of, moe
from shoal.moe.layout import Layout, Schedule
from shoal.moe.limiting import limit
from shoal.moe.losses import balance_losses, total_loss, update_expert_bias
from shoal.moe.parts import (
    Clamp, Cosine, Dispatch, ExpertChoice, Experts, Groups, Hash, OwnRouter, Residual, Shared, Sinkhorn, TopK,
)  # fmt: skip
from shoal.moe.parameters import init_params, param_shapes, param_shardings
from shoal.moe.routing import Routing, route
from shoal.moe.upcycling import upcycle

__all__ = [
    "Buffers", "Capacity", "Clamp", "Cosine", "Dispatch", "ExpertChoice", "Experts", "GShardOutput", "Groups", "Hash", "Layout",
    "MoeConfig", "MoeMetrics", "MoeOutput", "OwnRouter", "Residual", "Room", "Routing", "Schedule", "Shared", "Sinkhorn", "TopK",
    "apply_experts", "balance_losses", "combine", "dispatch", "fold", "init_params", "limit", "metrics_of", "moe", "moe_layer",
    "param_shapes", "param_shardings", "plan_dispatch", "route", "total_loss", "upcycle", "update_expert_bias",
]  # fmt: skip
