// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TextFile.h"
#include "Paths.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shoal::rt {

namespace fs = std::filesystem;

static support::Error fileError(const std::string &path) {
  return {path + ": cannot write: " + std::strerror(errno)};
}

/// Whether another file can take its place: it is one, or there is none.
static bool isReplaced(const std::string &target) {
  std::error_code code;
  fs::file_status status = fs::status(target, code);
  return fs::is_regular_file(status) || !fs::exists(status);
}

/// A new file in the same folder, of a short name whatever the target's;
/// nobody else's link is followed. "" where none can be made.
static std::string makeBeside(const fs::path &target) {
  std::string prefix = (target.parent_path() / ".shoal-").string();
  for (int number = 0;; ++number) {
    std::string path =
        prefix + std::to_string(getpid()) + "-text-" + std::to_string(number);
    int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file >= 0)
      close(file);
    else if (errno == EEXIST)
      continue;
    return file >= 0 ? path : "";
  }
}

TextFile::TextFile(std::string path)
    : path(std::move(path)), target(behindLinks(this->path).string()),
      written(isReplaced(target) ? makeBeside(target) : target), out(written) {}

TextFile::~TextFile() {
  out.close();
  if (written != target)
    unlink(written.c_str());
}

Status TextFile::keep() {
  out.close();
  if (!out)
    return fileError(path);
  if (written == target)
    return std::nullopt;
  struct stat before;
  if (stat(target.c_str(), &before) == 0)
    chmod(written.c_str(), before.st_mode & 07777);
  if (std::rename(written.c_str(), target.c_str()) != 0)
    return fileError(path);
  return std::nullopt;
}

/// Nothing that is there is opened: who reads a pipe would see an end.
Status prepareFile(const std::string &path) {
  if (path.empty())
    return std::nullopt;
  std::string target = behindLinks(path).string();
  bool isThere = access(target.c_str(), F_OK) == 0;
  if (isThere && access(target.c_str(), W_OK) != 0)
    return fileError(path);
  if (isThere && !isReplaced(target)) {
    errno = EISDIR;
    return fs::is_directory(target) ? Status(fileError(path)) : std::nullopt;
  }
  TextFile probe(path);
  return probe.stream() ? std::nullopt : Status(fileError(path));
}

} // namespace shoal::rt
