// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parameters of the runtime's kernels: plain structs, for both sides of a
// launch. Types are those of shoal_rt_type, offsets and strides count elements,
// and every launch has blocks of blockThreads threads.

#ifndef SHOAL_LIB_RUNTIME_CUDAKERNELS_PARAMETERS_H
#define SHOAL_LIB_RUNTIME_CUDAKERNELS_PARAMETERS_H

#include "Nests.h"

namespace shoal::rt {

/// What every kernel is launched with.
inline constexpr int blockThreads = 256;
inline constexpr int warpLanes = 32;
inline constexpr int blockWarps = blockThreads / warpLanes;

/// What a thread takes at a time of elements that are dense and lie at whole
/// vectors on all sides: up to 16 bytes an access.
inline constexpr int vectorElements = 4;

/// shoal_copy_{1,2,4,8,16}: elements of that many bytes. Operand 0 is the
/// source, operand 1 the target. The innermost loop is a row.
/// shoal_convert_*, * as of WideNames: elements of the given types. With
/// `vectors`, rows are dense and everything lies in whole vectors, see
/// vectorElements: a thread takes one at a time.
struct CopyParameters {
  Nest<2> outer;
  Rows rows;
  int64_t strides[2];
  int32_t vectors;
  int32_t sourceType;
  int32_t targetType;
  const void *source;
  void *target;
};

/// shoal_transpose_{1,2,4,8}: a plane of sourceDense x targetDense elements,
/// dense along the one in the source and along the other in the target, for
/// each iteration of the nest. The tile of a block is transposeTile wide.
/// shoal_transpose_packed_{1,2,4}: in words of packedBytes on both sides, which
/// everything is a multiple of; the tile is as many words wide.
inline constexpr int transposeTile = 32;
constexpr int packedBytes(int width) { return width == 4 ? 8 : 4; }
struct TransposeParameters {
  Nest<2> nest;
  /// In a plane.
  Divisor tilesAcross, tilesDown;
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

/// shoal_epilogue_{float,double}: result = activation(source * scales + bias),
/// see Epilogue.h. Operand 0 of the nest is the source and the result, which
/// may be one, operand 1 the bias. Bias and scales, of f32, may be null. Rows
/// and `vectors` are those of CopyParameters.
struct EpilogueParameters {
  Nest<2> outer;
  Rows rows;
  int64_t strides[2];
  int32_t vectors;
  int32_t sourceType;
  int32_t type;
  int32_t activation;
  const void *source;
  const void *bias;
  const void *scales[2];
  void *result;
};

/// shoal_combine_{float,double,integer}: see Combine.h. A row of the result's
/// elements, or vectors.
struct CombineParameters {
  Rows rows;
  int32_t vectors;
  int64_t count;
  int64_t parts;
  int32_t type;
  int32_t kind;
  const void *in;
  void *out;
};

/// shoal_scan_lines_*, shoal_scan_rows_*, * as of WideNames: a thread, or a
/// block, a line. A tensor is [outer, count, inner] around the scanned
/// dimension.
struct ScanParameters {
  int64_t lines;
  int64_t count;
  Divisor inner;
  int32_t type;
  int32_t kind;
  int32_t exclusive;
  int32_t reverse;
  /// combine(identity, x) == x, in the wide type.
  union {
    float floatIdentity;
    double doubleIdentity;
    int64_t integerIdentity;
  };
  const void *in;
  void *out;
};

/// Sorting works on lines of [outer, count, inner] one after another, by
/// unsigned keys in the order of the elements and with the place that each
/// element had in its line.
struct SortLines {
  int64_t lines;
  Divisor count;
  Divisor inner;
};

/// shoal_sort_keys: the keys of a tensor, in the order of `places`, or as they
/// are where that is null.
struct SortKeysParameters {
  SortLines lines;
  int32_t type;
  int32_t descending;
  const void *in;
  const int32_t *places;
  uint64_t *keys;
};

/// shoal_sort_tiles: sorts tiles of sortTile elements of each line. Numbers
/// them by where they were.
inline constexpr int sortTile = 1024;
struct SortTilesParameters {
  SortLines lines;
  uint64_t *keys;
  int32_t *places;
};

/// shoal_sort_merge: merges pairs of sorted runs of `run` elements, a power of
/// two.
struct SortMergeParameters {
  SortLines lines;
  int64_t run;
  const uint64_t *keys;
  const int32_t *places;
  uint64_t *mergedKeys;
  int32_t *mergedPlaces;
};

/// shoal_sort_compose: out[i] = before[places[i]] in each line; places[i] where
/// `before` is null.
struct SortComposeParameters {
  SortLines lines;
  const int32_t *before;
  const int32_t *places;
  int32_t *out;
};

/// shoal_sort_move_{1,2,4,8}: the first `kept` elements of each line of the
/// result are those at `places`.
struct SortMoveParameters {
  SortLines lines;
  Divisor kept;
  const int32_t *places;
  const void *in;
  void *out;
};

/// shoal_top_k: a warp a row of n elements. The result of a few rounds, each of
/// which finds the greatest element behind the one before.
struct TopKParameters {
  int64_t rows;
  int64_t n;
  int64_t k;
  int32_t type;
  const void *in;
  void *values;
  int32_t *indices;
};

/// Windows, see ABI.h. The windows' tensor is walked by `batch` (strides in the
/// indices, the operand and the windows' tensor); a window is `outer` rows of
/// rowLength elements (strides in the operand and the windows' tensor).
struct WindowDim {
  Divisor size;
  Divisor windowSize;
  int64_t windowStride;
  /// In the operand.
  int64_t stride;
  /// Of its start in an index, or -1.
  int64_t component;
  /// The loop of `batch` that walks this dimension of the operand, or -1.
  int64_t batchLoop;
};
struct Windows {
  Nest<3> batch;
  Nest<2> outer;
  int64_t rowLength;
  int64_t rowStrides[2];
  int32_t rank;
  int32_t indexType;
  int32_t clamps;
  WindowDim dims[maxNestLoops];
  const void *indices;

