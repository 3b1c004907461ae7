// Charts: each is a function from the state to traces, layout, and a summary in words. One is
// drawn when it comes into view, and again when something it shows has changed.

const charts = (() => {
  const made = new Map();

  function layoutOf(box, own) {
    const c = theme.colours();
    const axis = {
      color: c.faint, gridcolor: c.line, zerolinecolor: c.line, linecolor: c.line, fixedrange: true,
      automargin: true, tickfont: { size: 12 }, title: { standoff: 8 },
    };
    const layout = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", dragmode: false,
      font: { family: getComputedStyle(box).fontFamily, size: 13, color: c.ink },
      margin: { l: 12, r: 12, t: 8, b: 40 }, showlegend: false, bargap: 0.25,
      hoverlabel: { bgcolor: c.paper, bordercolor: c.line, font: { color: c.ink, size: 13 } },
      ...own,
    };
    for (const name of Object.keys(layout)) {
      if (/^[xy]axis/.test(name)) layout[name] = { ...axis, ...layout[name] };
    }
    return layout;
  }

  const options = { displayModeBar: false, typesetMath: false, doubleClick: false };

  // A chart fills its place; on paper, which is laid out later, the width is given.
  const widthOf = (box) => Number(box.dataset.paper) || box.clientWidth;

  function draw(id, paper) {
    const chart = made.get(id);
    if (paper) chart.box.dataset.paper = paper;
    else delete chart.box.dataset.paper;
    const { traces, layout, summary, caption } = chart.build(chart.box);
    chart.box.style.height = `${layout.height}px`;
    chart.box.style.minHeight = "0";
    chart.stale = false;
    chart.busy = true;
    chart.box.setAttribute("aria-label", summary);
    const text = byId(id.replace("chart-", "caption-"));
    if (text && caption) text.textContent = caption.replace(/ %/g, "\u00a0%");
    const width = widthOf(chart.box);
    Plotly.react(chart.box, traces, layoutOf(chart.box, { ...layout, width }), options).then(() => {
      chart.busy = false;
      if (!chart.drawn && chart.ready) chart.ready(chart.box);
      chart.drawn = true;
      drawIfNeeded(id);
    });
  }

  // One drawing at a time: a second one must not be overtaken by the first.
  function drawIfNeeded(id) {
    const chart = made.get(id);
    if (chart.stale && chart.visible && !chart.busy) draw(id);
  }

  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const chart = made.get(entry.target.id);
      chart.visible = entry.isIntersecting;
      drawIfNeeded(entry.target.id);
    }
  }, { rootMargin: "300px" });

  function add(id, build, ready) {
    const box = byId(id);
    if (!box) return;
    made.set(id, { box, build, ready, stale: true, visible: false, busy: false, drawn: false });
    watcher.observe(box);
  }

  function refresh(id) {
    const chart = made.get(id);
    if (!chart) return;
    chart.stale = true;
    drawIfNeeded(id);
  }

  const refreshAll = () => Array.from(made.keys()).forEach(refresh);
  whenChanged(refreshAll);
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    refreshAll();
  });
  // On paper everything is in view, on white, and no wider than a sheet of A4 or Letter.
  const SHEET = 660;
  const sheetOf = (id) => (made.get(id).box.closest(".paper-charts figure:not(.wide)") ? SHEET / 2 - 10 : SHEET);
  window.addEventListener("beforeprint", () => {
    theme.hold();
    Array.from(made.keys()).forEach((id) => draw(id, sheetOf(id)));
  });
  window.addEventListener("afterprint", () => {
    theme.release();
    refreshAll();
  });

  // Letters that a label may have.
  const room = (box) => (widthOf(box) < 520 ? 18 : 40);
  // A title in as many letters as there is room for; those of small charts on paper are smaller.
  const title = (text, box, share = 0.8) => {
    const small = box.dataset.paper && widthOf(box) < 520;
    const letters = Math.floor((share * widthOf(box)) / (small ? 6.5 : 8));
    return { text: plain(shortened(text, Math.max(12, letters))), ...(small ? { font: { size: 11 } } : {}) };
  };
  // A legend above a small chart: as many columns as its names leave room for, and its height.
  const legend = (box, names) => {
    const text = 6 * Math.max(...names.map((name) => name.length));
    const columns = Math.min(names.length, Math.max(1, Math.floor((widthOf(box) - 90) / (50 + text))));
    const settings = { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 10 }, entrywidth: 0.99 / columns, entrywidthmode: "fraction" };
    return { settings, height: 12 + 19 * Math.ceil(names.length / columns) };
  };
  return { add, refresh, room, title, legend, width: widthOf };
})();

