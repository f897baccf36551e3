// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Files.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace shoal;

FailureOr<std::unique_ptr<TemporaryFolder>>
TemporaryFolder::create(Location loc) {
  llvm::SmallString<128> path;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("shoal-kernels", path))
    return emitError(loc) << "cannot make a temporary folder: "
                          << error.message();
  return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(path));
}

TemporaryFolder::~TemporaryFolder() {
  [[maybe_unused]] std::error_code ignored =
      llvm::sys::fs::remove_directories(folder);
}

std::string TemporaryFolder::path(StringRef file) const {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, file);
  return path.str().str();
}

LogicalResult shoal::writeFile(StringRef path, StringRef contents,
                               Location loc) {
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (!error) {
    os << contents;
    os.close();
    error = os.error();
    os.clear_error();
  }
  if (error)
    return emitError(loc) << "cannot write " << path << ": " << error.message();
  return success();
}

FailureOr<std::string> shoal::readFile(StringRef path, Location loc) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return emitError(loc) << "cannot read " << path << ": "
                          << file.getError().message();
  return (*file)->getBuffer().str();
}
