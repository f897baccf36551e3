// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/RematerializePolicy.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSwitch.h"

using namespace shoal;

std::optional<RematerializePolicy>
RematerializePolicy::parse(llvm::StringRef text) {
  if (text.consume_front("names:")) {
    llvm::SmallVector<llvm::StringRef> names;
    text.split(names, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    if (names.empty())
      return std::nullopt;
    return RematerializePolicy{Kind::Names, {names.begin(), names.end()}};
  }
  auto kind = llvm::StringSwitch<std::optional<Kind>>(text)
                  .Case("everything", Kind::Everything)
                  .Case("nothing", Kind::Nothing)
                  .Case("dots", Kind::Dots)
                  .Case("dots_no_batch", Kind::DotsNoBatch)
                  .Case("selective", Kind::Selective)
                  .Case("offload", Kind::Offload)
                  .Default(std::nullopt);
  if (!kind)
    return std::nullopt;
  return RematerializePolicy{*kind, {}};
}

std::optional<RematerializePolicy::Collectives>
RematerializePolicy::parseCollectives(llvm::StringRef text) {
  return llvm::StringSwitch<std::optional<Collectives>>(text)
      .Case("save", Collectives::Save)
      .Case("params", Collectives::Params)
      .Case("repeat", Collectives::Repeat)
      .Default(std::nullopt);
}