const rows = {
  index: data.rows.index,
  X: doubles(data.rows.X),
  polynomial: doubles(data.rows.polynomial),
  network: data.rows.network === null ? null : doubles(data.rows.network),
};
const rowOf = (i) => rows.X.slice(i * polynomial.nFeatures, (i + 1) * polynomial.nFeatures);
const columnOf = (j) => rows.index.map((_, i) => rows.X[i * polynomial.nFeatures + j]);
const outputsOf = (values) => rows.index.map((_, i) => values[i * polynomial.nOutputs + state.output]);
const outputName = () => polynomial.outputs[state.output];
// What the formula gives, where terms add up: of a classifier log-odds, or scores.
const outputLabel = () => `${polynomial.prefix}${outputName()}`;
const outputWords = () => `${polynomial.prefix ? "the " : ""}${outputLabel()}`;
// What is shown: a probability, or the target.
const shownName = () => polynomial.shown[state.output];
const shownText = (value, digits = 4) => (polynomial.isProbability ? percentText(value) : formatted(value, digits));
const shownChange = (change) => {
  const size = polynomial.isProbability ? `${formatted(100 * Math.abs(change), 3)} percentage points` : formatted(Math.abs(change));
  return `${change < 0 ? "−" : "+"}${size}`;
};
// As many digits as a rare class needs.
const shownAxis = () => (polynomial.isProbability ? { tickformat: "~%" } : {});
// The raw outputs of a row that travels, on the scale that is shown.
const shownOf = (values, i) => polynomial.scaled(values.subarray(i * polynomial.nOutputs, (i + 1) * polynomial.nOutputs))[state.output];

const allRows = byId("all-rows");
if (allRows) allRows.addEventListener("change", () => charts.refresh("chart-agreement"));

charts.add("chart-agreement", (box) => {
  const c = theme.colours();
  const [x, y] = [rows.network, rows.polynomial].map((values) => rows.index.map((_, i) => shownOf(values, i)));
  const view = data.views[state.output];
  byId("all-rows-line").hidden = !view.outside;
  const range = allRows.checked ? view.all : view.bulk;
  const beyond = (v) => v < range[0] || v > range[1];
  const [near, far] = [[], []];
  x.forEach((_, i) => (beyond(x[i]) || beyond(y[i]) ? far : near).push(i));
  const edge = (v) => Math.min(range[1], Math.max(range[0], v));
  const text = (i) => `row ${rows.index[i]}<br>network ${shownText(x[i])}<br>formula ${shownText(y[i])}`;
  const r2 = data.r2[state.output];
  const [n, total] = [rows.index.length, data.rows.complete].map((count) => count.toLocaleString("en-US"));
  const shown = total === "1" ? "The only row is drawn." : n === total ? `All ${n} rows are drawn.` : `Drawn are ${n} of ${total} rows, evenly spread, the worst among them.`;
  const count = view.outside.toLocaleString("en-US");
  const left = allRows.checked || !view.outside ? ""
    : ` ${view.outside === 1 ? "1 row lies" : `${count} rows lie`} outside this view; diamonds at its edge mark ${view.outside === far.length ? (far.length === 1 ? "it" : "them") : `the ${far.length} of them that are drawn`}.`;
  return {
    traces: [
      { x: range, y: range, mode: "lines", line: { color: c.faint, width: 1 }, hoverinfo: "skip" },
      {
        x: near.map((i) => x[i]), y: near.map((i) => y[i]), mode: "markers", type: "scatter", hoverinfo: "text",
        marker: { color: c.accent, size: 6, opacity: 0.55 }, text: near.map(text),
      },
      {
        x: far.map((i) => edge(x[i])), y: far.map((i) => edge(y[i])), mode: "markers", type: "scatter", hoverinfo: "text", cliponaxis: false,
        marker: { color: c.negative, size: 10, symbol: "diamond" }, text: far.map(text),
      },
    ],
    layout: {
      height: Math.min(520, charts.width(box)), margin: { l: 12, r: 12, t: 8, b: 48 },
      xaxis: { title: charts.title(`network: ${shownName()}`, box), range, ...shownAxis() },
      yaxis: { title: charts.title(`formula: ${shownName()}`, box, 0.5), range, ...shownAxis() },
    },
    caption: `${shownName()}; R² ${r2}${polynomial.prefix ? ` of ${outputWords()}` : ""}. ${shown}${left}`,
    summary: `Scatter chart of formula against network for ${shownName()}, around the identity line, R² ${r2}.${left}`,
  };
});

// A feature as a label. The level of a factor tells more than the name of its column.
function entryLabel(entry, length) {
  const at = entry.indexOf("=");
  if (entry.length <= length || at < 0) return shortened(entry, length);
  const level = shortened(entry.slice(at + 1), length - 3);
  return `${entry.slice(0, Math.min(at, Math.max(1, length - level.length - 2)))}…=${level}`;
}

// A term as a label: powers raised, on two lines where one is too short, the rest cut to fit.
function termLabel(place, length, piece = polynomial) {
  if (!piece.orders[place]) return "1";
  const powers = Array.from(piece.factors(place));
  const whole = powers.reduce((sum, [j]) => sum + polynomial.entries[j].length + 3, -3);
  const lines = whole > length && powers.length > 1;
  const each = lines ? Math.max(6, Math.floor((2 * length) / powers.length) - 2) : length;
  const half = Math.ceil(powers.length / 2);
  const text = ([j, power]) => `${plain(entryLabel(polynomial.entries[j], each))}${power > 1 ? `<sup>${power}</sup>` : ""}`;
  if (!lines) return powers.map(text).join(" · ");
  return `${powers.slice(0, half).map(text).join(" · ")}<br>· ${powers.slice(half).map(text).join(" · ")}`;
}
