// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Making elements. Texts are always text nodes: nothing in a program is markup.

const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function shape(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

function byId(id) {
  return document.getElementById(id);
}

function replaceContent(node, ...children) {
  node.replaceChildren(...children.flat().filter(Boolean));
}

// A table of `columns`: {title, cell(row), className}.
function makeTable(columns, rows, attributes) {
  const head = columns.map((column) =>
    element("th", { scope: "col", class: column.className }, column.title));
  return element(
    "table", attributes || {},
    element("thead", {}, element("tr", {}, head)),
    element("tbody", {}, rows.map((row) => makeRow(columns, row))));
}

function makeRow(columns, row, attributes) {
  const cells = columns.map((column) =>
    element("td", { class: column.className }, column.cell(row)));
  return element("tr", attributes || {}, cells);
}

// A link to an op of the program.
function linkTo(op, text) {
  return element("a", { href: `#op-${op.index}` }, text || `#${op.index}`);
}

function nameLink(op) {
  return linkTo(op, `#${op.index} ${op.shortName}`);
}

// The file's name stands in the title where all lines are of one file.
function sourceTitle() {
  return report.files.length === 1 ? `Source (${baseName(report.files[0].name)})` : "Source";
}

function showSource(op) {
  const source = sourceOf(op);
  if (!source) return element("span", { class: "muted" }, "–");
  const file = report.files.length === 1 ? "" : baseName(source.name);
  const place = `${file}:${source.line}`;
  return element(
    "span", { class: "source", title: `${source.name}:${source.line}:${source.column}` },
    element("span", { class: "place" }, place),
    source.text ? element("code", {}, source.text) : null);
}

// A length that stands for a share of the whole.
function bar(part, whole) {
  const width = whole > 0 ? Math.max(1, (100 * part) / whole) : 0;
  return element(
    "span", { class: "bar", "aria-hidden": "true" },
    element("span", { style: `width:${part > 0 ? width : 0}%` }));
}
