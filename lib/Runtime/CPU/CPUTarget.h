// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CPU_CPUTARGET_H
#define SHOAL_LIB_RUNTIME_CPU_CPUTARGET_H

#include "../Memory/GuardedBuffer.h"
#include "../Run/Target.h"

namespace shoal::rt {

/// The processor that runs this process: calls are done when they return.
class CPUTarget final : public Target {
public:
  std::string describe(const Program &program) const override;
  Status prepare(World &world, const Program &program,
                 const Options &options) override;
  Status upload(size_t input, const Fill &fill) override;
  Status keepDonated(const Program &program) override;
  void restoreDonated() override;
  void prepareSteps() override {}
  void step() override;
  void synchronize() override {}
  Status download(size_t output, const Use &use) override;
  size_t deviceBytes() const override;
  int threadsPerRank() const override;
  Status stepOn(const Program &program, void *const *inputs,
                void *const *outputs) override;
  Status stepInPlace(const Program &program, void *const *inputs,
                     void *const *outputs, char *shared) override;
  void release() override;

private:
  /// Fails, naming the sum, if the memory is not there.
  Status allocateAll(World &world, const Program &program, bool hasShards);

  bool allocateShards(const std::vector<Tensor> &tensors,
                      std::vector<GuardedBuffer> &shards) const;
  bool allocateShared(const Program &program);
  void copyDonated(const Program &program, void *const *given);
  void placeOutputs(const Program &program);
  void checkMemory(const Program &program) const;

  /// A donated input as it was given.
  struct Kept {
    size_t input, bytes;
    Buffer copy;
  };

  /// `shared` is of outputs that have an offset.
  GuardedBuffer arena, shared;
  std::vector<Kept> donated;
  bool consumed = false;
  std::vector<GuardedBuffer> inputs, outputs;
  std::vector<void *> inputPointers, outputPointers;
  size_t bytes = 0;
  /// The program whose steps are checked to stay in their memory, if any.
  const Program *checked = nullptr;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_CPUTARGET_H
