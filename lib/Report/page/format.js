// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Numbers and names for readers.

function formatBytes(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) {
    bytes /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? bytes : threeDigits(bytes)} ${units[unit]}`;
}

function formatFlops(flops) {
  const units = ["", "k", "M", "G", "T", "P", "E"];
  let unit = 0;
  while (flops >= 1000 && unit < units.length - 1) {
    flops /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? flops : threeDigits(flops)} ${units[unit]}FLOP`;
}

function formatSeconds(seconds) {
  const units = ["s", "ms", "µs", "ns"];
  let unit = 0;
  while (seconds < 1 && unit < units.length - 1) {
    seconds *= 1000;
    unit += 1;
  }
  return `${threeDigits(seconds)} ${units[unit]}`;
}

function threeDigits(number) {
  if (number >= 100) return number.toFixed(0);
  return number.toFixed(number >= 10 ? 1 : 2);
}

function formatCount(number) {
  return number.toLocaleString("en-US");
}

function formatShare(part, whole) {
  return whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "–";
}

function plural(count, noun) {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function baseName(path) {
  return path.slice(path.lastIndexOf("/") + 1);
}

// `{"x", "y":(1)2}` without braces and quotes.
function formatAxes(text) {
  return text.replace(/[{}"]/g, "").replace(/->/g, "→") || "–";
}

// The numbers as ranges: "0–3, 8–11"; at most `limit` of them.
function formatDevices(devices, limit = 4) {
  const ranges = [];
  for (const device of devices) {
    const last = ranges[ranges.length - 1];
    if (last && device === last[1] + 1) last[1] = device;
    else ranges.push([device, device]);
  }
  const texts = ranges
    .slice(0, limit)
    .map(([from, to]) => (from === to ? `${from}` : `${from}${to === from + 1 ? ", " : "–"}${to}`));
  if (ranges.length > limit) texts.push(`… (${devices.length})`);
  return texts.join(", ");
}
