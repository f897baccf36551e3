// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the lanes of a warp tell each other, and the functions that kernels
// call.

#include "Block.h"
#include "Error.h"

namespace shoal::emulation {

void Multiprocessor::exchange(size_t first, size_t end) {
  const Wait &wait = threads[first].wait;
  for (size_t i = first; i < end; ++i) {
    const Wait &other = threads[i].wait;
    if (other.kind != wait.kind || other.mode != wait.mode ||
        other.width != wait.width)
      fail(text(describe(i), " waits at ", nameOf(other), " (mode ", other.mode,
                ", width ", other.width, ") while thread ", first,
                " of its warp waits at ", nameOf(wait), " (mode ", wait.mode,
                ", width ", wait.width, ")"));
  }
  if (wait.kind == Wait::Kind::Shuffle)
    return shuffle(first, end);
  if (wait.kind != Wait::Kind::Ballot)
    return;
  uint32_t votes = 0;
  for (size_t i = first; i < end; ++i)
    votes |= static_cast<uint32_t>(threads[i].wait.value != 0) << (i - first);
  for (size_t i = first; i < end; ++i)
    threads[i].wait.value = votes;
}

void Multiprocessor::shuffle(size_t first, size_t end) {
  uint32_t values[warpSize];
  for (size_t i = first; i < end; ++i)
    values[i - first] = threads[i].wait.value;
  for (size_t i = first; i < end; ++i) {
    Wait &wait = threads[i].wait;
    auto lane = static_cast<int32_t>(i - first);
    int32_t begin = lane / wait.width * wait.width;
    int32_t partner = lane, offset = wait.offset & 31;
    // As the instruction shfl.sync of PTX: only `idx` wraps in the segment.
    switch (wait.mode) {
    case SHOAL_EMU_SHUFFLE_XOR:
      partner = lane ^ offset;
      break;
    case SHOAL_EMU_SHUFFLE_UP:
      partner = lane - offset;
      break;
    case SHOAL_EMU_SHUFFLE_DOWN:
      partner = lane + offset;
      break;
    default:
      partner = begin + (offset & (wait.width - 1));
    }
    // A segment below the own one is inside for `xor`, as on the device.
    bool inside = partner < begin + wait.width &&
                  (partner >= begin || wait.mode == SHOAL_EMU_SHUFFLE_XOR);
    wait.valid = inside;
    if (!inside)
      continue;
    if (partner < 0 || first + static_cast<size_t>(partner) >= end)
      fail(text(describe(i), ": a shuffle reads lane ", partner,
                ", but its warp has ", end - first, " lanes"));
    wait.value = values[partner];
  }
}

} // namespace shoal::emulation

using namespace shoal::emulation;

extern "C" {

void shoal_emu_barrier(void) {
  Multiprocessor::get().wait({Wait::Kind::Barrier});
}

void shoal_emu_warp_barrier(void) {
  Multiprocessor::get().wait({Wait::Kind::WarpBarrier});
}

uint32_t shoal_emu_ballot(int32_t predicate) {
  Wait wait{Wait::Kind::Ballot};
  wait.value = predicate != 0;
  return Multiprocessor::get().wait(wait).value;
}

uint32_t shoal_emu_shuffle(int32_t mode, uint32_t value, int32_t offset,
                           int32_t width, int32_t *valid) {
  bool power = width >= 1 && width <= static_cast<int32_t>(warpSize) &&
               (width & (width - 1)) == 0;
  if (mode < SHOAL_EMU_SHUFFLE_XOR || mode > SHOAL_EMU_SHUFFLE_IDX || !power)
    fail(text("shuffle: mode ", mode, " with width ", width,
              " (a power of two up to 32)"));
  Wait wait{Wait::Kind::Shuffle, mode, value, offset, width};
  wait = Multiprocessor::get().wait(wait);
  if (valid)
    *valid = wait.valid;
  return wait.value;
}

void *shoal_emu_shared(int64_t key, int64_t bytes) {
  return Multiprocessor::get().shared(key, bytes);
}
} // extern "C"
