// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_SUPPORT_FILE_H
#define SHOAL_LIB_SUPPORT_FILE_H

#include "shoal/Support/Result.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <utility>

namespace shoal::support {

/// An open file; every failure names it.
class File {
public:
  File(const std::string &path, int flags)
      : path(path), descriptor(open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~File() {
    if (isOpen())
      close(descriptor);
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;

  bool isOpen() const { return descriptor >= 0; }
  int handle() const { return descriptor; }
  /// False where the system fails by now to write what it had accepted.
  bool finish() { return close(std::exchange(descriptor, -1)) == 0; }

  Error error(const std::string &what) const { return {path + ": " + what}; }
  /// With the system's reason for the call that has just failed.
  Error systemError(const std::string &what) const {
    return error(what + ": " + std::strerror(errno));
  }

  /// Reads up to `count` bytes; fewer at the end of the file, -1 on failure.
  int64_t readAt(void *buffer, int64_t count, int64_t offset) const {
    return transfer(pread, static_cast<char *>(buffer), count, offset);
  }
  int64_t writeAt(const void *buffer, int64_t count, int64_t offset) const {
    return transfer(pwrite, static_cast<const char *>(buffer), count, offset);
  }

private:
  template <typename Call, typename Pointer>
  int64_t transfer(Call call, Pointer buffer, int64_t count,
                   int64_t offset) const {
    int64_t done = 0;
    while (done < count) {
      ssize_t step =
          call(descriptor, buffer + done, count - done, offset + done);
      if (step < 0 && errno == EINTR)
        continue;
      if (step < 0)
        return -1;
      if (step == 0)
        break;
      done += step;
    }
    return done;
  }

  std::string path;
  int descriptor;
};

} // namespace shoal::support

#endif // SHOAL_LIB_SUPPORT_FILE_H
