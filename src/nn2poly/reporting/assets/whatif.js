// The what-if panel: inputs on one side, prediction and contributions on the other.

(() => {
  const FIRST = data.controls.length > 15 ? 12 : 15; // a button that shows one more is a nuisance
  const BARS = 10;
  const low = doubles(data.low);
  const high = doubles(data.high);
  const reach = data.near && doubles(data.near.scale);
  let frame = null;
  let start = null; // what was predicted where the reader began, and the network's own answer there

  const changed = () => {
    frame ??= requestAnimationFrame(() => {
      frame = null;
      update();
    });
  };

  const controls = data.controls.map((control, i) => makers[control.kind](control, `input-${i}`, changed));
  controls.forEach(({ node }, i) => {
    node.hidden = i >= FIRST;
    byId("controls").append(node);
  });
  const more = byId("all-controls");
  if (controls.length > FIRST) {
    more.hidden = false;
    more.textContent = `Show all ${controls.length} inputs`;
    more.addEventListener("click", () => {
      const next = controls.find(({ node }) => node.hidden);
      controls.forEach(({ node }) => { node.hidden = false; });
      more.hidden = true;
      next.node.querySelector("input, select").focus();
    });
  }

  function load(x, network = null) {
    state.x = Float64Array.from(x);
    start = { x: Float64Array.from(x), raw: polynomial.predict(x), network };
    crossing.forget();
    controls.forEach(({ show }) => show());
    update();
  }

  // The largest contributions, all others as one, from the intercept to the prediction.
  function steps() {
    const piece = polynomial.pieces[polynomial.regionOf(state.x)];
    const values = piece.termValues(state.x);
    const parts = [];
    let intercept = 0;
    for (let i = 0; i < piece.nTerms; i += 1) {
      const value = piece.coefficient(i, state.output) * values[i];
      if (!piece.orders[i]) intercept += value;
      else if (value !== 0) parts.push({ place: i, value });
    }
    parts.sort((a, b) => Math.abs(b.value) - Math.abs(a.value) || a.place - b.place);
    const shown = parts.slice(0, BARS).map(({ place, value }) => ({ name: piece.name(place), place, value }));
    const rest = parts.slice(BARS);
    if (rest.length) shown.push({ name: `${rest.length.toLocaleString("en-US")} other terms`, value: rest.reduce((sum, p) => sum + p.value, 0) });
    return { piece, intercept, shown, raw: piece.predict(state.x, values) };
  }

  let current = null;

  function update() {
    current = steps();
    const { raw } = current;
    const label = polynomial.label(raw);
    const said = shownText(polynomial.scaled(raw)[state.output]);
    byId("prediction-name").textContent = `${shownName()} =`;
    byId("prediction").textContent = said;
    byId("prediction").value = said;
    byId("prediction").dataset.raw = JSON.stringify(Array.from(raw));
    showStart(raw);
    crossing.show();
    showRange();
    showNearest();
    showProbabilities(raw, label);
    showTable();
    charts.refresh("chart-waterfall");
  }

  function showRange() {
    const names = polynomial.features.filter((_, j) => isOutside(state.x[j], low[j], high[j]));
    const box = byId("range");
    box.classList.toggle("beyond", names.length > 0);
    box.textContent = names.length
      ? `Outside the range in ${names.slice(0, 3).map((n) => shortened(n, 30)).join(", ")}${names.length > 3 ? ` and ${names.length - 3} more` : ""}: the formula may be far from the network here.`
      : "Every input is within its range.";
    const held = polynomial.features.flatMap((name, j) => {
      const [least, most] = polynomial.heldAt(j);
      if (!isOutside(state.x[j], least, most)) return [];
      return [`${shortened(name, 30)} is held at ${formatted(state.x[j] < least ? least : most)}`];
    });
    box.classList.toggle("held", held.length > 0); // on a phone, too
    if (held.length) box.textContent += ` ${held.slice(0, 3).join(", ")}${held.length > 3 ? `, ${held.length - 3} more too` : ""}: beyond that the formula stays the same.`;
  }

  // What 95 % of the rows around x stay within, where that was measured.
  const withinAt = (x) => data.within && data.within[polynomial.regionOf(x)][state.output];
  const sized = (error, digits) => (polynomial.isProbability ? `${bounded(100 * error, digits)} points` : bounded(error, digits + 1));

  // The change since the start, and what the network itself says there.
  function showStart(raw) {
    const [before, now] = [start.raw, raw].map((values) => polynomial.scaled(values)[state.output]);
    const moved = start.x.some((value, j) => value !== state.x[j]);
    byId("since").textContent = moved ? `${shownChange(now - before)} since the start (${shownText(before).replace(" %", "\u00a0%")}).` : "";
    const box = byId("network-says");
    box.textContent = "";
    box.classList.remove("beyond");
    if (!start.network) return;
    const own = polynomial.scaled(start.network)[state.output];
    const [label, ours] = [start.network, start.raw].map(polynomial.label);
    box.textContent = `The network itself says ${shownText(own)}${label === null ? "" : `, label ${label},`} ${moved ? "at the start" : "here"}.`;
    const [gap, within] = [Math.abs(own - before), withinAt(start.x)];
    const far = within !== null && gap > within * (1 + 1e-9);
    if (far) box.textContent += ` They differ by ${sized(gap, 2)}, more than the ±\u00a0${sized(within, 2)} that 95\u00a0% of rows${polynomial.rules ? " of this region" : ""} stay within.`;
    if (label !== ours) box.textContent += ` The formula gives another label, ${ours}.`;
    box.classList.toggle("beyond", far || label !== ours);
  }

  // The row that travels with the page and is nearest, in standard deviations and changed levels.
  function nearestRow() {
    let [best, least] = [-1, Infinity];
    for (let i = 0, at = 0; i < rows.index.length; i += 1, at += state.x.length) {
      let sum = 0;
      for (let j = 0; j < state.x.length && sum < least; j += 1) sum += ((state.x[j] - rows.X[at + j]) / reach[j]) ** 2;
      if (sum < least) [best, least] = [i, sum];
    }
    return { place: best, distance: Math.sqrt(least) };
  }

  function showNearest() {
    const box = byId("nearest");
    box.hidden = !reach;
    if (!reach) return;
    const { place, distance } = nearestRow();
    const far = distance > data.near.far * (1 + 1e-9);
    box.classList.toggle("beyond", far);
    box.dataset.distance = distance;
    const size = formatted(distance, 2);
    const near = `The nearest row shown is row ${rows.index[place]}, ${distance < 1e-9 ? "equal to this" : `${size} away`}`;
    const usual = `99 % of rows have another within ${formatted(data.near.far, 2)}`;
    box.textContent = far
      ? `No row is near this combination: the nearest, row ${rows.index[place]}, is ${size} away (in standard deviations and changed levels), while ${usual}. Nothing was measured here.`
      : `${near}${distance < 1e-9 ? "" : ` (in standard deviations and changed levels; ${usual})`}.`;
    const sure = data.within && !far && !byId("range").classList.contains("beyond");
    byId("prediction-within").textContent = sure ? `± ${sized(withinAt(state.x), 2)}` : "";
    byId("prediction-within").title = `95 % of the rows${polynomial.rules ? " of this region" : ""} are as close to the network`;
  }

  // From which probability on a label is given, where that is not the larger one.
  function chosenFrom(shares) {
    if (polynomial.threshold === null) return "";
    return ` (${shares.length === 2 ? shares[1].name : "each"} from ${percentText(polynomial.threshold)} on)`;
  }

  function showProbabilities(raw, label) {
    const shares = polynomial.probabilities(raw);
    const box = byId("probabilities");
    box.hidden = !shares;
    if (!shares) return;
    box.setAttribute("aria-label", `Label ${label}. ${shares.map((s) => `${s.name}: ${percentText(s.share)}`).join("; ")}`);
    box.replaceChildren(
      element("p", { class: "label" }, "Label ", element("strong", { id: "label" }, label), chosenFrom(shares)),
      ...shares.map((s) => {
        const bar = element("span", { class: "share-bar" });
        bar.style.width = `${100 * s.share}%`;
        return element("div", { class: "share", "data-share": s.share },
          element("span", { class: "share-name" }, ...breakable(s.name)), element("span", { class: "share-track" }, bar),
          element("span", { class: "share-number" }, percentText(s.share)));
      }));
  }

  function showTable() {
    const line = (name, value) => element("tr", { "data-value": value },
      element("th", { scope: "row" }, ...breakable(name)), element("td", { class: "number" }, formatted(value, 5)));
    byId("contributions").querySelector("tbody").replaceChildren(
      line("intercept", current.intercept), ...current.shown.map((s) => line(s.name, s.value)),
      line("prediction", current.raw[state.output]));
  }

  charts.add("chart-waterfall", (box) => {
    const c = theme.colours();
    const total = current.raw[state.output];
    let at = current.intercept;
    const bars = [{ name: "intercept", label: "intercept", base: 0, value: at, colour: c.faint }];
    for (const step of current.shown) {
      const label = step.place === undefined ? step.name : termLabel(step.place, Math.min(28, Math.max(charts.room(box), Math.floor(charts.width(box) / 20))), current.piece);
      bars.push({ name: step.name, label, base: at, value: step.value, colour: step.value < 0 ? c.negative : c.positive });
      at += step.value;
    }
    bars.push({ name: "prediction", label: "prediction", base: 0, value: total, colour: c.ink });
    bars.reverse();
    // Bars from 0 would dwarf the steps when the intercept is far from it.
    const inner = bars.slice(1, -1).flatMap((b) => [b.base, b.base + b.value]).concat([current.intercept, total]);
    const [least, most] = [Math.min(...inner), Math.max(...inner)];
    const margin = 0.12 * (most - least) || Math.abs(most) || 1;
    const near = least <= 0 && most >= 0 ? [least - margin, most + margin] : null;
    const floor = near ? 0 : least > 0 ? Math.max(0, least - margin) : Math.min(0, most + margin);
    const range = near || (least > 0 ? [floor, most + margin] : [least - margin, floor]);
    for (const bar of bars) {
      if (bar.name !== "intercept" && bar.name !== "prediction") continue;
      bar.drawn = bar.value - floor;
      bar.base = floor;
    }
    return {
      traces: [{
        type: "bar", orientation: "h", y: bars.map((_, i) => i), x: bars.map((b) => b.drawn ?? b.value), base: bars.map((b) => b.base),
        marker: { color: bars.map((b) => b.colour) }, hoverinfo: "text", textposition: "none", text: bars.map((b) => `${plain(b.name)}<br>${formatted(b.value, 5)}`),
      }],
      layout: {
        height: 56 + (bars.some((b) => b.label.includes("<br>")) ? 34 : 25) * bars.length,
        xaxis: { title: charts.title(outputLabel(), box), range, nticks: 6 },
        yaxis: { tickvals: bars.map((_, i) => i), ticktext: bars.map((b) => b.label), showgrid: false, zeroline: false },
      },
      summary: `Waterfall from the intercept ${formatted(current.intercept)} to the prediction ${formatted(total)}. Largest: ${current.shown.slice(0, 3).map((s) => `${s.name} ${formatted(s.value)}`).join("; ")}.`,
    };
  });

  // Presets: a row in the middle, the worst rows, or any row that travels with the page.
  const preset = byId("preset");
  const field = byId("preset-row");
  const note = byId("preset-note");
  preset.append(element("option", { value: "typical" }, `a typical row, no. ${data.start}`));
  data.worst.forEach((row, i) => preset.append(element("option", { value: row }, `row ${row}, ${i ? `no. ${i + 1} of the worst` : "the worst"}`)));
  (data.polynomial.middles || []).forEach((row, k) => {
    if (row) preset.append(element("option", { value: `region-${k}` }, `the middle of region ${k}`));
  });
  preset.append(element("option", { value: "", hidden: "" }, "a row"));
  field.max = data.rows.total - 1;

  function loadRow(row) {
    const i = rows.index.indexOf(row);
    if (i < 0) {
      const near = rows.index.reduce((best, other) => (Math.abs(other - row) < Math.abs(best - row) ? other : best), rows.index[0]);
      note.textContent = `Row ${row} does not travel with this page; the nearest that does is ${near}.`;
      return;
    }
    note.textContent = "";
    load(rowOf(i), rows.network && rows.network.subarray(i * polynomial.nOutputs, (i + 1) * polynomial.nOutputs));
    field.value = row;
    preset.value = data.worst.includes(row) ? String(row) : "";
  }
  function loadTypical() {
    loadRow(data.start);
    preset.value = "typical";
  }
  preset.addEventListener("change", () => {
    note.textContent = "";
    if (preset.value === "typical") loadTypical();
    else if (preset.value.startsWith("region-")) {
      field.value = "";
      const [row, network] = data.polynomial.middles[Number(preset.value.slice(7))].map((part) => part && doubles(part));
      load(row, network);
    } else if (preset.value !== "") loadRow(Number(preset.value));
  });
  field.addEventListener("change", () => { if (Number.isInteger(field.valueAsNumber)) loadRow(field.valueAsNumber); });
  document.querySelectorAll("#failures [data-row], #flips [data-row]").forEach((button) => button.addEventListener("click", () => {
    loadRow(Number(button.dataset.row));
    byId("what-if").scrollIntoView();
    preset.focus({ preventScroll: true });
  }));

  document.querySelectorAll("#formula [data-region]").forEach((button) => button.addEventListener("click", () => {
    preset.value = `region-${button.dataset.region}`;
    preset.dispatchEvent(new Event("change"));
    byId("what-if").scrollIntoView();
    preset.focus({ preventScroll: true });
  }));

  whenChanged(update);
  loadTypical();
})();
