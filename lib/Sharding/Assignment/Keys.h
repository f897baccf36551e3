// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Numbers written one behind the other, as keys of maps.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_KEYS_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_KEYS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Allocator.h"
#include <cstdint>
#include <string>

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

/// Numbers keys from 0 on, in the order in which they come. Looking for one
/// that is known allocates nothing.
class WordIds {
public:
  /// The key's number, which is that of how many there were where it is new.
  unsigned idOf(const WordKey &key) {
    auto [it, isNew] = ids.try_emplace(key.list(), ids.size());
    if (isNew)
      it->getFirst() = key.list().copy(storage);
    return it->getSecond();
  }

private:
  struct KeyInfo : llvm::DenseMapInfo<llvm::ArrayRef<uint32_t>> {
    static unsigned getHashValue(llvm::ArrayRef<uint32_t> words) {
      WordDigest digest;
      for (uint32_t word : words)
        digest.add(word);
      return digest.get();
    }
  };

  llvm::BumpPtrAllocator storage;
  llvm::DenseMap<llvm::ArrayRef<uint32_t>, unsigned, KeyInfo> ids;
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
