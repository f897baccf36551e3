// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Everything about one op: its text, results, operands, reason, source.

function showDetails(op) {
  replaceContent(
    byId("details"),
    element("h3", {}, `#${op.index} `, element("code", {}, op.name)),
    facts([...costFacts(op), ...sourceFacts(op)]),
    op.results.length ? element("h4", {}, op.results.length === 1 ? "Result" : "Results") : null,
    op.results.map((value) => showValue(report.values[value], true)),
    op.operands.length ? element("h4", {}, op.operands.length === 1 ? "Operand" : "Operands") : null,
    [...new Set(op.operands)].map((value) => showValue(report.values[value], false)),
    element("h4", {}, "Text"),
    element("pre", {}, op.text));
}

function showNothing() {
  replaceContent(
    byId("details"),
    element(
      "p", { class: "muted" },
      "Choose an op to see which device holds which block of its result, why, and where it comes from."),
    element(
      "p", { class: "muted" }, element("kbd", {}, "/"), " search, ",
      element("kbd", {}, "↑"), element("kbd", {}, "↓"), " other ops, ", element("kbd", {}, "Esc"), " close"));
}

function facts(pairs) {
  return element("dl", { class: "facts" }, pairs.filter(Boolean).flatMap(([name, ...text]) => [
    element("dt", {}, name), element("dd", {}, ...text),
  ]));
}

function costFacts(op) {
  const { collective } = op;
  const time = op.time
    ? ["simulated", `${formatSeconds(op.time.seconds)} on ${report.simulated.machine}, bound by ${op.time.bound}`]
    : null;
  const runs = op.runs ? ["runs", `${formatCount(op.runs)} times`] : null;
  if (!collective) {
    return [
      op.flops ? ["arithmetic", formatFlops(op.flops * (op.runs || 1))] : null,
      op.plan ? ["computed by", element("code", {}, op.plan)] : null,
      time,
      runs,
    ];
  }
  const once = collective.runs === 1 ? "" : ` (${formatCount(collective.runs)} × ${formatBytes(collective.bytes)})`;
  return [
    ["axes", `${formatAxes(collective.axes)}, groups of ${collective.group_size}`],
    ["sent", `${formatBytes(collective.total)} by a device${once}`],
    time,
    ["why", showReason(collective)],
  ];
}

function sourceFacts(op) {
  const source = sourceOf(op);
  return [
    source ? ["source", `${source.name}:${source.line}:${source.column}`] : null,
    source && source.text ? ["line", element("code", {}, source.text)] : null,
    op.from ? ["from", op.from] : null,
  ];
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

function showValue(value, isResult) {
  const layout = layoutOf(value);
  return element(
    "div", { class: "value" },
    element("p", { class: "value-title" }, showIcon(value), element("code", {}, value.name), showShape(value)),
    facts([
      ["on a device", showLocalShape(value), value.bytes === undefined ? null : ` ${formatBytes(value.bytes)}`],
      layout && isResult ? ["layout", describeLayout(layout)] : null,
      value.origin && isResult ? ["chosen", value.origin] : null,
      isResult ? null : ["made by", value.def ? nameLink(value.def) : "an argument"],
      isResult && value.users.length ? ["used by", showUsers(value.users)] : null,
      isResult && value.def ? buffersFact(value.def) : null,
    ]),
    isResult && layout ? [showBlocks(value), showDeviceProbe(value, layout)] : null,
    isResult && !layout && value.shape
      ? element("p", { class: "muted" }, "Of one device alone: no shard of a value of the global program.")
      : null);
}

function showUsers(users) {
  const shown = users.slice(0, 12).flatMap((op, index) => [index ? ", " : "", nameLink(op)]);
  if (users.length > 12) shown.push(` and ${users.length - 12} more`);
  return element("span", {}, shown);
}

function buffersFact(op) {
  if (op.buffers.length === 0) return null;
  const texts = op.buffers.map((buffer) => {
    const { shared } = report.memory;
    const place = buffer.offset < shared
      ? `in the outputs' memory at ${formatCount(buffer.offset)}`
      : `in the arena at ${formatCount(buffer.offset - shared)}`;
    return `${formatBytes(buffer.bytes)} ${place}, steps ${buffer.first}–${buffer.last}`;
  });
  return ["memory", texts.slice(0, 3).join("; ")];
}

// What one device holds, for meshes whose blocks are too many to draw.
function showDeviceProbe(value, layout) {
  const output = element("output", {});
  const update = (event) => {
    const device = Number(event.target.value);
    const isDevice = event.target.value !== "" && Number.isInteger(device) && device >= 0 && device < report.devices;
    output.textContent = isDevice ? describeShard(value, layout, device) : "no such device";
  };
  output.textContent = describeShard(value, layout, 0);
  const input = element("input", { type: "number", min: 0, max: report.devices - 1, value: 0, oninput: update });
  return element("label", { class: "probe" }, "device ", input, " holds ", output);
}

function describeShard(value, layout, device) {
  const block = blockOf(device, layout);
  const ranges = value.global.map((size, dim) => formatRows(rowsOf(size, partsOf(layout.dims[dim]), block[dim])));
  const partial = layout.partial.length ? ", addends of a sum" : "";
  return `[${ranges.join(", ")}]${partial}`;
}
