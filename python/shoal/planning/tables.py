# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Published tables simulated beside their figures: `python -m shoal tables`. Configurations are in the folder
`published`, with their sources and what had to be assumed."""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import InputError, ShoalError
from shoal.models.config import ModelConfig
from shoal.models.families import made_of, read_config
from shoal.models.rope import rope_of
from shoal.moe.config import MoeConfig
from shoal.moe.reach import expected_places
from shoal.planning.exchanges import CHUNK
from shoal.planning.gshard import gshard_layer
from shoal.planning.job import Plan, forecast_of, programs_of
from shoal.planning.mapping import Mapping
from shoal.planning.memory import around_bytes
from shoal.planning.programs import Setting
from shoal.planning.schedule import in_flight
from shoal.simulation.machines import Machine

__all__ = ["Bar", "Table", "TABLES", "main"]

FOLDER = Path(__file__).parent / "published"
# Tokens that have places of experts for themselves, in GShard's table.
_GROUP = 1024


@dataclass(frozen=True)
class Bar:
    """What a table is held to: how many of how many figures keep it."""

    what: str
    kept: int
    of: int
    needed: int | None = None

    @property
    def holds(self) -> bool:
        """Whether so many keep it as are needed, by default all."""
        return self.kept >= (self.of if self.needed is None else self.needed)

    def __str__(self) -> str:
        needed = "" if self.needed is None else f", {self.needed} needed"
        return f"{self.what}: {self.kept} of {self.of}{needed}: {'kept' if self.holds else 'MISSED'}"


@dataclass(frozen=True)
class Table:
    """Rows of cells, the first one the titles; notes for people."""

    title: str
    source: str
    assumed: str
    rows: list[list[str]]
    bars: list[Bar]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Markdown."""
        head, *rows = self.rows
        align = ["---", *["--:"] * (len(head) - 1)]
        lines = [f"| {' | '.join(row)} |" for row in (head, align, *rows)]
        parts = [f"## {self.title}", f"Published: {self.source}. Assumed: {self.assumed}.", "\n".join(lines)]
        parts += [*self.notes, "\n".join(f"* {bar}" for bar in self.bars)]
        return "\n\n".join(parts)


