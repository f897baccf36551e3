// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Epilogue.h"
#include "RowNest.h"

namespace shoal::rt {

Epilogue makeEpilogue(const EinsumCall &call, const EinsumBuffers &buffers,
                      void *sums) {
  return {call.activation, buffers.bias, buffers.scales, sums,
          call.bias.value_or(Loops<2>{{call.elements[2], {1, 0}}})};
}

std::optional<int64_t> Epilogue::biasStride(int64_t size,
                                            int64_t stride) const {
  std::optional<int64_t> step;
  if (size == 1 || !bias)
    return 0;
  // Dimensions run from the slowest to the fastest, so that the last one that
  // the loop runs through has its step.
  Loops<2> covered;
  for (const Loop<2> &dim : loops)
    if (dim.size > 1 && dim.strides[0] >= stride &&
        dim.strides[0] < stride * size)
      covered.push_back(dim);
  if (covered.empty() || covered.back().strides[0] != stride)
    return std::nullopt;
  step = covered.back().strides[1];
  for (const Loop<2> &dim : covered)
    if (dim.strides[1] != *step * (dim.strides[0] / stride))
      return std::nullopt;
  return step;
}

void applyEpilogue(const Epilogue &epilogue, const Applied &applied,
                   ElementType type, void *result, cudaStream_t stream) {
  Loops<2> loops = simplify(epilogue.loops, /*leader=*/0);
  ElementType sourceType = applied.wide ? ElementType::F32 : type;
  const void *source = applied.wide ? applied.wide : result;
  VectorOperand read{source, 0, sourceType}, written{result, 0, type};
  VectorOperand bias{epilogue.bias, 1, type};
  EpilogueParameters p{};
  setRows(p, loops,
          fitsVectors(loops, {read, written, epilogue.bias ? bias : read}));
  p.sourceType = static_cast<int32_t>(sourceType);
  p.type = static_cast<int32_t>(type);
  p.activation = static_cast<int32_t>(epilogue.activation);
  p.source = source;
  p.bias = epilogue.bias;
  p.result = result;
  if (!applied.scales)
    std::copy(epilogue.scales.begin(), epilogue.scales.end(), p.scales);
  auto bytes = [&](size_t operand, ElementType element) {
    return extentOf(loops, operand) *
           static_cast<int64_t>(support::elementSize(element));
  };
  auto scale = [&](size_t i) {
    return Touched{p.scales[i], p.scales[i] ? int64_t(sizeof(float)) : 0,
                   Access::Read};
  };
  launch(stream, SHOAL_WIDE_NAMES("shoal_epilogue").of(type),
         blocksFor(p.rows.threads(), blockThreads), p,
         {{epilogue.bias, epilogue.bias ? bytes(1, type) : 0, Access::Read},
          scale(0),
          scale(1),
          {applied.wide, applied.wide ? bytes(0, sourceType) : 0, Access::Read},
          {result, bytes(0, type),
           applied.wide ? Access::Write : Access::ReadWrite}});
}

} // namespace shoal::rt
