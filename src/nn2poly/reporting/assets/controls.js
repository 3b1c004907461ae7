// The inputs of the what-if panel. A control shows a part of state.x and changes it.

const SVG = "http://www.w3.org/2000/svg";
const slack = (low, high) => 1e-9 * (high - low) + 1e-12 * Math.max(Math.abs(low), Math.abs(high));
const isOutside = (x, low, high) => x < low - slack(low, high) || x > high + slack(low, high);

// Where the data are: one bar per bin; the range of validity behind them.
function strip(control) {
  const n = control.counts.length;
  const top = Math.max(...control.counts, 1);
  const drawing = document.createElementNS(SVG, "svg");
  for (const [name, value] of [["viewBox", `0 0 ${n} 10`], ["preserveAspectRatio", "none"], ["aria-hidden", "true"], ["class", "strip"]]) drawing.setAttribute(name, value);
  const width = control.max - control.min;
  const bar = (kind, x, y, w, h) => {
    const box = document.createElementNS(SVG, "rect");
    for (const [name, value] of Object.entries({ class: kind, x, y, width: w, height: h })) box.setAttribute(name, value);
    drawing.append(box);
  };
  bar("valid", ((control.low - control.min) / width) * n, 0, ((control.high - control.low) / width) * n, 10);
  control.counts.forEach((count, i) => {
    // A single row must be seen beside thousands.
    const [x, w] = [control.start + (i + 0.08) * control.step - control.min, 0.84 * control.step].map((size) => (size / width) * n);
    if (count) bar("count", x, 10 - Math.max(0.8, (9 * count) / top), w, Math.max(0.8, (9 * count) / top));
  });
  for (const at of borders.of(control.features[0])) {
    if (at > control.min && at < control.max) bar("border", ((at - control.min) / width) * n - 0.06, 0, 0.12, 10);
  }
  return drawing;
}

function numberControl(control, id, changed) {
  const [j] = control.features;
  const field = element("input", { type: "number", id, step: "any", inputmode: "decimal", "aria-describedby": `${id}-range` });
  const slider = element("input", {
    type: "range", min: control.min, max: control.max, step: control.whole ? 1 : "any",
    "aria-label": `${control.name}, slider`, "aria-describedby": `${id}-range`,
  });
  // The track ends a little behind the bounds at which the input is held.
  const [least, most] = polynomial.heldAt(j);
  const held = [control.low < least - slack(control.low, least) ? `below ${formatted(least)}` : "", control.high > most + slack(most, control.high) ? `above ${formatted(most)}` : ""].filter(Boolean);
  const told = `${formatted(control.low)} to ${formatted(control.high)}${held.length ? `, held ${held.join(" and ")}` : ""}`;
  const range = element("span", { class: "bounds", id: `${id}-range` }, told);
  const node = element("div", { class: "control" },
    element("div", { class: "control-head" }, element("label", { for: id }, ...breakable(control.name)), field),
    element("div", { class: "track" }, strip(control), slider), range);
  const set = (x) => {
    state.x[j] = x;
    mark();
    changed();
  };
  function mark() {
    const bad = isOutside(state.x[j], control.low, control.high);
    node.classList.toggle("beyond", bad);
    range.textContent = `${bad ? "outside " : ""}${told}`;
    slider.setAttribute("aria-valuetext", `${formatted(state.x[j])}${bad ? ", outside the range" : ""}`);
  }
  slider.addEventListener("input", () => {
    // What the field shows is what is computed with.
    const x = Number(Number(slider.value).toPrecision(6));
    field.value = x;
    set(x);
  });
  field.addEventListener("input", () => {
    const x = field.valueAsNumber;
    field.setAttribute("aria-invalid", String(!Number.isFinite(x)));
    if (!Number.isFinite(x)) return;
    slider.value = x;
    set(x);
  });
  function show() {
    // Shown short, kept whole until it is edited.
    field.value = Number(state.x[j].toPrecision(6));
    field.title = String(state.x[j]);
    field.removeAttribute("aria-invalid");
    slider.value = state.x[j];
    mark();
  }
  return { node, show };
}

function switchControl(control, id, changed) {
  const [j] = control.features;
  const [low, high] = [control.low[0], control.high[0]];
  const box = element("input", { type: "checkbox", id, role: "switch" });
  const word = element("span", { class: "bounds" });
  const node = element("div", { class: "control" },
    element("div", { class: "control-head" }, element("label", { for: id }, ...breakable(control.name)), element("span", { class: "switch" }, word, box)),
    element("span", { class: "bounds" }, `${control.levels[1]} in ${formatted(100 * control.shares[0], 3)} % of rows, else ${control.levels[0]}`));
  const named = new Map([[low, control.levels[0]], [high, control.levels[1]]]);
  const spell = () => { word.textContent = named.get(state.x[j]) ?? formatted(state.x[j]); };
  box.addEventListener("change", () => {
    state.x[j] = box.checked ? high : low;
    spell();
    changed();
  });
  const show = () => {
    box.checked = state.x[j] === high;
    spell();
  };
  return { node, show };
}

function levelsControl(control, id, changed) {
  const choice = element("select", { id, title: "in brackets, the share of rows" });
  control.levels.forEach((level, i) => choice.append(element("option", { value: i }, `${level} (${formatted(100 * control.shares[i], 3)} %)`)));
  const node = element("div", { class: "control" },
    element("div", { class: "control-head" }, element("label", { for: id }, ...breakable(control.name)), choice));
  choice.addEventListener("change", () => {
    control.features.forEach((j, i) => { state.x[j] = i === Number(choice.value) ? control.high[i] : control.low[i]; });
    changed();
  });
  const show = () => {
    choice.value = String(Math.max(0, control.features.findIndex((j, i) => state.x[j] === control.high[i])));
  };
  return { node, show };
}

const makers = { number: numberControl, switch: switchControl, levels: levelsControl };
