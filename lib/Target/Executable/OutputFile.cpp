// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Target/OutputFile.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <filesystem>

using namespace mlir;
using namespace shoal;
namespace fs = std::filesystem;

/// Behind links, also behind one whose target is not there yet.
static fs::path followLinks(fs::path path) {
  constexpr int most = 40; // as many as Linux follows
  std::error_code error;
  for (int i = 0; i < most && fs::is_symlink(path, error); ++i)
    path = path.parent_path() / fs::read_symlink(path, error);
  return path;
}

static bool isSpecialFile(const fs::path &path) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  return fs::exists(status) && !fs::is_regular_file(status) &&
         !fs::is_directory(status);
}

/// A name of its own in the folder, and short, however long the output's is.
static std::string nameIn(StringRef folder, StringRef suffix) {
  llvm::SmallString<128> model(folder), path;
  llvm::sys::path::append(model, ".shoal-%%%%%%%%%%%%" + suffix);
  llvm::sys::fs::createUniquePath(model, path, /*MakeAbsolute=*/false);
  return path.str().str();
}

TemporaryFile::TemporaryFile(StringRef output, StringRef suffix)
    : output(output), isSpecial(isSpecialFile(output.str())) {
  llvm::SmallString<128> folder;
  if (isSpecial) {
    target = output;
    llvm::sys::path::system_temp_directory(/*erasedOnReboot=*/true, folder);
  } else {
    target = followLinks(output.str()).string();
    folder = llvm::sys::path::parent_path(target);
  }
  path = nameIn(folder, suffix);
}

TemporaryFile::~TemporaryFile() {
  [[maybe_unused]] std::error_code ignored = llvm::sys::fs::remove(path);
}

LogicalResult TemporaryFile::moveToOutput(Location loc) const {
  if (std::error_code error = isSpecial ? llvm::sys::fs::copy_file(path, target)
                                        : llvm::sys::fs::rename(path, target))
    return emitError(loc) << "cannot write " << output << ": "
                          << error.message();
  return success();
}

std::string shoal::asOperand(StringRef path) {
  bool isOption = path.starts_with("-") || path.starts_with("@");
  return (isOption ? "./" + path : path).str();
}
