# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoders of attention and experts by their Hugging Face configuration (docs/guide/MoE.md).

    model = shoal.models.from_config(json.load(open("config.json")))
    params = model.read("folder")            # or model.init(seed)
    logits = shoal.jit(model.logits)(params, tokens)

Mixtral, Qwen2-MoE, Qwen3-MoE, OLMoE, DeepSeek-V2, DeepSeek-V3, GLM-4.5, Llama 4 (its `text_config`) and gpt-oss; and,
to begin from (`upcycle`), the dense Llama, Mistral, Qwen2 and Qwen3. `EncoderDecoder` is GShard's Transformer from one sequence to another, by its own
fields.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from shoal.errors import InputError
from shoal.frontend.buffers import Buffers
from shoal.frontend.core import ArrayLike
from shoal.frontend.value import Value
from shoal.laws import COUNT, NOT_NEGATIVE, PATH, TABLE, check_arguments, instance_of, integer, or_none
from shoal.models import parameters, weights
from shoal.models.buffers import expert_biases
from shoal.models.config import LatentAttention, ModelConfig
from shoal.models.context import attend_over
from shoal.models.decoder import Decoded, decode, loss_of
from shoal.models.encoder_decoder import EncoderDecoder
from shoal.models.families import Read, made_of, published_config, read_config
from shoal.models.files import Tensors, open_model, write_file, write_model
from shoal.models.megatron import model_config
from shoal.models.rope import Rope, rope_of, rotate
from shoal.models.scores import Rule, attend
from shoal.models.stages import Stages, stage_shapes, stage_shardings, stages_of, to_layers, to_stages
from shoal.models.upcycling import upcycled
from shoal.layers.labels import IGNORE_INDEX
from shoal.moe.layout import SINGLE, Layout
from shoal.moe.parts import Router, RouterShapes
from shoal.moe.parameters import buffer_mask, decay_mask

__all__ = [
    "Decoded", "EncoderDecoder", "LatentAttention", "Model", "ModelConfig", "Rope", "Rule", "Stages", "attend",
    "attend_over", "buffer_mask", "decay_mask", "decode", "from_config", "from_megatron", "loss_of", "rope_of", "rotate", "upcycle",
    "write_file",
]  # fmt: skip


@dataclass(frozen=True)
class Model:
    """A decoder and where it lies: functions for `shoal.jit` and `shoal.train`."""

    config: ModelConfig
    layout: Layout = SINGLE
    # What it was made of, for `write`.
    published: Read | None = field(default=None, compare=False, repr=False)

    def logits(self, params: Any, tokens: ArrayLike) -> Value:
        """[B, S, V] of tokens [B, S], integers below `vocab_size`; `params` as of `init` or `read`."""
        return decode(params, tokens, self.config, self.layout).logits

    def loss(
        self, params: Any, tokens: ArrayLike | Mapping[str, ArrayLike], *, key: ArrayLike | None = None,
        training: bool = True, mask: ArrayLike | None = None, labels: ArrayLike | None = None,
        weights: ArrayLike | None = None, segments: ArrayLike | None = None,
        positions: ArrayLike | None = None, ignore_index: int | None = IGNORE_INDEX,
    ) -> tuple[Value, dict[str, Value]]:  # fmt: skip
        """(loss [], metrics) of tokens [B, S + 1], each predicted from those before it, or of a mapping with "tokens" and
        any of the following, as a batch is.

        mask: bool [B, S + 1], true for real tokens; the others are padding. segments, positions: integers [B, S + 1],
          which document of several a token is of, and its place there.
        labels: integers [B, S + 1], of the tokens at the same places; those that are `ignore_index` do not count.
        weights: floats [B, S + 1], how much labels count.
        key: of `shoal.random.key`, for the routers' noise in training.

        Metrics: "nll", the mean without the balance; "balance"; "weight", how much labels count; with experts the
        fields of `MoeMetrics`, a row for each layer. `loss_of` says more.
        """
        return loss_of(
            params, tokens, self.config, self.layout, key=key, training=training, mask=mask, labels=labels,
            weights=weights, segments=segments, positions=positions, ignore_index=ignore_index,
        )  # fmt: skip

    def buffers(self) -> Buffers:
        """The experts' biases, which `train.step` moves by their loads: what is state of `loss`' parameters."""
        return expert_biases(self.config.moe, ("layers", "stages"))

    def over(self, layout: Layout) -> Model:
        """The same over devices."""
        check_arguments("over", layout=(layout, _LAYOUT))
        return replace(self, layout=layout)

    def with_router(self, router: Router | None, router_shapes: RouterShapes | None = None) -> Model:
        """The same whose layers with experts have a router of the user's own."""
        moe = self.config.moe.replace(router=router, router_shapes=router_shapes)
        return replace(self, config=replace(self.config, moe=moe), published=None)

    def shapes(self) -> dict[str, Any]:
        """A tree of the parameters' shapes."""
        return stage_shapes(parameters.shapes(self.config), self.stages())

    def init(self, seed: int = 0) -> dict[str, Any]:
        """Parameters to begin with, NumPy's float32."""
        check_arguments("init", seed=(seed, COUNT))
        return self.to_stages(parameters.init(self.config, seed))

    def shardings(self) -> dict[str, Any]:
        """Where parameters are stored, a tree of P."""
        return stage_shardings(parameters.shardings(self.config, self.layout), self.stages(), self.layout)

    def read(self, folder: str | os.PathLike[str], dtype: Any = None) -> dict[str, Any]:
        """The parameters: of the files that the folder's index names, or of its model*.safetensors where
        it has none. It may be an index or a file, too.

        dtype: "float32" makes masters of bfloat16; None is the files' types. Weights of few bits (mxfp4, float8 with
        scales) are unpacked to it, or to the embedding's type, see `shoal.models.weights.from_tensors`, which has
        also what is warned of. Experts may lie one by one or all in one tensor.

        CheckpointError where a file is missing or damaged; InputError where two without an index
        have one tensor, and where tensors are not the model's.
        """
        check_arguments("read", folder=(folder, PATH))
        with open_model(folder) as source:
            tensors = Tensors(source)
            return self.to_stages(weights.from_tensors(tensors, self.config, dtype, tensors.where))

    def write(self, folder: str | os.PathLike[str], params: Any, max_shard_bytes: int = 5_000_000_000) -> None:
        """Writes config.json and model.safetensors, with Hugging Face's names, into a folder that is there.

        More than `max_shard_bytes` bytes of tensors are several files and their index. config.json is the one of
        `from_config`, of the weights as they are written: their type, nothing of few bits; of another model, made
        of a `ModelConfig`, there is none.

        FileNotFoundError where the folder is not there; InputError where it has other files of a model, or the
        configuration is no longer that of the config.json.
        """
        check_arguments(
            "write", folder=(folder, PATH), params=(params, TABLE), max_shard_bytes=(max_shard_bytes, integer(1, 2**63 - 1))
        )
        tensors = weights.to_tensors(self.to_layers(params), self.config)
        config = self._config_json(str(tensors["model.embed_tokens.weight"].dtype))
        write_model(folder, tensors, config, max_shard_bytes)

    def _config_json(self, dtype: str) -> dict[str, Any] | None:
        if self.published is None:
            return None
        if self.published.config != self.config:
            raise InputError("write: the model's configuration is not that of its config.json: make it by from_config")
        return published_config(self.published.file, dtype)

    def stages(self) -> Stages | None:
        """How the layout cuts the layers, see `stages_of`."""
        return stages_of(self.config, self.layout)

    def to_stages(self, params: Any) -> dict[str, Any]:
        """Parameters of this layout, of those of one without stages; of gradients, too."""
        return to_stages(params, self.stages())

    def to_layers(self, params: Any) -> dict[str, Any]:
        """The inverse: "layers" is a list of all layers."""
        return to_layers(params, self.stages())


