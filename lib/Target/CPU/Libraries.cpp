// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Libraries.h"
#include "mlir/IR/SymbolTable.h"
#include "shoal/Calls/ProductCalls.h"
#include "shoal/LinearAlgebra/Lapack.h"

using namespace mlir;
using namespace shoal;

#ifdef SHOAL_ONEDNN
static constexpr bool kHasOneDNN = true;
#else
static constexpr bool kHasOneDNN = false;
#endif

/// Whether one of the program's calls is for the library. Groups of ragged
/// products are BLAS'.
static bool uses(const ProgramDescription &program,
                 calls::ProductLibrary library) {
  return llvm::any_of(program.products, [&](const ProductCall &product) {
    if (product.isRagged)
      return library == calls::ProductLibrary::BLAS;
    auto call = calls::decode<calls::EinsumCall>(product.desc.data());
    return call.plan.gemm && call.plan.gemm->library == library;
  });
}

/// OpenBLAS has LAPACK, too.
static bool callsLapack(ModuleOp module) {
  return llvm::any_of(module.getOps<SymbolOpInterface>(),
                      [](SymbolOpInterface symbol) {
                        return lapack::isFunction(symbol.getName());
                      });
}

FailureOr<RuntimeLibrary>
shoal::chooseRuntime(const ProgramDescription &program, ModuleOp module) {
  using calls::ProductLibrary;
  RuntimeLibrary runtime{"libshoal_rt_cpu.a", "shoal_rt_cpu", {}};
  // What calls a library is in the archive, and nothing else names it.
  if (uses(program, ProductLibrary::OneDNN)) {
    if (!kHasOneDNN)
      return emitError(module.getLoc())
             << "a product is planned for oneDNN, which this "
                "build of Shoal is without";
    runtime.needed.push_back("-Wl,-u,shoal_rt_onednn_gemm");
    // It is called with OpenMP's number of threads at one.
    runtime.flags.insert(runtime.flags.end(), {"-ldnnl", "-lgomp"});
  }
  if (uses(program, ProductLibrary::BLAS) || callsLapack(module)) {
    runtime.needed.push_back("-Wl,-u,shoal_rt_blas_gemm");
    runtime.flags.push_back("-lopenblas");
  }
  return runtime;
}
