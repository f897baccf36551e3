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
    if (tensor.donor) {
      shards.emplace_back();
      continue;
    }
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
  for (size_t i = 0; i < outputs.size(); ++i)
    if (std::optional<size_t> donor = program.outputs[i].donor)
      outputPointers[i] = inputPointers[*donor];
  Device::get().setUp(program.meshes, world.rank());
  return std::nullopt;
}

Status HostTarget::upload(size_t input, const Fill &fill) {
  return fill(inputs[input].get());
}

Status HostTarget::keepDonated(const Program &program) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!program.inputs[i].donated)
      continue;
    size_t count = program.inputs[i].localBytes();
    Buffer copy = allocate(count);
    if (!copy)
      return Error{"not enough memory: a copy of the donated input \"" +
                   program.inputs[i].name + "\", which is kept for the next " +
                   "step, needs " + formatBytes(static_cast<double>(count))};
    std::memcpy(copy.get(), inputs[i].get(), count);
    donated.push_back({i, count, std::move(copy)});
    bytes += count;
  }
  return std::nullopt;
}

void HostTarget::restoreDonated() {
  if (consumed)
    for (const Kept &kept : donated)
      std::memcpy(inputs[kept.input].get(), kept.copy.get(), kept.bytes);
  consumed = false;
}

void HostTarget::step() {
  consumed = true;
  shoal_program_entry(inputPointers.data(), outputPointers.data(), arena.get());
}

Status HostTarget::download(size_t output, const Use &use) {
  return use(outputPointers[output]);
}

size_t HostTarget::deviceBytes() const {
  return bytes + Staging::get().bytes();
}

} // namespace shoal::rt
