# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How arguments and results nest, of torch's tree specifications, as objects or as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from shoal.torch.graph import LEAF, Tree

_DICTS = ("builtins.dict", "collections.OrderedDict", "collections.defaultdict")


def tree_of_json(text: str) -> Tree:
    """Of what torch.utils._pytree.treespec_dumps writes."""
    return _of_json(json.loads(text)[1])


def _of_json(spec: Mapping[str, Any]) -> Tree:
    if spec["type"] is None:
        return LEAF
    context = json.loads(spec["context"]) if isinstance(spec["context"], str) else None
    return _tree(spec["type"], context, tuple(map(_of_json, spec["children_spec"])))


def tree_of_spec(spec: Any) -> Tree:
    """Of a TreeSpec."""
    children = spec.children() if callable(getattr(spec, "children", None)) else spec.children_specs
    if spec.type is None:
        return LEAF
    name = f"{spec.type.__module__}.{spec.type.__qualname__}"
    return _tree(name, spec.context, tuple(map(tree_of_spec, children)))


def _tree(kind: str, context: Any, children: tuple[Tree, ...]) -> Tree:
    if kind == "builtins.list":
        return Tree("list", children)
    keys = _keys(context, len(children))
    if keys is not None and kind not in ("builtins.tuple", "builtins.list"):
        return Tree("dict", children, keys)
    return Tree("tuple", children) if children or kind not in _DICTS else Tree("dict")


def _keys(context: Any, count: int) -> tuple[str, ...] | None:
    """The keys that a container's context is, or has in it, as a defaultdict's."""
    if not isinstance(context, (list, tuple)):
        return None
    if len(context) == count and all(isinstance(key, str) for key in context):
        return tuple(context)
    inner = [_keys(part, count) for part in context]
    return next((keys for keys in inner if keys), None)
