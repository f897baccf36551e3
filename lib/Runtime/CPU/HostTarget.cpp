// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HostTarget.h"
#include "Device.h"
#include "shoal/Runtime/ABI.h"

#include <cstring>
#include <unistd.h>

namespace shoal::rt {

static bool allocateShards(const std::vector<Tensor> &tensors,
                           std::vector<Buffer> &shards) {
  for (const Tensor &tensor : tensors) {
    shards.push_back(allocate(tensor.localBytes()));
    if (!shards.back())
      return false;
    std::memset(shards.back().get(), 0, tensor.localBytes());
  }
  return true;
}

Status HostTarget::allocateAll(World &world, const Program &program) {
  bytes = program.arenaBytes + totalBytes(program.inputs) +
          totalBytes(program.outputs);
  auto perDevice = static_cast<double>(bytes);
  int neighbours = world.ranksOnNode();
  double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                  static_cast<double>(sysconf(_SC_PAGESIZE));
  // The system promises memory that it has not; better to fail now than to be
  // killed in the middle of a step.
  bool fits = perDevice * neighbours <= memory;
  if (fits) {
    arena = allocate(program.arenaBytes);
    fits = arena && allocateShards(program.inputs, inputs) &&
           allocateShards(program.outputs, outputs);
  }
  if (!fits)
    return Error{"not enough memory: " + program.name + " needs " +
                 formatBytes(perDevice) + " for each of the " +
                 std::to_string(neighbours) +
                 " devices on a machine, which has " + formatBytes(memory)};
  return std::nullopt;
}

static std::vector<void *> pointers(const std::vector<Buffer> &buffers) {
  std::vector<void *> pointers;
  pointers.reserve(buffers.size());
  for (const Buffer &buffer : buffers)
    pointers.push_back(buffer.get());
  return pointers;
}

Status HostTarget::prepare(World &world, const Program &program,
                           const Options &) {
  if (Status failed = allocateAll(world, program))
    return failed;
  inputPointers = pointers(inputs);
  outputPointers = pointers(outputs);
  Device::get().setUp(program.meshes, world.rank());
  return std::nullopt;
}

Status HostTarget::upload(size_t input, const Fill &fill) {
  return fill(inputs[input].get());
}

void HostTarget::step() {
  shoal_program_entry(inputPointers.data(), outputPointers.data(), arena.get());
}

Status HostTarget::download(size_t output, const Use &use) {
  return use(outputs[output].get());
}

size_t HostTarget::deviceBytes() const {
  return bytes + Staging::get().bytes();
}

} // namespace shoal::rt
