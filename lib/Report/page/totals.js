// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Bytes sent by a device, by the axes of the collective's group and by its kind.

function sumBy(collectives, keyOf) {
  const sums = new Map();
  for (const collective of collectives) {
    const key = keyOf(collective);
    const sum = sums.get(key) || { bytes: 0, runs: 0 };
    sums.set(key, { bytes: sum.bytes + collective.total, runs: sum.runs + collective.runs });
  }
  return sums;
}

// The keys, those with the most bytes first.
function sortedKeys(sums) {
  return [...sums.keys()].sort((a, b) => sums.get(b).bytes - sums.get(a).bytes);
}

function showTotals() {
  const { collectives } = report;
  if (collectives.length === 0) {
    replaceContent(
      byId("totals"), element("p", { class: "muted" }, "No collective: devices send nothing."));
    return;
  }
  const kinds = sumBy(collectives, (collective) => collective.kind);
  const axes = sumBy(collectives, (collective) => collective.axes);
  const cells = sumBy(collectives, (collective) => `${collective.kind} ${collective.axes}`);
  const all = sumBy(collectives, () => "all").get("all");
  const columns = [
    { title: "Sent by a device", cell: (row) => row.title },
    {
      title: "Total", className: "number",
      cell: (row) => showSum(row.axes === null ? all : axes.get(row.axes), all.bytes),
    },
    ...sortedKeys(kinds).map((kind) => ({
      title: showKind(kind), className: "number",
      cell: (row) => showSum(row.axes === null ? kinds.get(kind) : cells.get(`${kind} ${row.axes}`), all.bytes),
    })),
  ];
  const rows = sortedKeys(axes).map((name) => ({ axes: name, title: `over ${formatAxes(name)}` }));
  rows.push({ axes: null, title: element("strong", {}, "in all") });
  replaceContent(
    byId("totals"), makeTable(columns, rows, { class: "totals" }), ...describeStarts());
}

// Where many collectives send little.
function describeStarts() {
  if (!report.starting_bytes) return [];
  return [
    element(
      "p", { class: "muted" },
      "To start them takes longer than to send that: as long as " +
        `${formatBytes(report.starting_bytes)}.`),
  ];
}

function showSum(sum, whole) {
  if (!sum) return element("span", { class: "muted" }, "–");
  return element(
    "span", { title: `${formatCount(sum.bytes)} bytes, ${formatShare(sum.bytes, whole)}` },
    formatBytes(sum.bytes), element("span", { class: "muted runs" }, `${formatCount(sum.runs)}×`));
}

function showKind(kind) {
  return element("span", { class: "kind" }, kind);
}
