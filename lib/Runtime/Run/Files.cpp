// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Files.h"
#include "../Program/Fatal.h"
#include "Paths.h"
#include "shoal/Support/RandomInputs.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace shoal::rt {

namespace fs = std::filesystem;

/// Reads a rank's block of a file.
static Status readShard(const Program &program, const Tensor &input,
                        const std::string &path, int rank, void *shard) {
  if (Status failed = support::readNpyBlock(path, input.type, input.shape,
                                            blockOf(program, input, rank),
                                            input.localShape, shard))
    return Error{"input \"" + input.name + "\": " + failed->message};
  return std::nullopt;
}

/// For each rank whether `mine` is true there. Collective.
static std::string gatherFlags(World &world, bool mine) {
  return world.gatherAll(mine ? "1" : "0");
}

/// Rank 0 reads the shards of ranks that do not have the file.
static Status sendShards(World &world, const Program &program,
                         const Tensor &input, const std::string &path,
                         const std::string &haveFile) {
  std::string shard;
  for (int rank = 1; rank < world.size(); ++rank) {
    if (haveFile[rank] == '1')
      continue;
    shard.assign(input.localBytes(), '\0');
    if (Status failed = readShard(program, input, path, rank, shard.data()))
      return failed;
    world.send(shard.data(), shard.size(), rank);
  }
  return std::nullopt;
}

static Status loadFile(World &world, const Program &program, size_t number,
                       const std::string &path, Target &target) {
  const Tensor &input = program.inputs[number];
  std::string haveFile = gatherFlags(world, std::ifstream(path).good());
  // Who has no file hears of the root's error before anything is sent.
  bool isSent = haveFile[0] == '1' && haveFile[world.rank()] == '0';
  Status status;
  if (!isSent)
    status = target.upload(number, [&](void *shard) {
      return readShard(program, input, path, world.rank(), shard);
    });
  if (Status failed = world.agree(status))
    return failed;
  if (isSent)
    status = target.upload(number, [&](void *shard) -> Status {
      world.receive(shard, input.localBytes(), /*from=*/0);
      return std::nullopt;
    });
  else if (world.isRoot())
    status = sendShards(world, program, input, path, haveFile);
  if (status && world.isRoot())
    fatal(status->message); // the disk failed meanwhile
  return world.agree(status);
}

static Status fillRandomly(const World &world, const Program &program,
                           size_t number, uint64_t seed, Target &target) {
  const Tensor &input = program.inputs[number];
  return target.upload(number, [&](void *shard) -> Status {
    support::fillRandomBlock(seed, input.name, input.type, input.shape,
                             blockOf(program, input, world.rank()),
                             input.localShape, shard);
    return std::nullopt;
  });
}

Status loadInputs(World &world, const Program &program, const Options &options,
                  Target &target) {
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    auto file = options.inputs.find(program.inputs[i].name);
    Status failed = file == options.inputs.end()
                        ? world.agree(fillRandomly(world, program, i,
                                                   *options.randomSeed, target))
                        : loadFile(world, program, i, file->second, target);
    if (failed)
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

  /// Whether it is on a disk of this machine.
  bool isSeen() const { return access(temporary.c_str(), F_OK) == 0; }

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

static Status writeBlock(const ResultFile &result, const Program &program,
                         int rank, const void *shard) {
  const Tensor &output = *result.tensor;
  return result.explain(
      support::writeNpyBlock(result.temporary, output.type, output.shape,
                             blockOf(program, output, rank), output.localShape,
                             shard, output.isComplex));
}

/// What this rank owns, where it sees the file.
static Status writeBlocks(const std::vector<ResultFile> &results,
                          const World &world, const Program &program,
                          Target &target) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (!ownsBlock(program, *results[i].tensor, world.rank()) ||
        !results[i].isSeen())
      continue;
    if (Status failed = target.download(i, [&](const void *shard) {
          return writeBlock(results[i], program, world.rank(), shard);
        }))
      return failed;
  }
  return std::nullopt;
}

/// What ranks own that do not see the files, as those of other machines.
/// Collective; fails on rank 0 alone.
static Status writeOthersBlocks(const std::vector<ResultFile> &results,
                                World &world, const Program &program,
                                Target &target) {
  Status status;
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor &output = *results[i].tensor;
    std::string seen = gatherFlags(world, results[i].isSeen());
    auto sends = [&](int rank) {
      return seen[rank] == '0' && ownsBlock(program, output, rank);
    };
    if (!world.isRoot() && sends(world.rank()))
      status = target.download(i, [&](const void *shard) -> Status {
        world.send(shard, output.localBytes(), /*to=*/0);
        return std::nullopt;
      });
    std::string shard;
    for (int rank = 1; world.isRoot() && rank < world.size(); ++rank) {
      if (!sends(rank))
        continue;
      shard.resize(output.localBytes());
      world.receive(shard.data(), shard.size(), rank);
      // The others' are taken in any case: they wait to be.
      if (!status)
        status = writeBlock(results[i], program, rank, shard.data());
    }
  }
  return status;
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
  if (!status)
    status = world.agree(writeOthersBlocks(results, world, program, target));
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
