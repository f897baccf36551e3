# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The loop around a step."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from shoal.checkpoints import Series
from shoal.data import Batches, Reader
from shoal.errors import InputError, RunError
from shoal.laws import CALLABLE, COUNT, SIZE, TEXT, Law, check_arguments, instance_of, list_of, or_none
from shoal.train.finiteness import check_finite
from shoal.train.processes import is_first, job_of, largest_of
from shoal.train.progress import Progress
from shoal.train.state import TrainState
from shoal.train.stopping import StopSignals, end_with

__all__ = ["fit"]

Tree = Any
Step = Callable[[TrainState, Tree], tuple[TrainState, Mapping[str, Any]]]
Log = Callable[[int, Mapping[str, Any]], None]
_STATE = Law("a TrainState, or what else has a step", lambda x: hasattr(x, "step"))
_BATCHES = instance_of(Batches, Iterable, what="shoal.data.Batches or an iterable of batches")
_LOGS = Law("a list of functions of (step, values)", lambda x: isinstance(x, Sequence) and all(map(callable, x)))


def fit(
    step: Step,
    state: TrainState,
    batches: Batches | Iterable[Tree],
    steps: int,
    *,
    tokens: int | None = None,
    log: Sequence[Log] = (),
    log_every: int = 10,
    evaluate: Callable[[TrainState], Mapping[str, Any]] | None = None,
    evaluate_every: int = 0,
    save: Callable[[TrainState], None] | None = None,
    save_every: int = 0,
    finite: Sequence[str] = ("loss", "grad_norm"),
    quiet: bool = False,
) -> TrainState:
    """Steps from the state's number on, until `steps` are done or the batches end.

    step: `shoal.jit` of `train.step`, or any function of that form; it may take the state's
      memory. batches: begin behind the state's `samples`, which the step counts; at the number of
      its step where it has None. An iterable that is no `Batches` begins as it does.
    tokens: of a batch; then "tokens/s" is shown and logged.
    log: functions of (step, values), called each `log_every` steps and at the end with the
      step's metrics and "step_ms", and with what `evaluate` returns: `JsonLines`,
      `TensorBoard`. What they have open is closed.
    evaluate, save: functions of the state, called each so many steps and at the end; 0: at
      the end alone. A `checkpoints.Series` as `save` is polled behind each step, and waited for
      at the end. A state that is not finite is not saved: the run ends by a RunError.
    finite: metrics that end the run with a RunError where they are NaN or infinite, which names step
      and metric; those that a step does not have are left out. They are looked at where the step is
      logged or to be saved, in front of the state, so that none behind one is. Steps with a metric "skipped" are let be: their
      optimiser leaves out what is not finite. (): the run goes on.
    quiet: shows nothing.

    A signal of `StopSignals` ends the loop behind the step, which is saved and logged; the
    state's number says then that steps are missing, stderr where the state is, and the process ends with 128 + the
    signal where it would end with 0. In an MPI job every rank runs this, all end behind
    the same step, and the first one shows and logs.
    """
    check_arguments(
        "fit", steps=(steps, SIZE), step=(step, CALLABLE), state=(state, _STATE), batches=(batches, _BATCHES),
        tokens=(tokens, or_none(SIZE)), log=(log, _LOGS), log_every=(log_every, SIZE),
        evaluate=(evaluate, or_none(CALLABLE)), evaluate_every=(evaluate_every, COUNT),
        save=(save, or_none(CALLABLE)), save_every=(save_every, COUNT), finite=(finite, list_of(TEXT)),
    )  # fmt: skip
    run = _Run(int(state.step), steps, tokens, log, quiet)
    metrics: Mapping[str, Any] = {}

    def look(logs: bool, evaluates: bool, saves: bool) -> None:
        saves = saves and save is not None
        if logs or saves:
            names = [name for name in finite if name in metrics and "skipped" not in metrics]
            values = run.report(metrics) if logs else host_values({name: metrics[name] for name in names})
            _check(run, {name: values[name] for name in names}, state if saves else None, save)
        if evaluate and evaluates:
            run.tell(evaluate(state))
        if save and saves:
            save(state)
            run.restart_clock()

    with ExitStack() as stack:
        stop = stack.enter_context(StopSignals(quiet=quiet))
        signaled = 0
        stack.callback(run.close)
        source = _from(batches, state, steps, stack)
        for batch in source:
            state, metrics = step(state, batch)
            run.advance(state)
            if run.is_first_step:
                _check_counted(state, source)
            if isinstance(save, Series):
                save.poll()
            signaled = largest_of(run.job, stop.number)
            if signaled or run.done >= steps:
                break
            look(*(_is_due(run.done, every) for every in (log_every, evaluate_every, save_every)))
        if metrics:
            look(True, True, True)
        if isinstance(save, Series):
            save.wait()
        cut = signaled if run.done < steps else 0
        if cut:
            run.say_cut(cut, save)
        end_with(cut)
    return state


