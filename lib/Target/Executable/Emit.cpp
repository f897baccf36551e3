// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Files.h"
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

static LogicalResult saveParts(const TargetOptions &options,
                               ArrayRef<ModulePart> parts, Location loc) {
  if (options.saveTempsDirectory.empty())
    return success();
  constexpr StringLiteral names[] = {"program", "kernels"};
  for (auto [name, part] : llvm::zip(names, parts))
    if (failed(save(
            options, (name + Twine(".ll")).str(),
            [&](auto &os) { os << part.text; }, loc)) ||
        failed(save(
            options, (name + Twine(".o")).str(),
            [&](auto &os) { os.write(part.object.data(), part.object.size()); },
            loc)))
      return failure();
  return success();
}

namespace {
/// The objects as files, until the program is linked.
struct ObjectFiles {
  LogicalResult write(ArrayRef<ModulePart> parts, StringRef besides,
                      Location loc) {
    for (const ModulePart &part : parts) {
      files.push_back(std::make_unique<TemporaryFile>(besides, ".o"));
      paths.push_back(files.back()->path);
      if (failed(writeFile(paths.back(),
                           StringRef(part.object.data(), part.object.size()),
                           loc)))
        return failure();
    }
    return success();
  }

  std::vector<std::unique_ptr<TemporaryFile>> files;
  std::vector<std::string> paths;
};
} // namespace

/// The module's parts, compiled.
static FailureOr<std::vector<ModulePart>>
compileModule(ModuleOp module, const TargetOptions &options,
              StageSeconds &seconds, Location loc) {
  bool savesParts = !options.saveTempsDirectory.empty();
  auto machine = createNativeMachine(loc, llvm::CodeGenOptLevel::Aggressive);
  auto level =
      llvm::CodeGenOpt::getLevel(options.optLevel.value_or(kMaxOptLevel));
  if (failed(machine) || !level)
    return failure();
  auto parts = timed(seconds, "translate", [&]() {
    llvm::LLVMContext context;
    auto llvmModule = translateToLLVM(module, context, **machine);
    return llvmModule ? splitModule(*llvmModule, savesParts, *level)
                      : std::vector<ModulePart>();
  });
  if (parts.empty() || failed(timed(seconds, "codegen", [&] {
        return compileParts(parts, savesParts, loc);
      })))
    return failure();
  return parts;
}

LogicalResult shoal::emitExecutable(ModuleOp module, StringRef outputPath,
                                    const RuntimeLibrary &runtime,
                                    const TargetOptions &options,
                                    StageSeconds &seconds) {
  auto loc = UnknownLoc::get(module.getContext());
  if (failed(
          save(options, "program.mlir", [&](auto &os) { os << module; }, loc)))
    return failure();
  auto parts = compileModule(module, options, seconds, loc);
  if (failed(parts) || failed(saveParts(options, *parts, loc)))
    return failure();
  return timed(seconds, "link", [&]() -> LogicalResult {
    ObjectFiles objects;
    auto linkTo = [&](StringRef path, bool shared) {
      return path.empty()
                 ? success()
                 : link(objects.paths, path, shared, runtime, options, loc);
    };
    return success(
        succeeded(objects.write(
            *parts, outputPath.empty() ? options.sharedPath : outputPath,
            loc)) &&
        succeeded(linkTo(outputPath, options.shared)) &&
        succeeded(linkTo(options.sharedPath, true)));
  });
}
