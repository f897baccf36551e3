// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What hides behind cuBLASLt's handles.

#ifndef SHOAL_TEST_EMULATION_CUBLASLTDESCRIPTORS_H
#define SHOAL_TEST_EMULATION_CUBLASLTDESCRIPTORS_H

#include "Error.h"
#include "Matmul.h"

namespace shoal::emulation {

struct Preference {
  uint64_t maxWorkspaceBytes = 0;
  /// Of A, B, C and D; 256 is cuBLASLt's default.
  uint32_t alignment[4] = {256, 256, 256, 256};
};

inline MatrixLayout &get(cublasLtMatrixLayout_t layout) {
  return *reinterpret_cast<MatrixLayout *>(layout);
}
inline MatmulDescriptor &get(cublasLtMatmulDesc_t descriptor) {
  return *reinterpret_cast<MatmulDescriptor *>(descriptor);
}
inline Preference &get(cublasLtMatmulPreference_t preference) {
  return *reinterpret_cast<Preference *>(preference);
}

/// The status, after a line that says more.
inline cublasStatus_t refuse(const char *function, cublasStatus_t status,
                             const std::string &why) {
  explain(text(function, ": ", why));
  return status;
}

} // namespace shoal::emulation

#endif // SHOAL_TEST_EMULATION_CUBLASLTDESCRIPTORS_H
