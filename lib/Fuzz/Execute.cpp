// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Runs.h"
#include "shoal/Support/Npy.h"
#include "shoal/Target/CPU/CPUTarget.h"
#include "shoal/Target/CUDA/CUDATarget.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;
using namespace shoal::reference;

namespace {

/// A folder that goes away with its files.
class Folder {
public:
  Folder() {
    isMade = !llvm::sys::fs::createUniqueDirectory("shoal-fuzz", path);
  }
  ~Folder() {
    // What cannot be removed stays.
    if (isMade)
      std::ignore = llvm::sys::fs::remove_directories(path);
  }
  std::string file(const llvm::Twine &name) const {
    SmallString<128> result(path);
    llvm::sys::path::append(result, name);
    return result.str().str();
  }

private:
  SmallString<128> path;
  bool isMade;
};

} // namespace

static FailureOr<Tensors> readResults(const Signature &signature,
                                      const Folder &folder,
                                      std::string &message) {
  Tensors results;
  for (const Port &port : signature.results) {
    std::vector<char> bytes(port.global.numElements() *
                            support::elementSize(port.global.element));
    if (support::Status failed = support::readNpy(
            folder.file(port.name + ".npy"), port.global.element,
            port.global.shape, bytes.data())) {
      message = failed->message;
      return failure();
    }
    results.push_back(Tensor::fromBytes(port.global, bytes));
  }
  return results;
}

/// Runs the command; on failure `message` is the end of what it wrote.
static LogicalResult run(ArrayRef<std::string> command, const Folder &folder,
                         std::string &message) {
  auto program = llvm::sys::findProgramByName(command[0]);
  if (!program) {
    message = command[0] + " is not in PATH";
    return failure();
  }
  SmallVector<StringRef> arguments(command.begin(), command.end());
  std::string log = folder.file("log");
  int code = llvm::sys::ExecuteAndWait(
      *program, arguments, /*Env=*/std::nullopt,
      {StringRef(""), StringRef(log), StringRef(log)}, /*SecondsToWait=*/120,
      /*MemoryLimit=*/0, &message);
  if (code == 0)
    return success();
  message = "exit code " + std::to_string(code) + "\n" + message;
  if (auto text = llvm::MemoryBuffer::getFile(log))
    message += (*text)->getBuffer().take_back(2000);
  return failure();
}

/// Makes the executable `path`.
static LogicalResult build(ModuleOp module, StringRef path,
                           const CheckOptions &options, StageObserver observe) {
  TargetOptions files;
  files.runtimeDirectory = options.runtimeDirectory;
  StageSeconds seconds;
  if (!options.emulated) {
    observe("lower to cpu");
    FailureOr<LoweredProgram> program = lowerForCPU(module, seconds);
    if (failed(program))
      return failure();
    observe("emit for cpu");
    return emitForCPU(module, *program, path, files, seconds);
  }
  observe("lower to cuda");
  FailureOr<CUDAProgram> program = lowerForCUDA(module, seconds);
  if (failed(program))
    return failure();
  observe("emit for cuda");
  return emitForCUDA(module, *program, path, files, {{"emulated"}, ""},
                     seconds);
}

FailureOr<Tensors> shoal::fuzz::executeProgram(
    ModuleOp module, const Signature &signature, ArrayRef<Tensor> inputs,
    const CheckOptions &options, StageObserver observe,
    SmallVectorImpl<std::string> &sides, std::string &message) {
  Folder folder;
  if (failed(build(module, folder.file("program"), options, observe)))
    return failure();
  observe("execute");
  SmallVector<std::string> command(options.launcher);
  command.push_back(std::to_string(signature.numDevices));
  command.push_back(folder.file("program"));
  command.push_back("--output-dir=" + folder.file(""));
  command.push_back("--census=" + folder.file("sides"));
  // Alone, a thread shares nothing: results are the same for any number.
  if (!options.emulated)
    command.push_back("--threads=" + std::to_string(1 + options.inputSeed % 3));
  for (auto [port, input] : llvm::zip_equal(signature.arguments, inputs)) {
    std::string path = folder.file(port.name + ".in.npy");
    if (support::Status failed =
            support::writeNpy(path, input.getElementType(), input.getShape(),
                              input.toBytes().data())) {
      message = failed->message;
      return failure();
    }
    command.push_back("--input");
    command.push_back(port.name + "=" + path);
  }
  if (failed(run(command, folder, message)))
    return failure();
  if (auto text = llvm::MemoryBuffer::getFile(folder.file("sides")))
    sides.push_back((*text)->getBuffer().str());
  return readResults(signature, folder, message);
}
