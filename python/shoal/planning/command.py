# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`shoal plan`: the forecast of a training job from what its owner holds, a configuration and a command line."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shoal.errors import InputError, ShoalError
from shoal.models.config import ModelConfig
from shoal.models.families import made_of, read_config
from shoal.models.megatron import model_config
from shoal.moe import megatron
from shoal.moe.megatron import LAYER_FLAGS, LAYOUT_FLAGS
from shoal.planning.choice import NothingFitsError, plan
from shoal.planning.choice_text import choice_as_json, choice_as_text
from shoal.planning.fitting import smallest_change
from shoal.planning.flags import PLAN_FLAGS, UNEVEN, fields_of, mapping_of
from shoal.planning.job import forecast_of, programs_of
from shoal.planning.mapping import SCHEDULES
from shoal.planning.search import Progress
from shoal.planning.text import as_json, as_text
from shoal.planning.torchtitan import is_torchtitan
from shoal.simulation.forecast import seconds_text
from shoal.simulation.machines import Machine, shipped

__all__ = ["main"]

_EPILOG = """MODEL is a Hugging Face config.json, its folder, the name of a published model as shoal.models.from_config takes it
(mixtral-8x7b, deepseek-v3, qwen3-30b-a3b, ...), or a file with a command line of Megatron-LM.
FLAGS are Megatron-LM's or torchtitan's, everything behind --layout, --fixed or --against. With a layout that mapping is
forecast; without one the fastest that fits is chosen:

  shoal plan mixtral-8x7b --machine dgx-h100 --devices 64 --layout --expert-model-parallel-size 8 \\
    --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 1 --global-batch-size 256
  shoal plan mixtral-8x7b --machine dgx-h100 --devices 64 --global-batch-size 256

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
    parser.add_argument("--global-batch-size", type=int, metavar="B",
                        help="sequences of a step (default: what a layout says, or 4 a device)")  # fmt: skip
    parser.add_argument("--seq-length", type=int, metavar="S", help="tokens of a sequence (default: what a layout says, or 4096)")
    parser.add_argument("--json", action="store_true", help="print it as JSON, times in seconds and sizes in bytes")
    parser.add_argument("--layout", metavar="FLAGS", help="the mapping to forecast: all words that follow")
    choosing = parser.add_argument_group("without a layout")
    choosing.add_argument("--top", type=int, metavar="K",
                          help="show the K best, none of which another mapping is in front of (default: 1, and others that are simulated anyway)")  # fmt: skip
    choosing.add_argument("--within", type=float, metavar="PERCENT",
                          help="how much shorter the step of another mapping may be; 0 looks until none is (default: 1)")  # fmt: skip
    choosing.add_argument("--fixed", metavar="FLAGS", help="what holds of the mapping and the job: all words that follow")
    choosing.add_argument("--against", metavar="FLAGS", help="a mapping to compare with: all words that follow")
    return parser


# Behind each of these all words are flags of others, up to the next one.
_SECTIONS = ("layout", "fixed", "against")


def _cut(words: Sequence[str]) -> tuple[list[str], dict[str, list[str]]]:
    """What stands in front of sections, and what stands in each."""
    front: list[str] = []
    sections: dict[str, list[str]] = {}
    last = front
    for word in words:
        name, equals, value = word.removeprefix("--").partition("=")
        if word.startswith("--") and name in _SECTIONS:
            last = sections[name] = [value] if equals and value else []
        else:
            last.append(word)
    return front, {name: _split(found) for name, found in sections.items()}


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
    config = made_of(file, fields, place).config
    if not is_torchtitan(flags):
        _check_same(config, megatron.pairs_of(flags))
    if config.num_nextn_predict_layers and not any("mtp-num-layers" in word for word in flags):
        warnings.warn(
            f"plan: num_nextn_predict_layers {config.num_nextn_predict_layers} has no effect:"
            " --mtp-num-layers says how many further tokens are predicted, 0 without it"
        )
    return config, flags


def _check_same(config: ModelConfig, flags: megatron.Flags) -> None:
    """InputError where flags say another model than its configuration; a warning names those that are not compared."""
    moe = config.moe
    sizes = {
        "num-layers": {config.num_hidden_layers}, "hidden-size": {config.hidden_size},
        "num-attention-heads": {config.num_attention_heads}, "num-query-groups": {config.num_key_value_heads},
        "ffn-hidden-size": {config.intermediate_size, moe.moe_ffn_hidden_size},
    }  # fmt: skip
    if any(config.moe_layers):
        sizes |= {
            "num-experts": {moe.num_experts}, "moe-router-topk": {moe.moe_router_topk},
            "moe-ffn-hidden-size": {moe.moe_ffn_hidden_size},
        }  # fmt: skip
    for name, known in sizes.items():
        if name in flags and (found := megatron.number(flags, name)) not in known:
            raise InputError(f"plan: --{name} {found}, but the model's configuration has {' or '.join(map(str, sorted(known)))}")
    read = {*sizes, *LAYOUT_FLAGS, *PLAN_FLAGS, *_CAPACITY}
    if idle := [f"--{name}" for name in flags if name in LAYER_FLAGS and name not in read]:
        megatron.warn_idle(idle, "the model's configuration says it")


_CAPACITY = ("moe-expert-capacity-factor", "moe-pad-expert-input-to-capacity")


def _of_experts(flags: Sequence[str]) -> dict[str, Any]:
    """Of a configuration's experts, what a command line says of capacity; rows are exchanged."""
    words = dict(megatron.pairs_of(flags))
    fields: dict[str, Any] = {"moe_token_dispatcher_type": "alltoall"}
    factor = megatron.number(words, _CAPACITY[0], float) if _CAPACITY[0] in words else -1.0
    if not factor or math.isnan(factor):
        raise InputError(f"plan: --{_CAPACITY[0]} {factor:g}: expected a share of balanced rows, or a number below 0 for none")
    if factor > 0:
        fields["moe_expert_capacity_factor"] = factor
        fields["moe_pad_expert_input_to_capacity"] = megatron.switched(words, "moe-pad-expert-input-to-capacity")
    return fields


