// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FileWindows.h"

#include <algorithm>

namespace shoal::support {

bool FileWindow::read(const File &file, int64_t offset) {
  bytes.resize(kBytes);
  begin = offset;
  int64_t count = file.readAt(bytes.data(), kBytes, offset);
  held = std::max<int64_t>(count, 0);
  return count >= 0;
}

int64_t ReadWindows::readAt(void *buffer, int64_t count, int64_t offset) {
  if (!window.has(offset, count) && !window.read(file, offset))
    return -1;
  int64_t found = std::min(count, window.begin + window.held - offset);
  std::memcpy(buffer, window.bytes.data() + (offset - window.begin), found);
  return found;
}

/// An open file's own lock, which two of one process do not share.
bool WriteWindows::lock(short how) const {
  struct flock range = {};
  range.l_type = how;
  range.l_whence = SEEK_SET;
  range.l_start = window.begin;
  range.l_len = FileWindow::kBytes;
  int code;
  do
    code = fcntl(file.handle(), F_OFD_SETLKW, &range);
  while (code != 0 && errno == EINTR);
  return code == 0;
}

int64_t WriteWindows::writeAt(const void *buffer, int64_t count,
                              int64_t offset) {
  if (!window.has(offset, count)) {
    if (!finish())
      return -1;
    window.begin = offset;
    if (!lock(F_WRLCK))
      // A file system without locks.
      return file.writeAt(buffer, count, offset);
    if (!window.read(file, offset))
      return -1;
  }
  std::memcpy(window.bytes.data() + (offset - window.begin), buffer, count);
  written = std::max(written, offset + count - window.begin);
  return count;
}

bool WriteWindows::finish() {
  if (window.held == 0)
    return true;
  bool complete =
      file.writeAt(window.bytes.data(), written, window.begin) == written;
  complete &= lock(F_UNLCK);
  window.held = written = 0;
  return complete;
}

} // namespace shoal::support