def _read(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def model_of(name: str) -> ModelConfig:
    """A model of the tables."""
    made = _read("models")["models"][name]
    file, place = read_config(made["config"])
    file = {**file, **made.get("fields", {})}
    return made_of(file, {"moe_token_dispatcher_type": "alltoall"}, place).config


def _plan(model: str, machine: str, mapping: dict[str, Any], **fields: Any) -> Plan:
    print(f"  {model}: {mapping}", file=sys.stderr, flush=True)
    return forecast_of(model_of(model), Machine.read(machine), Mapping(**{**mapping, **fields}))


def _off(simulated: float, published: float) -> float:
    return simulated / published - 1


def _percent(off: float) -> str:
    return f"{100 * off:+.0f} %"


def _within(offs: Iterable[float], share: float) -> int:
    return sum(abs(off) <= share for off in offs)


def exchange() -> Table:
    """Expert exchange alone: prices of collectives, no program."""
    made = _read("exchange")
    head = ["exchange, EP"] + [f"{c}, {what}" for c in made["columns"] for what in ("simulated", "published", "off")]
    rows, offs = [head], []
    for name, ep, *published in made["rows"]:
        row = [f"{name} {ep}"]
        for column, figure in zip(made["columns"], published):
            simulated = 1e6 * _exchange(made, column, ep)
            row += [f"{simulated:.0f}", str(figure), _percent(_off(simulated, figure))]
            offs += [_off(simulated, figure)] if ep > 8 else []
        rows.append(row)
    notes = (
        "Times are us. Machine files are calibrated on the rows of EP 8, which do not count.",
        "Tokens' weights do not count, of which the source says nothing: the branch that has the hybrid exchange sends 4 bytes for each "
        "expert of a node beside each token, but home, 7 % more on GB200, whose dispatches with EP 32 and 64 would be 21 and 27 % too slow. "
        "Why H100 combines with EP 16 more slowly than it dispatches is not found: bytes are the same, and with EP 32 and 64 times are, too.",
    )
    return Table(made["title"], made["source"], made["assumed"], rows, [Bar("within 20 %, rows not calibrated on", _within(offs, 0.2), len(offs))], notes)


def _exchange(made: dict[str, Any], column: str, ep: int) -> float:
    """Seconds. The hybrid one sends a token once to each node that has one of its experts, and there once to each device that
    has one. Both ways are taken chunk by chunk, so that of the shorter one a chunk is waited for."""
    machine = Machine.read(made["machines"][column.split()[0]])
    rows = made["tokens"] * made["hidden"] * made["bytes"]

    def seconds(copies: float, size: int, stride: int = 1) -> float:
        """Of a group of so many devices, where a device's tokens go to so many places."""
        return machine.price("all_to_all", [(size, stride)], round(rows * copies * (size - 1) / size))

    if not column.endswith("hybrid"):
        return seconds(made["choices"], ep)
    node = min(machine.levels[0][1], ep)
    within = seconds(_expected(made, ep), node)
    if ep == node:
        return within
    between = seconds(_expected(made, ep // node), ep // node, node)
    return max(between, within) + min(between, within) * CHUNK / made["tokens"]


def _expected(made: dict[str, Any], places: int) -> float:
    """Of how many of so many places a token needs one, its choices lying in so many groups of experts."""
    return expected_places(made["experts"], places, made["choices"], made["groups"], made["chosen_groups"])


def deepseek() -> Table:
    """A whole step, rows at once to the devices of their experts and once to each node, as the published one."""
    made = _read("deepseek")
    rows, offs = [["what", "simulated", "published", "off"]], []
    for dispatch, name in (("alltoall", "rows at once"), ("flex", "rows once to a node")):
        plan = _plan(made["model"], made["machine"], made["mapping"], dispatch=dispatch)
        offs.append(_off(plan.seconds, made["seconds"]))
        rows.append([f"seconds of a step, {name}", f"{plan.seconds:.2f}", str(made["seconds"]), _percent(offs[-1])])
        rows += [[f"of it {part}", f"{seconds:.2f}", "", ""] for part, seconds in plan.parts.items()]
        rows.append(["exposed communication", f"{plan.exposed:.2f}", "", ""])
    return Table(made["title"], made["source"], made["assumed"], rows, [Bar("within 20 %", _within(offs, 0.2), len(offs))])


def memory() -> Table:
    """Of a device, by part."""
    made = _read("memory")
    plan = _plan(made["model"], made["machine"], made["mapping"])
    held, around = plan.memory, around_bytes(Setting(plan.config, plan.mapping))
    weights = held.weights + held.gradients - around[0] - around[1]
    activations = held.activations * in_flight(plan.mapping, made["stage"]) / in_flight(plan.mapping)
    simulated = (weights, held.optimizer - around[2], activations)
    rows, offs = [["part", "simulated, GB", "published, GB", "off"]], []
    for (part, published), found in zip(made["parts"].items(), simulated):
        offs.append(_off(found / 1e9, published))
        rows.append([part, f"{found / 1e9:.1f}", str(published), _percent(offs[-1])])
    note = (
        f"Activations are those of stage {made['stage'] + 1}: by what the source saves of rows that a router weighs, 26.3 GB, and "
        "of queries, keys and values, 30.4 GB, they are those of 56 layers and micro-batches, which the third of four stages holds."
    )
    return Table(made["title"], made["source"], made["assumed"], rows, [Bar("within 15 %", _within(offs, 0.15), len(offs))], (note,))


def _tau(pairs: Sequence[tuple[float, float]]) -> float:
    """Kendall's."""
    signs = [
        math.copysign(1, (a[0] - b[0]) * (a[1] - b[1])) for place, a in enumerate(pairs) for b in pairs[:place]
    ]
    return sum(signs) / len(signs) if signs else 1.0


def _narrow_sums(made: dict[str, Any], found: list[tuple[dict[str, Any], Plan]], factor: float) -> str:
    """How far rows of FSDP without EP are off with sums in bfloat16."""
    offs = [
        _off(100 * _plan(row["model"], made["machine"], row["mapping"], sum_type="bf16").mfu * factor, row["mfu"])
        for row, _ in found
        if row["method"] == "FSDP" and row["mfu"] is not None
    ]
    return ", ".join(_percent(off) for off in offs)


def folding() -> Table:
    """MFU of mappings."""
    made = _read("folding")
    found = [(row, _plan(row["model"], made["machine"], row["mapping"])) for row in made["rows"]]
    megatron = [(row, plan) for row, plan in found if row["method"].startswith("MCore")]
    logs = [math.log(row["mfu"] / (100 * plan.mfu)) for row, plan in megatron]
    factor = math.exp(sum(logs) / len(logs))
    rows = [["model, mapping", "MFU simulated", "times the factor", "published", "off", "GB of a device", "with layers computed again"]]
    large = []
    for row, plan in found:
        again = _plan(row["model"], made["machine"], row["mapping"], recompute="full")
        published = row["mfu"]
        scaled = 100 * plan.mfu * factor
        fits = again.fits
        large.append((published is None, not fits))
        rows.append([
            f"{row['model']}, {row['method']}", f"{100 * plan.mfu:.1f}", f"{scaled:.1f}",
            "out of memory" if published is None else str(published),
            "" if published is None else _percent(_off(scaled, published)),
            f"{plan.memory.total / 1e9:.0f}", f"{again.memory.total / 1e9:.0f}{'' if fits else ', too much'}",
        ])  # fmt: skip
    bars = [Bar("MCore rows within 15 % with the factor", _within([_off(100 * p.mfu * factor, r["mfu"]) for r, p in megatron], 0.15), len(megatron))]
    for model in dict.fromkeys(row["model"] for row, _ in found):
        pairs = [(plan.mfu, row["mfu"]) for row, plan in found if row["model"] == model and row["mfu"] is not None]
        tau = _tau(pairs)
        bars.append(Bar(f"order of {model}'s mappings, Kendall's tau {tau:.2f} of at least 0.9", int(tau >= 0.9), 1))
    right = sum(published == simulated for published, simulated in large)
    bars.append(Bar("out of memory, and not, also with layers computed again", right, len(large)))
    notes = (
        f"The one factor, of all MCore rows, is {factor:.2f}. MFU is of steps without recomputation.",
        "FSDP of Llama3-8x70B holds least while it trains: it is its parameters over tp 8, 116 GB, that fit nowhere before they are cut. "
        "TP+EP+DP fits in the model if its layers are computed again: 75 of its 76 GB are parameters, gradients and the optimizer's state, 1 GB is what the head "
        "works with. A communicator for each group (0.5 to 0.7 GB of each, NVIDIA/nccl issue 964) and pieces of free memory that are "
        "too small are not in it, and what of these was too much is not known; without recomputation, as MFU is simulated, it does not fit, but "
        "neither would MCore of 8x22B-G8T8, which ran.",
        "FSDP without EP may have been PyTorch's own, which Megatron-LM refuses with EP and which sums in bfloat16: then these rows were "
        f"{_narrow_sums(made, found, factor)} off.",
    )
    return Table(made["title"], made["source"], made["assumed"], rows, bars, notes)


def scaling() -> Table:
    """The same on more devices."""
    made = _read("scaling")
    rows, offs = [["model, devices", "MFU simulated", "to the fewest", "published", "to the fewest", "off"]], []
    for row in made["rows"]:
        first: tuple[float, float] | None = None
        for devices, published in row["mfu"].items():
            mfu = _plan(row["model"], made["machine"], row["mapping"], devices=int(devices)).mfu
            first = first or (mfu, published)
            ratio, wanted = mfu / first[0], published / first[1]
            is_first = first == (mfu, published)
            offs += [] if is_first else [_off(ratio, wanted)]
            off = "" if is_first else _percent(offs[-1])
            rows.append([f"{row['model']}, {devices}", f"{100 * mfu:.1f}", f"{ratio:.3f}", str(published), f"{wanted:.3f}", off])
    return Table(made["title"], made["source"], made["assumed"], rows, [Bar("within 5 %", _within(offs, 0.05), len(offs), len(offs) - 1)])


def pairs() -> Table:
    """Two mappings of one model, the second over the first."""
    made = _read("pairs")
    rows, found = [["model, machine", "simulated", "published", "off"]], []
    for row in made["rows"]:
        before, after = (_plan(row["model"], row["machine"], row[side]) for side in ("before", "after"))
        ratio = after.flops / before.flops
        found.append((ratio, row["ratio"]))
        rows.append([f"{row['model']}, {row['machine']}", f"{ratio:.2f}x", f"{row['ratio']:.2f}x", _percent(_off(*found[-1]))])
    signs = sum((ratio >= 1) == (wanted >= 1) for ratio, wanted in found)
    bars = [Bar("faster or slower", signs, len(found)), Bar("within 15 %", _within([_off(*each) for each in found], 0.15), len(found), 4)]
    return Table(made["title"], made["source"], made["assumed"], rows, bars)


def _gshard_model(experts: int, layers: int) -> ModelConfig:
    """Every other layer has experts."""
    moe = MoeConfig.gshard(experts, 8192, second_policy="all", min_capacity=1, moe_group_size=_GROUP, moe_layer_freq=2)
    return ModelConfig(
        family="gshard", vocab_size=32000, hidden_size=1024, num_attention_heads=16, num_key_value_heads=16, head_dim=128,
        rms_norm_eps=1e-6, rope=rope_of({}, 128), rope_in_windows=True, windows=(None,) * layers, moe=moe,
        moe_layers=tuple(number % 2 == 1 for number in range(layers)), intermediate_size=8192, tie_word_embeddings=True,
    )  # fmt: skip


def _gshard_mapping(experts: int, tokens: int) -> Mapping:
    return Mapping(
        experts, ep=experts, micro_batch=tokens // 128, sequence=128, type="f32", zero=0, fused_attention=False
    )


def _gshard_options() -> dict[str, Any]:
    """Masks are products, and so are embeddings; bytes alone choose shardings."""
    return {"dense_one_hots": True, "machine": "", "with_experts": gshard_layer, "by_products": True}


def _gshard_step(machine: Machine, experts: int, layers: int, tokens: int) -> tuple[float, Plan]:
    """Seconds, and the plan of one side: of the source's tokens half of the layers, of the target's the others, which look
    at the source, too, and each side has an embedding."""
    print(f"  GShard: {experts} experts, {layers} layers, {tokens} tokens a device", file=sys.stderr, flush=True)
    plan = forecast_of(_gshard_model(experts, layers), machine, _gshard_mapping(experts, tokens), **_gshard_options())
    looks = sum(line.seconds for line in plan.lines if line.where.startswith("attention"))
    return plan.seconds + looks / 2 + sum(line.seconds for line in plan.lines if line.where == "embed"), plan


def _gshard_forward(machine: Machine, experts: int, tokens: int) -> tuple[float, float]:
    """Of the forward pass of a layer with experts and one without the share of exchanges, and seconds."""
    print(f"  GShard: {experts} experts, forward, {tokens} tokens a device", file=sys.stderr, flush=True)
    programs = programs_of(_gshard_model(experts, 2), machine, **_gshard_options())
    mapping = _gshard_mapping(experts, tokens)
    programs.make(mapping, "layer")
    rows = [row for layer in programs.layers(mapping) for row in layer.forward]
    whole = sum(row.seconds for row in rows)
    return sum(row.seconds for row in rows if row.name == "all_to_all") / whole, whole


def _gshard_forwards(machine: Machine, tokens: int) -> tuple[tuple[float, float], tuple[float, float], float]:
    """The same with 128 and 2048 experts, and how many times as long the latter take."""
    small, large = (_gshard_forward(machine, experts, tokens) for experts in (128, 2048))
    return small, large, large[1] / small[1]


def gshard() -> Table:
    """Device time, shares and steps a second."""
    made = _read("gshard")
    machine = Machine.read(made["machine"])
    rows, bars = [["figure", "simulated", "published", "off"]], []

    def add(what: str, simulated: float, published: float, share: float | None) -> None:
        off = _off(simulated, published)
        rows.append([what, f"{simulated:.3g}", f"{published:.3g}", _percent(off)])
        if share is not None:
            bars.append(Bar(f"{what} within {100 * share:.0f} %", _within([off], share), 1))

    forward = {groups: _gshard_forwards(machine, groups * _GROUP) for groups in (2, 1, 4)}
    (share, _), (share_large, _), ratio = forward[2]
    add("device time of a pair of layers, 2048 over 128 experts", ratio, made["device_time_ratio"], 0.05)
    for megabytes in (8, 32):
        few, many = (machine.price("all_to_all", [(n, 1)], round(megabytes * 1e6 * (n - 1) / n)) for n in (16, 2048))
        add(f"all-to-all of {megabytes} MB, 2048 over 16 partitions", many / few, made["exchange_ratio"], 0.1)
    add("share of dispatch and combine, 2048 experts", share_large, made["share"]["2048"], 0.1)
    add("share of dispatch and combine, 128 experts", share, made["share"]["128"], 0.25)
    weights = []
    for which, published in made["steps_per_second"].items():
        experts, layers = map(int, which.split())
        seconds, plan = _gshard_step(machine, experts, layers, made["tokens"][str(experts)])
        kept = 1 - made["recomputed"][str(layers)]
        add(f"steps a second, {experts} experts, {layers} layers", kept / seconds, published, 0.1 if which == "128 12" else None)
        weights += [plan.memory.weights] if layers == 36 else []
    spread = max(weights) / min(weights) - 1
    rows.append(["weights of a device, 36 layers, 128 to 2048 experts, most over least", f"{1 + spread:.3f}", "flat", ""])
    bars.append(Bar("weights flat within 5 %", int(spread <= 0.05), 1))
    other = "; ".join(
        f"with {groups} they are {ratio:.2f}, {large:.3f} and {small:.3f}"
        for groups, ((small, _), (large, _), ratio) in forward.items()
        if groups != 2
    )
    rest = {part: 1e3 * plan.parts[part] for part in ("sums of gradients", "optimizer")}
    notes = (
        "Device time and shares are those of the forward pass, as in the source's figure 8. They depend on how many groups a "
        f"device has, which the source does not say: the rows above are of two; {other}.",
        "Rows with a quarter of the tokens a device are about twice as fast as published: by the paper's own rows, a step has "
        "parts of a tenth of a second and more that depend on no tokens, which are not in the model. They are not sums of gradients, "
        f"nor the optimizer: with 2048 experts and 36 layers these take {rest['sums of gradients']:.0f} and {rest['optimizer']:.0f} ms of a step.",
    )
    return Table(made["title"], made["source"], made["assumed"], rows, bars, notes)


TABLES: dict[str, Callable[[], Table]] = {
    "gshard": gshard, "exchange": exchange, "deepseek": deepseek, "memory": memory, "pairs": pairs, "folding": folding, "scaling": scaling,
}  # fmt: skip

_HEAD = """# Simulated beside published

{figures}

Every figure called simulated is: none was measured by us, and nothing ran on these machines. Programs are Shoal's, of the models'
layers, partitioned and compiled for GPUs, attention as one kernel but in GShard's ([Machines.md](../guide/Machines.md)); the machines' files say what
each of their numbers is from. They are calibrated on products' and exchanges' figures alone (arXiv 2504.14960, table 2; DeepEP's README; the rows
of EP 8 of arXiv 2603.07685, table 7), and the TPU's, whose links' share and time of a message are fitted to GShard's share of exchanges with 128
experts and to its all-to-all that is 9 times as slow: these two rows are no test. All others are held out, and no constant is fitted to them.
Misses stand among the rest. Jitter, uneven experts and a framework's own time are in none of them.
`python -m shoal tables` writes this page; configurations are in `python/shoal/planning/published`.
"""


def _figures() -> str:
    """Which tree the figures are of, as pages of results say it."""
    try:
        git = ["git", "-C", str(FOLDER), "rev-parse", "--short=10", "HEAD"]
        commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = "0000000000"
    return f'<!-- figures: {commit}, hours: "$SHOAL_PYTHON" -m shoal tables --output docs/results/Simulation.md -->'


def main(words: Sequence[str]) -> int:
    """The status of a process."""
    parser = argparse.ArgumentParser(prog="shoal tables", description="Published tables of training, simulated beside their figures.")
    parser.add_argument("names", nargs="*", metavar="TABLE", help=f"some of {', '.join(TABLES)} (default: all)")
    parser.add_argument("--output", metavar="FILE.md", help="write a page of all of them there")
    given = parser.parse_args(words)
    try:
        made = [_made(name) for name in given.names or TABLES]
    except ShoalError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    page = "\n".join([_HEAD.replace("{figures}", _figures()), *(f"{table}\n" for table in made)])
    if given.output:
        Path(given.output).write_text(page, encoding="utf-8")
    print(page)
    return 0


def _made(name: str) -> Table:
    if name not in TABLES:
        raise InputError(f'tables: "{name}" is not one of {[*TABLES]}')
    print(name, file=sys.stderr, flush=True)
    return TABLES[name]()
