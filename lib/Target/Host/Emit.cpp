// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Steps.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace shoal;

template <typename Printable>
static LogicalResult save(const TargetOptions &options, StringRef name,
                          Printable print, Location loc) {
  if (options.saveTempsDirectory.empty())
    return success();
  llvm::SmallString<128> path(options.saveTempsDirectory);
  std::error_code error = llvm::sys::fs::create_directories(path);
  llvm::sys::path::append(path, name);
  if (!error) {
    llvm::raw_fd_ostream os(path, error);
    if (!error)
      print(os);
  }
  if (error)
    return emitError(loc) << "cannot write " << path << ": " << error.message();
  return success();
}

LogicalResult shoal::emitForHost(ModuleOp module, StringRef outputPath,
                                 const RuntimeLibrary &runtime,
                                 const TargetOptions &options,
                                 StageSeconds &seconds) {
  auto loc = UnknownLoc::get(module.getContext());
  auto machine = createHostMachine(loc);
  if (failed(machine) ||
      failed(
          save(options, "program.mlir", [&](auto &os) { os << module; }, loc)))
    return failure();

  llvm::LLVMContext context;
  auto llvmModule = timed(seconds, "translate", [&] {
    return translateToLLVM(module, context, **machine);
  });
  if (!llvmModule)
    return failure();
  timed(seconds, "optimize", [&] { optimize(*llvmModule, **machine); });
  if (failed(save(
          options, "program.ll", [&](auto &os) { os << *llvmModule; }, loc)))
    return failure();

  TemporaryFile object(outputPath.empty() ? options.sharedPath : outputPath,
                       ".o");
  auto linkTo = [&](StringRef path, bool shared) {
    return path.empty()
               ? success()
               : link(object.path, path, shared, runtime, options, loc);
  };
  if (failed(timed(seconds, "codegen",
                   [&] {
                     return writeObject(*llvmModule, **machine, object.path,
                                        loc);
                   })) ||
      failed(timed(seconds, "link", [&] {
        return success(succeeded(linkTo(outputPath, options.shared)) &&
                       succeeded(linkTo(options.sharedPath, true)));
      })))
    return failure();
  if (!options.saveTempsDirectory.empty()) {
    llvm::SmallString<128> copy(options.saveTempsDirectory);
    llvm::sys::path::append(copy, "program.o");
    [[maybe_unused]] std::error_code ignored =
        llvm::sys::fs::copy_file(object.path, copy);
  }
  return success();
}
