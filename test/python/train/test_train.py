# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shoal.train: steps, the loop around them, what is saved, logged and shown, signals."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from unittest import mock

import numpy as np
import pytest
import train_programs as programs
from paths import PATHS, SUPPORT
from shoal_testing import TARGET, mpi_environment, run

if TARGET != "cpu":
    pytest.skip("pools run programs for CPUs", allow_module_level=True)

import shoal
from shoal import InputError, P, TraceError, data, optim, train



def saved_bytes(folder):
    return (folder / "state.npz").read_bytes()


def lines_of(folder):
    """Without times."""
    lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    return [{k: v for k, v in line.items() if k not in ("step_ms", "tokens/s")} for line in lines]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run of 24 steps."""
    folder = tmp_path_factory.mktemp("whole")
    state, step = programs.run(folder, 24)
    assert int(state.step) == 24
    assert (step.moves, step.cache_size()) == (0, 1)
    return folder


def test_a_run_learns_and_says_so(whole, tmp_path, capsys):
    programs.run(tmp_path, 8)
    shown = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in shown] == ["step 4/8", "step 8/8"]
    assert all(word in shown[1] for word in ("loss 0.", "grad_norm", "step_ms", "tokens/s"))
    lines = lines_of(whole)
    assert [line["step"] for line in lines] == [4, 8, 12, 16, 20, 24]
    assert lines[-1]["loss"] < 0.5 * lines[0]["loss"]


@pytest.mark.parametrize("stops", [[1], [7, 10, 23]])
def test_resumed_is_uninterrupted_bit_by_bit(whole, tmp_path, stops):
    for steps in [*stops, 24]:
        programs.run(tmp_path, steps)
    assert saved_bytes(tmp_path) == saved_bytes(whole)
    kept = {line["step"]: line for line in lines_of(tmp_path)}
    assert all(kept[line["step"]] == line for line in lines_of(whole))
    assert list(kept) == sorted(kept)


def test_a_loop_by_hand_is_the_same(whole):
    opt = programs.optimizer()
    state = programs.start(opt)
    step = programs.jitted(state, opt)
    for batch in programs.batches().start(ahead=0):
        state, metrics = step(state, batch)
        if int(state.step) == 24:
            break
    expected = train.load(whole / "state.npz", state)
    for name, leaf in state.params.items():
        np.testing.assert_array_equal(leaf, expected.params[name])
    assert float(metrics["loss"]) == lines_of(whole)[-1]["loss"]


def test_ranks_of_a_job(whole, tmp_path):
    """The cases of train_ranks.py, which prints the name of each that has passed."""
    with mock.patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join(PATHS)}):
        ended = run("mpirun", "-n", 4, sys.executable, SUPPORT / "train_ranks.py", tmp_path)
    assert ended.expect_success().stdout.count("passed") == 3
    assert saved_bytes(tmp_path) == saved_bytes(whole)
    assert lines_of(tmp_path) == lines_of(whole)


@pytest.mark.parametrize(
    "command, number",
    [((), signal.SIGINT), ((), signal.SIGTERM), (("mpirun", "-n", "4"), signal.SIGUSR1)],
    ids=["SIGINT", "SIGTERM", "mpirun"],
)
def test_signals_save_and_end(whole, tmp_path, command, number):
    """A slow run is told to end; another one goes on to the same end."""
    script = [sys.executable, str(SUPPORT / "train_programs.py"), str(tmp_path)]
    environment = mpi_environment() | {"PYTHONPATH": os.pathsep.join(PATHS)}
    process = subprocess.Popen(
        [*command, *script, "100000", "0.05"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline().startswith("step ")
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    done = lines_of(tmp_path)[-1]["step"]
    name = signal.Signals(number).name
    assert said.count(f"shoal: {name}: stopping behind this step; again to end now\n") == 1
    assert said.count(f"shoal: {name}: stopped behind step {done} of 100000; its state: save= was called with it\n") == 1
    reached = train.load(tmp_path / "state.npz", programs.start(programs.optimizer()))
    assert int(reached.step) == done < 24
    programs.run(tmp_path, 24)
    assert saved_bytes(tmp_path) == saved_bytes(whole)


def test_a_second_signal_is_not_kept():
    with pytest.raises(KeyboardInterrupt), train.StopSignals() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        assert stop.requested
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_batches_that_end_end_the_run(tmp_path):
    opt = programs.optimizer()
    saved = []
    step = programs.jitted(programs.start(opt), opt)
    plain = data.Batches(programs.examples(), 8, seed=0, epochs=1)
    evaluated = []
    state = train.fit(
        step, programs.start(opt), plain, 100, quiet=True, save=lambda s: saved.append(int(s.step)),
        evaluate=lambda s: evaluated.append(int(s.step)) or {}, evaluate_every=4,
    )  # fmt: skip
    assert int(state.step) == 6 and saved == [6] and evaluated == [4, 6]
    again = train.fit(step, state, plain, 6, save=lambda s: saved.append("not any more"))
    assert again is state and saved == [6]


def test_evaluation_counts_each_row_once():
    examples = programs.examples()

    @shoal.jit(mesh=programs.MESH)
    def metrics(params, item):
        batch, mask = item
        made = shoal.tanh(batch["x"] @ params["wi"]) @ params["wo"]
        rows = shoal.square(made - batch["y"]).mean(-1)
        return {"error": (shoal.where(mask, rows, 0.0).sum(), mask.sum())}

    params = programs.start(programs.optimizer()).params
    held = data.Batches(examples, 16, epochs=1, last="pad", mesh=programs.MESH, sharding=P("data"))
    items = ((batch, mask) for batch, mask in held)
    found = train.evaluate(metrics, params, items)
    expected = np.mean((np.tanh(examples["x"] @ params["wi"]) @ params["wo"] - examples["y"]) ** 2)
    assert found["error"] == pytest.approx(float(expected), rel=1e-5)


def test_a_dynamic_loss_scale_is_applied_and_shown():
    """Steps with a scale, in float16, follow those without; overflows leave steps out."""
    plain, scaled = optim.sgd(0.1), optim.dynamic_loss_scale(optim.sgd(0.1), init_scale=2.0**24)
    batch = {name: array[:8] for name, array in programs.examples().items()}

    runs = {}
    for name, opt, options in (("f32", plain, {}), ("f16", scaled, {"compute": "float16", "inputs": True})):
        state = programs.start(opt)
        step = shoal.jit(train.step(programs.loss, opt, **options), donate_argnums=0)
        runs[name] = []
        for _ in range(30):
            state, metrics = step(state, batch)
            runs[name].append({key: float(value) for key, value in metrics.items()})
    skipped = int(runs["f16"][-1]["skipped"])
    assert 0 < skipped < 15
    assert runs["f16"][-1]["loss_scale"] == 2.0 ** (24 - skipped)
    # A step that is left out leaves parameters as they were.
    for number in range(30 - skipped):
        mine, exact = runs["f16"][number + skipped], runs["f32"][number]
        assert mine["loss"] == pytest.approx(exact["loss"], rel=2e-2)


def test_weights_and_metrics_of_the_loss_in_micro_batches():
    def loss(params, batch):
        weights = shoal.where(batch["x"][:, 0] > 0, 1.0, 0.0)
        made = shoal.tanh(batch["x"] @ params["wi"]) @ params["wo"]
        rows = shoal.square(made - batch["y"]).sum(-1)
        metrics = {"rows": train.summed(weights.sum()), "mean": (rows * weights).sum() / weights.sum()}
        return ((rows * weights).sum(), weights.sum()), metrics

    opt = optim.sgd(0.1)
    batch = {name: array[:8] for name, array in programs.examples().items()}
    found = []
    for count in (1, 4):
        made = train.step(loss, opt, has_aux=True, weighted=True, micro_batches=count)
        state, metrics = shoal.jit(made)(programs.start(opt), batch)
        assert float(metrics["rows"]) == np.sum(batch["x"][:, 0] > 0)
        assert float(metrics["mean"]) == pytest.approx(float(metrics["loss"]), rel=1e-6)
        found.append((state.params["wi"].numpy(), float(metrics["loss"]), float(metrics["grad_norm"])))
    for one, four in zip(*found):
        np.testing.assert_allclose(four, one, rtol=1e-5, atol=1e-6)


def masked_loss(params, batch):
    """The mean square of the rows that a mask of floats has; how many these are."""
    rows = shoal.square(batch["x"].astype(params.dtype) @ params).astype("float32").sum(-1)
    total = batch["mask"].sum()
    return (rows * batch["mask"]).sum() / total, {"tokens": train.summed(total), "mask": total * 1.0}


@pytest.mark.parametrize("compute", ["bfloat16", "float16"])
def test_masks_count_all_tokens_in_few_bits(compute):
    """965 of 1,000: in bfloat16 there are 968. Micro-batches of 483 and 482."""
    opt = optim.sgd(0.1)
    batch = {"x": np.ones((1000, 2), np.float32), "mask": np.float32(np.arange(1000) < 965)}
    state = train.init(np.ones((2, 2), np.float32), opt)
    for count in (1, 2):
        step = train.step(masked_loss, opt, has_aux=True, micro_batches=count, compute=compute, inputs=False)
        metrics = shoal.jit(step)(state, batch)[1]
        assert float(metrics["tokens"]) == 965 and float(metrics["mask"]) == 965 / count
        assert float(metrics["loss"]) == 8.0


def test_what_a_step_casts():
    """Parameters, of the batch what is said; a buffer, an index and a mask keep their types."""
    params = {"w": np.ones((2, 2), np.float32), "state": np.zeros(2, np.float32)}
    batch = {"x": np.ones((4, 2), np.float32), "mask": np.ones(4, np.float32), "i": np.zeros(4, np.int32)}
    opt = optim.adamw(0.1)
    state = train.init(params, opt)

    def types(**options):
        found = {}

        def loss(params, batch):
            found.update({name: str(leaf.dtype) for name, leaf in {**params, **batch}.items()})
            return params["w"].sum()

        shoal.trace(train.step(loss, opt, compute="bfloat16", **options), (state, batch))
        return found

    with pytest.warns(shoal.CompileWarning, match=r"\['mask'\] float32, batch\['x'\] float32 keep their types"):
        plain = types()
    assert plain == {"w": "bfloat16", "state": "bfloat16", "x": "float32", "mask": "float32", "i": "int32"}
    assert types(inputs=True) == plain | {"x": "bfloat16", "mask": "bfloat16"}
    buffers = train.Buffers(lambda params: {name: name == "state" for name in params})
    given = {"x": True, "mask": False, "i": True}
    assert types(inputs=given, buffers=buffers) == plain | {"x": "bfloat16", "state": "float32"}


def test_metrics_have_the_learning_rate_of_the_step():
    opt = optim.dynamic_loss_scale(optim.adam(optim.linear(1.0, 0.0, 10)), 1.0)
    batch = {name: array[:8] for name, array in programs.examples().items()}
    state = programs.start(opt)
    step = shoal.jit(train.step(programs.loss, opt))
    rates = []
    for _ in range(3):
        state, metrics = step(state, batch)
        rates.append(float(metrics["learning_rate"]))
    assert rates == pytest.approx([1.0, 0.9, 0.8])
    assert list(metrics)[:3] == ["loss", "grad_norm", "learning_rate"]


class Blown:
    """A step, as `shoal.jit` makes one, whose loss is infinite and whose gradient is NaN in some steps."""

    def __init__(self, bad, **more):
        self.bad, self.more = bad, more

    def __call__(self, state, batch):
        number = int(state.step)
        loss, norm = (np.inf, np.float32(np.nan)) if number in self.bad else (1.0, 1.0)
        return state._replace(step=np.int32(number + 1)), {"loss": loss, "grad_norm": norm, **self.more}


@pytest.mark.parametrize(
    "options, step, metrics",
    [
        ({"log_every": 4, "save_every": 2}, 6, "loss is inf and grad_norm is nan; .* since step 4"),
        ({"log_every": 3}, 6, "loss is inf and grad_norm is nan; .* since step 3"),
        ({"log_every": 100, "finite": ("grad_norm",)}, 9, "grad_norm is nan; .* since step 0"),
        ({"log_every": 100, "save_every": 1, "finite": ("loss", "none")}, 6, "loss is inf; .* since step 5"),
    ],
)
def test_a_run_ends_where_it_is_not_finite(tmp_path, options, step, metrics):
    """At the next look; what is logged has it, what is saved has not."""
    saved, logged = [], []
    log = [lambda number, values: logged.append(number)]

    def save(state):
        saved.append(int(state.step))

    state = train.TrainState(np.int32(0), {}, ())
    with pytest.raises(shoal.RunError, match=f"fit: step {step}: {metrics}"):
        train.fit(Blown(range(5, 9)), state, range(100), 9, log=log, save=save, quiet=True, **options)
    every = options.get("save_every", 100)
    assert saved == [n for n in range(1, 6) if n % every == 0]
    assert max(logged, default=0) <= step


def test_a_run_goes_on_where_that_is_asked_for_or_the_optimiser_takes_care():
    state = train.TrainState(np.int32(0), {}, ())
    cases = (Blown([1, 3]), {"finite": ()}), (Blown([1, 3], skipped=2), {}), (Blown([1]), {"log_every": 4})
    for step, options in cases:
        assert int(train.fit(step, state, range(4), 4, quiet=True, **{"log_every": 1} | options).step) == 4


def test_guards_anywhere_in_an_optimiser_are_told():
    opt = optim.chain(optim.clip_by_global_norm(1.0), optim.apply_if_finite(optim.sgd(0.1)))
    step = shoal.jit(train.step(lambda p, b: (p * b).sum(), opt))
    state, rows = train.init(np.ones(2, np.float32), opt), np.float32([[1, 1], [np.nan, 1], [1, 1]])
    skipped = []
    for row in rows:
        state, metrics = step(state, row)
        skipped.append(int(metrics["skipped"]))
    assert skipped == [0, 1, 1]
    assert np.isfinite(np.asarray(state.params)).all()


def test_a_loss_gets_a_key_of_its_step():
    """Another one in each step, of each seed and in each micro-batch; the same in a run that goes on."""

    def loss(params, batch, key=None):
        drawn = shoal.random.uniform(key, (1,))[0]
        return programs.loss(params, batch), {"drawn": drawn, "square": drawn * drawn}

    opt = optim.sgd(0.1)
    batch = {name: array[:8] for name, array in programs.examples().items()}

    def drawn(first, steps, seed=3, metric="drawn", **options):
        step = shoal.jit(train.step(loss, opt, has_aux=True, seed=seed, **options))
        state, found = programs.start(opt)._replace(step=np.int32(first)), []
        for _ in range(steps):
            state, metrics = step(state, batch)
            found.append(float(metrics[metric]))
        return found

    whole = drawn(0, 4)
    assert len(set(whole)) == 4
    assert drawn(2, 2) == whole[2:]
    means, squares = (drawn(0, 2, metric=metric, micro_batches=4) for metric in ("drawn", "square"))
    assert all(square - mean**2 > 1e-3 for mean, square in zip(means, squares))  # the variance of the four
    assert not set(drawn(0, 2, seed=4)) & set(whole)
    assert drawn(0, 2, seed=None) == drawn(0, 2, seed=0)  # a loss that takes a key gets one


def test_which_losses_take_a_key():
    """One by its name, beside the parameters and the batch, that nobody has given yet."""
    opt, batch, given = optim.sgd(0.1), {"x": np.zeros((8, 1), np.float32)}, []

    def of(name, **bound):
        def behind(params, batch, key=None):
            given.append((name, key is not None))
            return shoal.sum(params["w"]) * 0.0

        return partial(behind, **bound) if bound else behind

    def by_name(params, batch, *, key):
        given.append(("by name", key is not None))
        return shoal.sum(params["w"]) * 0.0

    def a_batch_of_keys(params, key):
        given.append(("batch", not isinstance(key, dict)))
        return shoal.sum(params["w"]) * 0.0

    state = train.init({"w": np.zeros(1, np.float32)}, opt)
    for loss in (of("behind"), of("bound", key=None), by_name, a_batch_of_keys):
        shoal.trace(train.step(loss, opt), (state, batch))
    assert set(given) == {("behind", True), ("bound", False), ("by name", True), ("batch", False)}
    with pytest.raises(TypeError, match="key"):
        shoal.trace(train.step(a_batch_of_keys, opt, seed=0), (state, batch))


def test_states_of_all_types_are_saved(tmp_path):
    state = {
        "a": np.arange(6, dtype=shoal.bfloat16).reshape(2, 3),
        "b": [np.int32(3), np.ones((0, 2), np.float32)],
        "c": shoal.jit(lambda x: x + 1)(np.zeros(3, bool)),
    }
    path = tmp_path / "state.npz"
    train.save(path, state)
    restored = train.load(path, state)
    for name in ("a", "c"):
        assert restored[name].dtype == state[name].dtype
        np.testing.assert_array_equal(restored[name], state[name])
    assert restored["b"][0] == 3 and restored["b"][1].shape == (0, 2)
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_replaced_by_a_whole_one_or_stays(tmp_path):
    path = tmp_path / "state.npz"
    train.save(path, {"x": np.zeros(3)})
    before = path.read_bytes()
    with mock.patch("os.rename", side_effect=OSError("full")), pytest.raises(OSError, match="full"):
        train.save(path, {"x": np.ones(3)})
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "message, like",
    [
        (r"has no y \(1 in all\)", {"x": np.zeros(3), "y": np.zeros(3)}),
        (r"has an unknown x \(1 in all\)", {}),
        (r"x is float64\[3\], expected float64\[4\]", {"x": np.zeros(4)}),
        (r"x is float64\[3\], expected float32\[3\]", {"x": np.zeros(3, np.float32)}),
    ],
)
def test_what_is_restored_is_checked(tmp_path, message, like):
    train.save(tmp_path / "state.npz", {"x": np.zeros(3)})
    with pytest.raises(InputError, match=message):
        train.load(tmp_path / "state.npz", like)


def test_damaged_files(tmp_path):
    path = tmp_path / "state.npz"
    train.save(path, {"x": np.zeros(300)})
    for damaged in (path.read_bytes()[:-50], b"PK" + bytes(100), b""):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="is no saved state"):
            train.load(path, {"x": np.zeros(300)})
    with pytest.raises(FileNotFoundError):
        train.load(tmp_path / "none.npz", {})


def test_json_lines_have_no_numbers_that_json_has_not(tmp_path):
    log = train.JsonLines(tmp_path / "m.jsonl")
    log(1, {"loss": float("nan"), "routed": [1.0, float("inf")], "step_ms": 2.5})
    log.close()
    assert json.loads((tmp_path / "m.jsonl").read_text()) == {
        "step": 1, "loss": None, "routed": [1.0, None], "step_ms": 2.5,
    }  # fmt: skip


def history(path, text='{"step": 1}\n{"step": 2}\n{"step": 3}\n'):
    path.write_text(text)
    return path


def test_json_lines_go_on_behind_those_that_are_there(tmp_path):
    """In the same file; where some are not a run's any more, in one that takes its place at once."""
    path = history(tmp_path / "m.jsonl")
    before = path.stat().st_ino
    log = train.JsonLines(path)
    log(4, {})
    assert path.stat().st_ino == before
    log.close()
    log(3, {})
    assert [json.loads(line)["step"] for line in path.read_text().splitlines()] == [1, 2, 3]
    assert path.stat().st_ino != before and list(tmp_path.iterdir()) == [path]
    log.close()
    train.JsonLines(history(path, '{"step": 1}\n{"step": 2, "lo'))(2, {})
    assert path.read_text() == '{"step": 1}\n{"step": 2}\n'


