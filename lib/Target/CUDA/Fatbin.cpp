// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Kernels for GPUs: PTX by LLVM, code by ptxas, one fatbin of both.

#include "../Executable/Files.h"
#include "../Executable/Steps.h"
#include "ImageSteps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Target/LLVM/NVVM/Utils.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace shoal;

//===----------------------------------------------------------------------===//
// The toolkit
//===----------------------------------------------------------------------===//

/// Folders that may be the toolkit's, the likeliest first.
static SmallVector<std::string> listToolkits(StringRef directory) {
  if (!directory.empty())
    return {directory.str()};
  SmallVector<std::string> folders;
  for (StringRef variable : {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"})
    if (auto value = llvm::sys::Process::GetEnv(variable))
      folders.push_back(*value);
  if (auto ptxas = llvm::sys::findProgramByName("ptxas")) {
    llvm::SmallString<128> real;
    if (!llvm::sys::fs::real_path(*ptxas, real))
      folders.push_back(
          llvm::sys::path::parent_path(llvm::sys::path::parent_path(real))
              .str());
  }
  folders.push_back(SHOAL_CUDA_TOOLKIT);
  return folders;
}

/// The file `path` of the toolkit.
static FailureOr<std::string> findInToolkit(StringRef directory, StringRef path,
                                            StringRef package, Location loc) {
  SmallVector<std::string> folders = listToolkits(directory);
  for (StringRef folder : folders) {
    llvm::SmallString<128> file(folder);
    llvm::sys::path::append(file, path);
    if (!folder.empty() && llvm::sys::fs::exists(file))
      return file.str().str();
  }
  return emitError(loc) << "cannot find " << path
                        << " of the CUDA toolkit: install " << package
                        << ", and set CUDA_HOME to the toolkit's folder if it "
                           "is not in the PATH";
}

//===----------------------------------------------------------------------===//
// PTX
//===----------------------------------------------------------------------===//

namespace {

/// Upstream's steps as far as PTX: translation, libdevice, -O3, code.
class PTXSerializer : public NVVM::SerializeGPUModuleBase {
public:
  using SerializeGPUModuleBase::SerializeGPUModuleBase;

  FailureOr<SmallVector<char, 0>>
  moduleToObject(llvm::Module &llvmModule) override {
    FailureOr<llvm::TargetMachine *> machine = getOrCreateTargetMachine();
    if (failed(machine))
      return getOperation().emitError("LLVM cannot compile for this GPU");
    FailureOr<SmallString<0>> ptx = translateModuleToISA(
        llvmModule, **machine, [&] { return getOperation().emitError(); });
    if (failed(ptx))
      return failure();
    return SmallVector<char, 0>(ptx->begin(), ptx->end());
  }
};

} // namespace

/// "sm_90a" -> 90.
static int getNumber(StringRef arch) {
  int number = 0;
  arch.consume_front("sm_");
  arch.consumeInteger(10, number);
  return number;
}

/// The oldest version of PTX that knows the GPU and has what LLVM emits.
static StringRef getPTXVersion(StringRef arch) {
  int number = getNumber(arch);
  if (number >= 103)
    return "+ptx88";
  return number >= 100 ? "+ptx86" : "+ptx80";
}

FailureOr<std::string> shoal::translateToPTX(gpu::GPUModuleOp kernels,
                                             StringRef arch,
                                             StringRef toolkitDirectory) {
  FailureOr<std::string> libdevice =
      findInToolkit(toolkitDirectory, "nvvm/libdevice/libdevice.10.bc",
                    "cuda-nvvm (or nvidia-cuda-toolkit)", kernels.getLoc());
  if (failed(libdevice))
    return failure();
  MLIRContext *context = kernels.getContext();
  auto target = NVVM::NVVMTargetAttr::get(
      context, /*optLevel=*/3, "nvptx64-nvidia-cuda", arch, getPTXVersion(arch),
      /*targetFlags=*/nullptr,
      ArrayAttr::get(context, StringAttr::get(context, *libdevice)));
  // Upstream's own search would complain of a CUDA_HOME that leads nowhere.
  StringRef toolkit = *libdevice;
  for (int up = 0; up < 3; ++up)
    toolkit = llvm::sys::path::parent_path(toolkit);
  NVVM::SerializeGPUModuleBase::init();
  PTXSerializer serializer(*kernels, target, gpu::TargetOptions(toolkit));
  std::optional<SmallVector<char, 0>> ptx = serializer.run();
  if (!ptx)
    return kernels.emitError() << "cannot compile the kernels for " << arch;
  return std::string(ptx->begin(), ptx->end());
}

//===----------------------------------------------------------------------===//
// The fatbin
//===----------------------------------------------------------------------===//

FailureOr<std::string> shoal::buildFatbin(ModuleOp module,
                                          ArrayRef<std::string> archs,
                                          StringRef toolkitDirectory) {
  Location loc = module.getLoc();
  auto kernels = *module.getOps<gpu::GPUModuleOp>().begin();
  FailureOr<std::string> ptxas = findInToolkit(
      toolkitDirectory, "bin/ptxas", "cuda-nvcc (or nvidia-cuda-toolkit)", loc);
  FailureOr<std::string> fatbinary =
      findInToolkit(toolkitDirectory, "bin/fatbinary",
                    "cuda-nvcc (or nvidia-cuda-toolkit)", loc);
  auto folder = TemporaryFolder::create(loc);
  if (failed(ptxas) || failed(fatbinary) || failed(folder))
    return failure();
  const std::string *newest =
      llvm::max_element(archs, [](const std::string &a, const std::string &b) {
        return getNumber(a) < getNumber(b);
      });
  std::string result = (*folder)->path("kernels.fatbin");
  SmallVector<std::string> command = {*fatbinary, "-64", "--create=" + result};
  for (const std::string &arch : archs) {
    std::string ptxFile = (*folder)->path(arch + ".ptx");
    std::string cubinFile = (*folder)->path(arch + ".cubin");
    FailureOr<std::string> ptx =
        translateToPTX(kernels, arch, toolkitDirectory);
    if (failed(ptx) || failed(writeFile(ptxFile, *ptx, loc)) ||
        failed(runTool(
            "assembling kernels for " + arch,
            {*ptxas, "-O3", "-arch=" + arch, ptxFile, "-o", cubinFile}, loc)))
      return failure();
    StringRef number = StringRef(arch).drop_front(3);
    command.push_back(
        llvm::formatv("--image3=kind=elf,sm={0},file={1}", number, cubinFile));
    if (&arch == newest)
      command.push_back(
          llvm::formatv("--image3=kind=ptx,sm={0},file={1}", number, ptxFile));
  }
  if (failed(runTool("packing the kernels", command, loc)))
    return failure();
  return readFile(result, loc);
}