def main(words: Sequence[str]) -> int:
    """The status of a process."""
    front, sections = _cut(words)
    given = _parser().parse_args(front)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            status, text = _planned(given, sections)
        except NothingFitsError as error:
            status, text = 3, f"error: {error}"
        except ShoalError as error:
            status, text = 1, f"error: {error}"
    for note in dict.fromkeys(str(warning.message) for warning in said):
        print(f"note: {note}", file=sys.stderr)
    is_error = text.startswith("error: ")
    print(text, file=sys.stderr if is_error else sys.stdout)
    return status


def _planned(given: argparse.Namespace, sections: dict[str, list[str]]) -> tuple[int, str]:
    """The status, and what to print."""
    machine = Machine.read(given.machine)
    beside = [f"--{section}" for section in ("fixed", "against") if section in sections]
    beside += [f"--{name}" for name in ("top", "within") if getattr(given, name) is not None]
    if "layout" in sections and beside:
        raise InputError(f"plan: {', '.join(beside)} beside --layout: that is one mapping, among which nothing is chosen")
    name = Path(given.model).name if os.path.sep in given.model else given.model
    flags = sections.get("layout", sections.get("fixed", []))
    config, flags = read_model(given.model, flags)
    # A file with a command line has a mapping of its own.
    is_given = "layout" in sections or (flags and not set(sections) & {"fixed", "against"})
    return _forecast(given, config, machine, flags, name) if is_given else _choice(given, config, machine, sections, name)


def _forecast(
    given: argparse.Namespace, config: ModelConfig, machine: Machine, flags: Sequence[str], name: str
) -> tuple[int, str]:
    programs = programs_of(config, machine)
    mapping = mapping_of(flags, given.devices, **_said(given))
    made = forecast_of(config, machine, mapping, programs)
    stages = mapping.pp * mapping.stages
    if config.num_hidden_layers % stages and not is_torchtitan(flags) and not set(megatron.pairs_of(flags)) & {*UNEVEN}:
        warnings.warn(
            f"plan: {config.num_hidden_layers} layers are not divisible by {stages} stages, which are planned with as many whole layers as"
            " others, or one less: Megatron-LM asks for --pipeline-model-parallel-layout"
        )
    change = None if made.fits or given.json else smallest_change(made, programs)
    return 0 if made.fits else 3, json.dumps(as_json(made), indent=1) if given.json else as_text(made, change, name)


def _said(given: argparse.Namespace) -> dict[str, Any]:
    """Fields of a mapping that stand in front of all flags, in whose place they are."""
    said = {"schedule": given.schedule, "global_batch": given.global_batch_size, "sequence": given.seq_length}
    return {field: value for field, value in said.items() if value is not None}


def _choice(
    given: argparse.Namespace, config: ModelConfig, machine: Machine, sections: dict[str, list[str]], name: str
) -> tuple[int, str]:
    fixed = fields_of(sections.get("fixed", []), given.devices) | _said(given)
    against = None
    if "against" in sections:
        beside = {field: fixed[field] for field in ("global_batch", "sequence", "schedule") if field in fixed}
        against = mapping_of(sections["against"], given.devices, **beside)
    made = plan(
        config, machine=machine, devices=given.devices, within=(1.0 if given.within is None else given.within) / 100,
        top=5 if given.top is None else given.top, proven=1 if given.top is None else given.top, against=against, told=Told(), **fixed,
    )  # fmt: skip
    return 0, json.dumps(choice_as_json(made), indent=1) if given.json else choice_as_text(made, name)


class Told:
    """A line of how far a search is, once it takes longer than ten seconds, and then every five."""

    def __init__(self, after: float = 10.0, every: float = 5.0):
        self._next, self._every = time.monotonic() + after, every

    def __call__(self, progress: Progress) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._every
        best = "no plan yet" if progress.best is None else f"best step {seconds_text(progress.best)}"
        line = f"plan: {progress.programs} programs simulated, {best}, no other below {seconds_text(progress.bound)}"
        print(line, file=sys.stderr, flush=True)
