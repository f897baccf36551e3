# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`shoal plan`: the forecast of a training job from what its owner holds, a configuration and a command line."""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shoal.errors import ShoalError
from shoal.models.config import ModelConfig
from shoal.models.families import made_of, read_config
from shoal.models.megatron import model_config
from shoal.moe import megatron
from shoal.planning.fitting import smallest_change
from shoal.planning.flags import is_torchtitan, mapping_of
from shoal.planning.mapping import SCHEDULES
from shoal.planning.plan import forecast_of
from shoal.planning.text import as_json, as_text
from shoal.simulation.machines import Machine, shipped

__all__ = ["main"]

_EPILOG = """MODEL is a Hugging Face config.json, its folder, the name of a published model as shoal.models.from_config takes it
(mixtral-8x7b, deepseek-v3, qwen3-30b-a3b, ...), or a file with a command line of Megatron-LM.
FLAGS are Megatron-LM's or torchtitan's, everything behind --layout:

  shoal plan mixtral-8x7b --machine dgx-h100 --devices 64 --layout --expert-model-parallel-size 8 \\
    --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 1 --global-batch-size 256

Nothing runs: no GPU, cluster or weights are needed. Times are those of a model of the machine. Attention counts as one
kernel that holds no scores.
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="shoal plan", description="Does a training job fit, how long is a step, and where does the time go?",
        epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("--machine", required=True, metavar="M", help=f"a machine file, or one of {', '.join(shipped())}")
    parser.add_argument("--devices", required=True, type=int, metavar="N", help="how many devices the job has")
    parser.add_argument("--schedule", choices=SCHEDULES, help="of the pipeline (default: 1f1b)")
    parser.add_argument("--json", action="store_true", help="print it as JSON, times in seconds and sizes in bytes")
    parser.add_argument("--layout", metavar="FLAGS", help="of Megatron-LM or torchtitan: all words that follow")
    return parser


def _cut(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """What stands in front of --layout, and what stands behind it."""
    for place, word in enumerate(words):
        if word == "--layout":
            return list(words[:place]), _split(words[place + 1 :])
        if word.startswith("--layout="):
            return list(words[:place]), _split([word.partition("=")[2], *words[place + 1 :]])
    return list(words), []


def _split(words: Sequence[str]) -> list[str]:
    """Words, or one text of them, in quotes."""
    return [each for word in words for each in (word.split() if " " in word else [word])]


def read_model(model: str, flags: Sequence[str]) -> tuple[ModelConfig, Sequence[str]]:
    """The model, and the flags that its file has beside those given."""
    path = Path(model)
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() and path.suffix != ".json" else ""
    if "--" in text and not text.lstrip().startswith("{"):
        return model_config(text, None), [*megatron.words_of(text), *flags]
    file, place = read_config(model)
    fields = {} if is_torchtitan(flags) else _of_experts(flags)
    return made_of(file, fields, place).config, flags


def _of_experts(flags: Sequence[str]) -> dict[str, Any]:
    """Of a configuration's experts, what a command line says of capacity and dispatch; rows are exchanged by default."""
    words = dict(megatron.pairs_of(flags))
    fields: dict[str, Any] = {"moe_token_dispatcher_type": "alltoall"}
    if words.get("moe-token-dispatcher-type") == ["allgather"]:
        fields["moe_token_dispatcher_type"] = "allgather"
    if "moe-expert-capacity-factor" in words:
        fields["moe_expert_capacity_factor"] = megatron.number(words, "moe-expert-capacity-factor", float)
    return fields


def main(words: Sequence[str]) -> int:
    """The status of a process."""
    front, flags = _cut(words)
    given = _parser().parse_args(front)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            machine = Machine.read(given.machine)
            config, flags = read_model(given.model, flags)
            fields = {"schedule": given.schedule} if given.schedule else {}
            plan = forecast_of(config, machine, mapping_of(flags, given.devices, **fields))
            change = None if plan.fits or given.json else smallest_change(plan)
        except ShoalError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    for note in dict.fromkeys(str(warning.message) for warning in said):
        print(f"note: {note}", file=sys.stderr)
    name = Path(given.model).name if os.path.sep in given.model else given.model
    print(json.dumps(as_json(plan), indent=1) if given.json else as_text(plan, change, name))
    return 0 if plan.fits else 3
