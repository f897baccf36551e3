// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-write-image, for tests and for whoever wants to see the code
// of kernels.

#include "../Executable/Files.h"
#include "ImageSteps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace shoal;

namespace {

struct WriteImage : PassWrapper<WriteImage, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WriteImage)

  WriteImage() = default;
  WriteImage(const WriteImage &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "shoal-write-image"; }
  StringRef getDescription() const override {
    return "Write the image of the gpu.module's kernels, or their PTX";
  }

  void runOnOperation() override {
    for (auto kernels : getOperation().getOps<gpu::GPUModuleOp>()) {
      FailureOr<std::string> image =
          isPTX ? buildPTX(kernels, archs.front(), toolkit)
                : buildImage(kernels, archs, toolkit);
      if (failed(image) || failed(writeFile(output, *image, kernels.getLoc())))
        return signalPassFailure();
    }
  }

  ListOption<std::string> archs{*this, "archs",
                                llvm::cl::desc("sm_90, ... or emulated")};
  Option<std::string> toolkit{*this, "toolkit",
                              llvm::cl::desc("The CUDA toolkit's folder")};
  Option<std::string> output{*this, "output", llvm::cl::desc("The file"),
                             llvm::cl::init("-")};
  Option<bool> isPTX{*this, "ptx",
                     llvm::cl::desc("The PTX for the first of the archs"),
                     llvm::cl::init(false)};
};

} // namespace

void shoal::registerWriteImagePass() { PassRegistration<WriteImage>(); }
