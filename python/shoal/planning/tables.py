# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Published tables simulated beside their figures: `python -m shoal tables`. Configurations are in the folder
`published`, with their sources and what had to be assumed."""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import InputError, ShoalError
from shoal.models.config import ModelConfig
from shoal.models.families import made_of, read_config
from shoal.moe.reach import expected_places
from shoal.planning.exchanges import CHUNK
from shoal.planning.gshard_table import gshard
from shoal.planning.job import Plan, forecast_of
from shoal.planning.mapping import Mapping
from shoal.planning.memory import around_bytes
from shoal.planning.programs import Setting
from shoal.planning.published_table import FOLDER, Bar, Table, off_by, percent, read, within
from shoal.planning.schedule import in_flight
from shoal.simulation.machines import Machine

__all__ = ["TABLES", "main", "model_of"]


def model_of(name: str) -> ModelConfig:
    """A model of the tables."""
    made = read("models")["models"][name]
    file, place = read_config(made["config"])
    file = {**file, **made.get("fields", {})}
    return made_of(file, {"moe_token_dispatcher_type": "alltoall"}, place).config


def _plan(model: str, machine: str, mapping: dict[str, Any], **fields: Any) -> Plan:
    print(f"  {model}: {mapping}", file=sys.stderr, flush=True)
    return forecast_of(model_of(model), Machine.read(machine), Mapping(**{**mapping, **fields}))


def exchange() -> Table:
    """Expert exchange alone: prices of collectives, no program."""
    made = read("exchange")
    head = ["exchange, EP"] + [f"{c}, {what}" for c in made["columns"] for what in ("simulated", "published", "off")]
    rows, offs = [head], []
    for name, ep, *published in made["rows"]:
        row = [f"{name} {ep}"]
        for column, figure in zip(made["columns"], published):
            simulated = 1e6 * _exchange(made, column, ep)
            row += [f"{simulated:.0f}", str(figure), percent(off_by(simulated, figure))]
            offs += [off_by(simulated, figure)] if ep > 8 else []
        rows.append(row)
    notes = (
        "Times are us. Machine files are calibrated on the rows of EP 8, which do not count.",
        "Tokens' weights do not count, of which the source says nothing: the branch that has the hybrid exchange sends 4 bytes for each "
        "expert of a node beside each token, but home, 7 % more on GB200, whose dispatches with EP 32 and 64 would be 21 and 27 % too slow. "
        "Why H100 combines with EP 16 more slowly than it dispatches is not found: bytes are the same, and with EP 32 and 64 times are, too.",
    )
    return Table(made["title"], made["source"], made["assumed"], rows, [Bar("within 20 %, rows not calibrated on", within(offs, 0.2), len(offs))], notes)


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
    made = read("deepseek")
    rows, offs = [["what", "simulated", "published", "off"]], []
    for dispatch, name in (("alltoall", "rows at once"), ("flex", "rows once to a node")):
        plan = _plan(made["model"], made["machine"], made["mapping"], dispatch=dispatch)
        offs.append(off_by(plan.seconds, made["seconds"]))
        rows.append([f"seconds of a step, {name}", f"{plan.seconds:.2f}", str(made["seconds"]), percent(offs[-1])])
        rows += [[f"of it {part}", f"{seconds:.2f}", "", ""] for part, seconds in plan.parts.items()]
        rows.append(["exposed communication", f"{plan.exposed:.2f}", "", ""])
    return Table(made["title"], made["source"], made["assumed"], rows, [Bar("within 20 %", within(offs, 0.2), len(offs))])


def memory() -> Table:
    """Of a device, by part."""
    made = read("memory")
    plan = _plan(made["model"], made["machine"], made["mapping"])
    held, around = plan.memory, around_bytes(Setting(plan.config, plan.mapping))
    weights = held.weights + held.gradients - around[0] - around[1]
    activations = held.activations * in_flight(plan.mapping, made["stage"]) / in_flight(plan.mapping)
    simulated = (weights, held.optimizer - around[2], activations)
    rows, offs = [["part", "simulated, GB", "published, GB", "off"]], []
    for (part, published), found in zip(made["parts"].items(), simulated):
        offs.append(off_by(found / 1e9, published))
        rows.append([part, f"{found / 1e9:.1f}", str(published), percent(offs[-1])])
    note = (
        f"Activations are those of stage {made['stage'] + 1}: by what the source saves of rows that a router weighs, 26.3 GB, and "
        "of queries, keys and values, 30.4 GB, they are those of 56 layers and micro-batches, which the third of four stages holds."
    )
    return Table(made["title"], made["source"], made["assumed"], rows, [Bar("within 15 %", within(offs, 0.15), len(offs))], (note,))


def _tau(pairs: Sequence[tuple[float, float]]) -> float:
    """Kendall's."""
    signs = [
        math.copysign(1, (a[0] - b[0]) * (a[1] - b[1])) for place, a in enumerate(pairs) for b in pairs[:place]
    ]
    return sum(signs) / len(signs) if signs else 1.0


