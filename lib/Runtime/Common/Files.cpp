// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Files.h"
#include "shoal/Support/RandomInputs.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace shoal::rt {

namespace fs = std::filesystem;

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

/// An existing folder is no error, and one that is there but not writable shows
/// only when written to.
static Status prepareFolder(const std::string &dir) {
  std::error_code code;
  fs::create_directories(dir, code);
  std::string probe = dir + "/.shoal-XXXXXX";
  int descriptor = code ? -1 : mkstemp(probe.data());
  if (descriptor < 0)
    return Error{"cannot write to output folder " + dir + ": " +
                 (code ? code.message() : std::strerror(errno))};
  close(descriptor);
  unlink(probe.c_str());
  return std::nullopt;
}

/// The path of a result.
static std::string outputPath(const std::string &dir, const Tensor &output) {
  return dir + "/" + output.name + ".npy";
}

/// The file itself where the path is a link to one.
static fs::path behindLinks(const fs::path &path) {
  std::error_code code;
  fs::path target = fs::canonical(path, code);
  return code ? path : target;
}

Status prepareOutputs(const Program &program, const std::string &dir) {
  if (Status failed = prepareFolder(dir))
    return failed;
  for (const Tensor &output : program.outputs) {
    std::string path = outputPath(dir, output);
    struct stat status;
    bool exists = stat(path.c_str(), &status) == 0;
    if (exists ? !S_ISREG(status.st_mode) : errno != ENOENT)
      return Error{"output \"" + output.name + "\": cannot write " + path +
                   ": " + (exists ? "not a file" : std::strerror(errno))};
  }
  return std::nullopt;
}

namespace {
/// A result on its way to its file.
struct ResultFile {
  const Tensor *tensor;
  std::string path;
  /// Beside the file, of the same name on all ranks.
  std::string temporary;

  /// The error, which names the temporary file, of the result.
  Status explain(const Status &status) const {
    if (!status || !status->message.starts_with(temporary))
      return status;
    return Error{"output \"" + tensor->name + "\": " + path +
                 status->message.substr(temporary.size())};
  }
};
} // namespace

static std::vector<ResultFile> listResults(World &world, const Program &program,
                                           const std::string &dir) {
  // Other jobs may write to the folder.
  std::vector<double> job = {world.isRoot() ? double(getpid()) : 0};
  world.maximum(job);
  std::string prefix =
      ".shoal-" + std::to_string(static_cast<int64_t>(job[0])) + "-";
  std::vector<ResultFile> results;
  for (const Tensor &output : program.outputs) {
    fs::path path = behindLinks(outputPath(dir, output));
    fs::path temporary =
        path.parent_path() / (prefix + std::to_string(results.size()));
    results.push_back({&output, path.string(), temporary.string()});
  }
  return results;
}

static Status createFiles(const std::vector<ResultFile> &results) {
  for (const ResultFile &result : results)
    if (Status failed = result.explain(
            support::createNpy(result.temporary, result.tensor->type,
                               result.tensor->shape, result.tensor->isComplex)))
      return failed;
  return std::nullopt;
}

/// What this rank owns.
static Status writeBlocks(const std::vector<ResultFile> &results, World &world,
                          const Program &program, Target &target) {
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor &output = *results[i].tensor;
    if (!ownsBlock(program, output, world.rank()))
      continue;
    Status status = target.download(i, [&](const void *shard) {
      return support::writeNpyBlock(results[i].temporary, output.type,
                                    output.shape,
                                    blockOf(program, output, world.rank()),
                                    output.localShape, shard, output.isComplex);
    });
    if (Status failed = results[i].explain(status))
      return failed;
  }
  return std::nullopt;
}

static Status moveFiles(const std::vector<ResultFile> &results) {
  for (const ResultFile &result : results)
    if (std::rename(result.temporary.c_str(), result.path.c_str()) != 0)
      return Error{"output \"" + result.tensor->name + "\": " + result.path +
                   ": cannot write: " + std::strerror(errno)};
  return std::nullopt;
}

Status storeOutputs(World &world, const Program &program,
                    const Options &options, Target &target) {
  std::vector<ResultFile> results =
      listResults(world, program, options.outputDir);
  Status status;
  if (world.isRoot())
    status = createFiles(results);
  status = world.agree(status);
  if (!status)
    status = world.agree(writeBlocks(results, world, program, target));
  if (!world.isRoot())
    return world.agree(std::nullopt);
  if (!status)
    status = moveFiles(results);
  // Those that have been moved are not there any more.
  for (const ResultFile &result : results)
    unlink(result.temporary.c_str());
  return world.agree(status);
}

} // namespace shoal::rt
