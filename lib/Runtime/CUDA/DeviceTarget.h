// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CUDA_DEVICETARGET_H
#define SHOAL_LIB_RUNTIME_CUDA_DEVICETARGET_H

#include "../Memory/Memory.h"
#include "../Run/Target.h"
#include "DeviceMemory.h"
#include "StepGraph.h"

namespace shoal::rt {

/// What the compiler puts beside the host program.
struct ProgramData {
  /// A fatbin or, for the emulated device, a shared object.
  const void *image;
  const void *constants;
};

/// A GPU, or the emulated device.
class DeviceTarget final : public Target {
public:
  explicit DeviceTarget(ProgramData data) : data(data) {}

  std::string describe(const Program &program) const override;
  Status prepare(World &world, const Program &program,
                 const Options &options) override;
  Status upload(size_t input, const Fill &fill) override;
  Status keepDonated(const Program &program) override;
  void restoreDonated() override;
  void prepareSteps() override;
  void step() override;
  void synchronize() override;
  Status download(size_t output, const Use &use) override;
  size_t deviceBytes() const override;

private:
  /// One rank's part of memory on the device, by tensor.
  struct Shards {
    std::vector<DeviceBuffer> buffers;
    std::vector<void *> pointers;
    std::vector<size_t> bytes;
  };

  Status openDevice(const Program &program);
  /// Fails, naming the sum, if the memory is not there.
  Status allocateAll(const Program &program);
  bool allocateShards(const std::vector<Tensor> &tensors, Shards &shards);
  void clearOutputs(const Program &program);
  void toDevice(size_t input, const void *shard);
  void copyConstants(const CudaProgram &program);
  void enterProgram();

  ProgramData data;
  /// `shared` is of outputs that have an offset.
  DeviceBuffer arena, shared;
  Shards inputs, outputs;
  /// Donated inputs as they were given, by number.
  std::vector<std::pair<size_t, Buffer>> donated;
  bool consumed = false;
  size_t bytes = 0;
  bool isRoot = false;
  bool wantsGraph = false;
  bool hasStepped = false;
  StepGraph graph;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_DEVICETARGET_H
