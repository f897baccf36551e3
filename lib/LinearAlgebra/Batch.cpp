// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Batch.h"

#include <algorithm>
#include <span>

namespace shoal::lapack {

namespace {

/// Takes the call's tensors one after the other, as many for each slot as its
/// numbers have halves.
class Reader {
public:
  explicit Reader(Batch &batch) : batch(batch) {}

  bool read(std::span<const shoal_tensor> tensors,
            const std::vector<Slot> &slots, std::vector<Array> &arrays) {
    for (const Slot &slot : slots) {
      size_t halves = countHalves(slot.numbers);
      if (tensors.size() < halves)
        return false;
      for (const shoal_tensor &half : tensors.first(halves))
        if (!fits(half, slot))
          return false;
      arrays.push_back(arrayOf(tensors.first(halves), slot));
      tensors = tensors.subspan(halves);
    }
    return tensors.empty();
  }

private:
  size_t countHalves(Numbers numbers) const {
    bool isPair = numbers == Numbers::Complex ||
                  (numbers == Numbers::Own && batch.isComplex);
    return isPair ? 2 : 1;
  }

  bool fits(const shoal_tensor &tensor, const Slot &slot) {
    int64_t type = batch.isDouble ? SHOAL_RT_F64 : SHOAL_RT_F32;
    if (slot.numbers == Numbers::Integer)
      type = SHOAL_RT_I32;
    int64_t outer = tensor.rank - static_cast<int64_t>(slot.dims.size());
    if (tensor.type != type || outer < 0)
      return false;
    std::span<const int64_t> shape(tensor.shape, tensor.rank);
    return fitsBatch(shape.first(outer)) &&
           fitsLetters(shape.subspan(outer), slot.dims);
  }

  bool fitsBatch(std::span<const int64_t> shape) {
    if (!batchShape)
      batchShape = shape;
    return std::ranges::equal(shape, *batchShape);
  }

  bool fitsLetters(std::span<const int64_t> shape, std::string_view letters) {
    return std::ranges::equal(shape, letters, [&](int64_t size, char letter) {
      return batch.sizes.try_emplace(letter, size).first->second == size;
    });
  }

  static Array arrayOf(std::span<const shoal_tensor> halves, const Slot &slot) {
    const shoal_tensor &first = halves[0];
    Array array{&first, halves.size() == 2 ? &halves[1] : nullptr};
    std::span<const int64_t> shape(first.shape, first.rank);
    shape = shape.last(slot.dims.size());
    if (!shape.empty())
      array.rows = shape[0];
    if (shape.size() == 2)
      array.columns = shape[1];
    return array;
  }

  Batch &batch;
  std::optional<std::span<const int64_t>> batchShape;
};

} // namespace

std::optional<Batch> Batch::read(const shoal_custom_call &call,
                                 const Signature &signature) {
  if (call.num_operands < 1)
    return std::nullopt;
  Batch batch;
  auto numSlots = static_cast<int64_t>(signature.operands.size());
  batch.isComplex = call.num_operands == 2 * numSlots;
  batch.isDouble = call.operands[0].type == SHOAL_RT_F64;
  batch.options = call.config;
  Reader reader(batch);
  if (!reader.read({call.operands, size_t(call.num_operands)},
                   signature.operands, batch.operands) ||
      !reader.read({call.results, size_t(call.num_results)}, signature.results,
                   batch.results))
    return std::nullopt;
  const shoal_tensor &first = call.operands[0];
  int64_t outer =
      first.rank - static_cast<int64_t>(signature.operands[0].dims.size());
  for (int64_t i = 0; i < outer; ++i)
    batch.count *= first.shape[i];
  return batch;
}

} // namespace shoal::lapack
