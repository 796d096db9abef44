// The editor of hierarchies: cuts on a histogram, and the grid on a map.
import { act } from "/static/studio.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 960;
let cuts = []; // { at, level }: a cut stays up to this level, the finest is 1
let depth = 1;

function make(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function scale(form) {
  const low = Number(form.dataset.low), high = Number(form.dataset.high);
  const digits = Math.max(0, 3 - Math.ceil(Math.log10(high - low)));
  const round = (value) => (form.dataset.whole ? Math.round(value) : Number(value.toFixed(digits)));
  return {
    low, high, step: (high - low) / 200, round,
    x: (value) => (WIDTH * (value - low)) / (high - low),
    at: (x) => Math.min(high, Math.max(low, round(low + (x / WIDTH) * (high - low)))),
  };
}

function draw(form, focus) {
  const axis = scale(form);
  const handles = form.querySelector("#handles");
  handles.replaceChildren();
  cuts.forEach((cut, i) => {
    const x = axis.x(cut.at);
    handles.append(make("line", { class: "cut", x1: x, x2: x, y1: 200 - (200 * cut.level) / depth, y2: 200 }));
    const handle = make("circle", {
      class: "handle", cx: x, cy: 200 - (200 * cut.level) / depth, r: 8, tabindex: 0, role: "slider", "data-cut": i,
      "aria-label": `Cut ${i + 1}`, "aria-valuenow": cut.at, "aria-valuemin": axis.low, "aria-valuemax": axis.high,
    });
    handles.append(handle);
    if (focus === i) handle.focus();
  });
  form.querySelector("#level-heads").textContent = `Stays at levels (of ${depth})`;
  const rows = form.querySelector("#cut-rows");
  rows.replaceChildren(...cuts.map((cut, i) => row(form, cut, i)));
}

function row(form, cut, i) {
  const line = document.createElement("tr");
  const value = document.createElement("input");
  value.type = "text"; value.value = cut.at; value.setAttribute("aria-label", `Cut ${i + 1}`);
  value.addEventListener("change", () => { if (!Number.isNaN(Number(value.value))) { cut.at = Number(value.value); sort(form); } });
  const ticks = document.createElement("td");
  for (let level = 1; level <= depth; level += 1) {
    const label = document.createElement("label");
    const tick = document.createElement("input");
    tick.type = "checkbox"; tick.checked = cut.level >= level; tick.disabled = level === 1;
    tick.setAttribute("aria-label", `Cut ${i + 1} stays at level ${level}`);
    tick.addEventListener("change", () => { cut.level = tick.checked ? level : level - 1; change(form); });
    label.append(tick, String(level), " ");
    ticks.append(label);
  }
  const button = document.createElement("button");
  button.type = "button"; button.className = "plain danger"; button.textContent = "Take away";
  button.addEventListener("click", () => { cuts.splice(i, 1); change(form); });
  const cells = [document.createElement("td"), ticks, document.createElement("td")];
  cells[0].append(value); cells[2].append(button);
  line.append(...cells);
  return line;
}

function sort(form, cut) {
  cuts.sort((a, b) => a.at - b.at);
  change(form, cut ? cuts.indexOf(cut) : undefined);
}

function change(form, focus) {
  draw(form, focus);
  form.querySelector("#widths").value = ""; // the cuts count now
}

function place(form, event) {
  const svg = form.querySelector("#histogram");
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  return scale(form).at(point.x);
}

function start(form) {
  const levels = JSON.parse(form.dataset.levels);
  depth = levels.length;
  cuts = levels[0].map((at) => ({ at, level: levels.filter((level) => level.includes(at)).length }));
  draw(form);
  let held = null;
  const svg = form.querySelector("#histogram");
  svg.addEventListener("pointerdown", (event) => {
    const handle = event.target.closest("[data-cut]");
    if (!handle) return;
    held = cuts[Number(handle.dataset.cut)];
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => { if (held) { held.at = place(form, event); draw(form); } });
  svg.addEventListener("pointerup", () => { if (held) { const cut = held; held = null; sort(form, cut); } });
  svg.addEventListener("dblclick", (event) => { cuts.push({ at: place(form, event), level: 1 }); sort(form); });
  svg.addEventListener("keydown", (event) => {
    const handle = event.target.closest("[data-cut]");
    if (!handle) return;
    const cut = cuts[Number(handle.dataset.cut)], axis = scale(form);
    const far = (form.dataset.whole ? Math.max(1, axis.round(axis.step)) : axis.step) * (event.shiftKey ? 10 : 1);
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      event.preventDefault();
      cut.at = Math.min(axis.high, Math.max(axis.low, axis.round(cut.at + (event.key === "ArrowLeft" ? -far : far))));
      sort(form, cut);
    } else if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      cuts.splice(cuts.indexOf(cut), 1);
      change(form);
    }
  });
  form.querySelector("#add-cut").addEventListener("click", () => {
    const axis = scale(form);
    cuts.push({ at: axis.round((axis.low + axis.high) / 2), level: 1 });
    sort(form);
  });
  form.querySelector("#add-level").addEventListener("click", () => { depth += 1; change(form); });
}

function send(form) {
  const levels = [];
  for (let level = 1; level <= depth; level += 1) levels.push(cuts.filter((cut) => cut.level >= level).map((cut) => cut.at));
  const widths = form.querySelector("#widths").value;
  act("hierarchy/numbers", { column: form.dataset.column, levels, widths }, form.querySelector("#save-cuts"));
}

function lines(form) {
  const [left, right, bottom, top] = JSON.parse(form.dataset.extent);
  const sides = form.querySelector("#cell").value.trim().split(/\s+/).map(Number);
  const times = 2 ** (Number(form.querySelector("#shown-size").value) - 1);
  const both = [sides[0] * times, (sides[1] || sides[0]) * times];
  const corner = ["#x", "#y"].map((id) => Number(form.querySelector(id).value));
  const [width, height] = form.dataset.turned ? [...both].reverse() : both;
  const [x0, y0] = form.dataset.turned ? [...corner].reverse() : corner;
  const group = form.querySelector("#grid-lines");
  group.replaceChildren();
  if (!(width > 0) || !(height > 0) || (right - left) / width > 150 || (top - bottom) / height > 150) return;
  for (let x = x0 + Math.ceil((left - x0) / width) * width; x < right; x += width) {
    const at = (600 * (x - left)) / (right - left);
    group.append(make("line", { class: "axis", x1: at, x2: at, y1: 0, y2: 600 }));
  }
  for (let y = y0 + Math.ceil((bottom - y0) / height) * height; y < top; y += height) {
    const at = 600 - (600 * (y - bottom)) / (top - bottom);
    group.append(make("line", { class: "axis", y1: at, y2: at, x1: 0, x2: 600 }));
  }
}

document.addEventListener("shown", () => {
  const form = document.getElementById("cuts");
  if (form) start(form);
  const grid = document.getElementById("grid");
  if (grid) { lines(grid); grid.addEventListener("input", () => lines(grid)); }
});

document.addEventListener("submit", (event) => {
  if (event.target.id !== "cuts") return;
  event.preventDefault();
  event.stopPropagation();
  send(event.target);
}, true);

document.addEventListener("change", async (event) => {
  if (!event.target.dataset.reads) return;
  const [file] = event.target.files;
  if (file) document.getElementById(event.target.dataset.reads).value = await file.text();
});

if (document.getElementById("cuts")) start(document.getElementById("cuts"));
if (document.getElementById("grid")) lines(document.getElementById("grid"));
