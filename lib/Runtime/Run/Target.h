// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run needs of the machine that a program is compiled for.

#ifndef SHOAL_LIB_RUNTIME_RUN_TARGET_H
#define SHOAL_LIB_RUNTIME_RUN_TARGET_H

#include "../Job/World.h"
#include "../Program/Program.h"
#include "Options.h"

#include <functional>
#include <memory>

namespace shoal::rt {

/// One for the process. Calls come in the order of the declarations; those that
/// take a World are collective.
class Target {
public:
  virtual ~Target() = default;

  /// What --describe says of the target: lines, known without a device.
  virtual std::string describe(const Program &) const { return {}; }

  /// Finds the device and takes the memory of shards and arena. Nothing of a
  /// step runs if a rank fails.
  virtual Status prepare(World &world, const Program &program,
                         const Options &options) = 0;

  /// `fill` writes the shard of an input to host memory, which is zero before.
  using Fill = std::function<Status(void *shard)>;
  virtual Status upload(size_t input, const Fill &fill) = 0;

  /// Donated inputs are to be restored before each step but the first: keeps
  /// copies of them in the host's memory. After all uploads.
  virtual Status keepDonated(const Program &program) = 0;
  /// Nothing if no step has consumed them.
  virtual void restoreDonated() = 0;

  /// Makes ready for steps that are timed; may run some before.
  virtual void prepareSteps() = 0;

  /// Starts a step; synchronize waits until its results are there and gives
  /// what was measured on the device to the Recorder.
  virtual void step() = 0;
  virtual void synchronize() = 0;

  /// `use` reads the shard of a result in host memory.
  using Use = std::function<Status(const void *shard)>;
  virtual Status download(size_t output, const Use &use) = 0;

  /// The most memory of the device held so far.
  virtual size_t deviceBytes() const = 0;

  /// Of the CPU, that compute.
  virtual int threadsPerRank() const { return 1; }

  /// One step from and to shards in host memory, in the metadata's order, which
  /// are dense and aligned for their elements.
  virtual Status stepOn(const Program &program, void *const *inputs,
                        void *const *outputs);

  /// The same in memory that the program may use as its own: donated inputs are
  /// written over, outputs with a donor lie there, those with an offset in
  /// `shared`.
  virtual Status stepInPlace(const Program &program, void *const *inputs,
                             void *const *outputs, char *shared);

  /// Gives up what it shares with other ranks. Collective.
  virtual void release() {}
};

/// The one for the machine that the program is compiled for.
std::unique_ptr<Target> makeTarget();

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_RUN_TARGET_H
