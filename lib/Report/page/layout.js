// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which device holds which block of a value.

function partsOf(axes) {
  return axes.reduce((product, axis) => product * axis.size, 1);
}

// The index over `axes`, major to minor, of a device at `coordinates`.
function indexOver(axes, mesh, coordinates) {
  let index = 0;
  for (const { axis, pre, size } of axes) {
    const minor = mesh.axes[axis].size / (pre * size);
    index = index * size + (Math.floor(coordinates[axis] / minor) % size);
  }
  return index;
}

// The device's coordinate on every axis of the mesh, which is in row-major
// order of positions.
function coordinatesOf(device, mesh) {
  let position = mesh.device_ids ? mesh.device_ids.indexOf(device) : device;
  const coordinates = new Array(mesh.axes.length);
  for (let axis = mesh.axes.length - 1; axis >= 0; axis -= 1) {
    coordinates[axis] = position % mesh.axes[axis].size;
    position = Math.floor(position / mesh.axes[axis].size);
  }
  return coordinates;
}

// For each dimension the number of the block that the device holds.
function blockOf(device, layout) {
  const mesh = meshOf(layout);
  const coordinates = coordinatesOf(device, mesh);
  return layout.dims.map((axes) => indexOver(axes, mesh, coordinates));
}

// The rows [begin, end) of block `index` of `parts`; empty past the end.
function rowsOf(size, parts, index) {
  const rows = Math.ceil(size / parts);
  return [Math.min(size, index * rows), Math.min(size, (index + 1) * rows)];
}

function formatRows([begin, end]) {
  if (begin === end) return "none";
  return end === begin + 1 ? `${begin}` : `${begin}–${end - 1}`;
}

function splitDims(layout) {
  return layout.dims.map((axes, dim) => dim).filter((dim) => partsOf(layout.dims[dim]) > 1);
}

function isReplicated(layout) {
  return splitDims(layout).length === 0 && !layout.partial.length && !layout.manual.length;
}

// Whether some device holds fewer rows than others.
function isUneven(value, layout) {
  return splitDims(layout).some((dim) => value.global[dim] % partsOf(layout.dims[dim]) !== 0);
}

function axisName(axis, mesh) {
  const whole = mesh.axes[axis.axis];
  if (axis.size === whole.size) return whole.name;
  return `${whole.name}:(${axis.pre})${axis.size}`;
}

function axisNames(axes, mesh) {
  return axes.map((axis) => axisName(axis, mesh)).join(", ");
}

function axisColor(axis) {
  return `var(--axis-${axis % 8})`;
}

// In words, for those who do not see the drawing.
function describeLayout(layout) {
  const mesh = meshOf(layout);
  const parts = splitDims(layout).map(
    (dim) => `dimension ${dim} split ${partsOf(layout.dims[dim])} ways over ${axisNames(layout.dims[dim], mesh)}`);
  if (layout.partial.length) parts.push(`partial sums over ${axisNames(layout.partial, mesh)}`);
  if (layout.manual.length) parts.push(`written for one device along ${axisNames(layout.manual, mesh)}`);
  return parts.join("; ") || "every device holds all of it";
}

// The global shape with the axes of each dimension: 8 over expert × 64.
function showShape(value) {
  const layout = layoutOf(value);
  const sizes = value.global || value.shape;
  if (!sizes) return element("span", { class: "shape" }, value.dtype);
  const dims = sizes.map((size, dim) => showDim(size, layout ? layout.dims[dim] : [], layout));
  const joined = dims.flatMap((dim, index) =>
    index === 0 ? [dim] : [element("span", { class: "times" }, "×"), dim]);
  const scalar = dims.length === 0 ? [element("span", { class: "muted" }, "scalar")] : joined;
  const title = layout ? describeLayout(layout) : null;
  return element("span", { class: "shape", title }, scalar, element("span", { class: "dtype" }, value.dtype));
}

function showDim(size, axes, layout) {
  if (axes.length === 0) return element("span", {}, `${size}`);
  const names = axisNames(axes, meshOf(layout));
  return element(
    "span", { class: "split-dim", style: `--color:${axisColor(axes[0].axis)}` },
    `${size}`, element("sub", {}, names));
}

function showLocalShape(value) {
  return element("span", { class: "shape" }, value.shape && value.shape.length ? value.shape.join("×") : "–");
}
