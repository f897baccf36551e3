# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products that selective recomputation multiplies again, where a layer's program saves what all of them made.

Megatron-LM's modules `mlp`, `moe`, `shared_experts` and `mla_up_proj` run their part of the forward pass once more, exchanges
of `moe` among it (core/transformer/transformer_config.py). Torchtitan's list of what is saved has products of matrices, of
which every second one is left out, and no products of groups (distributed/activation_checkpoint.py,
models/llama4/infra/parallelize.py). So the forecast adds these to what is computed, and takes what they made off what is
saved.
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.models.config import ModelConfig
from shoal.planning.kernels import LOSS
from shoal.planning.programs import Setting
from shoal.simulation.forecast import Forecast, Row

__all__ = ["forward_rows", "repeated_rows", "unsaved_bytes"]


def forward_rows(forecast: Forecast) -> tuple[Row, ...]:
    """Of a layer, those in front of its loss."""
    names = [row.layer for row in forecast.rows]
    return forecast.rows[: names.index(LOSS)]


def repeated_rows(forecast: Forecast, setting: Setting) -> list[Row]:
    """Of a layer's forward pass, in its order, what its backward pass runs again beside norms and activations."""
    mapping = setting.mapping
    if mapping.recompute != "selective" or not mapping.products_again:
        return []
    rows = forward_rows(forecast)
    found: set[int] = set()
    for name in mapping.products_again:
        found |= {id(row) for row in _named(name, rows, setting.config)}
    return [row for row in rows if id(row) in found]


def _named(name: str, rows: Sequence[Row], config: ModelConfig) -> list[Row]:
    """Those of a module, or of "every_second"."""
    # Sums by weights are none.
    products = [row for row in rows if row.shape is not None and min(row.shape[1:3]) > 1]
    if name == "every_second":
        # The router's are few, and always computed again.
        plain = [row for row in products if not _is_of_groups(row) and not _is_routers(row, config)]
        return plain[1::2] + [row for row in products if _is_of_groups(row)]
    if name == "mlp":
        return [row for row in products if row.layer.endswith("/dense")]
    if name == "mla_up_proj":
        ranks = () if config.latent is None else (config.latent.q_rank, config.latent.kv_rank)
        return [row for row in products if row.layer.endswith("/attention") and row.shape[3] in ranks]
    of_experts = [row for row in rows if row.layer.endswith("/experts") and (row.shape is not None or row.is_collective)]
    if name == "moe":
        return of_experts
    return [row for row in products if row.layer.endswith("/experts") and not _is_of_groups(row) and not _is_routers(row, config)]


def _is_of_groups(row: Row) -> bool:
    return row.name.startswith("ragged")


def _is_routers(row: Row, config: ModelConfig) -> bool:
    return row.layer.endswith("/experts") and config.moe.num_experts in row.shape[1:3]


def unsaved_bytes(forecast: Forecast, setting: Setting) -> float:
    """Of what these products made, but for rows that experts send home, which no backward pass needs here."""
    total = 0.0
    for row in repeated_rows(forecast, setting):
        if row.shape is not None:
            batch, m, n, _ = row.shape
            is_sent = _is_of_groups(row) and n == setting.config.hidden_size
            total += 0.0 if is_sent else setting.mapping.width * batch * m * n
    return total
