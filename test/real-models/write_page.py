# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/results/RealModels.md, from what a run has measured, and the bars that programs are held to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from examine import ROOT, Outcome, source_of_figures

PATH = ROOT / "docs/results/RealModels.md"
REQUIREMENTS = Path(__file__).resolve().parent / "requirements.txt"
FLOPS_BAR = 1.1

_LOSS = "the loss's terms are computed once, by all 8 devices, whose sum takes 7 bytes; XLA computes each twice, 6 bytes"

# Why a program misses a bar, where more is known than its row says.
REASONS = {
    ("bytes", f"optax_{name}_step_2d"): _LOSS for name in ("accumulated", "lion", "sgd_with_momentum")
} | {
    ("bytes", "optax_adafactor_step_2d"): "six norms and the loss are sums over all 8 devices, 7 bytes each, as what is"
    " summed is computed once; XLA computes it 4 times and sums six over the 2 of \"model\", 4 bytes, one over \"data\"",
    ("bytes", "transformers_bert_step_2d"): "in 5 collectives, to which reductions are combined; a plan with 15 sends 102755. By the prices"
    " of the search, which count each reduction's 4000 bytes of latency apart, that one is 4.6 % cheaper, and the search does not find it",
    ("flops", "optax_muon_step_2d"): "gradients are sums over \"data\", so nothing says how to split the iteration on them over it;"
    " in 16 collectives, at 4000 bytes each and 10 operations a byte, the plan costs 142821 bytes, and `--certify` proves that none"
    " costs less than 140143",
    ("peak", "equinox_gru_forward"): "weights are gathered before the loop;"
    " XLA sends four times as much in the loop and never holds them whole",
    ("peak", "numpyro_coupling_flow_step"): "2504 bytes of results below 1 KiB, in whose memory nothing lies before",
}

_HEAD = """# Models of JAX's libraries

{source}

Written by `test/real-models/run.sh --write-docs`; {count} programs of {libraries} libraries, which are installed from PyPI for the
run: {versions}.

Each model is small and has the mesh of 8 devices that its kind of program names: `step` is a training step (loss, gradients,
an optimiser of optax; AdamW where the name does not say) whose batch is split over one axis; `step_2d` the same, and `forward`
the model's output, over a mesh data=4 model=2 with weights split over "model" as is usual (columns of what widens, rows of what
narrows, heads of attention). They are imported, partitioned with default settings, run on 8 devices by `shoal-run`, {mpi} also under
`mpirun -n 8`, and compared with JAX on one device; {passed} of {count} agree. Results are compared as in
[JAX-conformance.md](JAX-conformance.md), relative to the largest element: 1e-4 forward, 5e-4 in steps.

| bar | holds for |
|---|--:|
{bars}

**FLOPs** are those of products (einsums, convolutions), of all devices over the whole program's: 1 is an even split, 8 is every device doing all. XLA's are
those of `dot` and `convolution` in its optimised HLO over the same of its program for one device. **Bytes** are what a device
sends in one run, counted for both as in [JAX-conformance.md](JAX-conformance.md); they are held against XLA's where FLOPs are
within a tenth of XLA's, as a plan that multiplies more may send anything. **Peak** is what a device holds at most:
`peak_bytes_per_device` of `shoalc --stats`; arguments, results and temporaries of XLA's `memory_analysis()`, less what it aliases.
Figures that miss their bar are bold.
"""


def write(outcomes: Sequence[Outcome]) -> None:
    """The page for the outcomes of a whole run, measured with XLA."""
    PATH.write_text(_head(outcomes) + _misses(outcomes) + _table(outcomes))


def missed(outcomes: Sequence[Outcome]) -> list[str]:
    """A line for each bar that a program misses."""
    return [
        f"{outcome.name}: {bar}: {_figures(bar, outcome)}"
        for bar in _BARS
        for outcome in outcomes
        if _misses_bar(bar, outcome)
    ]


def _same_flops(outcome: Outcome) -> bool:
    ours, xla = outcome.flops_ratio, outcome.flops_ratio_xla
    return ours is None or xla is None or abs(ours - xla) <= 0.1 * xla


def _bytes_hold(outcome: Outcome) -> bool | None:
    if outcome.bytes_xla is None or not _same_flops(outcome):
        return None
    return outcome.bytes_ours <= outcome.bytes_xla


def _peak_holds(outcome: Outcome) -> bool | None:
    return None if outcome.peak_xla is None else outcome.peak <= outcome.peak_xla


def _flops_hold(outcome: Outcome) -> bool | None:
    return None if outcome.flops_ratio is None else outcome.flops_ratio <= FLOPS_BAR


