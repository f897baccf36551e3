// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What became of einsums with one-hot operands, where there are any.

const oneHotColumns = [
  { title: "One-hot", cell: (entry) => element("strong", {}, entry.decision) },
  { title: "Which, and why", cell: (entry) => entry.reason, className: "why" },
];

// "sparse: einsum ... at a.py:1:2: why".
function readOneHot(text) {
  const [, decision, reason] = /^(\w+): ([^]*)$/.exec(text) || [null, "", text];
  return { decision, reason };
}

function showOneHots() {
  if (!report.one_hots.length) return;
  replaceContent(
    byId("one-hots"), element("h3", {}, "One-hot einsums"),
    makeTable(oneHotColumns, report.one_hots.map(readOneHot), { class: "one-hots" }));
}
