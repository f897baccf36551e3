// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Target/CUDA/CUDATarget.h"
#include "../Executable/Steps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/PassRegistry.h"
#include "shoal/Conversion/Passes.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Target/CUDA/DeviceImage.h"
#include "shoal/Target/Emulation/Emulation.h"

using namespace mlir;
using namespace shoal;

void shoal::registerCUDATarget(DialectRegistry &registry) {
  registerLoweringDialects(registry);
  registry.insert<gpu::GPUDialect>();
  registerDeviceImage(registry);
}

void shoal::buildCUDALoweringPipeline(OpPassManager &pm,
                                      const Overlap &overlap) {
  constexpr MachineKind machine = MachineKind::GPU;
  buildShoalToLinalgPipeline(pm);
  buildFusionPipeline(pm, machine);
  buildBuffersPipeline(pm);
  buildDevicePipeline(pm, machine);
  buildMemoryPipeline(pm, machine, OneDNN::None, overlap);
  buildDeviceKernelsPipeline(pm, machine);
}

void shoal::registerCUDAPipelines() {
  PassPipelineRegistration<>(
      "shoal-lower-to-cuda",
      "Lower a per-device program to kernels and calls of the CUDA runtime",
      [](OpPassManager &pm) { buildCUDALoweringPipeline(pm); });
}

//===----------------------------------------------------------------------===//
// Lowering
//===----------------------------------------------------------------------===//

/// Appends the elements as they lie in memory; a bool has a byte.
static void appendBytes(DenseElementsAttr elements, std::string &bytes) {
  Type type = elements.getElementType();
  int64_t width = sizeInBytes(MemRefType::get({}, type));
  auto append = [&](const APInt &bits) {
    uint64_t word = bits.getZExtValue();
    bytes.append(reinterpret_cast<const char *>(&word), width);
  };
  if (isa<FloatType>(type))
    for (const APFloat &value : elements.getValues<APFloat>())
      append(value.bitcastToAPInt());
  else
    for (const APInt &value : elements.getValues<APInt>())
      append(value);
}

/// The constants as they lie in the arena from `begin` on; they go out of the
/// module, whose kernels and calls read them there.
static std::string takeConstants(ModuleOp module, int64_t begin) {
  std::string bytes;
  for (auto global :
       llvm::make_early_inc_range(module.getOps<memref::GlobalOp>())) {
    if (auto place = global->getAttrOfType<IntegerAttr>(kArenaOffsetAttr)) {
      std::string own;
      appendBytes(cast<DenseElementsAttr>(*global.getInitialValue()), own);
      size_t at = place.getInt() - begin;
      bytes.resize(std::max(bytes.size(), at + own.size()), 0);
      bytes.replace(at, own.size(), own);
    }
    global.erase();
  }
  return bytes;
}

/// Moves the kernels to a module of their own: from here on the two are lowered
/// in different ways.
static void takeKernels(ModuleOp module, CUDAProgram &program) {
  program.kernels = ModuleOp::create(module.getLoc());
  for (auto kernels :
       llvm::make_early_inc_range(module.getOps<gpu::GPUModuleOp>())) {
    for (auto kernel : kernels.getOps<gpu::GPUFuncOp>())
      program.kernelNames.push_back(kernel.getName().str());
    kernels->moveBefore(program.kernels->getBody(),
                        program.kernels->getBody()->end());
  }
  module->removeAttr(gpu::GPUDialect::getContainerModuleAttrName());
}

/// Steps of a GPU do not wait for the host.
static LogicalResult checkHostCalls(const ProgramDescription &program) {
  for (const HostCallDescription &call : program.hostCalls)
    return emitError(call.location)
           << "\"" << call.name
           << "\": programs for CUDA neither print nor call functions of the "
              "host while they run";
  return success();
}

