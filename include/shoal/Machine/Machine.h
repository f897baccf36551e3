// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What machines do in a second, and what they have room for: all numbers by
// which passes and the runtime choose one way or another. Only ratios matter,
// and they need not be exact: a choice that is close is cheap either way.
//
// Where each number is from:
//   [sheet]   the vendor's data sheet, here of NVIDIA's H100 and H200 SXM;
//   [limit]   the CUDA Programming Guide, "Compute Capabilities": same on all
//             GPUs since sm_80;
//   [derived] from others here, as the comment says;
//   [measured] the least of many runs on 2 cores of a CPU, a rank each, and
//             what docs/internals/Rationale.md says of it;
//   [assumed] nobody has measured it yet: docs/results/gpu-status.md lists
//   these.

#ifndef SHOAL_MACHINE_MACHINE_H
#define SHOAL_MACHINE_MACHINE_H

#include <cstdint>

namespace shoal {

/// What a kernel may have, and how much keeps a device busy.
struct DeviceLimits {
  /// Of a grid, along x. [limit]
  int64_t gridBlocks = 2147483647;
  /// Threads. [limit]
  int64_t warpThreads = 32;
  int64_t blockThreads = 1024;
  /// Bytes of shared memory that a block has without asking. [limit]
  int64_t sharedBytes = 48 * 1024;
  /// Registers of 4 bytes of a multiprocessor, and so of a block. [limit]
  int64_t registers = 64 * 1024;
  /// The widest access of a thread, in bytes. [limit]
  int64_t vectorBytes = 16;
  /// Blocks that give each multiprocessor one: 132 [sheet], as a power of two.
  int64_t someBlocks = 128;
  /// Threads that a device holds at a time: 132 x 2,048 [sheet, limit], as a
  /// power of two.
  int64_t fullThreads = int64_t(1) << 18;
  /// Threads, or elements that are a thread's each, from which on a kernel need
  /// not share them among more: a sixteenth of the device. [assumed]
  int64_t enoughThreads = 16384;
};

struct Machine {
  /// Operations a second of the library's products of f32.
  double flops;
  /// Bytes a second that go to or come from memory.
  double memoryBytes;
  /// Multiplications with an addition a second of loops of our own.
  double loopTerms;
  /// Seconds of a call of the library, and of one of our own loops.
  double callSeconds;
  double loopCallSeconds;
  /// Seconds of a row that is read, or added, by index, beside those of its
  /// bytes, and of these as many a second.
  double indexedRowSeconds;
  double indexedRowBytes;

  // Of devices.
  /// Calls are launches, and one does all batches and outer loops, on bf16 and
  /// f16 too.
  bool isDevice = false;
  /// As `flops`, of narrower floats.
  double narrowFlops = 0;
  /// Operations a second on groups of rows: the library's of narrower floats,
  /// group by group, and those of our own kernel, which takes all groups.
  double narrowGroupFlops = 0;
  double tileFlops = 0;
  double narrowTileFlops = 0;
  /// Bytes a second that a device sends to others of its machine.
  double linkBytes = 0;
  /// Operations that take as long as sending a byte there: the machine balance
  /// by which shardings are chosen. Of the floats that models are mostly run
  /// in, so not always flops / linkBytes.
  double flopsPerLinkByte = 0;
  /// Seconds of a collective beside those of its bytes.
  double collectiveSeconds = 0;
  /// Seconds until the host has seen what a device has computed.
  double waitSeconds = 0;
  DeviceLimits limits = {};
};

/// A core of an x86 with AVX2.
inline constexpr Machine cpuMachine = {
    // Two units of 8 lanes, 2 operations each, at 2 to 4 GHz: 64 to 128e9.
    .flops = 6e10, // [derived]
    // Of one core, behind its caches.
    .memoryBytes = 8e9,   // [assumed]
    .loopTerms = 3e9,     // [assumed]
    .callSeconds = 3e-7,  // [assumed]
    .loopCallSeconds = 0, // they are no calls
    // Of what the caches hold: test/benchmarks/moved_rows.py.
    .indexedRowSeconds = 1.7e-8, // [measured]
    .indexedRowBytes = 3.5e10,   // [measured]
    // Converted to f32 first.
    .narrowFlops = 6e10, // [derived]
    // Ranks of one node reach each other through its memory.
    .linkBytes = 8e9, // [derived]
    // f32, one thread a rank, MPI in shared memory.
    .flopsPerLinkByte = 10, // [measured]
    // An all_reduce of 8 bytes.
    .collectiveSeconds = 5e-7, // [measured]
};

/// A GPU of an H100's or H200's kind.
inline constexpr Machine gpuMachine = {
    // Three quarters of 67e12 [sheet], without TF32.
    .flops = 5e13, // [assumed]
    // Of 3.35e12, H100, or 4.8e12, H200 [sheet].
    .memoryBytes = 3e12, // [assumed]
    // Each term is a load or two.
    .loopTerms = 3e11, // [assumed]
    // A launch, and a little more of the library on the host.
    .callSeconds = 5e-6, // [assumed]
    // A launch.
    .loopCallSeconds = 4e-6, // [assumed]
    // A sector of 32 bytes, and an index.
    .indexedRowSeconds = 1.2e-11, // [derived]
    // Each is read and written.
    .indexedRowBytes = 1.5e12, // [derived]
    .isDevice = true,
    // Six tenths of 989e12 [sheet].
    .narrowFlops = 6e14, // [assumed]
    // Seven tenths of 989e12 [sheet]: groups are large where this decides.
    .narrowGroupFlops = 7e14,  // [assumed]
    .tileFlops = 2e13,         // [assumed]
    .narrowTileFlops = 2.5e14, // [assumed]
    // Of 450e9 each way [sheet].
    .linkBytes = 2e11, // [assumed]
    // An island of NVLink: seven tenths of 989e12 in bf16 over eight tenths of
    // 450e9 [sheet]. Between islands it is 14,400.
    .flopsPerLinkByte = 1900,  // [derived]
    .collectiveSeconds = 2e-5, // [assumed]
    .waitSeconds = 2e-5,       // [assumed]
};

/// Operations a second as the balance counts them.
constexpr double balancedFlops(const Machine &machine) {
  return machine.linkBytes * machine.flopsPerLinkByte;
}

/// What else could be sent while a collective starts.
constexpr double latencyBytes(const Machine &machine) {
  return machine.collectiveSeconds * machine.linkBytes;
}

/// The machines above, as options of passes name them.
enum class MachineKind { CPU, GPU };

constexpr const Machine &machineOf(MachineKind kind) {
  return kind == MachineKind::CPU ? cpuMachine : gpuMachine;
}

} // namespace shoal

#endif // SHOAL_MACHINE_MACHINE_H
