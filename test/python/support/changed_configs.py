#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each value of each family's config.json, also those in its tables, changed by about thirty others.

Usage: changed_configs.py [FAMILY ...]

Each changed file makes a model of finite numbers, or is refused by a ShoalError with the file's name and the field's, in
less than two seconds. Prints how many there were of each kind, and all that are none of these.
"""

from __future__ import annotations

import copy
import json
import math
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from paths import PATHS

sys.path[:0] = PATHS
from published_configs import PUBLISHED
from shoal.errors import ShoalError
from shoal.models import from_config
from shoal.moe.schemas import ALIASES, ROPE, SCHEMAS, family_of

OTHERS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 7, 1.0, 2.5, -0.5, 0.0, 1e-300, 1e300, math.nan, math.inf, -math.inf, 2**31 - 1,
    2**31, 2**62, 10**400, "", "x", "false", "16", [], [1], [-1], ["x"], [None], [2**62], {}, {"x": 1}, [[1]],
)  # fmt: skip
MOST_SECONDS = 2.0
# What errors may say in place of a field: other fields that it has no meaning with.
SAID = {
    "head_dim": ("short_factor",),
    "num_hidden_layers": ("layer_types", "mlp_only_layers"),
    "num_experts": ("moe_router_topk", "moe_router_num_groups", "moe_router_group_topk"),
    "num_experts_per_tok": ("moe_router_topk",),
    "n_group": ("moe_router_num_groups",),
    "topk_group": ("moe_router_group_topk",),
}
STRETCHED = {
    "yarn": {"factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": True, "mscale": 1.0, "mscale_all_dim": 1.0,
             "original_max_position_embeddings": 4096, "attention_factor": 1.0},
    "llama3": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 8192},
    "linear": {"factor": 2.0},
    "longrope": {"factor": 4.0, "short_factor": [1.0], "long_factor": [2.0], "original_max_position_embeddings": 4096},
}  # fmt: skip


def configs() -> dict[str, dict[str, Any]]:
    """Published files, one of each family, and each kind of position."""
    made = {}
    for name, (config, _) in PUBLISHED.items():
        made.setdefault(config["model_type"], {**config, "num_hidden_layers": min(config["num_hidden_layers"], 4)})
    for kind, options in STRETCHED.items():
        pairs = {"short_factor", "long_factor"} & set(options)
        table = {**options, **{name: options[name] * 64 for name in pairs}, "rope_type": kind, "rope_theta": 10000.0}
        made[f"mixtral with {kind}"] = {**made["mixtral"], "rope_parameters": table}
    return {name: _fitting(config) for name, config in made.items()}


def _fitting(config: dict[str, Any]) -> dict[str, Any]:
    """With as many entries in lists of layers as there are layers."""
    kinds = config.get("layer_types")
    return {**config, "layer_types": kinds[: config["num_hidden_layers"]]} if kinds else config


def changes(config: dict[str, Any], others: Sequence[Any]) -> Iterator[tuple[list[str], Any, dict[str, Any]]]:
    """Where, what stands there now, and the whole: each value, each key of a table, each field that is left out.

    Fields that nothing depends on may have any value.
    """
    schema = SCHEMAS[family_of(config)]
    fields = [name for name in {**config, **schema} if not (name in schema and schema[name].idle)]
    places = [[name] for name in fields]
    places += [[name, key] for name, value in config.items() if isinstance(value, dict) for key in value]
    places += [[name, key] for name in ("rope_parameters",) if config.get(name) for key in ROPE if key not in config[name]]
    for place in places:
        for other in others:
            yield place, other, _changed(config, place, other)
        yield place, "left out", _changed(config, place)


def _changed(config: dict[str, Any], place: list[str], *other: Any) -> dict[str, Any]:
    made = copy.deepcopy(config)
    table = made
    for name in place[:-1]:
        table = table[name]
    table.pop(place[-1], None)
    if other:
        table[place[-1]] = other[0]
    return made


def outcome(file: Path, place: list[str], config: dict[str, Any]) -> tuple[str, str]:
    """The kind of what comes of a file, and what is wrong about that, or ""."""
    file.write_text(json.dumps(config))
    begun = time.monotonic()
    try:
        problem = _unlike_a_model(from_config(file))
        kind = "model"
    except ShoalError as error:
        kind, problem = type(error).__name__, _unlike_an_error(str(error), file, place)
    except (ArithmeticError, ValueError, TypeError, LookupError, AttributeError, MemoryError, RecursionError) as error:
        kind, problem = type(error).__name__, f"no error of Shoal's: {error!r:.100}"
    seconds = time.monotonic() - begun
    return kind, problem or (f"{seconds:.1f} s" if seconds > MOST_SECONDS else "")


def _unlike_a_model(model: Any) -> str:
    rope = model.config.rope
    numbers = [*rope.frequencies, *(rope.long or ()), rope.factor, rope.scale, model.config.rms_norm_eps]
    if not all(math.isfinite(number) for number in numbers):
        return "its numbers are not finite"
    model.shapes()
    return ""


def _unlike_an_error(text: str, file: Path, place: list[str]) -> str:
    name = ALIASES.get(place[-1], place[-1])
    names = (place[-1], name, *SAID.get(name, ()))
    if not text.startswith(f"{file}: "):
        return f"does not begin with the file: {text:.120}"
    return "" if any(known in text for known in names) else f"does not name {place[-1]}: {text:.160}"


def campaign(config: dict[str, Any], others: Sequence[Any] = OTHERS) -> tuple[Counter[str], list[str]]:
    """How many files there were of each kind, and what is wrong."""
    kinds: Counter[str] = Counter()
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for place, other, changed in changes(config, others):
            kind, problem = outcome(Path(folder) / "config.json", place, changed)
            kinds[kind] += 1
            if problem:
                wrong.append(f"{'.'.join(place)} = {other!r:.40}: {kind}: {problem}")
    return kinds, wrong


def main(names: list[str]) -> int:
    failures = 0
    for name, config in configs().items():
        if names and name not in names:
            continue
        kinds, wrong = campaign(config)
        failures += len(wrong)
        print(f"{name}: {sum(kinds.values())} files: {dict(sorted(kinds.items()))}")
        print(*(f"  {line}\n" for line in wrong), sep="", end="")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
