// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the backward pass computes again, where it does: a line for all of it,
// then the largest values.

function showRematerialized() {
  const [summary, ...values] = report.rematerialized;
  if (!summary) return;
  replaceContent(
    byId("rematerialized"), element("h3", {}, "Computed again"), element("p", {}, summary),
    makeTable([{ title: "Not saved", cell: (value) => value }], values));
}