def _narrow_sums(made: dict[str, Any], found: list[tuple[dict[str, Any], Plan]], factor: float) -> str:
    """How far rows of FSDP without EP are off with sums in bfloat16."""
    offs = [
        off_by(100 * _plan(row["model"], made["machine"], row["mapping"], sum_type="bf16").mfu * factor, row["mfu"])
        for row, _ in found
        if row["method"] == "FSDP" and row["mfu"] is not None
    ]
    return ", ".join(percent(off) for off in offs)


def folding() -> Table:
    """MFU of mappings."""
    made = read("folding")
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
            "" if published is None else percent(off_by(scaled, published)),
            f"{plan.memory.total / 1e9:.0f}", f"{again.memory.total / 1e9:.0f}{'' if fits else ', too much'}",
        ])  # fmt: skip
    bars = [Bar("MCore rows within 15 % with the factor", within([off_by(100 * p.mfu * factor, r["mfu"]) for r, p in megatron], 0.15), len(megatron))]
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
    made = read("scaling")
    rows, offs = [["model, devices", "MFU simulated", "to the fewest", "published", "to the fewest", "off"]], []
    for row in made["rows"]:
        first: tuple[float, float] | None = None
        for devices, published in row["mfu"].items():
            mfu = _plan(row["model"], made["machine"], row["mapping"], devices=int(devices)).mfu
            first = first or (mfu, published)
            ratio, wanted = mfu / first[0], published / first[1]
            is_first = first == (mfu, published)
            offs += [] if is_first else [off_by(ratio, wanted)]
            off = "" if is_first else percent(offs[-1])
            rows.append([f"{row['model']}, {devices}", f"{100 * mfu:.1f}", f"{ratio:.3f}", str(published), f"{wanted:.3f}", off])
    return Table(made["title"], made["source"], made["assumed"], rows, [Bar("within 5 %", within(offs, 0.05), len(offs), len(offs) - 1)])


def pairs() -> Table:
    """Two mappings of one model, the second over the first."""
    made = read("pairs")
    rows, found = [["model, machine", "simulated", "published", "off"]], []
    for row in made["rows"]:
        before, after = (_plan(row["model"], row["machine"], row[side]) for side in ("before", "after"))
        ratio = after.flops / before.flops
        found.append((ratio, row["ratio"]))
        rows.append([f"{row['model']}, {row['machine']}", f"{ratio:.2f}x", f"{row['ratio']:.2f}x", percent(off_by(*found[-1]))])
    signs = sum((ratio >= 1) == (wanted >= 1) for ratio, wanted in found)
    bars = [Bar("faster or slower", signs, len(found)), Bar("within 15 %", within([off_by(*each) for each in found], 0.15), len(found), 4)]
    return Table(made["title"], made["source"], made["assumed"], rows, bars)


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
        if given.output:
            _check_writable(Path(given.output))
        made = [_made(name) for name in given.names or TABLES]
    except ShoalError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    page = "\n".join([_HEAD.replace("{figures}", _figures()), *(f"{table}\n" for table in made)])
    if given.output:
        Path(given.output).write_text(page, encoding="utf-8")
    print(page)
    return 0


def _check_writable(page: Path) -> None:
    """InputError before hours of simulation."""
    if page.is_dir() or not os.access(page if page.exists() else page.parent, os.W_OK):
        raise InputError(f"tables: cannot write {page}")


def _made(name: str) -> Table:
    if name not in TABLES:
        raise InputError(f'tables: "{name}" is not one of {[*TABLES]}')
    print(name, file=sys.stderr, flush=True)
    return TABLES[name]()
