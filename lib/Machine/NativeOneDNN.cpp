// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Machine/NativeOneDNN.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

using namespace shoal;

#ifdef SHOAL_ONEDNN
static constexpr bool kHasOneDNN = true;
#else
static constexpr bool kHasOneDNN = false;
#endif

OneDNN shoal::nativeOneDNN() {
  static const OneDNN known = [] {
    llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
    auto has = [&](llvm::StringRef name) { return features.lookup(name); };
    bool hasLanes =
        has("avx512f") && has("avx512bw") && has("avx512vl") && has("avx512dq");
    if (!kHasOneDNN || !hasLanes)
      return OneDNN::None;
    return has("avx512bf16") || has("amx-bf16") ? OneDNN::BF16 : OneDNN::F32;
  }();
  return known;
}
