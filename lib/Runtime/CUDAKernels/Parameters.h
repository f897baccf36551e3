// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parameters of the runtime's kernels: plain structs, for both sides of a
// launch. Types are those of shoal_rt_type, offsets and strides count elements,
// and every launch has blocks of blockThreads threads.

#ifndef SHOAL_LIB_RUNTIME_CUDAKERNELS_PARAMETERS_H
#define SHOAL_LIB_RUNTIME_CUDAKERNELS_PARAMETERS_H

#include <cstdint>

namespace shoal::rt {

/// What every kernel is launched with.
inline constexpr int blockThreads = 256;
inline constexpr int warpLanes = 32;
inline constexpr int blockWarps = blockThreads / warpLanes;

/// Loops of a nest; neighbours are merged before, so that few are left.
inline constexpr int maxNestLoops = 16;

/// A nest over N operands, the last loop fastest. See Loops.h.
template <int N>
struct Nest {
  int32_t rank;
  /// The product of the sizes.
  int64_t count;
  int64_t size[maxNestLoops];
  int64_t strides[maxNestLoops][N];
};

/// shoal_copy_{1,2,4,8,16}: elements of that many bytes. Operand 0 is the
/// source, operand 1 the target.
/// shoal_convert_{float,integer}: elements of the given types.
struct CopyParameters {
  Nest<2> nest;
  int32_t sourceType;
  int32_t targetType;
  const void *source;
  void *target;
};

/// shoal_transpose_{1,2,4,8}: a plane of sourceDense x targetDense elements,
/// dense along the one in the source and along the other in the target, for
/// each iteration of the nest. The tile of a block is transposeTile wide.
inline constexpr int transposeTile = 32;
struct TransposeParameters {
  Nest<2> nest;
  int64_t sourceDense;
  int64_t targetDense;
  /// Of targetDense in the source, of sourceDense in the target.
  int64_t sourceStride;
  int64_t targetStride;
  const void *source;
  void *target;
};

/// shoal_fill_{1,2,4,8}: the low bytes of `bits`.
struct FillParameters {
  int64_t count;
  uint64_t bits;
  void *target;
};

/// shoal_combine_{float,double,integer}: see Combine.h.
struct CombineParameters {
  int64_t count;
  int64_t parts;
  int32_t type;
  int32_t kind;
  const void *in;
  void *out;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDAKERNELS_PARAMETERS_H
