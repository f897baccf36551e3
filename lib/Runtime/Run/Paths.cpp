// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Paths.h"

#include <cstdlib>
#include <sys/stat.h>
#include <tuple>
#include <vector>

namespace shoal::rt {

namespace fs = std::filesystem;

fs::path behindLinks(fs::path path) {
  constexpr int most = 40; // as Linux has it
  std::error_code code;
  for (int i = 0; i < most && fs::is_symlink(path, code); ++i) {
    fs::path target = fs::read_symlink(path, code);
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path;
}

std::string outputPath(const std::string &dir, const Tensor &output) {
  return dir + "/" + output.name + ".npy";
}

namespace {
/// Device and inode of what is there, and what is to be made in it.
using Identity = std::tuple<dev_t, ino_t, std::string>;

struct File {
  /// For people.
  std::string what;
  std::string path;
  std::optional<Identity> identity;
};
} // namespace

/// Nothing of devices and pipes, which keep nothing.
static std::optional<Identity> identify(const std::string &name) {
  std::error_code code;
  fs::path path = fs::weakly_canonical(behindLinks(name), code), made;
  if (code || path.empty())
    return std::nullopt;
  struct stat status;
  while (stat(path.c_str(), &status) != 0) {
    if (path == path.parent_path())
      return std::nullopt;
    made = made.empty() ? path.filename() : path.filename() / made;
    path = path.parent_path();
  }
  if (made.empty() && !S_ISREG(status.st_mode))
    return std::nullopt;
  return Identity(status.st_dev, status.st_ino, made.string());
}

static void add(std::vector<File> &files, std::string what, std::string path) {
  if (path.empty())
    return;
  std::optional<Identity> identity = identify(path);
  files.push_back({std::move(what), std::move(path), std::move(identity)});
}

static std::vector<File> listReads(const Options &options) {
  std::vector<File> files;
  for (const auto &[name, path] : options.inputs)
    add(files, "input \"" + name + "\"", path);
  add(files, "this program", "/proc/self/exe");
  return files;
}

static std::vector<File> listWrites(const Program &program,
                                    const Options &options) {
  std::vector<File> files;
  if (!options.outputDir.empty())
    for (const Tensor &output : program.outputs)
      add(files, "output \"" + output.name + "\"",
          outputPath(options.outputDir, output));
  add(files, "--stats", options.statsFile);
  add(files, "--census", options.censusFile);
  add(files, "--trace", options.traceFile);
  const char *record = std::getenv("SHOAL_FLIGHT_RECORDER");
  add(files, "SHOAL_FLIGHT_RECORDER", record ? record : "");
  return files;
}

/// The first that is the same file; null where there is none.
static const File *findSame(const std::vector<File> &files, const File &file) {
  for (const File &other : files)
    if (file.identity && file.identity == other.identity)
      return &other;
  return nullptr;
}

Status checkPaths(const Program &program, const Options &options) {
  std::vector<File> reads = listReads(options), written;
  for (const File &file : listWrites(program, options)) {
    if (const File *other = findSame(reads, file))
      return Error{file.what + ": cannot write " + file.path + ": it is " +
                   other->what + ", which is read"};
    if (const File *other = findSame(written, file))
      return Error{file.what + ": cannot write " + file.path +
                   ": it is another output, " + other->what};
    written.push_back(file);
  }
  return std::nullopt;
}

} // namespace shoal::rt
