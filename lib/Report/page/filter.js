// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which ops the list shows.

const filterView = { text: "", kind: "", collectivesOnly: false };

function showFilter() {
  const search = element("input", {
    type: "search", id: "search", placeholder: "op, value, source …  ( / )", "aria-label": "Search the program",
    oninput: (event) => changeFilter({ text: event.target.value }),
  });
  const only = element("input", {
    type: "checkbox", id: "collectives-only",
    onchange: (event) => changeFilter({ collectivesOnly: event.target.checked }),
  });
  const form = byId("filter");
  replaceContent(
    form, search, kindMenu(), element("label", {}, only, " collectives only"),
    element("span", { id: "filter-count", class: "muted", role: "status" }));
  form.addEventListener("submit", (event) => event.preventDefault());
}

function kindMenu() {
  const counts = new Map();
  for (const op of report.ops) counts.set(op.name, (counts.get(op.name) || 0) + 1);
  const names = [...counts.keys()].sort();
  const options = names.map((name) => element("option", { value: name }, `${name} (${counts.get(name)})`));
  const choose = (event) => changeFilter({ kind: event.target.value });
  return element(
    "select", { id: "kind", "aria-label": "Kind of op", onchange: choose },
    element("option", { value: "" }, "all ops"), options);
}

function changeFilter(change) {
  Object.assign(filterView, change);
  applyFilter();
}

function applyFilter() {
  const shown = report.ops.filter(isShown);
  showProgram(shown);
  byId("filter-count").textContent = `${formatCount(shown.length)} of ${plural(report.ops.length, "op")}`;
}

function isShown(op) {
  if (filterView.collectivesOnly && !op.collective) return false;
  if (filterView.kind && op.name !== filterView.kind) return false;
  return filterView.text.toLowerCase().split(/\s+/).every((word) => searchText(op).includes(word));
}

// All that a search looks at, once for each op.
function searchText(op) {
  if (op.searchText === undefined) {
    const source = sourceOf(op);
    const place = source ? `${source.name}:${source.line} ${source.text}` : "";
    const why = op.collective ? op.collective.reason : "";
    op.searchText = `#${op.index} ${op.text} ${place} ${why} ${op.from || ""}`.toLowerCase();
  }
  return op.searchText;
}

function clearFilter() {
  byId("search").value = "";
  byId("kind").value = "";
  byId("collectives-only").checked = false;
  changeFilter({ text: "", kind: "", collectivesOnly: false });
}
