// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Puts the page together; an op's address is #op-NUMBER.

function goToOp(index) {
  if (location.hash === `#op-${index}`) followHash();
  else location.hash = `#op-${index}`;
}

function followHash() {
  const match = /^#op-(\d+)$/.exec(location.hash);
  if (!match || Number(match[1]) >= report.ops.length) return;
  const index = Number(match[1]);
  if (!programView.shown.includes(report.ops[index])) clearFilter();
  const row = selectOp(index);
  const { top, bottom } = row.getBoundingClientRect();
  if (top < 60 || bottom > window.innerHeight) row.scrollIntoView({ block: "center" });
  row.focus({ preventScroll: true });
}

function handleKey(event) {
  const isTyping = event.target.closest("input, select, textarea");
  if (event.key === "/" && !isTyping) {
    event.preventDefault();
    byId("search").focus();
  } else if (event.key === "Escape") {
    showNothing();
    if (isTyping) clearFilter();
  }
}

function main() {
  document.body.prepend(makeIconSymbols());
  showHeader();
  showSignature();
  showTotals();
  showCollectives();
  showMemory();
  showOneHots();
  showRematerialized();
  showFilter();
  showKey();
  applyFilter();
  showNothing();
  window.addEventListener("hashchange", followHash);
  document.addEventListener("keydown", handleKey);
  followHash();
}

main();
