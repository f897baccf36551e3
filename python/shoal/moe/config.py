# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a Mixture-of-Experts layer is, as data.

Names are those that users type: Megatron-Core's where it has one, else Hugging Face's, else
Tutel's. docs/guide/MoE.md has every field's meaning and source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shoal.errors import TraceError
from shoal.moe import huggingface, megatron, presets
from shoal.moe.capacity import Crowd, room
from shoal.moe.checking import check_config
from shoal.moe.megatron_flags import REFUSED_LAYERS
from shoal.moe.own_router import Router, RouterShapes
from shoal.moe.patterns import moe_layers

__all__ = ["MoeConfig"]

# Of a loss, or one for each layer.
Coefficient = float | tuple[float, ...]


def _tuples(coefficient: Any) -> Any:
    """With lists, which files have, as tuples."""
    if isinstance(coefficient, Mapping):
        return {name: _tuples(of_loss) for name, of_loss in coefficient.items()}
    return tuple(coefficient) if isinstance(coefficient, list) else coefficient


@dataclass(frozen=True)
class MoeConfig:
    """A layer's router, capacity, dispatch and experts; sizes of tokens are not in it.

    Raises TraceError for fields that have no meaning together, naming both.
    """

    num_experts: int
    moe_ffn_hidden_size: int
    moe_router_topk: int = 2
    # Which layers have experts: every N-th, or a list or its text, "([1]+[0]*2)*4".
    moe_layer_freq: int | str | tuple[int, ...] = 1

    # The router: "topk", "sinkhorn", "expert_choice", "hash" or "cosine".
    router_type: str = "topk"
    moe_router_score_function: str = "softmax"  # "sigmoid", "sqrtsoftplus"
    moe_router_pre_softmax: bool = False  # False: choose by logits, softmax over those chosen
    norm_topk_prob: bool | None = None  # None: where the scores are no softmax and k > 1
    moe_router_num_groups: int | None = None
    moe_router_group_topk: int | None = None
    group_best_of: int | None = None  # None: topk // group_topk
    moe_router_topk_scaling_factor: float | None = None
    moe_router_enable_expert_bias: bool = False
    moe_router_bias_update_rate: float = 1e-3
    add_router_bias: bool = False
    moe_router_dtype: str = "fp32"  # "fp64"; "model": logits in the tokens' type

    # Noise, in training alone; force_load_balancing: choices are random, for benchmarks.
    moe_router_force_load_balancing: bool = False
    moe_input_jitter_eps: float | None = None
    gate_noise: float = 0.0
    noisy_gate_policy: str | None = None  # "RSample"
    second_policy: str = "all"  # "random" (GShard), "gumbel" (DeepSpeed)

    # Balance.
    moe_router_load_balancing_type: tuple[str, ...] = ("aux_loss",)
    moe_aux_loss_coeff: Coefficient | Mapping[str, Coefficient] = 0.0
    moe_z_loss_coeff: Coefficient | None = None

    # Capacity: factor None or 0 drops nothing.
    moe_expert_capacity_factor: float | None = None
    capacity_rule: str = "megatron"  # "gshard", "deepspeed", "tutel"
    min_capacity: int = 1
    capacity_alignment: int = 1
    moe_group_size: int | None = None  # tokens of a group; None: all
    moe_token_drop_policy: str = "probs"  # "position", "random"
    position_order: str = "choice"  # "token"
    batch_prioritized_routing: bool = False
    renormalize_after_drop: bool = False
    moe_pad_expert_input_to_capacity: bool = False

    # Rows that a device gets of all devices' choices, in multiples of the mean; None: all that could come. Of
    # exchanged rows: "auto" is "alltoall" with it.
    moe_expert_rank_capacity_factor: float | None = None

    # Dispatch: "auto", "einsum", "sort", "allgather" or "alltoall".
    moe_token_dispatcher_type: str = "auto"
    is_postscore: bool = True  # False: weights go into the experts

    # Experts.
    hidden_act: str = "gelu"  # "gelu_tanh", "relu", "silu"
    gated_linear_unit: bool = False
    swiglu_limit: float | None = None
    swiglu_alpha: float = 1.702
    add_bias_linear: bool = False

    # A router of one's own, in the place of router_type (docs/guide/MoE.md): router(tokens, params, config), and
    # the shapes of its parameters; None: those of "topk".
    router: Router | None = None
    router_shapes: RouterShapes | None = None

    # Beside the experts.
    moe_shared_expert_intermediate_size: int | None = None
    moe_shared_expert_gate: bool = False
    use_residual: bool = False

    def __post_init__(self) -> None:
        types = self.moe_router_load_balancing_type
        listed = (types,) if isinstance(types, str) else tuple(types or ())
        object.__setattr__(self, "moe_router_load_balancing_type", listed)
        for name in ("moe_aux_loss_coeff", "moe_z_loss_coeff"):
            object.__setattr__(self, name, _tuples(getattr(self, name)))
        check_config(self)

    def capacity(self, tokens: int) -> int | None:
        """Rows of an expert's buffer for a group of this many tokens; None: nothing is dropped."""
        crowd = Crowd(tokens, self.num_experts, self.moe_router_topk)
        limits = self.min_capacity, self.capacity_alignment
        return room(self.capacity_rule, self.moe_expert_capacity_factor, crowd, *limits)

    def normalizes(self) -> bool:
        """Whether the chosen scores are divided by their sum."""
        if self.norm_topk_prob is not None:
            return self.norm_topk_prob
        return self.moe_router_score_function != "softmax" and self.moe_router_topk > 1

    def replace(self, **fields: Any) -> MoeConfig:
        """The same with other values of these fields."""
        return replace(self, **fields)

    def loss_coefficient(self, name: str, layer: int = 0) -> float:
        """What a loss of this name counts with in a layer; "z_loss" is one, too.

        TraceError where there is one for each layer, and none for this.
        """
        if name == "z_loss":
            found: Any = self.moe_z_loss_coeff or 0.0
        elif isinstance(self.moe_aux_loss_coeff, Mapping):
            found = self.moe_aux_loss_coeff.get(name, 0.0)
        else:
            found = self.moe_aux_loss_coeff
        if isinstance(found, tuple) and layer >= len(found):
            raise TraceError(f'MoeConfig: "{name}" has coefficients for {len(found)} layers, none for layer {layer}')
        return found[layer] if isinstance(found, tuple) else found

    def has_loss(self, name: str) -> bool:
        """Whether a loss of this name counts with something in a layer: one of coefficient 0 is not made."""
        found: Any = self.moe_z_loss_coeff if name == "z_loss" else self.moe_aux_loss_coeff
        found = found.get(name) if isinstance(found, Mapping) else found
        return any(found) if isinstance(found, tuple) else bool(found)

    def layers(self, count: int) -> tuple[bool, ...]:
        """Of each of a model's layers, whether it has experts."""
        return moe_layers(self.moe_layer_freq, count)

    @classmethod
    def gshard(cls, num_experts: int, hidden: int, **fields: Any) -> MoeConfig:
        """GShard's layer (arXiv 2006.16668). fields: in place of its own, here and below."""
        return cls(num_experts, hidden, **{**presets.gshard(), **fields})

    @classmethod
    def switch(cls, num_experts: int, hidden: int, **fields: Any) -> MoeConfig:
        """Switch Transformers' (arXiv 2101.03961)."""
        return cls(num_experts, hidden, **{**presets.switch(), **fields})

    @classmethod
    def deepspeed(cls, num_experts: int, hidden: int, k: int = 1, **fields: Any) -> MoeConfig:
        """DeepSpeed's, of k choices; a factor of None or 0 is its drop_tokens=False."""
        drops = bool(fields.get("moe_expert_capacity_factor", 1.0))
        return cls(num_experts, hidden, **{**presets.deepspeed(num_experts, k, drops), **fields})

    @classmethod
    def tutel(
        cls, num_experts: int, hidden: int, k: int = 2, capacity_factor: float = 1.0, **fields: Any
    ) -> MoeConfig:
        """Tutel's, of k choices; a factor of 0 drops nothing."""
        made = presets.tutel(num_experts, k, capacity_factor)
        return cls(num_experts, hidden, **{**made, **fields})

    @classmethod
    def from_hf(cls, config: Mapping[str, Any] | str, **fields: Any) -> MoeConfig:
        """Of the fields of a Hugging Face `config.json`, or of a published model by name: "mixtral-8x7b".

        Those that are not about layers of experts may be missing. UnsupportedError and InputError: as of
        `shoal.models.from_config`.
        """
        if isinstance(config, str):
            if config not in presets.MODELS:
                raise TraceError(f'from_hf: "{config}" is not one of {sorted(presets.MODELS)}')
            config = presets.MODELS[config]
        return cls(**{**huggingface.fields_of(config), **fields})

    @classmethod
    def from_megatron(cls, arguments: str | Sequence[str], **fields: Any) -> MoeConfig:
        """Of a command line of Megatron-Core, or of a file with its arguments.

        Of its flags those about layers of experts are read, those about the layout left to `Layout.from_megatron`;
        of those that have no effect here a warning says so, in a line for each reason
        (docs/guide/Configurations.md has all of them). UnsupportedError names one that there is no counterpart of, and
        an unknown one with the one that is nearest to it.
        """
        flags = megatron.known_flags(arguments, REFUSED_LAYERS)
        return cls(**{**megatron.fields_of(flags), **fields})
