# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Single ops, each as a function of JAX and, where PyTorch has the op, of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Op:
    """arrays: the inputs; the first dimension of the first is split over the ranks.
    jax, torch: the op; it gets the library's module and the inputs.
    streams: reads its inputs and writes its result once, with little to compute: held against
      a plain copy of as many bytes.
    """

    arrays: Callable[[], Arrays]
    jax: Callable[..., Any]
    torch: Callable[..., Any] | None = None
    streams: bool = False


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def _indices(limit: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, limit, shape, np.int32)


def _rows() -> Arrays:
    return (_random(4096, 1024),)


def _image() -> Arrays:
    return _random(8, 64, 64, 32), _random(3, 3, 32, 32)


def _layer_norm(jax: Any, x: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def _convolution(jax: Any, x: Any, kernel: Any) -> Any:
    return jax.lax.conv_general_dilated(
        x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def _torch_convolution(torch: Any, x: Any, kernel: Any) -> Any:
    # Views of the same memory: PyTorch keeps the channels last.
    return torch.nn.functional.conv2d(
        x.permute(0, 3, 1, 2), kernel.permute(3, 2, 0, 1), padding=1
    ).permute(0, 2, 3, 1)


def _max_pool(jax: Any, x: Any) -> Any:
    return jax.lax.reduce_window(
        x, -np.inf, jax.lax.max, (1, 3, 3, 1), (1, 1, 1, 1), "VALID"
    )


def _torch_max_pool(torch: Any, x: Any) -> Any:
    return torch.nn.functional.max_pool2d(x.permute(0, 3, 1, 2), 3, 1).permute(0, 2, 3, 1)


OPS = {
    "add": Op(
        lambda: (_random(4096, 1024), _random(4096, 1024)),
        lambda jax, x, y: x + y,
        lambda torch, x, y: x + y,
        streams=True,
    ),
    "gelu": Op(
        _rows,
        lambda jax, x: jax.nn.gelu(x),
        lambda torch, x: torch.nn.functional.gelu(x, approximate="tanh"),
    ),
    "softmax": Op(
        _rows,
        lambda jax, x: jax.nn.softmax(x, -1),
        lambda torch, x: torch.softmax(x, -1),
        streams=True,
    ),
    "layer_norm": Op(
        _rows,
        _layer_norm,
        lambda torch, x: torch.nn.functional.layer_norm(x, x.shape[-1:]),
        streams=True,
    ),
    "transpose": Op(
        _rows, lambda jax, x: x.T, lambda torch, x: x.T.contiguous(), streams=True
    ),
    "sum_rows": Op(_rows, lambda jax, x: x.sum(0), lambda torch, x: x.sum(0)),
    "cumulative_sum": Op(
        _rows, lambda jax, x: jax.numpy.cumsum(x, 0), lambda torch, x: x.cumsum(0), streams=True
    ),
    "gather": Op(
        lambda: (_random(16384, 512), _indices(16384, 8192)),
        lambda jax, x, at: x[at],
        lambda torch, x, at: x[at],
    ),
    "scatter_add": Op(
        lambda: (_random(4096, 512), _indices(4096, 8192), _random(8192, 512)),
        lambda jax, x, at, rows: x.at[at].add(rows),
        lambda torch, x, at, rows: x.index_add(0, at, rows),
    ),
    "top_k": Op(
        lambda: (_random(8192, 256),),
        lambda jax, x: jax.lax.top_k(x, 2),
        lambda torch, x: torch.topk(x, 2),
    ),
    "sort": Op(
        lambda: (_random(1024, 1024),),
        lambda jax, x: jax.numpy.sort(x, -1),
        lambda torch, x: torch.sort(x, -1)[0],
    ),
    "convolution": Op(_image, _convolution, _torch_convolution),
    "reduce_window": Op(lambda: (_random(8, 128, 128, 32),), _max_pool, _torch_max_pool),
    "matmul": Op(
        lambda: (_random(1024, 1024), _random(1024, 1024)),
        lambda jax, x, y: x @ y,
        lambda torch, x, y: x @ y,
    ),
    "batched_matmul": Op(
        lambda: (_random(64, 128, 96), _random(64, 96, 80)),
        lambda jax, x, y: x @ y,
        lambda torch, x, y: x @ y,
    ),
    "small_matmul": Op(
        lambda: (_random(4096, 5, 7), _random(4096, 7, 3)),
        lambda jax, x, y: x @ y,
        lambda torch, x, y: x @ y,
    ),
    "bf16_matmul": Op(
        lambda: (_random(512, 1024), _random(1024, 512)),
        lambda jax, x, y: x.astype("bfloat16") @ y.astype("bfloat16"),
        lambda torch, x, y: x.bfloat16() @ y.bfloat16(),
    ),
}