@pytest.mark.parametrize("call", ["fsync", "rename", "open"])
def test_json_lines_of_a_run_survive_a_disk_that_is_full(tmp_path, call):
    path = history(tmp_path / "m.jsonl")
    before = path.read_bytes()
    with mock.patch(f"os.{call}", side_effect=OSError(28, "No space left on device")):
        with pytest.raises(OSError, match="No space left"):
            train.JsonLines(path)(2, {})
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("text", ['{"step": 1}\nhello\n', '{"step": 1}\n{"loss": 1}\n', '{"step": 1}\n[]\n'])
def test_a_file_of_something_else_is_left_as_it_is(tmp_path, text):
    path = history(tmp_path / "m.jsonl", text)
    with pytest.raises(InputError, match='m.jsonl: line 2 is no object with a "step"'):
        train.JsonLines(path)(1, {})
    assert path.read_text() == text


def test_tensorboard_has_curves_and_histograms(tmp_path):
    pytest.importorskip("tensorboardX")
    from tensorboardX.proto import event_pb2

    log = train.TensorBoard(tmp_path)
    for step in (10, 20):
        log(step, {"loss": 1.0 / step, "needed": [1.0, 2.0], "counts": [[3.0, 5.0]], "none": []})
    log.close()
    (path,) = tmp_path.iterdir()
    found = []
    content = path.read_bytes()
    while content:  # length, its checksum, an event, its checksum
        size = int.from_bytes(content[:8], "little")
        event = event_pb2.Event.FromString(content[12 : 12 + size])
        found += [(event.step, value.tag, value) for value in event.summary.value]
        content = content[16 + size :]
    tags = ["loss", "needed/0", "needed/1", "counts/0"]
    assert [(step, tag) for step, tag, _ in found] == [(step, tag) for step in (10, 20) for tag in tags]
    values = [value for step, _, value in found if step == 20]
    assert [value.simple_value for value in values[:3]] == pytest.approx([0.05, 1.0, 2.0])
    assert (values[3].histo.num, values[3].histo.sum, values[3].histo.max) == (2, 8, 5)


