# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checkpoints of a run: a folder for each step that was saved."""

from __future__ import annotations

import atexit
import operator
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from shoal.checkpoints import manifest as manifests
from shoal.checkpoints.loading import load
from shoal.checkpoints.names import named_leaves
from shoal.checkpoints.ranks import Ranks, portable, ranks_of, ranks_with
from shoal.checkpoints.saving import Save, remove
from shoal.checkpoints.snapshot import Copies, Plans
from shoal.devices import devices_of
from shoal.errors import CheckpointError, CheckpointWarning, InputError
from shoal.laws import FLAG, PATH, SIZE, check_arguments, or_none
from shoal.mesh import Mesh

Tree = Any


# In which another run saves and removes between any two looks.
_LISTINGS = 100


class _Saved(NamedTuple):
    """mark: of the manifest, another one where the step is saved again."""

    step: int
    mark: tuple[int, int, int]


class Series:
    """Saves states by their steps, finds the newest whole one, removes those that are not kept.

    As a function of a state it is what `shoal.train.fit` saves by. In an MPI job all methods but
    `steps` and `folder` are collective.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        keep_last: int | None = None,
        keep_every: int | None = None,
        asynchronous: bool = False,
    ):
        """keep_last: how many of the newest are kept; None: all.
        keep_every: those are kept, too, whose step is a multiple of it.
        asynchronous: `save` returns when what is to be written is copied. Only one save is
          under way, and one copy is there.
        """
        check_arguments(
            "Series", root=(root, PATH), keep_last=(keep_last, or_none(SIZE)), keep_every=(keep_every, or_none(SIZE)),
            asynchronous=(asynchronous, FLAG),
        )  # fmt: skip
        # Of the folder that was meant, should the process go to another one.
        self.root = Path(os.path.abspath(root))
        self._keep_last = keep_last
        self._keep_every = keep_every
        self._plans = Plans()
        self._copies = Copies() if asynchronous else None
        self._pending: _Pending | None = None

    def folder(self, step: int) -> Path:
        """Where the checkpoint of a step is, or would be."""
        return self.root / f"step-{step:08}"

    def steps(self) -> list[int]:
        """Those that are saved, the oldest first. Folders without a manifest are none.

        OSError where the root is there but cannot be read: it may have some."""
        return [saved.step for saved in self._saved()]

    def _saved(self) -> list[_Saved]:
        """The oldest first. Another run may save and remove meanwhile: where one that is listed has
        no manifest it may just have gone, for one that is not listed yet, and all are listed again
        until nothing is new."""
        before = None
        for _ in range(_LISTINGS):
            folders = sorted(self._folders())
            marks = [(step, _mark(folder)) for step, folder in folders]
            if marks == before or all(mark is not None for _, mark in marks):
                break
            before = marks
        return [_Saved(step, mark) for step, mark in marks if mark is not None]

    def _folders(self) -> list[tuple[int, Path]]:
        """Of steps, also those that are not whole."""
        try:
            names = os.listdir(self.root)
        except FileNotFoundError:
            return []
        matches = (re.fullmatch(r"step-(\d{8,})", name) for name in names)
        return [(int(match[1]), self.root / match[0]) for match in matches if match]

    def __call__(self, state: Any) -> None:
        """Saves a state by its own `step`."""
        self.save(int(state.step), state)

    def save(self, step: int, tree: Tree, metadata: Mapping[str, Any] | None = None) -> None:
        """As `checkpoints.save`; "step" is added to the metadata.

        Where it is asynchronous, errors of the save before are raised here.
        """
        step = _checked(step)
        self.wait()
        content = {"step": step, **(metadata or {})}
        saving = Save(self.folder(step), tree, content, self._plans, self._copies)
        self._pending = _Pending(saving, lambda: self._prune(step), self._copies is not None)
        if self._copies is None:
            self.wait()

    def poll(self) -> bool:
        """Whether nothing is under way. Takes no time, where other threads are still writing; raises
        what they met."""
        if self._pending is None:
            return True
        return self._advance(waits=False)

    def wait(self) -> None:
        """Until nothing is under way."""
        if self._pending is not None:
            self._advance(waits=True)

    def _advance(self, *, waits: bool) -> bool:
        assert self._pending is not None
        try:
            is_done = self._pending.advance(waits)
        except BaseException:
            self._pending = None
            raise
        if is_done:
            self._pending = None
        return is_done

    def load(
        self, like: Tree, *, mesh: Mesh | None = None, sharding: Any = None, strict: bool = True
    ) -> Tree:
        """The newest whole state, as `checkpoints.load` loads it; `like` where there is none.

        What is damaged is left out with a CheckpointWarning, which names it; CheckpointError where
        all are.
        """
        self.wait()
        ranks = _ranks(like, mesh)
        damaged: dict[_Saved, Exception] = {}
        while (saved := self._newest(ranks, damaged)) is not None:
            state, error = None, None
            try:
                folder = self.folder(saved.step)
                state = load(folder, like, mesh=mesh, sharding=sharding, strict=strict)
            except (CheckpointError, FileNotFoundError) as failed:
                error = failed
            errors = list(filter(None, ranks.all(error and portable(error, ranks.rank))))
            if not errors:
                if ranks.is_first:
                    for error in damaged.values():
                        text = f"{error}; step {saved.step} is taken"
                        warnings.warn(text, CheckpointWarning, stacklevel=2)
                return state
            # Else it has gone while it was read, as another run goes on, or was saved again.
            if _ask_first(ranks, lambda: saved in self._saved()):
                damaged[saved] = errors[0]
        for error in damaged.values():
            raise error
        return like

    def _newest(self, ranks: Ranks, damaged: Collection[_Saved]) -> _Saved | None:
        """Of those that are not known to be damaged; collective."""
        return _ask_first(
            ranks, lambda: next((one for one in reversed(self._saved()) if one not in damaged), None)
        )

    def close(self) -> None:
        """Waits for a save in the background."""
        self.wait()

    def _prune(self, newest: int) -> None:
        """Behind a save: what is not kept, and what is left of others that were cut off."""
        steps = self.steps()
        last = steps if self._keep_last is None else steps[-self._keep_last :]
        every = self._keep_every
        kept = {newest, *last, *(step for step in steps if every and step % every == 0)}
        for step, folder in self._folders():
            if step not in kept:
                remove(folder)


def _checked(step: Any) -> int:
    """InputError where it is no number of a step."""
    try:
        number = operator.index(step)
    except TypeError:
        raise InputError(f"save: step: expected an integer, got {step!r}") from None
    if number < 0:
        raise InputError(f"save: step: expected at least 0, got {number}")
    return number


def _mark(folder: Path) -> tuple[int, int, int] | None:
    """Of its manifest; None where there is none."""
    try:
        found = (folder / manifests.NAME).stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _ask_first(ranks: Ranks, ask: Callable[[], Any]) -> Any:
    """What rank 0 finds, and its error, on all; collective."""
    found, error = None, None
    if ranks.is_first:
        try:
            found = ask()
        except OSError as failed:
            error = failed
    return ranks.all_or_raise(found, error)[0]


def _ranks(like: Tree, mesh: Mesh | None) -> Ranks:
    if mesh is not None:
        return ranks_with(devices_of(mesh.size))
    return ranks_of(leaf for _, leaf in named_leaves(like))


class _Pending:
    """A save under way: this process writes its shards, then, when all have, the first one the
    manifest. A thread does each where it is asynchronous; one alone does both, and waits for no call."""

    def __init__(self, saving: Save, prune: Any, asynchronous: bool):
        self._saving = saving
        self._prune = prune
        self._asynchronous = asynchronous
        self._error: BaseException | None = None
        self._is_committing = saving.ranks.is_alone
        _under_way[self] = None
        self._thread = self._start(self._write_and_commit if self._is_committing else saving.write)

    def advance(self, waits: bool) -> bool:
        """Whether it is done; collective. Raises what was met, and is done then, too."""
        is_done = True
        try:
            is_done = self._advance(waits)
        finally:
            if is_done:
                _under_way.pop(self, None)
        return is_done

    def _advance(self, waits: bool) -> bool:
        for _ in range(2):
            if not self._have_ended(waits):
                return False
            if self._is_committing:
                break
            self._saving.gather()
            self._is_committing = True
            self._thread = self._start(self._commit)
        self._saving.ranks.raise_together(self._error)
        return True

    def _have_ended(self, waits: bool) -> bool:
        """The threads of all ranks; collective."""
        if waits:
            self._thread.join()
        return all(self._saving.ranks.all(not self._thread.is_alive()))

    def _write_and_commit(self) -> None:
        self._saving.write()
        try:
            self._saving.gather()
        except Exception as error:
            self._error = error
            return
        self._commit()

    def _commit(self) -> None:
        try:
            self._saving.commit()
            if self._saving.ranks.is_first:
                self._prune()
        except Exception as error:
            self._error = error

    def _start(self, function: Any) -> threading.Thread:
        thread = threading.Thread(target=function, name="shoal-checkpoint")
        thread.start()
        if not self._asynchronous:
            thread.join()
        return thread

    def end(self) -> None:
        """At the end of the program, of a save that nobody has asked for since: what became of it."""
        self._thread.join()
        if not self._saving.ranks.is_alone:
            what = "is no checkpoint: the program ended without Series.poll, wait or close"
        elif self._error is not None:
            what = f"is no checkpoint: {self._error}"
        else:
            return
        print(f"warning: {self._saving.folder}: {what}", file=sys.stderr, flush=True)


# In the order in which they began.
_under_way: dict[_Pending, None] = {}


def _end_all() -> None:
    for pending in list(_under_way):
        pending.end()


atexit.register(_end_all)
# A child has none of the threads.
os.register_at_fork(after_in_child=_under_way.clear)
