# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/results/JAX-conformance.md, from what a run has measured."""

from __future__ import annotations

from collections.abc import Sequence

from examine import ROOT, Outcome, source_of_figures

PATH = ROOT / "docs/results/JAX-conformance.md"

# Why a program sends more than XLA's does, for those that do.
REASONS = {
    "while_of_data": "How often the loop runs is unknown, and counts once: XLA sends 7 bytes each time it looks whether to go"
    " on. Shoal guesses 10 trips: it gathers 56 bytes before the loop and sends nothing in it.",
    "scale_of_whole_weights": "Each device looks for the largest of an eighth of the weights, which it holds whole, and sends what it"
    " found: 7 bytes instead of the other seven eighths of the work, which at 1,000 operations a byte weigh more.",
}

_HEAD = """# JAX programs: numbers and bytes

{source}

Written by `test/conformance/conformance.py --write-docs`; {count} programs of JAX, {passed} of which pass.
Each is lowered by JAX {jax} with its in- and out-shardings over a mesh of one to three axes and 8 devices, imported,
partitioned and run on 8 devices by `shoal-run`, {mpi} of them also under `mpirun -n 8`, and compared with JAX on one device: integers
are equal, floats agree relative to a result's largest element (f32 2e-5, f64 1e-10, f16 4e-3, bf16 2e-2, f8 one rounding;
programs of many sums say more in their files). Unsupported ops: {unsupported}.

**Bytes** are what a device sends in one run, in the model of `shoalc --stats` (an all_gather sends (p - 1) / p of its output, a
reduce_scatter that of its input, an all_reduce twice as much, an all_to_all (p - 1) / p of what a device holds, a
collective_permute all of it); for XLA the same, of the collectives in the optimised HLO of
`jax.jit(...).lower(...).compile()` on 8 CPU devices with the same mesh. A loop counts as often as its trip count says, once where
that is unknown. Where a program says nothing of a result's sharding, each partitioner chooses; XLA's CPU backend reduces bf16 as
f32, which doubles its bytes. `--flops-per-byte=1000 --repeat-margin=1` makes bytes count for Shoal more than on any CPU.

On {fewer} programs Shoal sends less than XLA, on {equal} the same, on {more} more:
"""


def write(outcomes: Sequence[Outcome]) -> None:
    """The page for the outcomes of a whole run, measured with XLA."""
    PATH.write_text(_head(outcomes) + _exceptions(outcomes) + _table(outcomes))


def missed(outcomes: Sequence[Outcome]) -> list[str]:
    """No bar fails the run: where more bytes are sent than by XLA, the page says why."""
    return []


def _head(outcomes: Sequence[Outcome]) -> str:
    import jax

    measured = [o for o in outcomes if o.bytes_xla is not None and o.status == "passed"]
    return _HEAD.format(
        source=source_of_figures('"$SHOAL_PYTHON" test/conformance/conformance.py --write-docs'),
        count=len(outcomes),
        passed=sum(o.status == "passed" for o in outcomes),
        jax=jax.__version__,
        mpi=sum(o.ran_under_mpi for o in outcomes),
        unsupported=", ".join(o.name for o in outcomes if o.status == "unsupported") or "none",
        fewer=sum(o.bytes_ours < o.bytes_xla for o in measured),
        equal=sum(o.bytes_ours == o.bytes_xla for o in measured),
        more=sum(o.bytes_ours > o.bytes_xla for o in measured),
    )


def _exceptions(outcomes: Sequence[Outcome]) -> str:
    lines = ["", "| program | Shoal | XLA | why |", "|---|--:|--:|---|"]
    for outcome in outcomes:
        if outcome.bytes_xla is not None and outcome.bytes_ours > outcome.bytes_xla:
            reason = REASONS.get(outcome.name, "not explained")
            numbers = f"{outcome.bytes_ours} | {outcome.bytes_xla}"
            lines.append(f"| {outcome.name} | {numbers} | {reason} |")
    return "\n".join(lines) + "\n" if len(lines) > 3 else "none.\n"


def _table(outcomes: Sequence[Outcome]) -> str:
    lines = ["", "## All programs", ""]
    for family in sorted({outcome.family for outcome in outcomes}):
        lines += [f"### {family}", "", "| program | Shoal | XLA | ratio |", "|---|--:|--:|--:|"]
        lines += [_row(outcome) for outcome in outcomes if outcome.family == family]
        lines.append("")
    return "\n".join(lines)


def _row(outcome: Outcome) -> str:
    if outcome.status != "passed":
        return f"| {outcome.name} | {outcome.status} | | |"
    ours, xla = outcome.bytes_ours, outcome.bytes_xla
    ratio = "" if not xla else f"{ours / xla:.2f}"
    return f"| {outcome.name} | {ours} | {'' if xla is None else xla} | {ratio} |"
