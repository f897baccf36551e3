// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors of the code that the compiler's tools and the compiled executables
// share. Nothing here throws: a function that can fail returns a Result or a
// Status.

#ifndef SHOAL_SUPPORT_RESULT_H
#define SHOAL_SUPPORT_RESULT_H

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace shoal::support {

/// Why something failed: one line in lower case, without a full stop.
struct Error {
  std::string message;
};

/// Engaged on failure, as llvm::Error: `if (Status failed = write()) ...`.
using Status = std::optional<Error>;

/// A value or an Error; true when it holds a value, as llvm::Expected.
template <typename T>
class [[nodiscard]] Result {
public:
  Result(T value) : storage(std::move(value)) {}
  Result(Error error) : storage(std::move(error)) {}

  explicit operator bool() const { return storage.index() == 0; }
  T &operator*() { return std::get<0>(storage); }
  const T &operator*() const { return std::get<0>(storage); }
  T *operator->() { return &std::get<0>(storage); }
  const T *operator->() const { return &std::get<0>(storage); }
  const Error &error() const { return std::get<1>(storage); }

private:
  std::variant<T, Error> storage;
};

} // namespace shoal::support

#endif // SHOAL_SUPPORT_RESULT_H