FailureOr<CUDAProgram>
shoal::lowerForCUDA(ModuleOp module, StageSeconds &seconds,
                    OnPrepared onPrepared, OnPlanned onPlanned, bool toLLVM,
                    const Overlap &overlap, bool verifyEach) {
  return timed(seconds, "lower", [&]() -> FailureOr<CUDAProgram> {
    FailureOr<ProgramDescription> description =
        prepareProgram(module, verifyEach);
    if (failed(description) || failed(checkHostCalls(*description)))
      return failure();
    if (onPrepared)
      onPrepared(module);
    auto build = [&](OpPassManager &pm) {
      buildCUDALoweringPipeline(pm, overlap);
    };
    if (failed(runPasses(module, build, verifyEach)))
      return failure();
    CUDAProgram result;
    LoweredProgram &program = result.program;
    program.description = *description;
    auto main = module.lookupSymbol<func::FuncOp>(description->name);
    if (onPlanned)
      onPlanned(main);
    takeMemory(main, program);
    takeProducts(main, program.description);
    takeDonors(main, program.description);
    if (!toLLVM)
      return result;
    int64_t constantBytes = takeBytes(main, kConstantBytesAttr);
    result.constants =
        takeConstants(module, program.arenaBytes - constantBytes);
    result.constants.resize(constantBytes, 0);
    takeKernels(module, result);
    if (failed(runPasses(module, buildToLLVMPipeline, verifyEach)))
      return failure();
    return result;
  });
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static llvm::json::Value makeMetadata(const CUDAProgram &program,
                                      const TargetOptions &options,
                                      const CUDAOptions &cuda) {
  llvm::json::Value metadata = toMetadata(program.program.description, "cuda",
                                          program.program.arenaBytes);
  llvm::json::Object &fields = *metadata.getAsObject();
  auto constantBytes = static_cast<int64_t>(program.constants.size());
  fields["arch"] = llvm::join(cuda.archs, ",");
  fields["kernels"] = llvm::json::Array(program.kernelNames);
  fields["constants_offset"] = program.program.arenaBytes - constantBytes;
  fields["constants_bytes"] = constantBytes;
  fields["tf32"] = cuda.tf32;
  if (cuda.archs.front() == kEmulatedArch)
    fields["emulation"] = findEmulationLibrary(options.runtimeDirectory);
  return metadata;
}

static void addImage(ModuleOp module, StringRef image) {
  // An array of no elements is no array of C.
  addBytes(module, "shoal_program_image",
           image.empty() ? StringRef("\0", 1) : image);
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  LLVM::GlobalOp::create(builder, module.getLoc(), builder.getI64Type(),
                         /*isConstant=*/true, LLVM::Linkage::External,
                         "shoal_program_image_bytes",
                         builder.getI64IntegerAttr(image.size()));
}

static LogicalResult checkArchs(const CUDAOptions &cuda, Location loc) {
  if (cuda.archs.empty())
    return emitError(loc) << "--cuda-arch: expected sm_90 or another GPU's "
                             "architecture, or emulated";
  for (const std::string &arch : cuda.archs) {
    StringRef number = arch;
    bool isGPU = number.consume_front("sm_") && !number.empty() &&
                 llvm::isDigit(number.front());
    if (!isGPU && arch != kEmulatedArch)
      return emitError(loc) << "--cuda-arch: \"" << arch
                            << "\" is not sm_90 or another GPU's architecture, "
                               "nor emulated";
    if (arch == kEmulatedArch && cuda.archs.size() > 1)
      return emitError(loc) << "--cuda-arch: emulated goes with no other "
                               "architecture";
  }
  return success();
}

LogicalResult shoal::emitForCUDA(ModuleOp module, CUDAProgram &program,
                                 StringRef outputPath,
                                 const TargetOptions &options,
                                 const CUDAOptions &cuda,
                                 StageSeconds &seconds) {
  auto loc = UnknownLoc::get(module.getContext());
  if (failed(checkArchs(cuda, loc)))
    return failure();
  std::string image;
  if (!program.kernelNames.empty()) {
    FailureOr<std::string> built = timed(seconds, "kernels", [&] {
      auto kernels = *program.kernels->getOps<gpu::GPUModuleOp>().begin();
      return buildImage(kernels, cuda.archs, cuda.toolkitDirectory);
    });
    if (failed(built))
      return failure();
    image = std::move(*built);
  }
  addEntryPoint(module, program.program, makeMetadata(program, options, cuda));
  addImage(module, image);
  addBytes(module, "shoal_program_constants",
           program.constants.empty() ? StringRef("\0", 1)
                                     : StringRef(program.constants));
  RuntimeLibrary runtime{"libshoal_rt_cuda.a",
                         "shoal_rt_cuda, for which the CUDA toolkit must be "
                         "installed",
                         {"-ldl"}};
  return emitExecutable(module, outputPath, runtime, options, seconds);
}
