// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Drawings of layouts: a small one beside each value, a table of blocks with
// their devices among the details.

const ICON = { width: 46, height: 26 };
const MAX_ICON_CELLS = 8;
const MAX_TABLE_CELLS = 8;
const MAX_LABELLED_DEVICES = 16;

// The dimensions drawn down and across: the first two that are split; of one
// alone the last dimension goes across.
function drawnDims(layout) {
  const split = splitDims(layout);
  if (split.length >= 2) return { down: split[0], across: split[1], more: split.slice(2) };
  const last = layout.dims.length - 1;
  if (split.length === 1 && split[0] === last) return { down: null, across: last, more: [] };
  return { down: split.length ? split[0] : null, across: null, more: [] };
}

//===----------------------------------------------------------------------===//
// Icons: one symbol for each layout, which all its values use
//===----------------------------------------------------------------------===//

function makeIconSymbols() {
  const symbols = report.layouts.map((layout, index) =>
    shape(
      "symbol", { id: `layout-${index}`, viewBox: `0 0 ${ICON.width} ${ICON.height}` },
      drawIcon(layout)));
  return shape("svg", { width: 0, height: 0, "aria-hidden": "true", class: "symbols" }, symbols);
}

function showIcon(value) {
  const layout = layoutOf(value);
  if (!layout)
    return element("span", { class: "icon unknown", title: "known only as one device has it" });
  const text = describeLayout(layout);
  return shape(
    "svg", { class: "icon", role: "img", "aria-label": text, width: ICON.width, height: ICON.height },
    shape("title", {}, text), shape("use", { href: `#layout-${value.layout}` }));
}

// What the icons' signs mean; those alone that occur.
function showKey() {
  const signs = [
    [(layout) => splitDims(layout).length > 0, "a block for each shard, in the color of the axis that splits it"],
    [isReplicated, "every device holds all of it"],
    [(layout) => layout.partial.length > 0, "every device holds addends of a sum"],
    [(layout) => layout.manual.length > 0, "written for one device"],
  ];
  const entries = signs.map(([has, text]) => {
    const layout = report.layouts.findIndex(has);
    return layout < 0 ? null : [{ layout }, text];
  });
  if (report.values.some((value) => value.layout === undefined))
    entries.push([{}, "of one device alone: no shard of a value of the program"]);
  replaceContent(byId("key"), entries.filter(Boolean).map(([value, text]) =>
    element("span", { class: "entry" }, showIcon(value), text)));
}

function drawIcon(layout) {
  const { down, across, more } = drawnDims(layout);
  const inner = { x: 1, y: 1, width: ICON.width - 2, height: ICON.height - 2 };
  const parts = [];
  if (more.length) {
    parts.push(drawBehind());
    inner.width -= 4;
    inner.height -= 4;
    inner.y += 4;
  }
  parts.push(...drawCells(layout, down, across, inner));
  if (layout.partial.length) parts.push(drawLabel(inner, "Σ"));
  else if (layout.manual.length) parts.push(drawLabel(inner, "m"));
  else if (down === null && across === null) parts.push(drawLabel(inner, "all"));
  return parts;
}

function drawBehind() {
  return shape("path", {
    class: "behind",
    d: `M5 5V1H${ICON.width - 1}V${ICON.height - 5}H${ICON.width - 5}`,
  });
}

function drawLabel(box, text) {
  return shape(
    "text", { class: "label", x: box.x + box.width / 2, y: box.y + box.height / 2 }, text);
}

// The shades of `count` blocks, from light to full.
function shade(index, count) {
  return count === 1 ? 0.45 : 0.2 + (0.65 * index) / (count - 1);
}

function drawCells(layout, down, across, box) {
  const rows = down === null ? 1 : partsOf(layout.dims[down]);
  const columns = across === null ? 1 : partsOf(layout.dims[across]);
  if (rows === 1 && columns === 1)
    return [shape("rect", { class: "whole", ...box })];
  const isDense = rows > 4 || columns > 4;
  const drawnRows = Math.min(rows, MAX_ICON_CELLS);
  const drawnColumns = Math.min(columns, MAX_ICON_CELLS);
  const cells = [];
  for (let row = 0; row < drawnRows; row += 1)
    for (let column = 0; column < drawnColumns; column += 1)
      cells.push(...drawCell(layout, { down, across, row, column, drawnRows, drawnColumns }, box));
  cells.push(...labelCells(layout, { down, across, rows, columns }, box));
  return [shape("g", { class: isDense ? "dense" : null }, cells)];
}

function drawCell(layout, at, box) {
  const width = box.width / at.drawnColumns;
  const height = box.height / at.drawnRows;
  const place = { x: box.x + at.column * width, y: box.y + at.row * height, width, height };
  const over = at.down === null ? 1 : 0.7; // so that what is below shows
  const cell = [shape("rect", { class: "cell", ...place })];
  if (at.down !== null)
    cell.push(paint(place, layout.dims[at.down][0].axis, shade(at.row, at.drawnRows)));
  if (at.across !== null)
    cell.push(paint(place, layout.dims[at.across][0].axis, over * shade(at.column, at.drawnColumns)));
  return cell;
}

