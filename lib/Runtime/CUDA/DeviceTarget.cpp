// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "DeviceTarget.h"
#include "../Memory/Memory.h"
#include "DescribeProducts.h"
#include "Device.h"
#include "KernelLibrary.h"
#include "Matmul.h"
#include "ProgramKernels.h"
#include "Timeline.h"
#include "shoal/Runtime/ABI.h"

#include <cstdio>
#include <cstring>

namespace shoal::rt {

std::unique_ptr<Target> makeTarget() {
  return std::make_unique<DeviceTarget>(
      ProgramData{shoal_program_image, shoal_program_constants});
}

std::string DeviceTarget::describe(const Program &program) const {
  return describeProducts(program);
}

Status DeviceTarget::prepare(World &world, const Program &program,
                             const Options &options) {
  // All ranks come to each agreement; opening the device is collective.
  if (Status failed = world.agree(loadApi(program.cuda.emulation)))
    return failed;
  Device::get().setUp(program.meshes, world.rank());
  if (Status failed = world.agree(Device::get().open()))
    return failed;
  if (Status failed = world.agree(loadKernelLibrary()))
    return failed;
  if (Status failed =
          world.agree(ProgramKernels::get().load(program.cuda, data.image)))
    return failed;
  if (Status failed = world.agree(allocateAll(program)))
    return failed;
  Device::get().makeStreams(program.collectives);
  Timeline::get().setUp(
      program.collectives,
      std::chrono::seconds(options.collectiveTimeout.value_or(300)));
  setTF32(program.cuda.tf32);
  copyConstants(program.cuda);
  isRoot = world.isRoot();
  wantsGraph = options.cudaGraph;
  Device::get().setMayWait(!wantsGraph);
  return std::nullopt;
}

bool DeviceTarget::allocateShards(const std::vector<Tensor> &tensors,
                                  Shards &shards) {
  for (const Tensor &tensor : tensors) {
    if (tensor.donor || tensor.offset) {
      shards.pointers.push_back(
          tensor.donor ? inputs.pointers[*tensor.donor]
                       : static_cast<char *>(shared.get()) + *tensor.offset);
      shards.bytes.push_back(tensor.localBytes());
      shards.buffers.emplace_back();
      continue;
    }
    DeviceBuffer buffer = allocateOnDevice(tensor.localBytes());
    if (!buffer)
      return false;
    shards.pointers.push_back(buffer.get());
    shards.bytes.push_back(tensor.localBytes());
    shards.buffers.push_back(std::move(buffer));
  }
  return true;
}

Status DeviceTarget::allocateAll(const Program &program) {
  bytes = totalBytes(program);
  size_t left = freeDeviceMemory();
  bool fits = bytes <= left;
  if (fits) {
    arena = allocateOnDevice(program.arenaBytes);
    shared = allocateOnDevice(program.sharedBytes);
    fits = arena && shared && allocateShards(program.inputs, inputs) &&
           allocateShards(program.outputs, outputs);
  }
  if (!fits)
    return Error{"not enough memory: " + program.name + " needs " +
                 formatBytes(static_cast<double>(bytes)) + ", device has " +
                 formatBytes(static_cast<double>(left))};
  clearOutputs(program);
  return std::nullopt;
}

void DeviceTarget::clearOutputs(const Program &program) {
  auto clear = [](void *memory, size_t bytes) {
    if (bytes != 0)
      check(api.cudaMemsetAsync(memory, 0, bytes, Device::get().compute()),
            "cudaMemsetAsync");
  };
  for (size_t i = 0; i < outputs.pointers.size(); ++i)
    if (outputs.buffers[i])
      clear(outputs.pointers[i], outputs.bytes[i]);
  clear(shared.get(), program.sharedBytes);
}

void DeviceTarget::copyConstants(const CudaProgram &program) {
  if (program.constantsBytes == 0)
    return;
  setActivity("the program's", "constants");
  check(api.cudaMemcpyAsync(static_cast<char *>(arena.get()) +
                                program.constantsOffset,
                            data.constants, program.constantsBytes,
                            cudaMemcpyHostToDevice, Device::get().compute()),
        "cudaMemcpyAsync");
  waitForDevice();
}

Status DeviceTarget::upload(size_t input, const Fill &fill) {
  size_t count = inputs.bytes[input];
  Buffer shard = allocate(count);
  if (!shard)
    return Error{"not enough memory of the host: an input needs " +
                 formatBytes(static_cast<double>(count))};
  std::memset(shard.get(), 0, count);
  if (Status failed = fill(shard.get()))
    return failed;
  toDevice(input, shard.get());
  return std::nullopt;
}

void DeviceTarget::toDevice(size_t input, const void *shard) {
  setActivity("input", static_cast<int64_t>(input));
  if (inputs.bytes[input] != 0)
    check(api.cudaMemcpyAsync(inputs.pointers[input], shard,
                              inputs.bytes[input], cudaMemcpyHostToDevice,
                              Device::get().compute()),
          "cudaMemcpyAsync");
  waitForDevice();
}

Status DeviceTarget::keepDonated(const Program &program) {
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    if (!program.inputs[i].donated)
      continue;
    size_t count = inputs.bytes[i];
    Buffer copy = allocate(count);
    if (!copy)
      return Error{"not enough memory of the host: a copy of the donated "
                   "input \"" +
                   program.inputs[i].name +
                   "\", which is kept for the next step, needs " +
                   formatBytes(static_cast<double>(count))};
    setActivity("input", static_cast<int64_t>(i));
    if (count != 0)
      check(api.cudaMemcpyAsync(copy.get(), inputs.pointers[i], count,
                                cudaMemcpyDeviceToHost,
                                Device::get().compute()),
            "cudaMemcpyAsync");
    waitForDevice();
    donated.emplace_back(i, std::move(copy));
  }
  return std::nullopt;
}

void DeviceTarget::restoreDonated() {
  if (consumed)
    for (const auto &[input, copy] : donated)
      toDevice(input, copy.get());
  consumed = false;
}

void DeviceTarget::enterProgram() {
  shoal_program_entry(inputs.pointers.data(), outputs.pointers.data(),
                      arena.get(), shared.get());
}

void DeviceTarget::prepareSteps() {
  if (!wantsGraph)
    return;
  // It makes communicators and plans, and shows what the step waits
  // for: none of that can be captured.
  if (!hasStepped) {
    restoreDonated();
    step();
    synchronize();
  }
  std::string obstacle = graph.obstacle();
  if (obstacle.empty())
    graph.capture([&] { enterProgram(); });
  else if (isRoot)
    std::fprintf(stderr, "note: runs without a CUDA graph: %s\n",
                 obstacle.c_str());
}

void DeviceTarget::step() {
  hasStepped = true;
  consumed = true;
  Timeline::get().beginStep();
  if (graph.isCaptured())
    graph.launch();
  else
    enterProgram();
}

void DeviceTarget::synchronize() {
  waitForDevice();
  Timeline::get().drain();
}

Status DeviceTarget::download(size_t output, const Use &use) {
  size_t count = outputs.bytes[output];
  Buffer shard = allocate(count);
  if (!shard)
    return Error{"not enough memory of the host: a result needs " +
                 formatBytes(static_cast<double>(count))};
  setActivity("result", static_cast<int64_t>(output));
  if (count != 0)
    check(api.cudaMemcpyAsync(shard.get(), outputs.pointers[output], count,
                              cudaMemcpyDeviceToHost, Device::get().compute()),
          "cudaMemcpyAsync");
  waitForDevice();
  return use(shard.get());
}

size_t DeviceTarget::deviceBytes() const { return bytes; }

} // namespace shoal::rt
