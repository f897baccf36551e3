// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HostLibraries.h"
#include "shoal/Calls/ProductCalls.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace shoal;

#ifdef SHOAL_ONEDNN
static constexpr bool kHasOneDNN = true;
#else
static constexpr bool kHasOneDNN = false;
#endif

OneDNN shoal::hostOneDNN() {
  static const OneDNN known = [] {
    llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
    auto has = [&](StringRef name) { return features.lookup(name); };
    bool hasLanes =
        has("avx512f") && has("avx512bw") && has("avx512vl") && has("avx512dq");
    if (!kHasOneDNN || !hasLanes)
      return OneDNN::None;
    return has("avx512bf16") || has("amx-bf16") ? OneDNN::BF16 : OneDNN::F32;
  }();
  return known;
}

static bool isForOneDNN(const ProductCall &product) {
  if (product.isRagged)
    return false;
  auto call = calls::decode<calls::EinsumCall>(product.desc.data());
  return call.plan.gemm &&
         call.plan.gemm->library == calls::ProductLibrary::OneDNN;
}

FailureOr<RuntimeLibrary>
shoal::chooseRuntime(const ProgramDescription &program, Location loc) {
  RuntimeLibrary runtime{"libshoal_rt_cpu.a", "shoal_rt_cpu", {}};
  if (llvm::any_of(program.products, isForOneDNN)) {
    if (!kHasOneDNN)
      return emitError(loc) << "a product is planned for oneDNN, which this "
                               "build of Shoal is without";
    // What calls oneDNN is in the archive, and nothing else names it.
    runtime.needed = {"-Wl,-u,shoal_rt_onednn_gemm"};
    // It is called with OpenMP's number of threads at one.
    runtime.flags.insert(runtime.flags.end(), {"-ldnnl", "-lgomp"});
  }
  runtime.flags.push_back("-lopenblas");
  return runtime;
}
