// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Products of 16 x 16 tiles that a warp computes together: tensor cores on a
// GPU, by the warp matrix functions of CUDA C++; loops on the emulated device,
// where each lane has half a row of the sums.

#ifndef SHOAL_LIB_RUNTIME_CUDAKERNELS_FRAGMENTS_H
#define SHOAL_LIB_RUNTIME_CUDAKERNELS_FRAGMENTS_H

#include "Elements.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#endif

namespace shoal::rt {

inline constexpr int fragmentSize = 16;

/// A tile of a matrix of T (BFloat16, Float16) in shared memory, 32-byte
/// aligned, whose rows, or columns if it is not row-major, lie `leading`
/// elements apart, a multiple of 8. Sums<...>.add needs all lanes.
#ifdef __CUDACC__

template <typename T>
using DeviceElement =
    std::conditional_t<std::is_same_v<T, BFloat16>, __nv_bfloat16, __half>;
template <bool rowMajor>
using DeviceLayout = std::conditional_t<rowMajor, nvcuda::wmma::row_major,
                                        nvcuda::wmma::col_major>;

template <typename T, bool rowMajor, typename Use>
struct DeviceFragment {
  nvcuda::wmma::fragment<Use, fragmentSize, fragmentSize, fragmentSize,
                         DeviceElement<T>, DeviceLayout<rowMajor>>
      held;
  SHOAL_DEVICE void load(const T *tile, int leading) {
    nvcuda::wmma::load_matrix_sync(
        held, reinterpret_cast<const DeviceElement<T> *>(tile), leading);
  }
};
template <typename T, bool rowMajor>
using LeftFragment = DeviceFragment<T, rowMajor, nvcuda::wmma::matrix_a>;
template <typename T, bool rowMajor>
using RightFragment = DeviceFragment<T, rowMajor, nvcuda::wmma::matrix_b>;

struct SumFragment {
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, fragmentSize, fragmentSize,
                         fragmentSize, float>
      held;
  SHOAL_DEVICE void clear() { nvcuda::wmma::fill_fragment(held, 0.0f); }
  template <typename Left, typename Right>
  SHOAL_DEVICE void add(const Left &left, const Right &right) {
    nvcuda::wmma::mma_sync(held, left.held, right.held, held);
  }
  /// To a dense row-major tile.
  SHOAL_DEVICE void store(float *tile) const {
    nvcuda::wmma::store_matrix_sync(tile, held, fragmentSize,
                                    nvcuda::wmma::mem_row_major);
  }
};

#else

/// The lane's row of the left tile.
template <typename T, bool rowMajor>
struct LeftFragment {
  float held[fragmentSize];
  void load(const T *tile, int leading) {
    int row = laneInWarp() / 2;
    for (int k = 0; k < fragmentSize; ++k)
      held[k] =
          widen(rowMajor ? tile[row * leading + k] : tile[k * leading + row]);
  }
};

/// The lane's columns of the right tile.
template <typename T, bool rowMajor>
struct RightFragment {
  float held[fragmentSize][fragmentSize / 2];
  void load(const T *tile, int leading) {
    int first = laneInWarp() % 2 * (fragmentSize / 2);
    for (int k = 0; k < fragmentSize; ++k)
      for (int j = 0; j < fragmentSize / 2; ++j) {
        int column = first + j;
        held[k][j] = widen(rowMajor ? tile[k * leading + column]
                                    : tile[column * leading + k]);
      }
  }
};

struct SumFragment {
  float held[fragmentSize / 2];
  void clear() {
    for (float &sum : held)
      sum = 0;
  }
  template <typename Left, typename Right>
  void add(const Left &left, const Right &right) {
    for (int k = 0; k < fragmentSize; ++k)
      for (int j = 0; j < fragmentSize / 2; ++j)
        held[j] += left.held[k] * right.held[k][j];
  }
  void store(float *tile) const {
    for (int j = 0; j < fragmentSize / 2; ++j)
      tile[laneInWarp() * (fragmentSize / 2) + j] = held[j];
  }
};

#endif

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDAKERNELS_FRAGMENTS_H
