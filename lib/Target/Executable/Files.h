// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Files on the way to an image of kernels.

#ifndef SHOAL_LIB_TARGET_EXECUTABLE_FILES_H
#define SHOAL_LIB_TARGET_EXECUTABLE_FILES_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallString.h"

namespace shoal {

/// A folder for files that go away with this object.
class TemporaryFolder {
public:
  static mlir::FailureOr<std::unique_ptr<TemporaryFolder>>
  create(mlir::Location loc);
  ~TemporaryFolder();
  std::string path(llvm::StringRef file) const;

private:
  explicit TemporaryFolder(llvm::StringRef folder) : folder(folder) {}
  llvm::SmallString<128> folder;
};

mlir::LogicalResult writeFile(llvm::StringRef path, llvm::StringRef contents,
                              mlir::Location loc);
mlir::FailureOr<std::string> readFile(llvm::StringRef path, mlir::Location loc);

} // namespace shoal

#endif // SHOAL_LIB_TARGET_EXECUTABLE_FILES_H
