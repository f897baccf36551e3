// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Inputs.h"
#include "Error.h"

#include "shoal/Support/Npy.h"
#include "shoal/Support/RandomInputs.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace shoal::reference;

namespace shoal::run {

static FailureOr<llvm::StringMap<std::string>>
parseFiles(const Signature &signature, ArrayRef<std::string> files) {
  std::string names;
  for (const Port &port : signature.arguments)
    names += (names.empty() ? "" : ", ") + port.name;
  llvm::StringMap<std::string> fileOf;
  for (StringRef file : files) {
    auto [name, path] = file.split('=');
    if (name.empty() || path.empty())
      return error("--input " + file + ": expected NAME=FILE.npy");
    bool isKnown =
        llvm::any_of(signature.arguments, [&, name = name](const Port &port) {
          return port.name == name;
        });
    if (!isKnown)
      return error("--input " + file + ": no argument is named \"" + name +
                   "\", the program has " + (names.empty() ? "none" : names));
    if (!fileOf.try_emplace(name, path.str()).second)
      return error("--input " + file + ": \"" + name + "\" is given twice");
  }
  return fileOf;
}

static Tensor randomTensor(const Port &port, uint64_t seed) {
  const reference::TensorType &type = port.global;
  std::vector<char> bytes(type.numElements() *
                          support::elementSize(type.element));
  support::fillRandom(seed, port.name, type.element, type.shape, bytes.data());
  return Tensor::fromBytes(type, bytes);
}

static FailureOr<Tensor> readTensor(const Port &port, const std::string &path) {
  const reference::TensorType &type = port.global;
  std::vector<char> bytes(type.numElements() *
                          support::elementSize(type.element));
  if (support::Status failed =
          support::readNpy(path, type.element, type.shape, bytes.data()))
    return error("input \"" + port.name + "\": " + failed->message);
  return Tensor::fromBytes(type, bytes);
}

FailureOr<SmallVector<Tensor>> readInputs(const Signature &signature,
                                          ArrayRef<std::string> files,
                                          std::optional<uint64_t> seed) {
  FailureOr<llvm::StringMap<std::string>> fileOf = parseFiles(signature, files);
  if (failed(fileOf))
    return failure();
  SmallVector<Tensor> inputs;
  for (const Port &port : signature.arguments) {
    auto file = fileOf->find(port.name);
    if (file != fileOf->end()) {
      FailureOr<Tensor> input = readTensor(port, file->second);
      if (failed(input))
        return failure();
      inputs.push_back(*input);
    } else if (seed) {
      inputs.push_back(randomTensor(port, *seed));
    } else {
      return error("input \"" + port.name + "\" of type " + port.global.str() +
                   " is missing: give --input " + port.name +
                   "=FILE.npy or --random-inputs=SEED");
    }
  }
  return inputs;
}

} // namespace shoal::run
