// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Memory over time: where each buffer is, from when to when, and how many bytes
// are alive at each step.

const CHART = { width: 1200, height: 340, left: 76, right: 14, top: 16, bottom: 34 };
const COLORED_BUFFERS = 8;
const DRAWN_BUFFERS = 3000;

// Bytes of the outputs' shared memory and of the arena alive at each step.
function aliveBytes() {
  const { steps, buffers } = report.memory;
  const change = new Array(steps.length + 1).fill(0);
  for (const buffer of buffers) {
    change[buffer.first] += buffer.bytes;
    change[buffer.last + 1] -= buffer.bytes;
  }
  let alive = 0;
  return steps.map((_, step) => (alive += change[step]));
}

function peakStep(alive) {
  return alive.indexOf(alive.reduce((most, bytes) => Math.max(most, bytes), 0));
}

function largestFirst(buffers) {
  return [...buffers].sort((a, b) => b.bytes - a.bytes || a.index - b.index);
}

// From steps and bytes to the chart's coordinates.
function makeScales(memory) {
  const steps = Math.max(1, memory.steps.length);
  const innerWidth = CHART.width - CHART.left - CHART.right;
  const innerHeight = CHART.height - CHART.top - CHART.bottom;
  const top = Math.max(1, memory.peak);
  return {
    x: (step) => CHART.left + (step * innerWidth) / steps,
    y: (bytes) => CHART.top + innerHeight - (bytes * innerHeight) / top,
  };
}

function showMemory() {
  const { memory } = report;
  const alive = aliveBytes();
  const peak = peakStep(alive);
  const colored = new Map(
    largestFirst(memory.buffers).slice(0, COLORED_BUFFERS).map((buffer, index) => [buffer.index, index]));
  replaceContent(
    byId("memory-chart"), showMemoryLegend(), drawChart(memory, alive, peak, colored),
    element("p", { id: "memory-hover", class: "muted", "aria-live": "polite" }, chartHint()));
  replaceContent(byId("memory-list"), showAtPeak(memory, peak, colored));
}

function chartHint() {
  return report.memory.buffers.length
    ? "Point at a buffer to see what it is; press it to go to the op that makes it."
    : "The program needs no buffers beside its inputs and outputs.";
}

function showMemoryLegend() {
  const entry = (className, text) =>
    element("span", { class: "entry" }, element("span", { class: `swatch ${className}` }), text);
  return element(
    "p", { class: "legend" },
    entry("arguments", "inputs and outputs"), entry("buffer", "buffers and outputs, at their place"),
    report.memory.constants ? entry("constants", "constants") : null,
    entry("alive", "bytes alive"), entry("peak", "the most bytes alive"));
}

function drawChart(memory, alive, peak, colored) {
  const scales = makeScales(memory);
  const label = `Memory over ${plural(memory.steps.length, "step")}: the peak is ${formatBytes(memory.peak)}`;
  return shape(
    "svg", { class: "chart", viewBox: `0 0 ${CHART.width} ${CHART.height}`, role: "group", "aria-label": label },
    drawAxes(memory, scales), drawFixed(memory, scales), drawBuffers(memory, scales, colored),
    memory.steps.length ? drawAlive(memory, scales, alive, peak) : null);
}

// Steps of 1, 2 or 4 times a power of two, so that labels are round.
function tickBytes(top) {
  let step = 1;
  while (top / step > 6) step *= 2;
  return step;
}

function drawAxes(memory, { x, y }) {
  const parts = [];
  const step = tickBytes(memory.peak);
  for (let bytes = 0; bytes <= memory.peak; bytes += step) {
    const ends = { x1: CHART.left, x2: CHART.width - CHART.right, y1: y(bytes), y2: y(bytes) };
    parts.push(shape("line", { class: "tick", ...ends }));
    parts.push(shape("text", { class: "y-label", x: CHART.left - 8, y: y(bytes) }, formatBytes(bytes)));
  }
  const middle = (CHART.left + CHART.width - CHART.right) / 2;
  const bottom = CHART.height - 10;
  const label = `program order (${plural(memory.steps.length, "step")})`;
  parts.push(shape("text", { class: "x-label", x: middle, y: bottom }, label));
  return shape("g", { "aria-hidden": "true" }, parts);
}

// What is there all the time: arguments below the buffers, constants above.
function drawFixed(memory, { x, y }) {
  const width = CHART.width - CHART.left - CHART.right;
  const band = (className, from, to, name) => {
    const text = `${name} ${formatBytes(to - from)}`;
    const height = Math.max(0, y(from) - y(to));
    const rect = { class: `band ${className}`, x: CHART.left, width, y: y(to), height };
    const label = { class: "band-label", x: CHART.left + 8, y: (y(from) + y(to)) / 2 };
    return shape(
      "g", {}, shape("rect", rect, shape("title", {}, text)), height > 16 ? shape("text", label, text) : null);
  };
  const bands = [band("arguments", 0, memory.arguments, "inputs and outputs")];
  if (memory.constants) bands.push(band("constants", memory.peak - memory.constants, memory.peak, "constants"));
  return shape("g", {}, bands);
}

