// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A text that a run writes: its file has the whole of it, or what it had.

#ifndef SHOAL_LIB_RUNTIME_RUN_TEXTFILE_H
#define SHOAL_LIB_RUNTIME_RUN_TEXTFILE_H

#include "shoal/Support/Result.h"

#include <fstream>
#include <functional>
#include <string>

namespace shoal::rt {

using support::Status;

/// Fails where `path` cannot be written; changes nothing. Nothing where it is
/// empty.
Status prepareFile(const std::string &path);

/// Is written beside its place and takes it in the end; a link stays one. What
/// is no file, as a pipe or a device, is written into.
class TextFile {
public:
  explicit TextFile(std::string path);
  TextFile(const TextFile &) = delete;
  TextFile &operator=(const TextFile &) = delete;
  /// Removes what did not take its place.
  ~TextFile();

  std::ostream &stream() { return out; }
  /// Puts it in place.
  Status keep();

private:
  std::string path, target, written;
  std::ofstream out;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_RUN_TEXTFILE_H
