# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What executables for CUDA have beside the contract in executable.py: flags, and
what they say when the device or a collective fails. Faults are those of the
emulated device, see test/emulation/Faults.h.

usage: executable_cuda.py TOY TOY_WITH_A_HUGE_ARENA TOY_WITHOUT_ITS_LIBRARY
"""

import json
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

import executable

TOY, HUGE, ALONE = sys.argv[1:4]
KERNELS = Path(__file__).parents[2] / "lib/Runtime/CUDAKernels"
ANY = "--random-inputs=1"


class CUDA(executable.RunsToy):
    def check_fault(self, expected, *flags, **options):
        """A failure in a step: several ranks may tell before all are ended."""
        code, _, err = executable.run(ANY, *flags, **options)
        self.assertNotEqual(code, 0)
        lines = [line for line in err.splitlines() if line.startswith("error: ")]
        self.assertNotEqual(lines, [], err)
        for line in lines:
            self.assertIn(expected, line)
        return lines

    def test_without_its_library(self):
        done = subprocess.run([ALONE, "--describe"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("program toy: 4 devices, target cuda", done.stdout)
        self.check_error(
            "cannot load a library that programs for CUDA need: /no/such/emulation.so: "
            "cannot open shared object file",
            ANY,
            program=ALONE,
        )

    def test_flags_of_this_target(self):
        code, out, _ = executable.run("--help")
        self.assertEqual(code, 0)
        self.assertIn("--collective-timeout SECONDS", out)
        self.check_error(
            '--collective-timeout: "0" is not a number of at least 1', "--collective-timeout=0"
        )

    def test_no_driver(self):
        self.check_error(
            "no GPU can be used: CUDA driver version is insufficient",
            ANY,
            SHOAL_EMULATION_FAIL="cudaGetDeviceCount:1=35",
        )

    def test_too_few_gpus(self):
        self.check_error(
            "expected a GPU for each of the 4 processes on a machine, but they see 2",
            ANY,
            SHOAL_EMULATED_DEVICES="2",
        )
        code, _, err = executable.run(
            ANY, SHOAL_EMULATED_DEVICES="2", NCCL_MULTI_RANK_GPU_ENABLE="1"
        )
        self.assertEqual((code, err), (0, ""))

    def test_a_launcher_that_shows_each_rank_its_own_gpu(self):
        script = os.path.join(self.dir, "bind.sh")
        with open(script, "w") as file:
            file.write(
                "#!/bin/sh\nSHOAL_EMULATED_DEVICES=1"
                f' SHOAL_EMULATED_FIRST_DEVICE=$OMPI_COMM_WORLD_LOCAL_RANK exec {TOY} "$@"\n'
            )
        os.chmod(script, 0o755)
        code, _, err = executable.run(ANY, program=script)
        self.assertEqual((code, err), (0, ""))

    def test_kernels_for_another_gpu(self):
        # The program's image is loaded behind those of the runtime's kernels.
        images = len(list(KERNELS.glob("*.cu")))
        self.check_error(
            "and has no code for the GPU here, sm_",
            ANY,
            SHOAL_EMULATION_FAIL=f"cudaLibraryLoadData:{images + 1}=209",
        )

    def test_memory_that_is_not_there(self):
        self.check_error("toy needs 931.32 TiB, device has ", ANY, program=HUGE)
        self.check_error(
            "not enough memory: toy needs 4.15 KiB, device has 3.91 KiB",
            ANY,
            SHOAL_EMULATED_MEMORY="4000",
        )
        self.check_error("not enough memory: toy needs ", ANY, SHOAL_EMULATION_FAIL="cudaMalloc:1=2@2")

    def test_each_wait_between_the_streams_is_needed(self):
        # Of the all_reduce for its operand, and of the copy for its result.
        for number in [1, 2]:
            code, _, err = executable.run(
                ANY, SHOAL_EMULATION_SKIP=f"cudaStreamWaitEvent:{number}"
            )
            self.assertNotEqual(code, 0)
            self.assertIn("emulated device: race: ", err)

    def test_launches_declare_what_they_touch(self):
        code, _, err = executable.run(ANY, SHOAL_EMULATION_ISOLATE="1")
        self.assertEqual((code, err), (0, ""))

    def test_a_step_as_a_graph(self):
        stats, trace = f"{self.dir}/stats.json", f"{self.dir}/trace.json"
        code, out, err = executable.run(
            *self.inputs(),
            "--cuda-graph",
            "--repeat=3",
            f"--output-dir={self.out}",
            f"--stats={stats}",
            f"--trace={trace}",
            TOY_STATIC="1",
        )
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(
            executable.read_npy(f"{self.out}/y.npy", "f"), ((10, 6), [2 * v for v in self.values])
        )
        total = executable.read_npy(f"{self.out}/total.npy", "f")
        self.assertEqual(total, ((), [sum(self.values)]))
        with open(stats) as file:
            content = json.load(file)
        self.assertEqual(content["bytes_sent_per_device"], {"all_reduce": 6})
        self.assertGreater(content["seconds_in"]["collectives"], 0)
        with open(trace) as file:
            events = json.load(file)["traceEvents"]
        reduces = [event for event in events if event["name"] == "all_reduce"]
        self.assertEqual(len(reduces), 4 * 3)

    def test_a_step_that_cannot_be_a_graph(self):
        code, _, err = executable.run(ANY, "--cuda-graph")
        self.assertEqual(
            (code, err),
            (
                0,
                "note: runs without a CUDA graph: the program waits for the device in call "
                "read_scalar\n",
            ),
        )

    def test_each_wait_in_a_graph_is_needed(self):
        # 1 and 2 are of the step before the capture, 3 makes the stream of
        # collectives part of it; then come the all_reduce and its result.
        for number in [4, 5]:
            code, _, err = executable.run(
                ANY,
                "--cuda-graph",
                TOY_STATIC="1",
                SHOAL_EMULATION_SKIP=f"cudaStreamWaitEvent:{number}",
            )
            self.assertNotEqual(code, 0)
            self.assertIn("emulated device: race: ", err)

    def test_a_collective_of_a_graph_that_does_not_end(self):
        self.check_fault(
            'collective 0 (all_reduce over {"x"}, toy.mlir:1:1: the sum of x) has not ended after '
            "1 s on rank 2",
            "--cuda-graph",
            "--repeat=2",
            "--collective-timeout=1",
            TOY_STATIC="1",
            SHOAL_EMULATION_HANG="ncclAllReduce:3@2",
        )

    def test_calls_that_fail_say_for_what(self):
        for call, what in [
            ("cudaLaunchKernel:2", "cudaLaunchKernel for kernel toy_sum failed: "),
            ("ncclAllReduce:1", "ncclAllReduce for collective 0 (all_reduce over "),
        ]:
            self.check_fault(what, SHOAL_EMULATION_FAIL=f"{call}@1")

    def test_an_asynchronous_error_of_nccl(self):
        lines = self.check_fault(
            "NCCL failed on rank ",
            SHOAL_EMULATION_FAIL="ncclCommGetAsyncError:0@1",
            SHOAL_EMULATION_HANG="ncclAllReduce:1@1",
        )
        self.assertIn("NCCL failed on rank 1: ", lines[0])

    def test_a_collective_that_does_not_end(self):
        begin = time.time()
        lines = self.check_fault(
            'collective 0 (all_reduce over {"x"}, toy.mlir:1:1: the sum of x) has not ended after '
            "1 s on rank 2; it joins the ranks 0, 2, 1, 3",
            "--collective-timeout=1",
            SHOAL_EMULATION_HANG="ncclAllReduce:1@2",
        )
        self.assertEqual(len(lines), 1)
        self.assertLess(time.time() - begin, 20)

    def test_a_rank_that_does_not_come_to_a_collective(self):
        # The others wait for it inside of NCCL, where nothing can be polled.
        self.check_fault(
            "does not connect rank ", "--collective-timeout=1", TOY_FAULT="sleep", TOY_INDEX="2"
        )

    def test_work_that_does_not_end_is_no_late_collective(self):
        # What hangs is the kernel in front of it.
        process = executable.start(
            ANY, "--collective-timeout=1", SHOAL_EMULATION_HANG="toy_sum:1@2"
        )
        try:
            process.wait(timeout=6)
            self.fail(process.stderr.read())
        except subprocess.TimeoutExpired:
            pass
        finally:
            process.kill()
            process.communicate()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
