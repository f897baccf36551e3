// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Many short runs of a file that lie close together, without a call of the
// system for each: data sieving (Thakur, Gropp and Lusk, "Data sieving and
// collective I/O in ROMIO", 1999).

#ifndef SHOAL_LIB_SUPPORT_FILEWINDOWS_H
#define SHOAL_LIB_SUPPORT_FILEWINDOWS_H

#include "File.h"

#include <vector>

namespace shoal::support {

/// Bytes of a file from some place on.
struct FileWindow {
  static constexpr int64_t kBytes = 1 << 20;

  int64_t begin = 0, held = 0;
  std::vector<char> bytes;

  bool has(int64_t offset, int64_t count) const {
    return offset >= begin && offset + count <= begin + held;
  }
  /// Fewer bytes at the end of the file; false where it cannot be read.
  bool read(const File &file, int64_t offset);
};

/// Reads a window, and from it what is asked for, as File::readAt does: runs
/// of up to a window, ascending.
class ReadWindows {
public:
  explicit ReadWindows(const File &file) : file(file) {}
  int64_t readAt(void *buffer, int64_t count, int64_t offset);

private:
  const File &file;
  FileWindow window;
};

/// Reads a window, puts in what is to be written, as File::writeAt does, and
/// writes it, under a lock of the window: others' runs lie between. All that
/// write to the file do so by windows, or nobody does; each has a File of its
/// own, in one process, too.
class WriteWindows {
public:
  explicit WriteWindows(const File &file) : file(file) {}
  /// -1 on failure, of the window before, too.
  int64_t writeAt(const void *buffer, int64_t count, int64_t offset);
  /// Writes what is left.
  bool finish();

private:
  bool lock(short how) const;

  const File &file;
  FileWindow window;
  /// Bytes of the window up to the last one that is new.
  int64_t written = 0;
};

} // namespace shoal::support

#endif // SHOAL_LIB_SUPPORT_FILEWINDOWS_H
