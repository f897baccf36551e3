# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where Hugging Face's files have a decoder's parameters, and how these lie there.

An entry names leaves of the parameters, the tensors of a file that they are made of, and the two
ways between them. Files have matrices [out, in], an expert's each by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.errors import InputError
from shoal.models.config import ModelConfig
from shoal.models.parameters import shapes

__all__ = ["Entry", "entries", "from_tensors", "to_tensors"]

Array = np.ndarray
Path = tuple[Any, ...]


class Entry(NamedTuple):
    """paths: of leaves. names: of the file's tensors. read: from those to the leaves; write: back."""

    paths: tuple[Path, ...]
    names: tuple[str, ...]
    read: Callable[[Sequence[Array]], list[Array]]
    write: Callable[[Sequence[Array]], list[Array]]


def from_tensors(tensors: Mapping[str, Array], config: ModelConfig) -> dict[str, Any]:
    """The parameters of a file's tensors, in their types; experts' biases are float32 at least.

    InputError names a tensor that is missing, one of another shape, and those that nobody reads.
    """
    tree, used = shapes(config), set()
    for entry in entries(config):
        missing = [name for name in entry.names if name not in tensors]
        if missing:
            raise InputError(f"from_tensors: no tensor {missing[0]!r}")
        try:
            leaves = entry.read([np.asarray(tensors[name]) for name in entry.names])
        except ValueError as error:
            raise InputError(f"from_tensors: {entry.names[0]!r}: {error}") from None
        for path, leaf in zip(entry.paths, leaves):
            _put(tree, path, leaf)
        used.update(entry.names)
    unread = sorted(name for name in set(tensors) - used if not name.endswith("inv_freq"))
    tied = config.tie_word_embeddings and unread == ["lm_head.weight"]
    if unread and not tied:
        raise InputError(f"from_tensors: {len(unread)} tensors that nothing reads, first {unread[0]!r}")
    return tree


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


def _put(tree: Any, path: Path, leaf: Array) -> None:
    for key in path[:-1]:
        tree = tree[key]
    if tuple(tree[path[-1]]) != leaf.shape:
        raise InputError(f"from_tensors: {path}: {list(leaf.shape)} instead of {list(tree[path[-1]])}")
    tree[path[-1]] = np.ascontiguousarray(leaf)


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


def entries(config: ModelConfig) -> Iterator[Entry]:
    """Every leaf's."""
    yield _same(("embed",), "model.embed_tokens.weight")
    yield _same(("norm",), "model.norm.weight")
    if not config.tie_word_embeddings:
        yield _same(("head",), "lm_head.weight")
    for number, has_experts in enumerate(config.moe_layers):
        path, name = ("layers", number), f"model.layers.{number}"
        yield _same((*path, "input_norm"), f"{name}.input_layernorm.weight")
        yield _same((*path, "post_norm"), f"{name}.post_attention_layernorm.weight")
        yield from _attention((*path, "attention"), f"{name}.self_attn", config)
        if has_experts:
            yield from _EXPERTS.get(config.family, _experts)((*path, "moe"), f"{name}.mlp", config)
        else:
            yield from _dense((*path, "dense"), f"{name}.mlp")


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
    if config.qk_norm is not None:
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


def _experts(path: Path, name: str, config: ModelConfig) -> Iterator[Entry]:
    """Qwen's, OLMoE's and DeepSeek's."""
    yield _turned((*path, "router"), f"{name}.gate.weight")
    for leaf, part in (("wg", "gate"), ("wi", "up"), ("wo", "down")):
        names = [f"{name}.experts.{e}.{part}_proj.weight" for e in range(config.moe.num_experts)]
        yield _stacked((*path, leaf), names)
    if config.moe.moe_shared_expert_intermediate_size is not None:
        plural = "s" if config.family.startswith("deepseek") else ""
        yield from _dense((*path, "shared"), f"{name}.shared_expert{plural}")
    if config.moe.moe_shared_expert_gate:
        yield _turned((*path, "shared_gate"), f"{name}.shared_expert_gate.weight")
    if config.moe.moe_router_enable_expert_bias:
        bias = (*path, "expert_bias")
        yield _one(bias, f"{name}.gate.e_score_correction_bias", _at_least_float32, lambda leaf: leaf)


def _mixtral(path: Path, name: str, config: ModelConfig) -> Iterator[Entry]:
    name = name.replace(".mlp", ".block_sparse_moe")
    yield _turned((*path, "router"), f"{name}.gate.weight")
    for leaf, part in (("wg", "w1"), ("wi", "w3"), ("wo", "w2")):
        names = [f"{name}.experts.{e}.{part}.weight" for e in range(config.moe.num_experts)]
        yield _stacked((*path, leaf), names)


def _gpt_oss(path: Path, name: str, config: ModelConfig) -> Iterator[Entry]:
    """Gate and up are the even and the odd columns; matrices are [E, in, out]."""
    yield _turned((*path, "router"), f"{name}.router.weight")
    yield _same((*path, "router_bias"), f"{name}.router.bias")
    yield _in_turn((*path, "wg"), (*path, "wi"), f"{name}.experts.gate_up_proj")
    yield _in_turn((*path, "bg"), (*path, "bi"), f"{name}.experts.gate_up_proj_bias")
    yield _same((*path, "wo"), f"{name}.experts.down_proj")
    yield _same((*path, "bo"), f"{name}.experts.down_proj_bias")


_EXPERTS: dict[str, Callable[..., Iterator[Entry]]] = {"mixtral": _mixtral, "gpt_oss": _gpt_oss}
