// The what-if panel: inputs on one side, prediction and contributions on the other.

(() => {
  const FIRST = 12;
  const BARS = 10;
  const low = doubles(data.low);
  const high = doubles(data.high);
  const typical = doubles(data.typical);
  let frame = null;

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

  function load(x) {
    state.x = Float64Array.from(x);
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
    byId("prediction-name").textContent = `${outputLabel()} =`;
    const said = formatted(raw[state.output], 6);
    const target = polynomial.undo ? `, ${outputName()} = ${formatted(polynomial.undo(raw[state.output]), 6)}` : "";
    byId("prediction").textContent = said + target;
    byId("prediction").value = said + target;
    byId("prediction").dataset.raw = JSON.stringify(Array.from(raw));
    crossing.show();
    showRange();
    showProbabilities(raw, label);
    showTable();
    charts.refresh("chart-waterfall");
  }

  function showRange() {
    const names = polynomial.features.filter((_, j) => isOutside(state.x[j], low[j], high[j]));
    const box = byId("range");
    box.classList.toggle("beyond", names.length > 0);
    box.textContent = names.length
      ? `Outside the range in ${names.slice(0, 3).map((n) => shortened(n, 30)).join(", ")}${names.length > 3 ? ` and ${names.length - 3} more` : ""}: the polynomial may be far from the network here.`
      : "Every input is within its range.";
  }

  function showProbabilities(raw, label) {
    const shares = polynomial.probabilities(raw);
    const box = byId("probabilities");
    box.hidden = !shares;
    if (!shares) return;
    box.setAttribute("aria-label", `Label ${label}. ${shares.map((s) => `${s.name}: ${formatted(100 * s.share, 3)} %`).join("; ")}`);
    box.replaceChildren(
      element("p", { class: "label" }, "Label ", element("strong", { id: "label" }, label)),
      ...shares.map((s) => {
        const bar = element("span", { class: "share-bar" });
        bar.style.width = `${100 * s.share}%`;
        return element("div", { class: "share", "data-share": s.share },
          element("span", { class: "share-name" }, ...breakable(s.name)), element("span", { class: "share-track" }, bar),
          element("span", { class: "share-number" }, `${formatted(100 * s.share, 3)} %`));
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
      const label = step.place === undefined ? step.name : termLabel(step.place, Math.min(28, charts.room(box)), current.piece);
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
        height: 56 + 25 * bars.length,
        xaxis: { title: charts.title(outputLabel(), box), range, nticks: 6 },
        yaxis: { tickvals: bars.map((_, i) => i), ticktext: bars.map((b) => b.label), showgrid: false, zeroline: false },
      },
      summary: `Waterfall from the intercept ${formatted(current.intercept)} to the prediction ${formatted(total)}. Largest: ${current.shown.slice(0, 3).map((s) => `${s.name} ${formatted(s.value)}`).join("; ")}.`,
    };
  });

  // Presets: typical, the worst rows, or any row that travels with the page.
  const preset = byId("preset");
  const field = byId("preset-row");
  const note = byId("preset-note");
  preset.append(element("option", { value: "typical" }, "means, most frequent levels"));
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
    load(rowOf(i));
    field.value = row;
    preset.value = data.worst.includes(row) ? String(row) : "";
  }
  preset.addEventListener("change", () => {
    note.textContent = "";
    if (preset.value === "typical") {
      field.value = "";
      load(typical);
    } else if (preset.value.startsWith("region-")) {
      field.value = "";
      load(doubles(data.polynomial.middles[Number(preset.value.slice(7))]));
    } else if (preset.value !== "") loadRow(Number(preset.value));
  });
  field.addEventListener("change", () => { if (Number.isInteger(field.valueAsNumber)) loadRow(field.valueAsNumber); });
  document.querySelectorAll("#failures [data-row]").forEach((button) => button.addEventListener("click", () => {
    loadRow(Number(button.dataset.row));
    byId("what-if").scrollIntoView();
    preset.focus({ preventScroll: true });
  }));

  document.querySelectorAll("#rules [data-region]").forEach((button) => button.addEventListener("click", () => {
    preset.value = `region-${button.dataset.region}`;
    preset.dispatchEvent(new Event("change"));
    byId("what-if").scrollIntoView();
    preset.focus({ preventScroll: true });
  }));

  whenChanged(update);
  load(typical);
})();
