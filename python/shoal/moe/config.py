# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a Mixture-of-Experts layer is, as data: parts, or the flat names of other libraries.

docs/guide/MoE.md has every field's meaning and source.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.errors import TraceError
from shoal.moe import huggingface, megatron, presets
from shoal.moe.capacity import Capacity, Room
from shoal.moe.flat import FLAT, flat_of, named, parts_of, read
from shoal.moe.laws import Part
from shoal.moe.megatron_flags import REFUSED_LAYERS
from shoal.moe.parts import AnyRouter, Dispatch, ExpertChoice, Experts, OwnRouter, Residual, Shared, TopK
from shoal.moe.patterns import moe_layers

__all__ = ["MoeConfig"]


@dataclass(frozen=True)
class MoeConfig(Part):
    """A layer's parts; sizes of tokens are not in it.

    own: a function in the place of the router's choice, which may read what the router says else.
    capacity: None drops nothing. group_size: tokens of a group, None: all. layer_freq: which layers have experts, every
    N-th, or a list or its text, "([1]+[0]*2)*4".

    `flat` makes one of Megatron-Core's, Hugging Face's and Tutel's names, each of which is an attribute, too.
    Raises TraceError for parts that have no meaning together.
    """

    experts: Experts
    router: AnyRouter = TopK()
    own: OwnRouter | None = None
    capacity: Capacity | None = None
    dispatch: Dispatch = Dispatch()
    beside: Shared | Residual | None = None
    group_size: int | None = None
    layer_freq: int | str | tuple[int, ...] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.own is None:
            self.router.check(self.experts.number)
        else:
            self.own.check(self.router)
        chooses, ranks = isinstance(self.router, ExpertChoice), self.dispatch.rank_factor
        self.refuse(chooses and self.capacity, "capacity", "experts choose as many as they have room for")
        self.refuse(chooses and self.dispatch.before, "dispatch", "weights of experts that choose are behind them")
        no_slots = chooses and self.dispatch.how in ("einsum", "allgather")
        self.refuse(no_slots, "dispatch", 'slots are the router\'s own; "sort" takes them')
        self.refuse(ranks is not None and self.room, "dispatch", "buffers are those of experts")
        no_rows = self.room is None or self.dispatch.how == "allgather"
        self.refuse(self.dispatch.chunks > 1 and no_rows, "dispatch", "chunks are of the rows of experts' buffers, and there are none")

    def __getattr__(self, name: str) -> Any:
        if name not in FLAT:
            raise AttributeError(f"MoeConfig has no field {name}")
        return read(self, name)

    @property
    def room(self) -> Room | None:
        """How many rows an expert has; None: as many as come."""
        return self.router.room if isinstance(self.router, ExpertChoice) else self.capacity

    def rows(self, tokens: int) -> int | None:
        """Rows of an expert's buffer for a group of this many tokens; None: nothing is dropped."""
        return self.room and self.room.rows(tokens, self.experts.number, self.router.k)

    def replace(self, **fields: Any) -> MoeConfig:
        """The same with other parts, or with other values of flat fields; `router` is a part or a function."""
        names = {field.name for field in dataclasses.fields(self)}
        parts = {name: fields[name] for name in names & {*fields} if name != "router" or isinstance(fields[name], AnyRouter)}
        made, rest = dataclasses.replace(self, **parts), {name: fields[name] for name in fields if name not in parts}
        return MoeConfig.flat(**{**flat_of(made), **rest}) if rest else made

    def loss_coefficient(self, name: str, layer: int = 0) -> float:
        """What a loss of this name counts with in a layer; "z_loss" is one, too.

        TraceError where there is one for each layer, and none for this.
        """
        found = self.router.coefficient(name) or 0.0
        if isinstance(found, tuple) and layer >= len(found):
            raise TraceError(f'MoeConfig: "{name}" has coefficients for {len(found)} layers, none for layer {layer}')
        return found[layer] if isinstance(found, tuple) else found

    def has_loss(self, name: str) -> bool:
        """Whether a loss of this name counts with something in a layer: one of coefficient 0 is not made."""
        found = self.router.coefficient(name)
        return any(found) if isinstance(found, tuple) else bool(found)

    def layers(self, count: int) -> tuple[bool, ...]:
        """Of each of a model's layers, whether it has experts."""
        return moe_layers(self.layer_freq, count)

    @classmethod
    def flat(cls, num_experts: int, moe_ffn_hidden_size: int, moe_router_topk: int = 2, **fields: Any) -> MoeConfig:
        """Of the names that users of other libraries type: Megatron-Core's where it has one, else Hugging Face's, else
        Tutel's. TraceError for one that is not among them, and for values without a meaning, alone or together."""
        sizes = {"num_experts": num_experts, "moe_ffn_hidden_size": moe_ffn_hidden_size, "moe_router_topk": moe_router_topk}
        given = {**sizes, **fields}
        try:
            return cls(**parts_of(given))
        except TraceError as error:
            raise named(error, given) from None

    @classmethod
    def gshard(cls, num_experts: int, hidden: int, **fields: Any) -> MoeConfig:
        """GShard's layer (arXiv 2006.16668), whose experts have room for as many rows as there are choices. fields: flat
        ones in place of its own, here and below."""
        return cls.flat(num_experts, hidden, **{**presets.GSHARD, **fields})

    @classmethod
    def switch(cls, num_experts: int, hidden: int, **fields: Any) -> MoeConfig:
        """Switch Transformers' (arXiv 2101.03961)."""
        return cls.flat(num_experts, hidden, **{**presets.SWITCH, **fields})

    @classmethod
    def deepspeed(cls, num_experts: int, hidden: int, k: int = 1, **fields: Any) -> MoeConfig:
        """DeepSpeed's, of k choices; a factor of None or 0 is its drop_tokens=False."""
        drops = bool(fields.get("moe_expert_capacity_factor", 1.0))
        return cls.flat(num_experts, hidden, **{**presets.deepspeed(num_experts, k, drops), **fields})

    @classmethod
    def tutel(
        cls, num_experts: int, hidden: int, k: int = 2, capacity_factor: float = 1.0, **fields: Any
    ) -> MoeConfig:
        """Tutel's, of k choices; a factor of 0 drops nothing."""
        made = presets.tutel(num_experts, k, capacity_factor)
        return cls.flat(num_experts, hidden, **{**made, **fields})

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
        return cls.flat(**{**huggingface.fields_of(config), **fields})

    @classmethod
    def from_megatron(cls, arguments: str | Sequence[str], **fields: Any) -> MoeConfig:
        """Of a command line of Megatron-Core, or of a file with its arguments.

        Of its flags those about layers of experts are read, those about the layout left to `Layout.from_megatron`;
        of those that have no effect here a warning says so, in a line for each reason
        (docs/guide/Configurations.md has all of them). UnsupportedError names one that there is no counterpart of, and
        an unknown one with the one that is nearest to it.
        """
        flags = megatron.known_flags(arguments, REFUSED_LAYERS)
        return cls.flat(**{**megatron.fields_of(flags), **fields})
