// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Keys.h"

using namespace shoal::assignment;

unsigned WordIds::idOf(const WordKey &key) {
  if (2 * (ends.size() + 1) > slots.size())
    grow();
  WordDigest digest;
  for (uint32_t word : key.list())
    digest.add(word);
  size_t slot = firstSlot(digest.get());
  for (; slots[slot] != 0; slot = (slot + 1) & (slots.size() - 1)) {
    unsigned id = slots[slot] - 1;
    if (digests[id] == digest.get() && keyOf(id) == key.list())
      return id;
  }
  slots[slot] = ends.size() + 1;
  words.insert(words.end(), key.list().begin(), key.list().end());
  ends.push_back(words.size());
  digests.push_back(digest.get());
  return ends.size() - 1;
}

void WordIds::grow() {
  slots.assign(std::max<size_t>(64, 2 * slots.size()), 0);
  for (unsigned id = 0; id < ends.size(); ++id) {
    size_t slot = firstSlot(digests[id]);
    while (slots[slot] != 0)
      slot = (slot + 1) & (slots.size() - 1);
    slots[slot] = id + 1;
  }
}
