# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where Hugging Face's files have a decoder's parameters, and how these lie there.

An entry names leaves of the parameters, the tensors of a file that they are made of, and the two
ways between them. Files have matrices [out, in], an expert's each by itself, or, as transformers has them
from 5 on, those of all experts in one tensor. Weights of few bits are unpacked (`shoal.models.packed`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.errors import InputError, WeightsWarning
from shoal.frames import user_stacklevel
from shoal.frontend import dtypes
from shoal.models.config import ModelConfig
from shoal.models.packed import Unpacked
from shoal.models.parameters import shapes
from shoal.moe.parts import Shared

__all__ = ["Entry", "entries", "from_tensors", "to_tensors"]

Array = np.ndarray
Path = tuple[Any, ...]


class Entry(NamedTuple):
    """paths: of leaves. names: of the file's tensors. read: from those to the leaves; write: back."""

    paths: tuple[Path, ...]
    names: tuple[str, ...]
    read: Callable[[Sequence[Array]], list[Array]]
    write: Callable[[Sequence[Array]], list[Array]]


def from_tensors(
    tensors: Mapping[str, Array], config: ModelConfig, dtype: Any = None, where: Callable[[str], str] = lambda name: ""
) -> dict[str, Any]:
    """The parameters of a file's tensors, in their types, or as `dtype`, floats of 16 bits or more.

    "expert_bias", whose steps 16 bits cannot tell apart, has 32 bits or more always. where: what messages say in front
    of a tensor's name, as its file.

    WeightsWarning, with their number and the first name, of tensors that the model is made without: layers that predict
    several tokens (`num_nextn_predict_layers`), and scales of activations. InputError names a tensor that is missing,
    one of another shape, those that nobody reads, and weights of few bits without their scales.
    """
    wanted = None if dtype is None else _wide(dtype)
    found = Unpacked(tensors, config.weight_block_size, wanted, where)
    tree, used = shapes(config), set()
    for entry in entries(config, set(found)):
        missing = [name for name in entry.names if name not in found]
        if missing:
            raise InputError(f"from_tensors: {where(missing[0])}no tensor {missing[0]!r}")
        try:
            leaves = entry.read([found[name] for name in entry.names])
        except InputError:
            raise
        except ValueError as error:
            raise InputError(f"from_tensors: {found.where(entry.names[0])}{entry.names[0]!r}: {error}") from None
        for path, leaf in zip(entry.paths, leaves):
            _put(tree, path, leaf, wanted, f"{found.where(entry.names[0])}{entry.names[0]!r}")
        used.update(entry.names)
    _check_unread(set(found) - used, config, found.where)
    return tree


def _wide(dtype: Any) -> np.dtype:
    made = dtypes.as_dtype(dtype)
    if not dtypes.is_float(made) or dtypes.is_float8(made):
        raise InputError(f"from_tensors: dtype {made}; expected floats of 16 bits or more")
    return made


def _check_unread(unread: set[str], config: ModelConfig, where: Callable[[str], str]) -> None:
    """InputError for tensors that a model should have read; a warning of those that it is made without."""
    layers, more = config.num_hidden_layers, config.num_nextn_predict_layers
    further = tuple(f"model.layers.{layers + i}." for i in range(more))
    left_out = {
        f"num_nextn_predict_layers={more}": {name for name in unread if further and name.startswith(further)},
        "scales of activations": {name for name in unread if name.endswith(_ACTIVATIONS)},
    }
    rest = sorted(unread.difference(*left_out.values()))
    rest = [name for name in rest if not name.endswith("inv_freq")]
    if rest and not (config.tie_word_embeddings and rest == ["lm_head.weight"]):
        raise InputError(f"from_tensors: {where(rest[0])}{len(rest)} tensors that nothing reads, first {rest[0]!r}")
    for what, names in left_out.items():
        if names:
            first = min(names)
            text = f"from_tensors: {where(first)}{len(names)} tensors are left out, first {first!r}: {what}"
            warnings.warn(text, WeightsWarning, stacklevel=user_stacklevel())


_ACTIVATIONS = (".input_scale", ".activation_scale")


def to_tensors(params: Mapping[str, Any], config: ModelConfig) -> dict[str, Array]:
    """A file's tensors of the parameters, or of gradients by them."""
    made = {}
    for entry in entries(config):
        leaves = [np.asarray(_get(params, path)) for path in entry.paths]
        made.update(zip(entry.names, entry.write(leaves)))
    return made


def _get(tree: Any, path: Path) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def _put(tree: Any, path: Path, leaf: Array, dtype: np.dtype | None, name: str) -> None:
    for key in path[:-1]:
        tree = tree[key]
    if tuple(tree[path[-1]]) != leaf.shape:
        raise InputError(f"from_tensors: {name}: {path}: {list(leaf.shape)} instead of {list(tree[path[-1]])}")
    if dtype is not None and path[-1] == "expert_bias" and dtype.itemsize < 4:
        dtype = np.dtype(np.float32)
    tree[path[-1]] = np.ascontiguousarray(leaf if dtype is None else leaf.astype(dtype, copy=False))


def _one(path: Path, name: str, read: Callable[[Array], Array], write: Callable[[Array], Array]) -> Entry:
    """Of one leaf and one tensor."""
    return Entry((path,), (name,), lambda found: [read(found[0])], lambda leaves: [write(leaves[0])])


def _same(path: Path, name: str) -> Entry:
    return _one(path, name, lambda tensor: tensor, lambda leaf: leaf)


def _at_least_float32(tensor: Array) -> Array:
    """Of a buffer, which moves by less than narrower floats tell apart."""
    return tensor.astype(np.promote_types(tensor.dtype, np.float32))


def _turned(path: Path, name: str) -> Entry:
    return _one(path, name, lambda tensor: tensor.T, lambda leaf: leaf.T)


def _to_heads(path: Path, name: str, size: int) -> Entry:
    """[N D, M] of a file is [M, N, D]."""
    return _one(
        path,
        name,
        lambda tensor: tensor.T.reshape(tensor.shape[1], -1, size),
        lambda leaf: leaf.reshape(leaf.shape[0], -1).T,
    )


def _of_heads(path: Path, name: str, size: int) -> Entry:
    """[M, N D] of a file is [N, D, M]; a bias [N D] is [N, D]."""
    return _one(
        path,
        name,
        lambda tensor: tensor.T.reshape(-1, size, *tensor.shape[:-1]),
        lambda leaf: leaf.reshape(-1, *leaf.shape[2:]).T,
    )


def _stacked(path: Path, names: Sequence[str]) -> Entry:
    """Matrices of experts."""
    return Entry(
        (path,),
        tuple(names),
        lambda found: [np.stack([matrix.T for matrix in found])],
        lambda leaves: [matrix.T for matrix in leaves[0]],
    )


def _in_turn(first: Path, second: Path, name: str) -> Entry:
    """Even and odd columns of a tensor."""
    return Entry(
        (first, second),
        (name,),
        lambda found: [found[0][..., ::2], found[0][..., 1::2]],
        lambda leaves: [np.stack(leaves, -1).reshape(*leaves[0].shape[:-1], -1)],
    )


def _halves(first: Path, second: Path, name: str) -> Entry:
    """[E, 2 H, M] of a file is [E, M, H] twice: what is in front, and what is behind."""

    def read(found: Sequence[Array]) -> list[Array]:
        turned = found[0].swapaxes(1, 2)
        return np.split(turned, 2, axis=2)

    return Entry(
        (first, second), (name,), read, lambda leaves: [np.concatenate(leaves, 2).swapaxes(1, 2)]
    )


def entries(config: ModelConfig, present: Collection[str] = ()) -> Iterator[Entry]:
    """Every leaf's. present: names of a file's tensors, which say how experts lie there."""
    yield _same(("embed",), "model.embed_tokens.weight")
    yield _same(("norm",), "model.norm.weight")
    if not config.tie_word_embeddings:
        yield _same(("head",), "lm_head.weight")
    for number, has_experts in enumerate(config.moe_layers):
        path, name = ("layers", number), f"model.layers.{number}"
        network = f"{name}.feed_forward" if config.family == "llama4_text" else f"{name}.mlp"
        yield _same((*path, "input_norm"), f"{name}.input_layernorm.weight")
        yield _same((*path, "post_norm"), f"{name}.post_attention_layernorm.weight")
        yield from _attention((*path, "attention"), f"{name}.self_attn", config)
        if has_experts:
            yield from _EXPERTS.get(config.family, _experts)((*path, "moe"), network, config, present)
        else:
            yield from _dense((*path, "dense"), network)


def _dense(path: Path, name: str) -> Iterator[Entry]:
    for leaf, part in (("wg", "gate"), ("wi", "up"), ("wo", "down")):
        yield _turned((*path, leaf), f"{name}.{part}_proj.weight")


def _attention(path: Path, name: str, config: ModelConfig) -> Iterator[Entry]:
    if config.latent is not None:
        yield from _latent(path, name, config)
        return
    size = config.head_dim
    for part in "qkv":
        yield _to_heads((*path, f"w{part}"), f"{name}.{part}_proj.weight", size)
        if config.qkv_bias:
            yield _of_heads((*path, f"b{part}"), f"{name}.{part}_proj.bias", size)
    yield _of_heads((*path, "wo"), f"{name}.o_proj.weight", size)
    if config.out_bias:
        yield _same((*path, "bo"), f"{name}.o_proj.bias")
    if config.qk_norm in ("head", "all"):
        yield from (_same((*path, f"{part}_norm"), f"{name}.{part}_norm.weight") for part in "qk")
    if config.sinks:
        yield _same((*path, "sinks"), f"{name}.sinks")


def _latent(path: Path, name: str, config: ModelConfig) -> Iterator[Entry]:
    latent = config.latent
    assert latent is not None
    own = "q_proj"
    if latent.q_rank is not None:
        own = "q_b_proj"
        yield _turned((*path, "wqa"), f"{name}.q_a_proj.weight")
        yield _same((*path, "q_norm"), f"{name}.q_a_layernorm.weight")
    yield _to_heads((*path, "wq"), f"{name}.{own}.weight", latent.nope + latent.rope)
    yield _turned((*path, "wkva"), f"{name}.kv_a_proj_with_mqa.weight")
    yield _same((*path, "kv_norm"), f"{name}.kv_a_layernorm.weight")
    yield _to_heads((*path, "wkv"), f"{name}.kv_b_proj.weight", latent.nope + latent.value)
    yield _of_heads((*path, "wo"), f"{name}.o_proj.weight", latent.value)


def _experts(path: Path, name: str, config: ModelConfig, present: Collection[str]) -> Iterator[Entry]:
    """Qwen's, OLMoE's, DeepSeek's and GLM's."""
    yield _turned((*path, "router"), f"{name}.gate.weight")
    yield from _matrices(path, name, ("gate_proj", "up_proj", "down_proj"), config, present)
    if isinstance(config.moe.beside, Shared):
        plural = "s" if config.family.startswith(("deepseek", "glm")) else ""
        yield from _dense((*path, "shared"), f"{name}.shared_expert{plural}")
    if getattr(config.moe.beside, "gated", False):
        yield _turned((*path, "shared_gate"), f"{name}.shared_expert_gate.weight")
    if config.moe.router.bias_rate is not None:
        bias = (*path, "expert_bias")
        yield _one(bias, f"{name}.gate.e_score_correction_bias", _at_least_float32, lambda leaf: leaf)


def _mixtral(path: Path, name: str, config: ModelConfig, present: Collection[str]) -> Iterator[Entry]:
    """Under "mlp" where all experts are in one tensor."""
    if f"{name}.gate.weight" not in present:
        name = name.replace(".mlp", ".block_sparse_moe")
    yield _turned((*path, "router"), f"{name}.gate.weight")
    yield from _matrices(path, name, ("w1", "w3", "w2"), config, present)


def _matrices(
    path: Path, name: str, parts: Sequence[str], config: ModelConfig, present: Collection[str]
) -> Iterator[Entry]:
    """Gate, up and down of experts, by themselves or all in one tensor."""
    if f"{name}.experts.down_proj" in present:
        yield _halves((*path, "wg"), (*path, "wi"), f"{name}.experts.gate_up_proj")
        down = (*path, "wo"), f"{name}.experts.down_proj"
        yield _one(*down, lambda tensor: tensor.swapaxes(1, 2), lambda leaf: leaf.swapaxes(1, 2))
        return
    for leaf, part in zip(("wg", "wi", "wo"), parts):
        names = [f"{name}.experts.{e}.{part}.weight" for e in range(config.moe.experts.number)]
        yield _stacked((*path, leaf), names)


def _gpt_oss(path: Path, name: str, config: ModelConfig, present: Collection[str]) -> Iterator[Entry]:
    """Gate and up are the even and the odd columns; matrices are [E, in, out], in one tensor always."""
    yield _turned((*path, "router"), f"{name}.router.weight")
    yield _same((*path, "router_bias"), f"{name}.router.bias")
    yield _in_turn((*path, "wg"), (*path, "wi"), f"{name}.experts.gate_up_proj")
    yield _in_turn((*path, "bg"), (*path, "bi"), f"{name}.experts.gate_up_proj_bias")
    yield _same((*path, "wo"), f"{name}.experts.down_proj")
    yield _same((*path, "bo"), f"{name}.experts.down_proj_bias")


def _llama4(path: Path, name: str, config: ModelConfig, present: Collection[str]) -> Iterator[Entry]:
    """Gate and up are side by side; matrices are [E, in, out], in one tensor always."""
    yield _turned((*path, "router"), f"{name}.router.weight")
    yield Entry(
        ((*path, "wg"), (*path, "wi")),
        (f"{name}.experts.gate_up_proj",),
        lambda found: np.split(found[0], 2, axis=2),
        lambda leaves: [np.concatenate(leaves, 2)],
    )
    yield _same((*path, "wo"), f"{name}.experts.down_proj")
    yield from _dense((*path, "shared"), f"{name}.shared_expert")


_EXPERTS: dict[str, Callable[..., Iterator[Entry]]] = {
    "mixtral": _mixtral, "gpt_oss": _gpt_oss, "llama4_text": _llama4,
}  # fmt: skip
