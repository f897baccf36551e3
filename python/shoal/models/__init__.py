# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoders of attention and experts by their Hugging Face configuration (docs/guide/MoE.md).

    model = shoal.models.from_config(json.load(open("config.json")))
    params = model.read("folder")            # or model.init(seed)
    logits = shoal.jit(model.logits)(params, tokens)

Mixtral, Qwen2-MoE, Qwen3-MoE, OLMoE, DeepSeek-V2, DeepSeek-V3 and gpt-oss. `EncoderDecoder` is GShard's
Transformer from one sequence to another, by its own fields.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shoal.frontend.core import ArrayLike
from shoal.frontend.value import Value
from shoal.models import parameters, weights
from shoal.models.config import LatentAttention, ModelConfig
from shoal.models.context import attend_over
from shoal.models.decoder import Decoded, decode, loss_of
from shoal.models.encoder_decoder import EncoderDecoder
from shoal.models.families import model_config_of
from shoal.models.files import Tensors, open_model, write_file, write_model
from shoal.models.rope import Rope, rope_of, rotate
from shoal.models.scores import Rule, attend
from shoal.models.stages import Stages, stage_shapes, stage_shardings, stages_of, to_layers, to_stages
from shoal.moe.labels import IGNORE_INDEX
from shoal.moe.layout import SINGLE, Layout

__all__ = [
    "Decoded", "EncoderDecoder", "LatentAttention", "Model", "ModelConfig", "Rope", "Rule", "Stages", "attend",
    "attend_over", "decode", "from_config", "loss_of", "rope_of", "rotate", "write_file",
]  # fmt: skip


@dataclass(frozen=True)
class Model:
    """A decoder and where it lies: functions for `shoal.jit` and `shoal.train`."""

    config: ModelConfig
    layout: Layout = SINGLE

    def logits(self, params: Any, tokens: ArrayLike) -> Value:
        """[B, S, V] of tokens [B, S]."""
        return decode(params, tokens, self.config, self.layout).logits

    def loss(
        self, params: Any, tokens: ArrayLike | Mapping[str, ArrayLike], *, mask: ArrayLike | None = None,
        labels: ArrayLike | None = None, weights: ArrayLike | None = None, segments: ArrayLike | None = None,
        positions: ArrayLike | None = None, ignore_index: int | None = IGNORE_INDEX,
    ) -> tuple[Value, dict[str, Value]]:  # fmt: skip
        """See `loss_of`: of tokens [B, S + 1], which may be padded, packed and of labels that do not count."""
        return loss_of(
            params, tokens, self.config, self.layout, mask=mask, labels=labels, weights=weights, segments=segments,
            positions=positions, ignore_index=ignore_index,
        )  # fmt: skip

    def over(self, layout: Layout) -> Model:
        """The same over devices."""
        return Model(self.config, layout)

    def shapes(self) -> dict[str, Any]:
        """A tree of the parameters' shapes."""
        return stage_shapes(parameters.shapes(self.config), self.stages())

    def init(self, seed: int = 0) -> dict[str, Any]:
        """Parameters to begin with, NumPy's float32."""
        return self.to_stages(parameters.init(self.config, seed))

    def shardings(self) -> dict[str, Any]:
        """Where parameters are stored, a tree of P."""
        return stage_shardings(parameters.shardings(self.config, self.layout), self.stages(), self.layout)

    def read(self, folder: str | os.PathLike[str]) -> dict[str, Any]:
        """The parameters, in the files' types: of the files that the folder's index names, or of its
        model*.safetensors where it has none. It may be an index or a file, too.

        CheckpointError where a file is missing or damaged; InputError where two without an index
        have one tensor, and where tensors are not the model's.
        """
        with open_model(folder) as source:
            return self.to_stages(weights.from_tensors(Tensors(source), self.config))

    def write(self, folder: str | os.PathLike[str], params: Any) -> None:
        """Writes model.safetensors, with Hugging Face's names, into a folder that is there."""
        write_model(folder, weights.to_tensors(self.to_layers(params), self.config))

    def stages(self) -> Stages | None:
        """How the layout cuts the layers, see `stages_of`."""
        return stages_of(self.config, self.layout)

    def to_stages(self, params: Any) -> dict[str, Any]:
        """Parameters of this layout, of those of one without stages; of gradients, too."""
        return to_stages(params, self.stages())

    def to_layers(self, params: Any) -> dict[str, Any]:
        """The inverse: "layers" is a list of all layers."""
        return to_layers(params, self.stages())


def from_config(config: Mapping[str, Any], layout: Layout = SINGLE) -> Model:
    """The model of a `config.json`. UnsupportedError names what there is no counterpart of."""
    return Model(model_config_of(config), layout)