  /// Of all windows.
  constexpr int64_t rows() const { return batch.count * outer.count; }
  constexpr int64_t elementsOfOne() const { return outer.count * rowLength; }
};

/// shoal_gather_{1,2,4,8,16}: the rows of all windows.
struct GatherParameters {
  Windows windows;
  Rows rows;
  const void *in;
  void *out;
};

/// What shoal_scatter_* combine: `kind` is a Kind or -1 to overwrite.
/// shoal_scatter_move_{1,2,4,8,16} overwrites with words, which windows,
/// strides and keys then count: of windows in a run the last; or, without keys,
/// the one window at batchIndex, which is clamped.
struct ScatterParameters {
  Windows windows;
  /// Those of the windows; with `vectors`, their items are vectors of elements.
  Rows rows;
  int32_t vectors;
  int32_t type;
  int32_t kind;
  const void *updates;
  void *inout;
  /// shoal_scatter_window_*: the window of this batch index alone.
  int64_t batchIndex;
  /// shoal_scatter_runs_*: where each window goes, sorted, and its batch index.
  const uint64_t *keys;
  const int32_t *places;
  /// shoal_scatter_places_*: the operand's elements, and whether windows come
  /// in the order of the updates.
  int64_t operandCount;
  int32_t inOrder;
};

/// shoal_scatter_keys: the place in the operand where each window begins, or
/// droppedWindow. For windows that are inside or outside as a whole.
inline constexpr uint64_t droppedWindow = ~uint64_t(0);
struct ScatterKeysParameters {
  Windows windows;
  uint64_t *keys;
};

/// shoal_product_*, shoal_product_rows_*: a thread, or a block, an element of
/// the result. See LoopProduct.h; `b` may be null for a one.
struct ProductParameters {
  /// Strides in a, b and the result; strides in a and b.
  Nest<3> outer;
  Nest<2> summed;
  int32_t typeIn;
  int32_t typeOut;
  /// Kinds: sum and product, or or and and on i1.
  int32_t sum;
  int32_t product;
  const void *a;
  const void *b;
  void *result;
};

/// shoal_ragged_*: a thread an element of the result, see
/// shoal_rt_ragged_einsum.
struct RaggedParameters {
  /// Of the result, which is dense: strides in in0, in1, the bounds. The rows'
  /// loop, if the result has it, is rowLoop.
  Nest<3> outer;
  int32_t rowLoop;
  /// Indices of the bounds that the result has not, in the order of the bounds.
  Nest<3> groups;
  /// Other letters that the result has not: strides in in0 and in1.
  Nest<2> summed;
  int64_t rows;
  int64_t rowStrides[2];
  int32_t typeIn;
  int32_t typeOut;
  int32_t boundType;
  int32_t sum;
  int32_t product;
  const void *in0;
  const void *in1;
  const void *begins;
  const void *ends;
  void *out;
};

/// shoal_grouped_{bf16,f16}_{kk,kn,mk,mn}, the loops along which a and b are
/// dense, and shoal_grouped_{float,double}: for each iteration of the batch,
/// the products of its groups, C[m, n] = A[m, k] B[k, n] of the group's rows.
/// These are rows of C or, with rowsAreTerms, terms.
struct GroupedParameters {
  /// Strides in a, b, the bounds, c.
  Nest<4> batch;
  /// Strides in a, b, the bounds.
  Nest<3> groups;
  int64_t m, n, k;
  int64_t aStrides[2];
  int64_t bStrides[2];
  int64_t cStrides[2];
  int32_t rowsAreTerms;
  int32_t typeIn;
  int32_t typeOut;
  int32_t boundType;
  const void *a;
  const void *b;
  const void *begins;
  const void *ends;
  void *out;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDAKERNELS_PARAMETERS_H