# None: the bar says nothing of the program.
_BARS: dict[str, Callable[[Outcome], bool | None]] = {
    "flops": _flops_hold,
    "bytes": _bytes_hold,
    "peak": _peak_holds,
}
_TEXTS = {
    "flops": f"FLOPs at most {FLOPS_BAR} of an even split",
    "bytes": "bytes at most XLA's, where both multiply as much",
    "peak": "peak memory at most XLA's",
}


def _misses_bar(bar: str, outcome: Outcome) -> bool:
    return outcome.status == "passed" and _BARS[bar](outcome) is False


def _figures(bar: str, outcome: Outcome) -> str:
    if bar == "flops":
        return f"{outcome.flops_ratio:.2f} > {FLOPS_BAR}"
    ours, xla = _pair(bar, outcome)
    return f"{ours} > {xla} ({_ratio(ours, xla)})"


def _pair(bar: str, outcome: Outcome) -> tuple[int | None, int | None]:
    if bar == "bytes":
        return outcome.bytes_ours, outcome.bytes_xla
    return outcome.peak, outcome.peak_xla


def _ratio(ours: int | None, xla: int | None) -> str:
    return "" if ours is None or not xla else f"{ours / xla:.2f}"


def _head(outcomes: Sequence[Outcome]) -> str:
    passed = [outcome for outcome in outcomes if outcome.status == "passed"]
    bars = [f"| values as JAX's on one device | {len(passed)} of {len(outcomes)} |"]
    for bar, holds in _BARS.items():
        held = [held for outcome in passed if (held := holds(outcome)) is not None]
        bars.append(f"| {_TEXTS[bar]} | {sum(held)} of {len(held)} |")
    versions = _versions()
    return _HEAD.format(
        source=source_of_figures('test/real-models/run.sh --write-docs'),
        count=len(outcomes),
        libraries=len(versions),
        versions=", ".join(versions),
        mpi=sum(outcome.ran_under_mpi for outcome in outcomes),
        passed=len(passed),
        bars="\n".join(bars),
    )


def _versions() -> list[str]:
    """The first paragraph of the requirements: the models' libraries."""
    lines = REQUIREMENTS.read_text().split("\n\n")[0].splitlines()
    return [line.replace("==", " ") for line in lines if not line.startswith("#")]


def _misses(outcomes: Sequence[Outcome]) -> str:
    lines = ["", "## Misses", ""]
    for outcome in outcomes:
        if outcome.status != "passed":
            lines.append(f"* {outcome.name} {outcome.status}: {' '.join(outcome.why.split())[:300]}")
    for bar, text in _TEXTS.items():
        names = [_with_reason(bar, outcome) for outcome in outcomes if _misses_bar(bar, outcome)]
        lines.append(f"* {text}: {'; '.join(names) or 'none'}.")
    return "\n".join(lines) + "\n"


def _with_reason(bar: str, outcome: Outcome) -> str:
    reason = REASONS.get((bar, outcome.name))
    figures = _figures(bar, outcome).split(" (")[0]
    return f"{outcome.name} {figures}" + (f" ({reason.rstrip('.')})" if reason else "")


def _table(outcomes: Sequence[Outcome]) -> str:
    lines = ["", "## All programs", ""]
    for family in sorted({outcome.family for outcome in outcomes}):
        lines += [
            f"### {family}",
            "",
            "| program | FLOPs | XLA's | bytes | XLA's | ratio | peak | XLA's | ratio |",
            "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
        ]
        lines += [_row(outcome) for outcome in outcomes if outcome.family == family]
        lines.append("")
    return "\n".join(lines)


def _row(outcome: Outcome) -> str:
    name = outcome.name.removeprefix(f"{outcome.family}_")
    if outcome.status != "passed":
        return f"| {name} | **{outcome.status}** | | | | | | | |"
    flops = "" if outcome.flops_ratio is None else f"{outcome.flops_ratio:.2f}"
    cells = [_bold(flops, "flops", outcome)]
    cells.append("" if outcome.flops_ratio_xla is None else f"{outcome.flops_ratio_xla:.2f}")
    for bar in ("bytes", "peak"):
        ours, xla = _pair(bar, outcome)
        cells += [str(ours), "" if xla is None else str(xla), _bold(_ratio(ours, xla), bar, outcome)]
    return f"| {name} | {' | '.join(cells)} |"


def _bold(text: str, bar: str, outcome: Outcome) -> str:
    return f"**{text}**" if _misses_bar(bar, outcome) else text