_LAYOUT = instance_of(Layout, what="a shoal.moe.Layout")
_MODEL = instance_of(Model, what="a model of from_config")
_CONFIG = instance_of(str, os.PathLike, Mapping, what="a config.json's path or fields")


def from_config(
    config: Mapping[str, Any] | str | os.PathLike[str], layout: Layout = SINGLE, *,
    router: Router | None = None, router_shapes: RouterShapes | None = None, **fields: Any,
) -> Model:  # fmt: skip
    """The model of a `config.json`: of its fields, of the file or its folder, or of a published model by its name,
    "mixtral-8x7b".

    fields: in place of the file's, by its names: num_hidden_layers=4; and those of `MoeConfig` that no file has:
      moe_expert_rank_capacity_factor=1.5.
    router, router_shapes: of each layer with experts in the place of the family's router, see `MoeConfig`; such a
    model is written without a config.json.

    Every field is read, refused or known to have no effect (docs/guide/Configurations.md). UnsupportedError names a
    family, a field or a value that there is no counterpart of, and an unknown field with the one that is nearest to
    it; InputError a value that its field may not have, with what it may be, and a keyword that is no field;
    CheckpointError a file that is missing or no JSON, and a text that is neither a place nor a name.
    """
    check_arguments("from_config", config=(config, _CONFIG), layout=(layout, _LAYOUT))
    file, place = read_config(config)
    made = made_of(file, fields, place)
    model = Model(made.config, layout, made)
    return model if router is None and router_shapes is None else model.with_router(router, router_shapes)


def from_megatron(
    arguments: str | Sequence[str], layout: Layout = SINGLE, *, vocab_size: int | None = None
) -> Model:
    """The model of a command line of Megatron-LM, or of a file with its arguments.

    layout: as of `Layout.from_megatron` of the same arguments. vocab_size: of the tokenizer, where --vocab-size does
    not say it. Megatron-LM's defaults hold where a flag is not given: --normalization RMSNorm and
    --position-embedding-type rope have to be. Each flag is read, refused, or warned of as one without an effect
    (docs/guide/Configurations.md).
    UnsupportedError names a flag or value that there is no counterpart of, and an unknown flag with the one that is
    nearest to it; InputError and TraceError a value that it may not have.
    """
    if not isinstance(layout, Layout):
        raise TraceTypeError(f"from_megatron: layout: expected a Layout, got {type(layout).__name__}")
    return Model(model_config(arguments, vocab_size), layout)


def upcycle(
    params: Mapping[str, Any], dense: Model, sparse: Model, seed: int = 0, deviation: float | None = None
) -> dict[str, Any]:
    """Parameters of `sparse` by which it begins as `dense`, a model without experts, with `params`.

    What is not of experts is taken as it is; layer i's experts are `shoal.moe.upcycle` of its network, by seed + i.
    Their "expert_bias" is zero. TraceError where the models differ in more than their experts, naming the field, and
    where `shoal.moe.upcycle` has one.
    """
    check_arguments(
        "upcycle", params=(params, TABLE), dense=(dense, _MODEL), sparse=(sparse, _MODEL), seed=(seed, COUNT),
        deviation=(deviation, or_none(NOT_NEGATIVE)),
    )  # fmt: skip
    made = upcycled(dense.to_layers(params), dense.config, sparse.config, seed, deviation)
    return sparse.to_stages(made)
