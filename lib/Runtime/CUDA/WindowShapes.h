// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The windows of gather and scatter as kernels take them.

#ifndef SHOAL_LIB_RUNTIME_CUDA_WINDOWSHAPES_H
#define SHOAL_LIB_RUNTIME_CUDA_WINDOWSHAPES_H

#include "../Memory/IndexedBoxes.h"
#include "KernelLibrary.h"

namespace shoal::rt {

/// Of one window: the operand's strides, then the windows' tensor's.
Loops<2> windowLoops(const IndexedBoxes &boxes);

int64_t operandElements(const IndexedBoxes &boxes);

/// From the first to the last element of the windows' tensor that is used.
int64_t windowsExtent(const IndexedBoxes &boxes);

Touched touchedIndices(const IndexedBoxes &boxes, const void *indices);

/// The loop that walks a dimension of the operand, if there is one: operand and
/// windows have it in common.
/// -1 where there is none.
int64_t batchLoopOf(const IndexedBoxes::Dim &dim, const Loops<3> &batch);

/// `merge`: neighbouring loops become one, where no kernel needs to know which
/// dimension they walk. In any case they are put in the order of the windows'
/// tensor.
Windows describeWindows(const IndexedBoxes &boxes, bool clamps, bool merge,
                        const void *indices);

/// Whether rows are dense on both sides and everything lies at whole words of
/// `count` elements.
bool areWords(const Windows &windows, int64_t count);

/// Makes words of up to 16 bytes of elements of `width` bytes, as many as
/// everything lies at whole words of; sizes and strides count words from then
/// on. Returns the elements of a word.
int64_t useWords(Windows &windows, int64_t width, const void *operand,
                 const void *windowsTensor);

/// Whether there is no window, or none has an element.
bool isNothing(const IndexedBoxes &boxes);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_WINDOWSHAPES_H
