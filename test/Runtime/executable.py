# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The contract of an executable, on ToyProgram.cpp or ToyProgramCUDA.cpp: flags,
files and errors.

usage: executable.py TOY TOY_WITH_A_HUGE_ARENA
"""

import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

TOY, HUGE = sys.argv[1:3]
TARGET = "cuda" if "cuda" in os.path.basename(TOY) else "cpu"
DEVICES = 4
ENVIRONMENT = dict(
    os.environ,
    OMPI_ALLOW_RUN_AS_ROOT="1",
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    OMPI_MCA_rmaps_base_oversubscribe="1",
)


def start(*flags, ranks=DEVICES, program=TOY, **environment):
    return subprocess.Popen(
        ["mpirun", "-n", str(ranks), program, *flags],
        env={**ENVIRONMENT, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(*flags, **options):
    process = start(*flags, **options)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def write_npy(path, descr, shape, data, fortran=False):
    shape_text = "(" + "".join(f"{size}, " for size in shape) + ")"
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape_text}}}"
    header = header.ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode() + data)


def read_npy(path, code):
    with open(path, "rb") as file:
        content = file.read()
    start = 10 + struct.unpack("<H", content[8:10])[0]
    header = content[10:start].decode().strip()
    count = (len(content) - start) // struct.calcsize(code)
    return eval(header)["shape"], list(struct.unpack(f"<{count}{code}", content[start:]))


def is_running(pid):
    """Whether a process exists and is more than a zombie that nobody collects."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class RunsToy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = folder.name
        self.x = os.path.join(self.dir, "x.npy")
        self.n = os.path.join(self.dir, "n.npy")
        self.out = os.path.join(self.dir, "made", "out")
        self.values = [float(i) for i in range(60)]
        write_npy(self.x, "<f4", (10, 6), struct.pack("<60f", *self.values))
        write_npy(self.n, "<i4", (), struct.pack("<i", 7))

    def inputs(self):
        return ["--input", f"x={self.x}", f"--input=n={self.n}"]

    def check_error(self, expected, *flags, **options):
        code, out, err = run(*flags, **options)
        lines = [line for line in err.splitlines() if line.startswith("error: ")]
        self.assertEqual(len(lines), 1, err)
        self.assertIn(expected, lines[0])
        self.assertEqual(code, 1, err)
        self.assertEqual(out, "")


