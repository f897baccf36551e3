// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The report's data, as docs/guide/Report.md describes it, with links both ways.

const report = readReport();

function readReport() {
  const report = JSON.parse(document.getElementById("data").textContent);
  report.values.forEach((value, index) => Object.assign(value, { index, def: null, users: [] }));
  report.ops.forEach((op, index) => linkOp(report, op, index));
  report.collectives.forEach((collective, index) => {
    collective.index = index;
    collective.total = collective.bytes * collective.runs;
    if (collective.op !== null) report.ops[collective.op].collective = collective;
  });
  report.products.forEach(({ op, plan }) => {
    if (op !== null) report.ops[op].plan = plan;
  });
  report.memory.buffers.forEach((buffer, index) => linkBuffer(report, buffer, index));
  if (report.simulated) linkTimes(report);
  return report;
}

function linkOp(report, op, index) {
  op.index = index;
  op.buffers = [];
  op.shortName = op.name.replace(/^(shoal|spmd|arith|math|func)\./, "");
  for (const value of op.results) report.values[value].def = op;
  for (const value of new Set(op.operands)) report.values[value].users.push(op);
}

// Of ops and collectives that take any; the others have none.
function linkTimes(report) {
  report.simulated.ops.forEach(({ op, seconds, bound }) => {
    if (op < report.ops.length) report.ops[op].time = { seconds, bound };
  });
  report.simulated.collectives.forEach(({ number, seconds, bound }) => {
    Object.assign(report.collectives[number], { seconds, time: { seconds, bound } });
  });
}

function linkBuffer(report, buffer, index) {
  buffer.index = index;
  if (buffer.op !== null) report.ops[buffer.op].buffers.push(buffer);
}

// The op of a collective or buffer; null where a pass made one of its own.
function opOf(part) {
  return part.op === null ? null : report.ops[part.op];
}

function layoutOf(value) {
  return value.layout === undefined ? null : report.layouts[value.layout];
}

function meshOf(layout) {
  return report.meshes[layout.mesh];
}

// {name, line, text}, text being empty where the file was not to be read.
function sourceOf(op) {
  if (!op || !op.loc) return null;
  const [number, line, column] = op.loc;
  const file = report.files[number];
  return { name: file.name, line, column, text: file.lines[line] || "" };
}
