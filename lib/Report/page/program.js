// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The list of ops. Rows are made when they come into view: programs have tens
// of thousands.

const CHUNK = 100;
const ROW_HEIGHT = 34;
const programView = { shown: [], chunks: [], observer: null, selected: null };

const programColumns = [
  { title: "#", className: "number index", cell: (op) => linkTo(op, `${op.index}`) },
  { title: "Op", className: "op", cell: showOpText },
  { title: "Blocks", className: "blocks-cell", cell: (op) => mainResult(op, showIcon) },
  { title: "Global shape", className: "shape-cell", cell: (op) => mainResult(op, showShape) },
  { title: "On a device", className: "shape-cell", cell: (op) => mainResult(op, showLocalShape) },
  { title: "Cost", className: "number cost", cell: showCost },
  ...(report.simulated ? [{ title: "Simulated", className: "number time", cell: showOpTime }] : []),
  { title: sourceTitle(), className: "source-cell", cell: showSource },
];

// Of several results the largest stands for all.
function mainResult(op, show) {
  if (op.results.length === 0) return null;
  const results = op.results.map((value) => report.values[value]);
  const largest = results.reduce((best, value) => ((value.bytes || 0) > (best.bytes || 0) ? value : best));
  const more = results.length > 1 && show === showShape
    ? element("span", { class: "muted" }, ` +${results.length - 1}`)
    : null;
  return [show(largest), more];
}

// The op without types, which stand beside it; of a collective without its name.
function shortText(op) {
  const text = op.text.replace(/ : \(?tensor<[^]*$/, "").replace(/ ?:? -> tensor<[^]*$/, "");
  if (!op.collective) return text;
  const named = text.replace(`${op.name} `, "").replace(/"/g, "");
  return report.meshes.length === 1 ? named.replace(`@${report.meshes[0].name} `, "") : named;
}

function showOpText(op) {
  const kind = op.collective ? element("span", { class: "badge" }, op.collective.kind) : null;
  const style = op.depth ? `padding-left:${op.depth * 1.2}em` : null;
  return element(
    "span", { class: "text", style, title: op.text.slice(0, 400) }, kind, element("code", {}, shortText(op)));
}

function showCost(op) {
  if (op.collective)
    return element("strong", { title: "bytes that a device sends" }, formatBytes(op.collective.total));
  if (op.flops) return element("span", { class: "muted" }, formatFlops(op.flops * (op.runs || 1)));
  return null;
}

// In one line, as rows are of one height.
function showOpTime({ time }) {
  if (!time) return null;
  const title = `simulated on ${report.simulated.machine}, bound by ${time.bound}`;
  return element("span", { class: "muted", title }, formatSeconds(time.seconds));
}

function showProgram(ops) {
  programView.shown = ops;
  if (programView.observer) programView.observer.disconnect();
  const fillVisible = (entries) => entries
    .filter((entry) => entry.isIntersecting)
    .forEach((entry) => fillChunk(Number(entry.target.dataset.chunk)));
  programView.observer = new IntersectionObserver(fillVisible, { rootMargin: "600px" });
  programView.chunks = [];
  for (let begin = 0; begin < ops.length; begin += CHUNK) programView.chunks.push(makeChunk(begin));
  const table = makeTable(programColumns, [], { class: "program", onkeydown: moveInProgram });
  table.querySelector("tbody").remove();
  table.append(...programView.chunks);
  replaceContent(byId("ops"), table);
  programView.chunks.forEach((chunk) => programView.observer.observe(chunk));
  if (programView.chunks.length) fillChunk(0);
}

// Holds the rows' place.
function makeChunk(begin) {
  const rows = Math.min(CHUNK, programView.shown.length - begin);
  const place = element("td", { colspan: programColumns.length, style: `height:${rows * ROW_HEIGHT}px` });
  return element("tbody", { "data-chunk": begin / CHUNK }, element("tr", {}, place));
}

function fillChunk(number) {
  const chunk = programView.chunks[number];
  if (!chunk || chunk.dataset.filled) return;
  chunk.dataset.filled = "yes";
  const ops = programView.shown.slice(number * CHUNK, (number + 1) * CHUNK);
  chunk.replaceChildren(...ops.map(makeOpRow));
}

function makeOpRow(op) {
  const isSelected = programView.selected === op.index;
  const classes = [op.collective ? "collective" : "", isSelected ? "selected" : ""].join(" ").trim();
  return makeRow(programColumns, op, {
    id: `op-${op.index}`, class: classes || null, tabindex: isSelected || op === programView.shown[0] ? 0 : -1,
    "aria-selected": isSelected ? "true" : null,
    onclick: (event) => event.target.closest("a") || goToOp(op.index),
  });
}

// The row of the op, made if it was not; null where the filter hides it.
function rowOf(index) {
  const place = programView.shown.findIndex((op) => op.index === index);
  if (place < 0) return null;
  fillChunk(Math.floor(place / CHUNK));
  return byId(`op-${index}`);
}

function selectOp(index) {
  const before = document.querySelector("tr.selected");
  if (before) {
    before.classList.remove("selected");
    before.removeAttribute("aria-selected");
    before.tabIndex = -1;
  }
  programView.selected = index;
  const row = rowOf(index);
  if (row) {
    row.classList.add("selected");
    row.setAttribute("aria-selected", "true");
    row.tabIndex = 0;
  }
  showDetails(report.ops[index]);
  return row;
}

function moveInProgram(event) {
  const row = event.target.closest("tr");
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  if (!row || !row.id || (!step && event.key !== "Enter")) return;
  if (event.target.closest("a") && event.key === "Enter") return;
  event.preventDefault();
  const index = Number(row.id.slice(3));
  const place = programView.shown.findIndex((op) => op.index === index) + (step || 0);
  const next = programView.shown[place];
  if (!next) return;
  const target = selectOp(next.index);
  target.focus();
  target.scrollIntoView({ block: "nearest" });
}