function paint(place, axis, opacity) {
  const style = `fill:${axisColor(axis)};fill-opacity:${opacity.toFixed(2)}`;
  return shape("rect", { ...place, class: "paint", style });
}

// Devices in the cells, where there is room for them.
function labelCells(layout, at, box) {
  const { rows, columns } = at;
  if (rows > 4 || columns > 4 || (rows > 2 && columns > 1) || report.devices > MAX_LABELLED_DEVICES) return [];
  if (layout.partial.length || layout.manual.length) return [];
  const holders = findHolders(layout);
  const labels = [];
  for (let row = 0; row < rows; row += 1)
    for (let column = 0; column < columns; column += 1) {
      const devices = holders.get(blockKey(layout, { ...at, row, column }, [])) || [];
      if (devices.length === 1) labels.push(labelCell(devices[0], row, column, at, box));
    }
  return labels;
}

// Of many rows, which are lower than a digit, the labels go down as stairs.
function labelCell(device, row, column, { rows, columns }, box) {
  const across = rows > 2 ? (row + 0.5) / rows : (column + 0.5) / columns;
  const place = { x: box.x + across * box.width, y: box.y + ((row + 0.5) * box.height) / rows };
  return shape("text", { class: "device", ...place }, `${device}`);
}

//===----------------------------------------------------------------------===//
// The table of blocks
//===----------------------------------------------------------------------===//

function blockKey(layout, { down, across, row, column }, chosen) {
  const block = layout.dims.map(() => 0);
  for (const [dim, index] of chosen) block[dim] = index;
  if (down !== null) block[down] = row;
  if (across !== null) block[across] = column;
  return block.join();
}

// For each block the devices that hold it.
function findHolders(layout) {
  if (layout.holders) return layout.holders;
  layout.holders = new Map();
  for (let device = 0; device < report.devices; device += 1) {
    const key = blockOf(device, layout).join();
    if (!layout.holders.has(key)) layout.holders.set(key, []);
    layout.holders.get(key).push(device);
  }
  return layout.holders;
}

// The first and the last of `count` numbers; null stands for those between.
function abridge(count) {
  if (count <= MAX_TABLE_CELLS) return [...Array(count).keys()];
  const first = [...Array(MAX_TABLE_CELLS - 2).keys()];
  return [...first, null, count - 1];
}

function showBlocks(value) {
  const layout = layoutOf(value);
  const { down, across, more } = drawnDims(layout);
  const rows = abridge(down === null ? 1 : partsOf(layout.dims[down]));
  const columns = abridge(across === null ? 1 : partsOf(layout.dims[across]));
  const chosen = more.map((dim) => [dim, 0]);
  const place = { value, layout, down, across, chosen };
  const table = element(
    "table", { class: "blocks" },
    element("thead", {}, element("tr", {}, element("th", {}), columns.map((column) =>
      showRange(value, layout, across, column)))),
    element("tbody", {}, rows.map((row) => element(
      "tr", {}, showRange(value, layout, down, row),
      columns.map((column) => showBlock(place, row, column))))));
  return element("div", { class: "block-view" }, showBlockTitle(value, layout, down, across, more), table);
}

function showBlockTitle(value, layout, down, across, more) {
  const texts = [];
  if (down !== null) texts.push(`down: dimension ${down}`);
  if (across !== null) texts.push(`across: dimension ${across}`);
  for (const dim of more)
    texts.push(`block 0 of ${partsOf(layout.dims[dim])} of dimension ${dim}`);
  if (isUneven(value, layout)) texts.push("the last shards are padded");
  const title = ["Rows and the devices that hold them", texts.join(", ")].filter(Boolean).join(" – ");
  return element("p", { class: "muted" }, title);
}

function showRange(value, layout, dim, index) {
  if (index === null) return element("th", { class: "gap" }, "⋯");
  if (dim === null) return element("th", {}, "all");
  const rows = rowsOf(value.global[dim], partsOf(layout.dims[dim]), index);
  return element("th", { style: `--color:${axisColor(layout.dims[dim][0].axis)}` }, formatRows(rows));
}

function showBlock({ layout, down, across, chosen }, row, column) {
  if (row === null || column === null) return element("td", { class: "gap" }, "⋯");
  const devices = findHolders(layout).get(blockKey(layout, { down, across, row, column }, chosen)) || [];
  const strength = (dim, index) => {
    const axes = layout.dims[dim];
    return [axisColor(axes[0].axis), 70 * shade(index, Math.min(partsOf(axes), MAX_TABLE_CELLS))];
  };
  const colors = [];
  if (down !== null) colors.push(strength(down, row));
  if (across !== null) colors.push(strength(across, column));
  const layers = colors.map(([color, percent]) => {
    const mixed = `color-mix(in srgb, ${color} ${Math.min(percent, 60)}%, transparent)`;
    return `linear-gradient(${mixed}, ${mixed})`;
  });
  const style = layers.length ? `background:${layers.join(",")}` : null;
  return element("td", { style, title: `devices ${formatDevices(devices, 64)}` }, formatDevices(devices, 3));
}