class Executable(RunsToy):
    def test_reads_shards_and_writes_global_files(self):
        code, out, err = run(*self.inputs(), "--output-dir", self.out)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(
            read_npy(f"{self.out}/y.npy", "f"), ((10, 6), [2 * v for v in self.values])
        )
        self.assertEqual(read_npy(f"{self.out}/total.npy", "f"), ((), [sum(self.values)]))
        self.assertEqual(read_npy(f"{self.out}/count.npy", "i"), ((), [7]))
        self.assertEqual(sorted(os.listdir(self.out)), ["count.npy", "total.npy", "y.npy"])

    def test_random_inputs_fill_what_is_not_given(self):
        code, _, err = run("--input", f"n={self.n}", "--random-inputs=3", f"--output-dir={self.out}")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(read_npy(f"{self.out}/count.npy", "i"), ((), [7]))
        y = read_npy(f"{self.out}/y.npy", "f")[1]
        self.assertEqual(len(set(y)), 60)
        total = read_npy(f"{self.out}/total.npy", "f")[1][0]
        self.assertAlmostEqual(sum(y) / 2, total, places=3)

    def test_stats_trace_and_summary(self):
        stats, trace = f"{self.dir}/stats.json", f"{self.dir}/trace.json"
        code, out, err = run(
            "--random-inputs", "1", "--repeat=5", "--warmup", "2", "--stats", stats, "--trace", trace
        )
        self.assertEqual((code, err), (0, ""))
        self.assertIn("toy: 4 devices", out)
        self.assertIn("median of 5", out)
        with open(stats) as file:
            content = json.load(file)
        self.assertEqual(content["devices"], 4)
        self.assertEqual(content["target"], TARGET)
        times = content["step_seconds"]
        self.assertTrue(0 < times["min"] <= times["median"] <= times["max"])
        self.assertEqual(content["bytes_sent_per_device"], {"all_reduce": 6})
        self.assertEqual(content["collectives"], {"all_reduce": 1})
        self.assertGreaterEqual(content["peak_bytes_per_device"], 4096 + 2 * 72 + 4 * 3)
        self.assertEqual(set(content["seconds_in"]), {"einsum", "collectives"})
        with open(trace) as file:
            events = json.load(file)["traceEvents"]
        self.assertEqual({event["tid"] for event in events}, {0, 1, 2, 3})
        reduces = [event for event in events if event["name"] == "all_reduce"]
        self.assertEqual(len(reduces), 4 * 5)
        self.assertEqual(reduces[0]["args"]["reason"], "the sum of x")

    @unittest.skipIf(TARGET == "cuda", "the emulated device checks all accesses")
    def test_a_step_that_leaves_its_memory_is_found(self):
        flags = ["--random-inputs=1", "--check-memory", "--repeat=2"]
        self.assertEqual(run(*flags)[0::2], (0, ""))
        code, _, err = run(*flags, TOY_OVERRUN="1")
        self.assertNotEqual(code, 0)
        self.assertIn("error: something wrote outside of the arena: at byte 4099 of it", err)

    def test_describe_and_help_need_no_mpirun(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("OMPI")}
        for flag, expected in [
            ("--describe", "x: tensor 10x6 f32, <@mesh, [{\"x\"}, {}]>, per device 3x6"),
            ("--help", "--random-inputs SEED"),
        ]:
            done = subprocess.run([TOY, flag], env=environment, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(expected, done.stdout)
        with tempfile.TemporaryDirectory() as folder:
            started = os.path.join(folder, "started")  # gets a byte of each rank behind MPI_Init
            code, out, _ = run("--help", SHOAL_STARTED=started)
            self.assertEqual((code, out.count("--random-inputs SEED")), (0, 1))
            self.assertFalse(os.path.exists(started))
        code, out, _ = run("--describe")
        self.assertEqual(code, 0)
        self.assertEqual(out.count("program toy"), 1)
        for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"):
            other = subprocess.run([TOY, "--help"], env={**environment, name: "1"}, capture_output=True)
            self.assertEqual((other.returncode, other.stdout), (0, b""))
        self.assertIn('mesh @mesh = <["x" = 4], device_ids = [0, 2, 1, 3]>', out)

    def test_world_size(self):
        for ranks in [1, 3, 5]:
            self.check_error(
                f"toy is compiled for 4 devices, but runs on {ranks}; start it with mpirun -n 4",
                "--random-inputs=0",
                ranks=ranks,
            )

    def test_flags(self):
        self.check_error('unknown argument "--inputs"', "--inputs", "3")
        self.check_error('unknown argument "x.npy"', "x.npy")
        self.check_error("--repeat needs a value: --repeat N", "--repeat")
        self.check_error("--stats needs a value", "--stats=")
        self.check_error('--repeat: "0" is not a number of at least 1', "--repeat=0")
        self.check_error('--warmup: "-1" is not a number', "--warmup=-1")
        self.check_error('--random-inputs: "12x" is not a number', "--random-inputs=12x")
        self.check_error('--input: "x" is not NAME=FILE.npy', "--input", "x")
        self.check_error('--input: "x" is given twice', *self.inputs(), *self.inputs())

    def test_input_names(self):
        self.check_error(
            'missing input "x": tensor 10x6 f32; give --input x=FILE or --random-inputs=SEED'
        )
        self.check_error(
            'unknown input "y": the inputs are x, n', "--input", f"y={self.x}", "--random-inputs=0"
        )

    def test_input_files(self):
        def check(expected, shape=(10, 6), descr="<f4", size=240, **options):
            write_npy(self.x, descr, shape, bytes(size), **options)
            self.check_error(f'input "x": {self.x}: {expected}', *self.inputs())

        check("shape is 6x10, expected 10x6", shape=(6, 10))
        check("element type is '<f8', expected f32", descr="<f8", size=480)
        check("truncated: 100 bytes of data, expected 240", size=100)
        check("array is in Fortran order, expected C order", fortran=True)
        with open(self.x, "w") as file:
            file.write("not an array")
        self.check_error(f"{self.x}: not a .npy file", *self.inputs())
        os.remove(self.x)
        self.check_error(f"{self.x}: cannot open: No such file", *self.inputs())

    def as_rank_3_elsewhere(self, folder):
        """A program of which rank 3 alone runs in another folder."""
        script = os.path.join(self.dir, "run.sh")
        with open(script, "w") as file:
            file.write(
                f'#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = 3 ] && cd {folder}\nexec {TOY} "$@"\n'
            )
        os.chmod(script, 0o755)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.dir)
        return script

    def test_only_one_rank_fails(self):
        other = os.path.join(self.dir, "other")
        os.mkdir(other)
        with open(os.path.join(other, "x.npy"), "w") as file:
            file.write("damaged")
        self.check_error(
            'rank 3 has another file for input "x" than rank 0',
            *("--input=x=x.npy", "--random-inputs=1"),
            program=self.as_rank_3_elsewhere(other),
        )

    def test_a_rank_without_the_files_gets_its_part_and_sends_its_results(self):
        flags = ("--input=x=x.npy", "--input=n=n.npy", "--output-dir")
        code, _, err = run(*flags, "out", program=self.as_rank_3_elsewhere("/"))
        self.assertEqual(code, 0, err)
        code, _, err = run(*flags, "alike")
        self.assertEqual(code, 0, err)
        for name in sorted(os.listdir("alike")):
            with open(f"out/{name}", "rb") as mine, open(f"alike/{name}", "rb") as other:
                self.assertEqual(mine.read(), other.read(), name)

    def test_output_folder(self):
        blocked = os.path.join(self.x, "below-a-file")
        self.check_error("cannot write to output folder", *self.inputs(), "--output-dir", blocked)
        self.check_error("cannot write to output folder", *self.inputs(), "--output-dir", "/proc")
        self.check_error("cannot write", *self.inputs(), "--stats", "/proc/no/stats.json")

    def results(self):
        return {name: os.path.join(self.out, f"{name}.npy") for name in ("y", "total", "count")}

    def test_results_replace_what_was_there(self):
        os.makedirs(self.out)
        elsewhere = os.path.join(self.dir, "elsewhere.npy")
        with open(elsewhere, "w") as file:
            file.write("old")
        os.symlink(elsewhere, self.results()["y"])
        self.assertEqual(run(*self.inputs(), "--output-dir", self.out)[0::2], (0, ""))
        self.assertTrue(os.path.islink(self.results()["y"]))
        self.assertEqual(read_npy(elsewhere, "f")[0], (10, 6))

    def test_what_is_read_is_not_written_to(self):
        with open(self.x, "rb") as file:
            content = file.read()
        link, hard = os.path.join(self.dir, "link"), os.path.join(self.dir, "hard.npy")
        os.symlink(self.x, link)
        os.link(self.x, hard)
        spelt = os.path.join(self.dir, "..", os.path.basename(self.dir), "x.npy")
        for flag in ("--stats", "--census", "--trace"):
            for path in (self.x, link, hard, spelt, os.path.relpath(self.x)):
                what = f'{flag}: cannot write {path}: it is input "x", which is read'
                self.check_error(what, *self.inputs(), flag, path)
        self.check_error(
            "it is this program, which is read", "--random-inputs=1", f"--stats={TOY}"
        )
        os.rename(self.x, self.results()["y"].replace(self.out, self.dir))
        self.check_error(
            f'output "y": cannot write {self.dir}/y.npy: it is input "x", which is read',
            f"--input=x={self.dir}/y.npy", f"--input=n={self.n}", "--output-dir", self.dir,
        )
        with open(f"{self.dir}/y.npy", "rb") as file:
            self.assertEqual(file.read(), content)

    def test_an_output_is_not_another_one(self):
        # Of a folder that is yet to be made, too.
        for folder in (self.out, self.dir):
            self.check_error(
                f'--stats: cannot write {folder}/./y.npy: it is another output, output "y"',
                "--random-inputs=1", f"--output-dir={folder}", f"--stats={folder}/./y.npy",
            )
        self.check_error(
            "--trace: cannot write", "--random-inputs=1", f"--stats={self.dir}/a", f"--trace={self.dir}/a"
        )
        self.assertEqual(sorted(os.listdir(self.dir)), ["n.npy", "x.npy"])

    def test_texts_replace_what_was_there_once_they_are_whole(self):
        stats, link = os.path.join(self.dir, "stats.json"), os.path.join(self.dir, "link")
        with open(stats, "w") as file:
            file.write("old")
        os.chmod(stats, 0o640)
        os.symlink(stats, link)
        self.check_error("unknown input", f"--stats={link}", "--input=z=z.npy")
        self.check_error("n.npy", f"--stats={link}", f"--input=x={self.n}", f"--input=n={self.n}")
        with open(stats) as file:
            self.assertEqual(file.read(), "old")
        self.assertEqual(run("--random-inputs=1", f"--stats={link}", "--trace=/dev/null")[0], 0)
        self.assertTrue(os.path.islink(link))
        self.assertEqual(os.stat(stats).st_mode & 0o777, 0o640)
        with open(stats) as file:
            self.assertEqual(json.load(file)["devices"], DEVICES)
        self.assertEqual(sorted(os.listdir(self.dir)), ["link", "n.npy", "stats.json", "x.npy"])

    def test_results_that_cannot_be_written_fail_before_the_steps(self):
        os.makedirs(self.results()["total"])
        self.check_error(
            'output "total": cannot write', "--random-inputs=1", "--output-dir", self.out,
            TOY_FAULT="sleep",
        )

    @unittest.skipIf(TARGET == "cuda", "the emulated device writes files of its own")
    def test_a_result_that_does_not_fit_leaves_what_was_there(self):
        os.makedirs(self.out)
        with open(self.results()["y"], "w") as file:
            file.write("old")
        script = os.path.join(self.dir, "run.sh")
        with open(script, "w") as file:
            file.write(f'#!/bin/bash\nulimit -f 0\nexec {TOY} "$@"\n')
        os.chmod(script, 0o755)
        self.check_error(
            f'output "y": {self.results()["y"]}: cannot write: File too large',
            "--random-inputs=1", "--output-dir", self.out, program=script,
            # Its messages between ranks are files, too, that would not fit.
            OMPI_MCA_btl="self,tcp",
        )
        self.assertEqual(os.listdir(self.out), ["y.npy"])
        with open(self.results()["y"]) as file:
            self.assertEqual(file.read(), "old")

    def test_arena_that_does_not_fit(self):
        self.check_error(
            "not enough memory: toy needs 931.32 TiB", "--random-inputs=1", program=HUGE
        )

    def check_ends_soon(self, process):
        begin = time.time()
        process.communicate(timeout=30)
        self.assertLess(time.time() - begin, 10)
        self.assertNotEqual(process.returncode, 0)

    def test_a_rank_that_dies_ends_the_others(self):
        self.check_ends_soon(start("--random-inputs=1", TOY_FAULT="die"))

    def test_a_rank_that_is_killed_ends_the_others(self):
        process = start("--random-inputs=1", TOY_FAULT="sleep")
        time.sleep(2)
        victims = subprocess.run(
            ["ps", "--ppid", str(process.pid), "-o", "pid="], capture_output=True, text=True
        ).stdout.split()
        self.assertEqual(len(victims), DEVICES)
        os.kill(int(victims[2]), signal.SIGKILL)
        self.check_ends_soon(process)
        # mpirun does not wait for those that it kills.
        deadline = time.time() + 10
        while any(map(is_running, victims)) and time.time() < deadline:
            time.sleep(0.1)
        self.assertEqual([pid for pid in victims if is_running(pid)], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
