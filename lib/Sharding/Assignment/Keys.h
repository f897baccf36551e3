// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Numbers written one behind the other, as keys of maps.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_KEYS_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_KEYS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace shoal::assignment {

/// A key that is looked up often.
class WordKey {
public:
  void add(uint32_t word) { words.push_back(word); }
  void addLong(uint64_t number) {
    add(uint32_t(number));
    add(uint32_t(number >> 32));
  }
  llvm::ArrayRef<uint32_t> list() const { return words; }

private:
  llvm::SmallVector<uint32_t, 32> words;
};

/// A digest of words, one after the other.
class WordDigest {
public:
  void add(uint64_t word) {
    digest = (digest ^ word) * 0x9e3779b97f4a7c15;
    digest ^= digest >> 29;
  }
  uint64_t get() const { return digest; }

private:
  uint64_t digest = 0;
};

/// Numbers keys from 0 on, in the order in which they come. Keys stand one
/// behind the other: looking for one that is known allocates nothing.
class WordIds {
public:
  /// The key's number, which is size() where it is new.
  unsigned idOf(const WordKey &key);
  unsigned size() const { return ends.size(); }

private:
  llvm::ArrayRef<uint32_t> keyOf(unsigned id) const {
    size_t begin = id == 0 ? 0 : ends[id - 1];
    return llvm::ArrayRef(words).slice(begin, ends[id] - begin);
  }
  void grow();
  size_t firstSlot(uint64_t digest) const {
    return digest & (slots.size() - 1);
  }

  std::vector<uint32_t> words;
  std::vector<size_t> ends;
  std::vector<uint64_t> digests;
  /// Open addressing: 1 + the number of the key; a power of two of them, at
  /// most half of which are taken.
  std::vector<uint32_t> slots;
};

template <typename T>
void addToKey(T number, std::string &key) {
  key.append(reinterpret_cast<const char *>(&number), sizeof(T));
}

template <typename Range>
void addListToKey(const Range &list, std::string &key) {
  addToKey(uint32_t(list.size()), key);
  for (auto number : list)
    addToKey(number, key);
}

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_KEYS_H
