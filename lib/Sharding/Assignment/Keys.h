// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Numbers written one behind the other, as keys of maps.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_KEYS_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_KEYS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
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
  llvm::StringRef text() const {
    return {reinterpret_cast<const char *>(words.data()),
            words.size() * sizeof(uint32_t)};
  }

private:
  llvm::SmallVector<uint32_t, 32> words;
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
