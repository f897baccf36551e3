// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A program's module in parts, which threads compile.
//
//        the definition                            its part
//   (P1) a function that is not to be optimised    the first, which is compiled
//        or is exported; any variable              quickly
//   (P2) another function, a kernel                the smallest so far of the
//                                                  others
//
// Parts depend on the module alone, not on the number of threads: so do
// objects. What parts share is hidden, under names that no other object has.

#include "Steps.h"
#include "shoal/Support/Threshold.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;
using namespace shoal;

/// Instructions that are worth a part of their own, and the most parts.
static constexpr size_t kPartSize = 1000, kMaxParts = 16;
static const shoal::support::Threshold
    severalParts("instructions of a program in parts", 2 * kPartSize);

static bool isKernel(const llvm::GlobalValue &value) {
  auto *function = llvm::dyn_cast<llvm::Function>(&value);
  return function && !function->isDeclaration() &&
         function->hasLocalLinkage() && !function->hasOptNone();
}

/// The parts of kernels, by kernel.
static llvm::DenseMap<const llvm::GlobalValue *, unsigned>
assignKernels(const llvm::Module &module, bool inOnePart) {
  size_t total = 0;
  for (const llvm::Function &function : module)
    if (isKernel(function))
      total += function.getInstructionCount();
  size_t count = inOnePart || !severalParts.isReachedBy(total)
                     ? 1
                     : std::min(total / kPartSize, kMaxParts);
  llvm::SmallVector<size_t> sizes(count, 0);
  llvm::DenseMap<const llvm::GlobalValue *, unsigned> parts;
  for (const llvm::Function &function : module) {
    if (!isKernel(function))
      continue;
    auto *smallest = llvm::min_element(sizes);
    *smallest += function.getInstructionCount();
    parts[&function] = 1 + (smallest - sizes.begin()); // (P2)
  }
  return parts;
}

/// Makes what is local known to all parts.
static void shareLocals(llvm::Module &module) {
  for (llvm::GlobalValue &value : module.global_values()) {
    if (!value.hasLocalLinkage())
      continue;
    value.setName("shoal." +
                  (value.hasName() ? value.getName() : StringRef("unnamed")));
    value.setLinkage(llvm::GlobalValue::ExternalLinkage);
    value.setVisibility(llvm::GlobalValue::HiddenVisibility);
  }
}

std::vector<ModulePart> shoal::splitModule(llvm::Module &module,
                                           bool kernelsInOnePart,
                                           llvm::CodeGenOptLevel level) {
  auto partOf = assignKernels(module, kernelsInOnePart);
  unsigned count = 1;
  for (auto [kernel, part] : partOf)
    count = std::max(count, part + 1);
  shareLocals(module);
  std::vector<ModulePart> parts(count);
  for (auto [number, part] : llvm::enumerate(parts)) {
    llvm::ValueToValueMapTy map;
    std::unique_ptr<llvm::Module> clone = llvm::CloneModule(
        module, map, [&, number = number](const llvm::GlobalValue *value) {
          return partOf.lookup(value) == number; // (P1): 0
        });
    llvm::raw_svector_ostream os(part.bitcode);
    llvm::WriteBitcodeToFile(*clone, os);
    part.level = number == 0 ? llvm::CodeGenOptLevel::None : level;
  }
  return parts;
}

/// Each thread has its context and its machine.
static LogicalResult compilePart(ModulePart &part, bool keepsText,
                                 Location loc) {
  llvm::LLVMContext context;
  auto module = llvm::parseBitcodeFile(
      llvm::MemoryBufferRef(part.bitcode.str(), "shoal_program"), context);
  if (!module)
    return emitError(loc) << llvm::toString(module.takeError());
  auto machine = createNativeMachine(loc, part.level);
  if (failed(machine))
    return failure();
  if (part.level == llvm::CodeGenOptLevel::None)
    simplify(**module, **machine);
  else
    optimize(**module, **machine);
  if (keepsText)
    llvm::raw_string_ostream(part.text) << **module;
  return writeObject(**module, **machine, part.object, loc);
}

LogicalResult shoal::compileParts(std::vector<ModulePart> &parts,
                                  bool keepsText, Location loc) {
  llvm::DefaultThreadPool threads(
      llvm::hardware_concurrency(static_cast<unsigned>(parts.size())));
  std::atomic<bool> hasFailed = false;
  // The calls of the program take longest where they are many.
  for (ModulePart &part : parts)
    threads.async([&] {
      if (failed(compilePart(part, keepsText, loc)))
        hasFailed = true;
    });
  threads.wait();
  return failure(hasFailed);
}
