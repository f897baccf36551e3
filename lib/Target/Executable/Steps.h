// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What all targets do for an executable, in its order: its main function runs
// on a CPU, whatever runs its kernels.

#ifndef SHOAL_LIB_TARGET_EXECUTABLE_STEPS_H
#define SHOAL_LIB_TARGET_EXECUTABLE_STEPS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "shoal/Target/OutputFile.h"
#include "shoal/Target/Target.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace shoal {

/// Adds the dialects and interfaces that the lowering to LLVM needs.
void registerLoweringDialects(mlir::DialectRegistry &registry);

/// The integer attribute, which goes away.
int64_t takeBytes(mlir::Operation *op, llvm::StringRef name);

/// What PlanMemory left on the lowered function: the sizes and the plan, which
/// go away.
void takeMemory(mlir::func::FuncOp main, LoweredProgram &program);

/// Takes note of the products of the lowered function, which still has them as
/// ops.
void takeProducts(mlir::func::FuncOp main, ProgramDescription &program);

/// Cleans the per-device program up and describes it: what is dead then has no
/// number in the metadata.
mlir::FailureOr<ProgramDescription> prepareProgram(mlir::ModuleOp module,
                                                   bool verifyEach = true);

/// Adds `shoal_program_entry` and `shoal_program_metadata` to a module in
/// LLVM's dialect.
void addEntryPoint(mlir::ModuleOp module, const LoweredProgram &program,
                   llvm::json::Value metadata);

/// Adds an exported constant array of bytes.
void addBytes(mlir::ModuleOp module, llvm::StringRef name,
              llvm::StringRef bytes);

/// This machine's CPU with all its features.
mlir::FailureOr<std::unique_ptr<llvm::TargetMachine>>
createNativeMachine(mlir::Location loc, llvm::CodeGenOptLevel level);

/// Translates to LLVM IR for `machine`. All functions but the entry point are
/// internal and stay apart: kernels keep their names in profiles.
std::unique_ptr<llvm::Module> translateToLLVM(mlir::ModuleOp module,
                                              llvm::LLVMContext &context,
                                              llvm::TargetMachine &machine);

/// Some of a module's definitions, and what is made of them.
struct ModulePart {
  llvm::SmallString<0> bitcode;
  llvm::CodeGenOptLevel level = llvm::CodeGenOptLevel::Aggressive;
  /// The optimised module, on request, and the object file.
  std::string text;
  llvm::SmallVector<char, 0> object;
};

/// The program's calls, which are compiled quickly, in front of its kernels, on
/// request in one part, for which `level` is. Functions of `module` get names
/// that are unique among objects.
std::vector<ModulePart> splitModule(llvm::Module &module, bool kernelsInOnePart,
                                    llvm::CodeGenOptLevel level);

/// Optimises the parts and makes their objects, in as many threads as there are
/// cores.
mlir::LogicalResult compileParts(std::vector<ModulePart> &parts, bool keepsText,
                                 mlir::Location loc);

/// Runs LLVM's passes of the machine's level.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

/// Removes what folds away, in time linear in the module.
void simplify(llvm::Module &module, llvm::TargetMachine &machine);

mlir::LogicalResult writeObject(llvm::Module &module,
                                llvm::TargetMachine &machine,
                                llvm::SmallVectorImpl<char> &object,
                                mlir::Location loc);

/// Runs the tool; what it says becomes a note of the error "`what` failed".
mlir::LogicalResult runTool(llvm::StringRef what,
                            llvm::ArrayRef<std::string> command,
                            mlir::Location loc);

/// Objects that a program is linked with.
struct RuntimeLibrary {
  /// In the runtime's folder, and the target that builds it.
  llvm::StringRef file, target;
  /// Behind it: `-lopenblas`.
  llvm::SmallVector<llvm::StringRef> flags;
  /// In front of it: what of it is taken though no object names it.
  llvm::SmallVector<llvm::StringRef> needed = {};
};

/// Links an executable, or with `shared` a library, and puts it in its place
/// once it is whole.
mlir::LogicalResult link(llvm::ArrayRef<std::string> objects,
                         llvm::StringRef outputPath, bool shared,
                         const RuntimeLibrary &runtime,
                         const TargetOptions &options, mlir::Location loc);

/// From a module in LLVM's dialect to the files `outputPath`, if that is not
/// empty, and `options.sharedPath`. A failure leaves nothing half-made behind.
mlir::LogicalResult emitExecutable(mlir::ModuleOp module,
                                   llvm::StringRef outputPath,
                                   const RuntimeLibrary &runtime,
                                   const TargetOptions &options,
                                   StageSeconds &seconds);

} // namespace shoal

#endif // SHOAL_LIB_TARGET_EXECUTABLE_STEPS_H
