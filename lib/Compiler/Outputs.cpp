// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Outputs.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace shoal;

/// Whether to write the one is to write the other: devices and pipes, which
/// keep nothing, never are.
static bool isSameFile(StringRef first, StringRef second) {
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(first, status))
    return first == second; // both are made
  return llvm::sys::fs::is_regular_file(status) &&
         llvm::sys::fs::equivalent(first, second);
}

static std::string inFolder(StringRef folder, StringRef name) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

static LogicalResult verifyFolder(StringRef output, Location loc) {
  StringRef folder = llvm::sys::path::parent_path(output);
  if (std::error_code error = llvm::sys::fs::access(
          folder.empty() ? "." : folder, llvm::sys::fs::AccessMode::Exist))
    return emitError(loc) << "cannot write " << output << ": "
                          << error.message();
  return success();
}

LogicalResult shoal::verifyOutputs(const DriverOptions &options, Location loc) {
  SmallVector<std::string> inputs{options.inputPath};
  llvm::append_range(inputs, options.files.linkedFiles);
  SmallVector<std::string> outputs{options.outputPath, options.statsPath};
  for (StringRef output : outputs)
    if (failed(verifyFolder(output, loc)))
      return failure();
  if (StringRef temps = options.files.saveTempsDirectory; !temps.empty())
    for (StringRef name : {"program.mlir", "program.ll", "program.o"})
      outputs.push_back(inFolder(temps, name));
  llvm::erase_if(outputs, [](StringRef path) {
    return path.empty() || path == "-"; // not a file
  });

  for (auto [number, output] : llvm::enumerate(outputs)) {
    for (StringRef input : inputs)
      if (isSameFile(output, input))
        return emitError(loc) << "cannot write " << output << ": it is "
                              << input << ", which is read";
    for (StringRef other : ArrayRef(outputs).take_front(number))
      if (isSameFile(output, other))
        return emitError(loc) << "cannot write " << output
                              << ": it is another output, " << other;
  }
  return success();
}
