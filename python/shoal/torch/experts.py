# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Experts of transformers' models as one op: `model.set_experts_implementation("shoal")`.

    shoal.torch.register_experts()
    model.set_experts_implementation("shoal")
    exe = shoal.torch.compile(model, (ids,), layout=Layout.folded(dict(ep=4)))

What torch runs for it is a loop over all experts: a reference, for parity and gradients, no fast one.
"""

from __future__ import annotations

from typing import Any

import torch

from shoal.errors import UnsupportedError

_Tensor = torch.Tensor
# As torch calls activations, and as `shoal.moe.MoeConfig` does.
_ACTIVATIONS = {
    "silu": torch.nn.functional.silu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "relu": torch.nn.functional.relu,
}
_NAMES = {"swish": "silu", "gelu_pytorch_tanh": "gelu_tanh", "gelu_new": "gelu_tanh"}


def _reference(
    x: _Tensor, index: _Tensor, weights: _Tensor, up: _Tensor, down: _Tensor, up_bias: _Tensor | None,
    down_bias: _Tensor | None, activation: str, is_gated: bool, is_interleaved: bool, is_transposed: bool, limit: float | None,
    alpha: float,
) -> _Tensor:  # fmt: skip
    """Of each token [T, M] the results of its experts index [T, k], weighed and added."""
    share = torch.zeros(x.shape[0], up.shape[0], dtype=weights.dtype, device=x.device).scatter_add(1, index, weights)
    total = torch.zeros_like(x, dtype=torch.promote_types(x.dtype, weights.dtype))
    for expert in range(up.shape[0]):
        into, out = (matrix[expert] if is_transposed else matrix[expert].mT for matrix in (up, down))
        hidden = x @ into if up_bias is None else x @ into + up_bias[expert]
        hidden = _activated(hidden, activation, is_gated, is_interleaved, limit, alpha)
        made = hidden @ out if down_bias is None else hidden @ out + down_bias[expert]
        total = total + made * share[:, expert, None]
    return total.to(x.dtype)


def _activated(hidden: _Tensor, activation: str, is_gated: bool, is_interleaved: bool, limit: float | None, alpha: float) -> _Tensor:
    if not is_gated:
        return _ACTIVATIONS[activation](hidden)
    gate, up = (hidden[..., ::2], hidden[..., 1::2]) if is_interleaved else hidden.chunk(2, -1)
    if limit is None:
        return _ACTIVATIONS[activation](gate) * up
    gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
    return (up + 1) * gate * torch.sigmoid(gate * alpha)


_experts = torch.library.custom_op("shoal::experts", _reference, mutates_args=())
_experts.register_fake(lambda x, *others: torch.empty_like(x))


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    tensors = [value if isinstance(value, torch.Tensor) else None for value in inputs[:7]]
    ctx.save_for_backward(*tensors)
    ctx.others = inputs[7:]


def _backward(ctx: Any, gradient: _Tensor) -> tuple[_Tensor | None, ...]:
    """Of what is computed once more."""
    tensors = [t if t is None else t.detach().requires_grad_(t.is_floating_point()) for t in ctx.saved_tensors]
    with torch.enable_grad():
        result = _reference(*tensors, *ctx.others)
    wanted = [number for number, tensor in enumerate(tensors) if tensor is not None and tensor.requires_grad]
    found = torch.autograd.grad(result, [tensors[number] for number in wanted], gradient)
    gradients: list[_Tensor | None] = [None] * (len(tensors) + len(ctx.others))
    for number, one in zip(wanted, found):
        gradients[number] = one
    return tuple(gradients)


torch.library.register_autograd("shoal::experts", _backward, setup_context=_keep)


def register_experts() -> None:
    """Enters "shoal" among transformers' implementations of experts, for set_experts_implementation.

    ImportError without transformers, or with one that has no such table.
    """
    from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS

    ALL_EXPERTS_FUNCTIONS.register("shoal", _of_module)


def _of_module(self: Any, hidden_states: _Tensor, top_k_index: _Tensor, top_k_weights: _Tensor) -> _Tensor:
    """What an experts' module of transformers' calls. UnsupportedError of experts that the op does not compute."""
    limit, alpha = _clamping(self)
    up = self.gate_up_proj if self.has_gate else self.up_proj
    names = ("gate_up_proj_bias" if self.has_gate else "up_proj_bias", "down_proj_bias")
    biases = [getattr(self, name) if self.has_bias else None for name in names]
    return torch.ops.shoal.experts(
        hidden_states, top_k_index, top_k_weights, up, self.down_proj, *biases, _activation(self), self.has_gate,
        not self.is_concatenated, self.is_transposed, limit, alpha,
    )  # fmt: skip


def _clamping(module: Any) -> tuple[float | None, float]:
    """(limit, slope) of gpt-oss' gates; (None, 1) of a gate that is the activation's."""
    from transformers.integrations.moe import _default_apply_gate

    kind = type(module)
    if getattr(module, "has_post_expert_norm", False):
        raise UnsupportedError(f'{kind.__name__}: a norm behind each expert is not supported by "shoal"; take "grouped_mm"')
    if not module.has_gate or kind._apply_gate is _default_apply_gate:
        return None, 1.0
    if kind.__name__ == "GptOssExperts":
        return float(module.limit), float(module.alpha)
    raise UnsupportedError(f'{kind.__name__}: its own _apply_gate is not supported by "shoal"; take "grouped_mm"')


def _activation(module: Any) -> str:
    if type(module).__name__ == "GptOssExperts":
        return "silu"  # of its own gate, which the limit says
    name = getattr(module.config, "hidden_act", None) or getattr(module.config, "hidden_activation", None)
    name = _NAMES.get(name, name)
    if name not in _ACTIVATIONS:
        raise UnsupportedError(f'{type(module).__name__}: activation {name!r} is not supported by "shoal"; take "grouped_mm"')
    return name
