// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The list of collectives, which can be sorted, with their reasons.

const MAX_LISTED = 20;
const collectiveView = { key: "total", descending: true, all: false };

const collectiveColumns = [
  { title: "Collective", key: "kind", cell: (c) => [showKind(c.kind), c.op === null ? null : linkTo(opOf(c))] },
  { title: "Axes", key: "axes", cell: showAxes, className: "stack" },
  ...(report.collectives.some((c) => c.layer) ? [{ title: "Layer", key: "layer", cell: (c) => c.layer || "–" }] : []),
  { title: "Sent by a device", key: "total", cell: showSent, className: "number sent" },
  ...(report.simulated ? [{ title: "Simulated", key: "seconds", cell: showTime, className: "number stack" }] : []),
  { title: "Why", key: "reason", cell: showReason, className: "why" },
  { title: sourceTitle(), key: "op", cell: (c) => showSource(opOf(c)), className: "source-cell" },
];

function showAxes(collective) {
  const group = element("span", { class: "muted small" }, `groups of ${collective.group_size}`);
  const roles = collective.roles ? element("span", { class: "muted small" }, collective.roles) : null;
  return [formatAxes(collective.axes), roles, group];
}

function sentBytes() {
  return report.collectives.reduce((sum, collective) => sum + collective.total, 0);
}

function showSent(collective) {
  const whole = sentBytes();
  const runs = collective.runs === 1 ? "" : `${formatCount(collective.runs)} × ${formatBytes(collective.bytes)}, `;
  return [
    element("span", { title: `${formatCount(collective.total)} bytes` }, formatBytes(collective.total)),
    element("span", { class: "muted small" }, runs + formatShare(collective.total, whole)),
    bar(collective.total, whole),
  ];
}

// Of an op or a collective, as simulated on a machine.
function showTime({ time }) {
  if (!time) return null;
  const title = `simulated on ${report.simulated.machine}`;
  return [
    element("span", { title }, formatSeconds(time.seconds)),
    element("span", { class: "muted small" }, time.bound),
  ];
}

// A combined collective has a reason for each that went into it.
function showReason(collective) {
  const combined = /^(\d+ combined): ([^]*)$/.exec(collective.reason);
  if (!combined) return showChange(collective.reason);
  const reasons = combined[2].split(/(?<=>); /).map((reason) => element("li", {}, showChange(reason)));
  return [element("span", {}, combined[1]), element("ul", {}, reasons)];
}

// "operand 0 of f at a.py:1:2: <from> -> <to>": words, then the shardings.
function showChange(reason) {
  const change = /^(.*?):? ?(<@[^]*>) -> (<@[^]*>)$/.exec(reason);
  if (!change) return element("span", {}, reason || "–");
  const [, words, from, to] = change;
  const sharding = (text) => element("code", {}, shortSharding(text));
  return [
    element("span", {}, words),
    element("span", { class: "change" }, sharding(from), " → ", sharding(to)),
  ];
}

// Without the mesh, where there is but one.
function shortSharding(text) {
  if (report.meshes.length > 1) return text;
  return text.replace(/^<@[^,]*, /, "").replace(/>$/, "").replace(/"/g, "");
}

function sortedCollectives() {
  const { key, descending } = collectiveView;
  const compare = (a, b) => {
    if (a[key] === b[key]) return a.index - b.index;
    const order = a[key] < b[key] ? -1 : 1;
    return descending ? -order : order;
  };
  return [...report.collectives].sort(compare);
}

function showCollectives() {
  if (report.collectives.length === 0) return;
  const sorted = sortedCollectives();
  const shown = collectiveView.all ? sorted : sorted.slice(0, MAX_LISTED);
  const table = makeTable(
    collectiveColumns.map((column) => ({ ...column, title: sortButton(column) })), shown, { class: "collectives" });
  markSorted(table);
  const rest = sorted.length - shown.length;
  replaceContent(byId("collective-list"), table, rest > 0 ? moreButton(rest) : null);
}

function sortButton(column) {
  const isKey = collectiveView.key === column.key;
  const arrow = isKey ? (collectiveView.descending ? " ▼" : " ▲") : "";
  const sort = () => {
    collectiveView.descending = isKey ? !collectiveView.descending : ["total", "seconds"].includes(column.key);
    collectiveView.key = column.key;
    showCollectives();
  };
  return element("button", { type: "button", class: "sort", onclick: sort }, column.title + arrow);
}

function markSorted(table) {
  const place = collectiveColumns.findIndex((column) => column.key === collectiveView.key);
  table.querySelectorAll("th")[place].setAttribute(
    "aria-sort", collectiveView.descending ? "descending" : "ascending");
}

function moreButton(rest) {
  const show = () => {
    collectiveView.all = true;
    showCollectives();
  };
  return element("button", { type: "button", onclick: show }, `Show ${formatCount(rest)} more`);
}
