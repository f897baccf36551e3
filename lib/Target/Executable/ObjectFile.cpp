// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Steps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "shoal/Support/Threshold.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Scalar/DCE.h"
#include "llvm/Transforms/Scalar/InstSimplifyPass.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Vectorize/SLPVectorizer.h"

using namespace mlir;

FailureOr<std::unique_ptr<llvm::TargetMachine>>
shoal::createNativeMachine(Location loc, llvm::CodeGenOptLevel level) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return emitError(loc) << "cannot compile for this machine: " << message;
  std::string features;
  for (const auto &[name, enabled] : llvm::sys::getHostCPUFeatures())
    features += (enabled ? "+" : "-") + name.str() + ",";
  if (!features.empty())
    features.pop_back();
  llvm::TargetOptions options;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, llvm::sys::getHostCPUName(), features, options, llvm::Reloc::PIC_,
      std::nullopt, level));
}

std::unique_ptr<llvm::Module>
shoal::translateToLLVM(ModuleOp module, llvm::LLVMContext &context,
                       llvm::TargetMachine &machine) {
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(module, context, "shoal_program");
  if (!llvmModule)
    return nullptr;
  llvmModule->setTargetTriple(machine.getTargetTriple());
  llvmModule->setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : *llvmModule) {
    if (function.isDeclaration() || function.getName() == "shoal_program_entry")
      continue;
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.addFnAttr(llvm::Attribute::NoInline);
  }
  return llvmModule;
}

/// Whether fewer bits hold the value with a sign than its type has, and which.
enum class Narrowed { No, Signed, Unsigned };
static Narrowed narrowedAs(const llvm::Value *value,
                           const llvm::DataLayout &layout) {
  if (!value->getType()->isIntegerTy() || isa<llvm::Constant>(value) ||
      llvm::ComputeNumSignBits(value, layout) == 1)
    return Narrowed::No;
  return llvm::isKnownNonNegative(value, llvm::SimplifyQuery(layout))
             ? Narrowed::Unsigned
             : Narrowed::Signed;
}

/// LLVM's SLP vectorizer computes in as few bits as hold the scalars, and
/// forgets what signs they have: of `uitofp (sext i8 to i64)` it makes `uitofp
/// i32`, and it compares a `sext` of i16 with a `zext` of i16 in 16 bits (LLVM
/// 19 to 22 at least). Whether the function has any of these.
static bool mixesSigns(const llvm::Function &function) {
  const llvm::DataLayout &layout = function.getParent()->getDataLayout();
  auto mixes = [&](const llvm::Instruction &inst) {
    if (isa<llvm::UIToFPInst>(inst))
      return narrowedAs(inst.getOperand(0), layout) == Narrowed::Signed;
    if (!isa<llvm::ICmpInst>(inst))
      return false;
    Narrowed left = narrowedAs(inst.getOperand(0), layout),
             right = narrowedAs(inst.getOperand(1), layout);
    return left != right && left != Narrowed::No && right != Narrowed::No;
  };
  return llvm::any_of(llvm::instructions(function), mixes);
}

/// Runs the passes that `build(passBuilder)` returns.
template <typename Build>
static void runPipeline(llvm::Module &module, llvm::TargetMachine &machine,
                        Build build) {
  // As clang does.
  bool forSpeed = machine.getOptLevel() > llvm::CodeGenOptLevel::Less;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = forSpeed;
  tuning.SLPVectorization = forSpeed;
  tuning.LoopInterleaving = forSpeed;
  tuning.LoopUnrolling = forSpeed;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback(
      [](llvm::StringRef pass, llvm::Any unit) {
        auto *function = llvm::any_cast<const llvm::Function *>(&unit);
        return !function || pass != llvm::SLPVectorizerPass::name() ||
               !mixesSigns(**function);
      });
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  build(builder).run(module, modules);
}

namespace {

static constexpr unsigned kLongLoop = 64;
static const shoal::support::Threshold
    longLoop("steps of a loop around which no loop is unrolled", kLongLoop + 1);

/// Loops around long ones stay loops. LLVM unrolls them where their bodies look
/// short, before it makes vectors of the inner ones and unrolls these: sixteen
/// rows of 256 comparisons became 4,000 instructions in one block, which take
/// most of a program's time in the code generator and run no faster.
struct KeepOuterLoops : llvm::PassInfoMixin<KeepOuterLoops> {
  static llvm::PreservedAnalyses run(llvm::Function &function,
                                     llvm::FunctionAnalysisManager &analyses) {
    auto &trips = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
    auto isLong = [&](llvm::Loop *loop) {
      // One more than the times that the body runs, as loops test first.
      unsigned count = trips.getSmallConstantTripCount(loop);
      return count == 0 || longLoop.isReachedBy(count); // 0: not known
    };
    auto &info = analyses.getResult<llvm::LoopAnalysis>(function);
    for (llvm::Loop *loop : info.getLoopsInPreorder())
      if (llvm::any_of(loop->getSubLoops(), isLong))
        llvm::addStringMetadataToLoop(loop, "llvm.loop.unroll.disable", 1);
    return llvm::PreservedAnalyses::all();
  }
};

} // namespace

/// The passes that go with the code generator's level.
static llvm::OptimizationLevel passesOf(llvm::CodeGenOptLevel level) {
  switch (level) {
  case llvm::CodeGenOptLevel::None:
    return llvm::OptimizationLevel::O0;
  case llvm::CodeGenOptLevel::Less:
    return llvm::OptimizationLevel::O1;
  case llvm::CodeGenOptLevel::Default:
    return llvm::OptimizationLevel::O2;
  case llvm::CodeGenOptLevel::Aggressive:
    return llvm::OptimizationLevel::O3;
  }
  llvm_unreachable("unknown level");
}

void shoal::optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  runPipeline(module, machine, [&](llvm::PassBuilder &builder) {
    llvm::ModulePassManager passes;
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(KeepOuterLoops()));
    passes.addPass(
        builder.buildPerModuleDefaultPipeline(passesOf(machine.getOptLevel())));
    return passes;
  });
}

void shoal::simplify(llvm::Module &module, llvm::TargetMachine &machine) {
  runPipeline(module, machine, [](llvm::PassBuilder &) {
    // Descriptors of memrefs fold to the pointers in them.
    llvm::FunctionPassManager functions;
    functions.addPass(llvm::InstSimplifyPass());
    functions.addPass(llvm::DCEPass());
    llvm::ModulePassManager passes;
    passes.addPass(
        llvm::createModuleToFunctionPassAdaptor(std::move(functions)));
    return passes;
  });
}

LogicalResult shoal::writeObject(llvm::Module &module,
                                 llvm::TargetMachine &machine,
                                 llvm::SmallVectorImpl<char> &object,
                                 Location loc) {
  llvm::raw_svector_ostream os(object);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, nullptr,
                                  llvm::CodeGenFileType::ObjectFile))
    return emitError(loc) << "cannot emit object files for this machine";
  passes.run(module);
  return success();
}