// Beyond a number that can be told apart only the largest are drawn.
function drawBuffers(memory, scales, colored) {
  const drawn = largestFirst(memory.buffers).slice(0, DRAWN_BUFFERS);
  return shape("g", { class: "buffers" }, drawn.map((buffer) => drawBuffer(memory, scales, buffer, colored)));
}

function drawBuffer(memory, { x, y }, buffer, colored) {
  const base = memory.arguments + buffer.offset;
  const tell = () => replaceContent(byId("memory-hover"), element("span", {}, describeBuffer(buffer)));
  return shape(
    "rect", {
      class: colorClass(buffer, colored),
      x: x(buffer.first), width: Math.max(1.5, x(buffer.last + 1) - x(buffer.first) - 0.5),
      y: y(base + buffer.bytes), height: Math.max(1, y(base) - y(base + buffer.bytes) - 0.5),
      onpointerenter: tell,
      onclick: () => buffer.op !== null && goToOp(buffer.op),
    },
    shape("title", {}, describeBuffer(buffer)));
}

function colorClass(buffer, colored) {
  return colored.has(buffer.index) ? `buffer color-${colored.get(buffer.index)}` : "buffer";
}

function describeBuffer(buffer) {
  const op = opOf(buffer);
  const source = sourceOf(op);
  const parts = [
    formatBytes(buffer.bytes), buffer.type, op ? `#${op.index} ${op.shortName}` : "made by the lowering",
    `steps ${buffer.first}–${buffer.last}`,
  ];
  if (source) parts.push(`${baseName(source.name)}:${source.line}${source.text ? `  ${source.text}` : ""}`);
  return parts.join(" · ");
}

function drawAlive(memory, { x, y }, alive, peak) {
  const base = memory.arguments;
  const points = alive.flatMap((bytes, step) =>
    [`${x(step)},${y(base + bytes)}`, `${x(step + 1)},${y(base + bytes)}`]);
  const middle = (x(peak) + x(peak + 1)) / 2;
  const atRight = middle > CHART.width / 2;
  const label = {
    class: "peak-label", x: middle + (atRight ? -6 : 6), y: CHART.top - 5, "text-anchor": atRight ? "end" : "start",
  };
  return shape(
    "g", { class: "alive-group" },
    shape("polyline", { class: "alive", points: points.join(" ") }),
    shape("line", { class: "peak", x1: middle, x2: middle, y1: CHART.top - 4, y2: CHART.height - CHART.bottom }),
    shape("text", label, `step ${peak}: ${formatBytes(base + alive[peak])} alive`));
}

//===----------------------------------------------------------------------===//
// What is alive at the peak
//===----------------------------------------------------------------------===//

function showAtPeak(memory, peak, colored) {
  const alive = largestFirst(memory.buffers.filter(({ first, last }) => first <= peak && peak <= last));
  if (alive.length === 0) return element("span", {});
  const op = memory.steps[peak] === null ? null : report.ops[memory.steps[peak]];
  const heldIn = new Map(memory.largest.map((entry) => [entry.buffer, entry]));
  const maker = (b) => opOf(heldIn.get(b.index) || b) || opOf(b);
  const columns = [
    { title: "", cell: (b) => element("span", { class: `swatch ${colorClass(b, colored)}` }) },
    { title: "Bytes", className: "number", cell: (b) => formatBytes(b.bytes) },
    { title: "Of the peak", className: "number", cell: (b) => formatShare(b.bytes, memory.peak) },
    { title: "Type", cell: (b) => element("code", {}, b.type) },
    { title: "Made by", cell: (b) => (maker(b) ? nameLink(maker(b)) : "the lowering") },
    { title: "Alive", className: "number", cell: (b) => `steps ${b.first}–${b.last}` },
    { title: sourceTitle(), className: "source-cell", cell: (b) => showSource(maker(b)) },
    { title: "Could be", className: "replacement", cell: (b) => showReplacement(heldIn.get(b.index)) },
  ];
  const shown = alive.slice(0, 12);
  const rest = alive.slice(12).reduce((sum, buffer) => sum + buffer.bytes, 0);
  return element(
    "div", {},
    element("h3", {}, `Buffers alive at step ${peak}`, op ? [", ", nameLink(op)] : null),
    makeTable(columns, shown, { class: "at-peak" }),
    alive.length > shown.length
      ? element("p", { class: "muted" }, `and ${alive.length - shown.length} smaller ones of ${formatBytes(rest)}`)
      : null);
}

// What the buffer could be replaced by, and the bytes of a device that it would be less.
function showReplacement(entry) {
  if (!entry) return element("span", { class: "muted" }, "–");
  if (entry.replacement === "nothing") return element("span", { class: "muted" }, entry.text);
  return element(
    "span", {}, entry.text, element("span", { class: "muted saves" }, `saves ${formatBytes(entry.saves)}`));
}