def _check(
    run: _Run, values: Mapping[str, Any], state: TrainState | None, save: Callable[[TrainState], None] | None
) -> None:
    """RunError where these metrics are not finite, or the state, if it is to be saved; all ranks are here."""
    try:
        run.check(values)
        if state is not None:
            check_finite(state)
    except RunError:
        if isinstance(save, Series):
            save.wait()  # for what is under way, the last good one
        raise


class _Run:
    """What a loop counts, shows and logs."""

    def __init__(self, begin: int, steps: int, tokens: int | None, log: Sequence[Log], quiet: bool):
        self.done = begin
        self.job: Any = None
        self._begin = begin
        self._last_finite = begin
        self._steps = steps
        self._tokens = tokens
        self._log = log
        self._quiet = quiet
        self._progress: Progress | None = None
        self._is_first = False
        self._since, self._timed = 0.0, 0

    def advance(self, state: TrainState) -> None:
        """A step is done."""
        self.done += 1
        self._timed += 1
        if self.is_first_step:
            self._start(state)
        if self._progress:
            self._progress.advance()

    @property
    def is_first_step(self) -> bool:
        """Whether one step is done."""
        return self.done == self._begin + 1

    def _start(self, state: TrainState) -> None:
        """Behind the first step, which compiles and is not timed."""
        self.job = job_of(state)
        self._is_first = is_first(self.job)
        if self._is_first and not self._quiet:
            self._progress = Progress(self._begin, self._steps)
        self.restart_clock()

    def restart_clock(self) -> None:
        self._since, self._timed = time.perf_counter(), 0

    def report(self, metrics: Mapping[str, Any]) -> dict[str, Any]:
        """The metrics of the last step, told with the mean time of those since the last report."""
        seconds, timed = time.perf_counter() - self._since, self._timed
        values = host_values(metrics)  # of all ranks
        times = {}
        if timed:
            times["step_ms"] = 1e3 * seconds / timed
            if self._tokens is not None:
                times["tokens/s"] = self._tokens * timed / seconds
        self.tell(values | times)
        return values

    def check(self, values: Mapping[str, Any]) -> None:
        """RunError where these metrics of the last step are not finite."""
        wrong = [f"{name} is {value}" for name, value in values.items() if not np.isfinite(value).all()]
        if wrong:
            raise RunError(
                f"fit: step {self.done}: {' and '.join(wrong)}; nothing was looked at or saved since step "
                f"{self._last_finite}. shoal.jit(check_finite=True) names the op, optim.apply_if_finite leaves such "
                "steps out, finite=() goes on"
            )
        self._last_finite = self.done

    def tell(self, values: Mapping[str, Any]) -> None:
        values = host_values(values)
        if self._is_first:
            for log in self._log:
                log(self.done, values)
        if self._progress:
            self._progress.show(self.done, values)
        self.restart_clock()

    def say_cut(self, number: int, save: Any) -> None:
        """That a signal has ended the run, and where its state is."""
        if not self._is_first or self._quiet:
            return
        where = "save= was called with it" if save else "what fit returns, and nowhere else, without save="
        if isinstance(save, Series):
            where = str(save.folder(self.done))
        print(
            f"shoal: {signal.Signals(number).name}: stopped behind step {self.done} of {self._steps}; its state: {where}",
            file=sys.stderr,
            flush=True,
        )

    def close(self) -> None:
        if self._progress:
            self._progress.close()
        for log in self._log:
            if hasattr(log, "close"):
                log.close()


def host_values(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers, and lists of them where a metric is no scalar; collective in a job."""
    return {name: np.asarray(value).tolist() for name, value in metrics.items()}


def _from(
    batches: Batches | Iterable[Tree], state: TrainState, steps: int, stack: ExitStack
) -> Iterator[Tree]:
    """The batches that are left; none where all steps are done."""
    begin = int(state.step)
    if begin >= steps:
        return iter(())
    if not isinstance(batches, Batches):
        return iter(batches)
    counted = getattr(state, "samples", None)
    by_steps = begin * batches.batch_size
    samples = by_steps if counted is None else int(counted)
    if batches.last != "rollover" and samples != by_steps:
        raise InputError(
            f'fit: {samples} samples are behind {begin} steps, but batches are of {batches.batch_size}, and '
            f'last="{batches.last}" depends on the batch size: last="rollover" goes on with any'
        )
    return stack.enter_context(batches.start(samples=samples))


def _check_counted(state: TrainState, source: Iterator[Tree]) -> None:
    """InputError where the step does not count what it takes: a run that goes on would take it again."""
    counted = getattr(state, "samples", None)
    if isinstance(source, Reader) and counted is not None and int(counted) != source.position:
        raise InputError(
            f"fit: step: {source.position} samples are behind it, but its state says {int(counted)}: count the rows "
            "of batches, or let the state's samples be None"
        )


def _is_due(done: int, every: int) -> bool:
    return every > 0 and done % every == 0
