# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the .pt2 files here, and arguments and results of each as .npz, for tests that have no torch.

    .venv/bin/python test/python/torch/data/make.py [NAME ...]

Beside what torch.export.save writes, files are compressed, their paths are relative, and what nobody reads of them
(sample inputs, which are a pickle, and torch's notes of its own passes) is left out: a few KB each.
"""

import io
import json
import re
import sys
import zipfile
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
sys.path[:0] = [str(ROOT / "build/release/python"), str(ROOT / "python"), str(ROOT / "test/python/support")]

from torch_comparing import array_of  # noqa: E402

from shoal.torch import export  # noqa: E402

F = torch.nn.functional


class Mlp(torch.nn.Module):
    """Tied weights, a part without gradients, nested results, a number among the arguments."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(11, 8)
        self.norm = torch.nn.LayerNorm(8)
        self.up, self.down = torch.nn.Linear(8, 12), torch.nn.Linear(12, 8)
        self.head = torch.nn.Linear(8, 11, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("scale", torch.full((8,), 0.5), persistent=False)

    def forward(self, ids, mask=None, temperature=2.0):
        x = self.embed(ids) * self.scale
        with torch.no_grad():
            shift = x.mean(-1, keepdim=True)
        x = x + self.down(F.gelu(self.up(self.norm(x - shift))))
        return {"logits": self.head(x) / temperature, "parts": (x.sum(), x.amax(-1))}


class GShard(torch.nn.Module):
    """GShard's layer by einsums: top-2 gates, a dispatch and a combine mask, experts."""

    def __init__(self, experts=4, width=8, hidden=16, capacity=6):
        super().__init__()
        self.gate = torch.nn.Parameter(torch.randn(width, experts))
        self.wi = torch.nn.Parameter(torch.randn(experts, width, hidden) * 0.3)
        self.wo = torch.nn.Parameter(torch.randn(experts, hidden, width) * 0.3)
        self.capacity = capacity

    def masks(self, x):
        gates = torch.softmax(torch.einsum("gsm,me->gse", x, self.gate), -1)
        weights, experts = gates.topk(2, -1)
        chosen = F.one_hot(experts, gates.shape[-1]).transpose(1, 2).reshape(x.shape[0], -1, gates.shape[-1])
        place = (chosen.cumsum(1) * chosen - 1).reshape(x.shape[0], 2, x.shape[1], -1)
        slots = F.one_hot(place.clamp(0, self.capacity - 1), self.capacity)
        kept = ((place >= 0) & (place < self.capacity))[..., None] * slots
        return torch.einsum("gskx,gksec->gsec", weights[..., None], kept.float()), kept.sum(1).float()

    def forward(self, x):
        combine, dispatch = self.masks(x)
        rows = torch.einsum("gsec,gsm->egcm", dispatch, x)
        hidden = torch.relu(torch.einsum("egcm,emh->egch", rows, self.wi))
        made = torch.einsum("egch,ehm->gecm", hidden, self.wo)
        return torch.einsum("gsec,gecm->gsm", combine, made)


class Picture(torch.nn.Module):
    """A convolution, BatchNorm in training, pools: buffers that are written over."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm2d(4)

    def forward(self, picture):
        x = F.max_pool2d(torch.relu(self.norm(self.conv(picture))), 2)
        return F.adaptive_avg_pool2d(x, 1).flatten(1), F.interpolate(x, scale_factor=2)


class Cache(torch.nn.Module):
    """Grouped attention over a cache that is written at a place: one step of decoding."""

    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.randn(1, 2, 6, 8))
        self.qkv = torch.nn.Linear(16, 16 + 2 * 16)

    def forward(self, x, place):
        q, k, v = self.qkv(x).split([16, 16, 16], -1)
        self.keys[:, :, place] = k.reshape(1, 1, 2, 8).transpose(1, 2)
        seen = torch.arange(6) <= place
        heads = q.reshape(1, 1, 2, 8).transpose(1, 2)
        return F.scaled_dot_product_attention(heads, self.keys, self.keys, attn_mask=seen[None, None]) + v.mean()


class Branches(torch.nn.Module):
    """A branch, a loop's worth of types, infinities, integers of 64 bits, bfloat16."""

    def forward(self, x, i):
        y = torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x - 1, (x,))
        masked = torch.where(y > 0, y, float("-inf")).softmax(-1)
        half = (x.bfloat16() @ x.bfloat16().mT).float()
        return [y, masked, half, i // 3 + (2**40), i.sort(descending=True).values]


class Rounded(torch.autograd.Function):
    """A gradient that is no derivative of what is computed."""

    @staticmethod
    def forward(ctx, x, steps):
        ctx.save_for_backward(x)
        return (x * steps).round() / steps

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x.abs() < 1), None


class Functions(torch.nn.Module):
    """A loss with a Function that has a backward of its own."""

    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(8, 12), torch.nn.Linear(12, 8)

    def forward(self, x):
        return {"loss": (x - self.down(Rounded.apply(self.up(x), 4))).square().mean()}


class Rotary(torch.nn.Module):
    """Positions by complex numbers, a filter in the frequencies: complex constants and parameters."""

    def __init__(self):
        super().__init__()
        self.proj = torch.nn.Linear(8, 8)
        self.filter = torch.nn.Parameter(torch.randn(4, 8, dtype=torch.complex64))
        self.register_buffer("turns", torch.polar(torch.ones(6, 2), torch.arange(12.0).reshape(6, 2) / 5))

    def forward(self, x):
        heads = torch.view_as_complex(self.proj(x).reshape(*x.shape[:2], 2, 2, 2))
        turned = torch.view_as_real(heads * self.turns[:, None]).flatten(2)
        mixed = torch.fft.irfft(torch.fft.rfft(turned, dim=1) * self.filter, n=6, dim=1)
        return {"loss": mixed.square().mean(), "lengths": heads.abs(), "half": (self.turns / (1 + 2j)).exp().imag}


def mixtral():
    from torch_models import decoder, tokens

    model = decoder("Mixtral", experts="grouped_mm", num_hidden_layers=1, hidden_size=16, intermediate_size=16, num_attention_heads=2,
                    num_key_value_heads=1, vocab_size=32)  # fmt: skip
    return model, (), {"input_ids": tokens(2, 6) % 32}


def programs():
    """name to (module, args, kwargs)."""
    torch.manual_seed(0)
    return {
        "mlp": (Mlp(), (torch.arange(6).reshape(2, 3),), {}),
        "gshard": (GShard(), (torch.randn(4, 8, 8),), {}),
        "picture": (Picture().train(), (torch.randn(2, 3, 8, 8),), {}),
        "cache": (Cache(), (torch.randn(1, 1, 16), torch.tensor([3])), {}),
        "branches": (Branches(), (torch.randn(3, 5), torch.arange(-4, 5)), {}),
        "mixtral": mixtral(),
        "functions": (Functions(), (torch.randn(6, 8),), {}),
        "rotary": (Rotary(), (torch.randn(2, 6, 8),), {}),
    }


def shortened(program):
    """The bytes of a .pt2 file of an exported program."""
    file, result = io.BytesIO(), io.BytesIO()
    torch.export.save(program, file)
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as target:
        for entry in source.infolist():
            data = source.read(entry)
            if "sample_inputs" in entry.filename:
                continue
            if entry.filename.endswith("models/model.json"):
                data = _without_notes(data.decode()).encode()
            # Equal bytes each time.
            target.writestr(zipfile.ZipInfo(entry.filename), data, zipfile.ZIP_DEFLATED)
    return result.getvalue()


def _without_notes(text):
    text = text.replace(f"{ROOT}/", "")
    text = re.sub(r'[^"\\\\ ]*/site-packages/', "site-packages/", text)
    return json.dumps(_lines_alone(json.loads(text)))


def _lines_alone(value):
    """Of stack traces the files and lines, without the text of these; torch's notes of its passes not at all."""
    if isinstance(value, list):
        return [_lines_alone(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _lines_alone(entry) for key, entry in value.items() if key not in ("from_node", "torch_fn")}
    if "stack_trace" in kept:
        lines = kept["stack_trace"].splitlines()
        kept["stack_trace"] = "\n".join(line.strip() for line in lines if line.strip().startswith("File "))
    return kept


def main(names):
    known = programs()
    for name, (module, args, kwargs) in ((name, known[name]) for name in names or known):
        program = export(module, args, kwargs)
        (HERE / f"{name}.pt2").write_bytes(shortened(program))
        results = module(*args, **kwargs)
        tensors = [x for x in torch.utils._pytree.tree_leaves(results) if isinstance(x, torch.Tensor)]
        given = {f"input{i}": array_of(x) for i, x in enumerate(torch.utils._pytree.tree_leaves((args, kwargs)))}
        expected = {f"result{i}": array_of(x) for i, x in enumerate(tensors)}
        written = {f"buffer.{key}": array_of(x) for key, x in module.named_buffers()}
        np.savez_compressed(HERE / f"{name}.npz", **given, **expected, **written, **gradients(module, results))


def gradients(module, results):
    """Of all parameters, where there is a loss."""
    if not isinstance(results, dict) or getattr(results.get("loss"), "grad_fn", None) is None:
        return {}
    results["loss"].backward()
    return {f"grad.{name}": array_of(parameter.grad) for name, parameter in module.named_parameters()}


if __name__ == "__main__":
    main(sys.argv[1:])
