// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Outputs.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Support/FileUtilities.h"
#include "shoal/Target/OutputFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

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
  if (!options.machinePath.empty())
    inputs.push_back(options.machinePath);
  llvm::append_range(inputs, options.files.linkedFiles);
  SmallVector<std::string> outputs{options.outputPath, options.statsPath,
                                   options.simulatedTracePath};
  for (StringRef output : outputs)
    if (failed(verifyFolder(output, loc)))
      return failure();
  if (StringRef temps = options.files.saveTempsDirectory; !temps.empty())
    for (StringRef name :
         {"program.mlir", "program.ll", "program.o", "kernels.ll", "kernels.o"})
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

static LogicalResult writeInPlace(Location loc, StringRef path,
                                  StringRef shownPath, Contents contents) {
  std::string message;
  auto file = openOutputFile(path, &message);
  if (!file)
    return emitError(loc) << message;
  contents(file->os());
  file->os().flush();
  if (file->os().has_error()) {
    std::error_code error = file->os().error();
    file->os().clear_error();
    return emitError(loc) << "cannot write " << shownPath << ": "
                          << error.message();
  }
  file->keep();
  return success();
}

LogicalResult shoal::writeFile(MLIRContext &context, StringRef path,
                               Contents contents, bool isProgram) {
  Location loc = UnknownLoc::get(&context);
  if (path.empty() || path == "-")
    return writeInPlace(loc, "-", "stdout", contents);
  TemporaryFile file(path);
  if (failed(writeInPlace(loc, file.path, path, contents)))
    return failure();
  auto mode = static_cast<llvm::sys::fs::perms>(llvm::sys::fs::all_all &
                                                ~llvm::sys::fs::getUmask());
  if (isProgram)
    if (std::error_code error = llvm::sys::fs::setPermissions(file.path, mode))
      return emitError(loc)
             << "cannot write " << path << ": " << error.message();
  return file.moveToOutput(loc);
}
