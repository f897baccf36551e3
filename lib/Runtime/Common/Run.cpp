// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Run.h"
#include "shoal/Support/RandomInputs.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace shoal::rt {

std::vector<void *> Shards::pointers() const {
  std::vector<void *> pointers;
  pointers.reserve(buffers.size());
  for (const Buffer &buffer : buffers)
    pointers.push_back(buffer.get());
  return pointers;
}

static size_t totalBytes(const std::vector<Tensor> &tensors) {
  size_t bytes = 0;
  for (const Tensor &tensor : tensors)
    bytes += tensor.localBytes();
  return bytes;
}

static bool allocateShards(const std::vector<Tensor> &tensors, Shards &shards) {
  for (const Tensor &tensor : tensors) {
    shards.buffers.push_back(allocate(tensor.localBytes()));
    if (!shards.buffers.back())
      return false;
    std::memset(shards.buffers.back().get(), 0, tensor.localBytes());
  }
  return true;
}

Status allocateAll(World &world, const Program &program, Shards &inputs,
                   Shards &outputs, Buffer &arena) {
  double perDevice = static_cast<double>(program.arenaBytes) +
                     static_cast<double>(totalBytes(program.inputs)) +
                     static_cast<double>(totalBytes(program.outputs));
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

Status loadInputs(const Program &program, const Options &options, int rank,
                  Shards &inputs) {
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const Tensor &input = program.inputs[i];
    Block block = blockOf(program, input, rank);
    void *buffer = inputs.buffers[i].get();
    auto file = options.inputs.find(input.name);
    if (file == options.inputs.end()) {
      support::fillRandomBlock(*options.randomSeed, input.name, input.type,
                               input.shape, block, input.localShape, buffer);
      continue;
    }
    if (Status failed =
            support::readNpyBlock(file->second, input.type, input.shape, block,
                                  input.localShape, buffer))
      return Error{"input \"" + input.name + "\": " + failed->message};
  }
  return std::nullopt;
}

Status prepareOutputDir(const std::string &dir) {
  std::error_code code;
  std::filesystem::create_directories(dir, code);
  // An existing folder is no error, and one that is there but not writable
  // shows only when written to.
  std::string probe = dir + "/.shoal-XXXXXX";
  int descriptor = code ? -1 : mkstemp(probe.data());
  if (descriptor < 0)
    return Error{"cannot write to output folder " + dir + ": " +
                 (code ? code.message() : std::strerror(errno))};
  close(descriptor);
  unlink(probe.c_str());
  return std::nullopt;
}

static std::string outputPath(const Options &options, const Tensor &output) {
  return options.outputDir + "/" + output.name + ".npy";
}

void storeOutputs(World &world, const Program &program, const Options &options,
                  const Shards &outputs) {
  Status status;
  for (const Tensor &output : program.outputs)
    if (world.isRoot() && !status)
      status = support::createNpy(outputPath(options, output), output.type,
                                  output.shape);
  world.agree(status);
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const Tensor &output = program.outputs[i];
    if (status || !ownsBlock(program, output, world.rank()))
      continue;
    status = support::writeNpyBlock(
        outputPath(options, output), output.type, output.shape,
        blockOf(program, output, world.rank()), output.localShape,
        outputs.buffers[i].get());
  }
  world.agree(status);
}

} // namespace shoal::rt