def test_without_tensorboardx_the_error_says_what_to_install(tmp_path):
    with (
        mock.patch.dict(sys.modules, {"tensorboardX": None}),
        pytest.raises(shoal.ShoalError, match="pip install tensorboardX"),
    ):
        train.TensorBoard(tmp_path)


def test_a_terminal_has_a_bar(tmp_path):
    pytest.importorskip("tqdm")
    with mock.patch("sys.stderr") as terminal:
        terminal.isatty.return_value = True
        terminal.encoding = "utf-8"
        programs.run(tmp_path, 5)
    shown = "".join(str(call.args[0]) for call in terminal.write.call_args_list)
    assert "5/5" in shown and "loss=0." in shown


@pytest.mark.parametrize(
    "kind, message, call",
    [
        (InputError, "steps: expected an integer from 1 to 2147483647, got 0", lambda: train.fit(None, start(), [], 0)),
        (
            InputError,
            "log_every: expected an integer from 1 to 2147483647, got 0",
            lambda: train.fit(print, start(), [], 1, log_every=0),
        ),
        (
            TraceError,
            'aux has a metric "loss"',
            lambda: shoal.trace(
                train.step(lambda p, b: (p.sum(), {"loss": 1.0}), optim.sgd(1.0), has_aux=True),
                (train.init(np.zeros(3, np.float32), optim.sgd(1.0)), np.zeros(2)),
            ),
        ),
        (
            shoal.TraceTypeError,
            "expected aux to be a dict of metrics",
            lambda: shoal.trace(
                train.step(lambda p, b: (p.sum(), p), optim.sgd(1.0), has_aux=True),
                (train.init(np.zeros(3, np.float32), optim.sgd(1.0)), np.zeros(2)),
            ),
        ),
    ],
)
def test_errors(kind, message, call):
    with pytest.raises(kind, match=message):
        call()


def start():
    return programs.start(programs.optimizer())
