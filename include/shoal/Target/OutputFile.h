// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Outputs that appear once they are whole.

#ifndef SHOAL_TARGET_OUTPUTFILE_H
#define SHOAL_TARGET_OUTPUTFILE_H

#include "mlir/IR/Location.h"

namespace shoal {

/// A file on the way to `output`, where a tool writes what is to be there. It
/// lies beside the output, or, of one that is no regular file, in the system's
/// temporary folder, and goes away with this object.
class TemporaryFile {
public:
  explicit TemporaryFile(llvm::StringRef output, llvm::StringRef suffix = "");
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  /// Puts the file in the output's place: renames it over a regular file, which
  /// may be the target of a link, and copies it into anything else, as a pipe
  /// or a device.
  mlir::LogicalResult moveToOutput(mlir::Location loc) const;

  std::string path;

private:
  /// As it was asked for, and behind links.
  std::string output, target;
  bool isSpecial;
};

/// The path as a command line has it: never an option, as -x and @x are.
std::string asOperand(llvm::StringRef path);

} // namespace shoal

#endif // SHOAL_TARGET_OUTPUTFILE_H
