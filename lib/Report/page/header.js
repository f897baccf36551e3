// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The program's name, meshes, main figures and signature.

function showHeader() {
  document.title = `${report.name} – Shoal report`;
  replaceContent(
    byId("header"),
    element("div", { class: "title" }, element("h1", {}, report.name), showLinks(), themeButton()),
    element("div", { class: "meshes" }, report.meshes.map(showMesh)),
    element("dl", { class: "tiles" }, mainFigures().map(showTile)));
}

function showLinks() {
  const links = [
    ["overview", "Signature"], ["collectives", "Collectives"], ["memory", "Memory"], ["program", "Program"],
  ];
  return element("nav", { "aria-label": "Sections" }, links.map(([id, text]) =>
    element("a", { href: `#${id}` }, text)));
}

// What the system prefers, until the button is pressed.
function themeButton() {
  const root = document.documentElement;
  const toggle = () => {
    const isDark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : window.matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
  };
  return element("button", { type: "button", id: "theme", onclick: toggle }, "Light / dark");
}

function showMesh(mesh) {
  const axes = mesh.axes.map((axis, index) => element(
    "span", { class: "axis", style: `--color:${axisColor(index)}` }, `${showAxisName(axis)} = ${axis.size}`));
  const order = mesh.device_ids ? element("span", { class: "muted" }, "in an order of its own") : null;
  const name = mesh.name ? `mesh @${mesh.name}` : "no mesh";
  return element("p", { class: "mesh" }, element("span", { class: "muted" }, name), axes, order);
}

// By what the axis is for, where that is said: layouts call axes x0, x1, ...
function showAxisName(axis) {
  return !axis.roles || axis.roles === axis.name ? axis.name : `${axis.roles} (${axis.name})`;
}

function mainFigures() {
  const { flops, memory, collectives } = report;
  const sent = collectives.reduce((sum, collective) => sum + collective.total, 0);
  const runs = collectives.reduce((sum, collective) => sum + collective.runs, 0);
  const ratio = flops.global_einsum > 0 ? (flops.einsum * report.devices) / flops.global_einsum : null;
  return [
    ...simulatedFigures(),
    ["Devices", formatCount(report.devices), `target ${report.target}`],
    ["Sent by a device", formatBytes(sent),
      runs === collectives.length
        ? plural(runs, "collective")
        : `${plural(collectives.length, "collective")}, ${formatCount(runs)} runs`],
    ["Peak memory of a device", formatBytes(memory.peak),
      `inputs and outputs ${formatBytes(memory.arguments + memory.shared)}, arena ${formatBytes(memory.arena)}`],
    ["Arithmetic of a device", formatFlops(flops.device),
      ratio === null
        ? `einsums ${formatFlops(flops.einsum)}`
        : `einsums of all devices: ${ratio.toFixed(2)} × the global program's`],
  ];
}

function simulatedFigures() {
  const { simulated } = report;
  if (!simulated) return [];
  const exposed = simulated.exposed_seconds > 0
    ? `${formatSeconds(simulated.exposed_seconds)} of exposed communication`
    : "no exposed communication";
  const mfu = simulated.mfu > 0 ? `, MFU ${(100 * simulated.mfu).toFixed(1)} %` : "";
  return [["A step, simulated", formatSeconds(simulated.step_seconds), `on ${simulated.machine}: ${exposed}${mfu}`]];
}

function showTile([name, figure, note]) {
  return element(
    "div", { class: "tile" }, element("dt", {}, name), element("dd", { class: "figure" }, figure),
    element("dd", { class: "muted" }, note));
}

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

// An input or output as a value of the program.
function toValue(tensor) {
  const layout = report.layouts.findIndex((candidate) => isLayoutOf(candidate, tensor));
  return {
    name: tensor.name, dtype: tensor.dtype, shape: tensor.local_shape, global: tensor.shape,
    layout: layout < 0 ? undefined : layout,
  };
}

function isLayoutOf(layout, tensor) {
  return layout.mesh === tensor.mesh && !layout.partial.length && !layout.manual.length &&
    JSON.stringify(layout.dims) === JSON.stringify(tensor.dims);
}

function showSignature() {
  const rows = [
    ...report.inputs.map((tensor) => ({ role: "input", tensor, value: toValue(tensor) })),
    ...report.outputs.map((tensor) => ({ role: "output", tensor, value: toValue(tensor) })),
  ];
  const columns = [
    { title: "", cell: (row) => element("span", { class: "muted" }, row.role) },
    { title: "Name", cell: (row) => element("strong", {}, row.tensor.name) },
    { title: "Blocks", cell: (row) => showIcon(row.value) },
    { title: "Global shape", cell: (row) => showShape(row.value) },
    { title: "On a device", cell: (row) => showLocalShape(row.value) },
    { title: "Sharding", cell: (row) => element("code", {}, row.tensor.sharding || "every device holds all") },
  ];
  replaceContent(byId("signature"), makeTable(columns, rows, { class: "signature" }));
}
