// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Files.h"
#include "shoal/Support/RandomInputs.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace shoal::rt {

static Status fillShard(const Tensor &input, const Block &block,
                        const Options &options, void *shard) {
  auto file = options.inputs.find(input.name);
  if (file == options.inputs.end()) {
    support::fillRandomBlock(*options.randomSeed, input.name, input.type,
                             input.shape, block, input.localShape, shard);
    return std::nullopt;
  }
  if (Status failed =
          support::readNpyBlock(file->second, input.type, input.shape, block,
                                input.localShape, shard))
    return Error{"input \"" + input.name + "\": " + failed->message};
  return std::nullopt;
}

Status loadInputs(const Program &program, const Options &options, int rank,
                  Target &target) {
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const Tensor &input = program.inputs[i];
    Block block = blockOf(program, input, rank);
    if (Status failed = target.upload(i, [&](void *shard) {
          return fillShard(input, block, options, shard);
        }))
      return failed;
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

Status storeOutputs(World &world, const Program &program,
                    const Options &options, Target &target) {
  Status status;
  for (const Tensor &output : program.outputs)
    if (world.isRoot() && !status)
      status = support::createNpy(outputPath(options, output), output.type,
                                  output.shape);
  if (Status failed = world.agree(status))
    return failed;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const Tensor &output = program.outputs[i];
    if (status || !ownsBlock(program, output, world.rank()))
      continue;
    status = target.download(i, [&](const void *shard) {
      return support::writeNpyBlock(
          outputPath(options, output), output.type, output.shape,
          blockOf(program, output, world.rank()), output.localShape, shard);
    });
  }
  return world.agree(status);
}

} // namespace shoal::rt
