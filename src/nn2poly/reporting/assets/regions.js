// Regions: where they meet, which one a row is in, what changes when it crosses into another.

// The numbers at which the tree asks about a feature.
const borders = (() => {
  const found = new Map();
  (function walk(node) {
    if (!node || typeof node !== "object") return;
    node.features.forEach((j, i) => found.set(j, (found.get(j) || new Set()).add(node.numbers[i])));
    walk(node.left);
    walk(node.right);
  })(data.polynomial.tree);
  return { of: (j) => Array.from(found.get(j) || []).sort((a, b) => a - b) };
})();

// The line of the panel that names the region, and what is said after a crossing.
const crossing = (() => {
  const line = byId("region-now");
  const box = byId("crossing");
  const TERMS = 5;
  let last = null; // the row before
  let crossed = null; // the last crossing: both sides of the border

  // The two sides of the border that the way from one row to another crosses last. A number moves
  // evenly: halving finds its border. A level has no border: the sides are the rows themselves.
  function sides(before, after) {
    const moved = Array.from(after.keys()).filter((j) => before[j] !== after[j]);
    const control = data.controls.find((each) => each.features.includes(moved[0]));
    if (moved.length > 1 || control.kind !== "number") return { before, after, border: null };
    const [j] = moved;
    const goal = polynomial.regionOf(after);
    const way = borders.of(j).filter((at) => (at - before[j]) * (at - after[j]) <= 0);
    if (after[j] < before[j]) way.reverse();
    const rising = after[j] > before[j];
    const at = (value) => after.map((old, k) => (k === j ? value : old));
    // A threshold belongs to the side above it.
    const beside = (threshold) => [at(below(threshold)), at(threshold)];
    const found = way.filter((threshold) => {
      const [low, high] = beside(threshold).map(polynomial.regionOf);
      return low !== high && (rising ? high : low) === goal;
    });
    const threshold = found[found.length - 1];
    const [low, high] = beside(threshold);
    return { before: rising ? low : high, after: rising ? high : low, border: `${polynomial.features[j]} ${formatted(threshold)}` };
  }

  // The next smaller number.
  function below(value) {
    const step = Math.max(Math.abs(value) * Number.EPSILON, Number.MIN_VALUE);
    return value - step / 2 < value ? value - step / 2 : value - step;
  }

  // What each term adds at x, by its name.
  function parts(x) {
    const piece = polynomial.pieces[polynomial.regionOf(x)];
    const values = piece.termValues(x);
    return new Map(Array.from(values, (value, i) => [piece.orders[i] ? piece.name(i) : "intercept", piece.coefficient(i, state.output) * value]));
  }

  function differences({ before, after }) {
    const [old, fresh] = [parts(before), parts(after)];
    const names = Array.from(new Set([...old.keys(), ...fresh.keys()]));
    const both = names.map((name) => ({ name, old: old.get(name) || 0, fresh: fresh.get(name) || 0 }));
    return both.sort((a, b) => Math.abs(b.fresh - b.old) - Math.abs(a.fresh - a.old)).slice(0, TERMS);
  }

  function describe() {
    const { before, after, border } = crossed;
    const [from, region] = [before, after].map(polynomial.regionOf);
    const [old, now] = [before, after].map((x) => polynomial.scaled(polynomial.predict(x))[state.output]);
    const fresh = polynomial.rules[region].filter((part) => !polynomial.rules[from].includes(part));
    const head = ["term", `region ${from}`, `region ${region}`].map((text, i) => element("th", { scope: "col", class: i ? "number" : null }, text));
    const body = differences(crossed).map((d) => element("tr", {},
      element("th", { scope: "row" }, ...breakable(d.name)), element("td", { class: "number" }, formatted(d.old)), element("td", { class: "number" }, formatted(d.fresh))));
    const where = border === null
      ? `With this change the prediction went from ${shownText(old, 5)} to ${shownText(now, 5)}: `
      : `At the border, ${border}, the prediction goes from ${shownText(old, 5)} (region ${from}) to ${shownText(now, 5)} (region ${region}): `;
    const scale = polynomial.prefix ? `, as ${outputLabel()},` : "";
    box.replaceChildren(
      element("p", {}, `You are now in region ${region}: ${fresh.join(" and ")}. Before, region ${from}.`),
      element("p", {}, where.replace(/ %/g, "\u00a0%"), element("strong", {}, shownChange(now - old)), `. What the terms add${scale} ${border === null ? "before and after" : "on both sides of it"}, those first that differ most:`),
      element("div", { class: "scroll" }, element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body))));
    return `(border to region ${from}: ${shownChange(now - old)})`;
  }

  function show() {
    if (!polynomial.rules) return;
    const region = polynomial.regionOf(state.x);
    if (last !== null && polynomial.regionOf(last) !== region) crossed = sides(last, Float64Array.from(state.x));
    last = Float64Array.from(state.x);
    box.hidden = crossed === null;
    const step = crossed === null ? "" : describe();
    line.dataset.region = region;
    const parts = polynomial.rules[region].map((part, i, all) => (i < all.length - 1 ? `${part}\u00a0and` : part));
    line.replaceChildren(element("strong", {}, `Region ${region}:`), ...parts.flatMap((part) => [" ", element("span", { class: "condition" }, ...breakable(part))]), " ", element("span", { class: "step" }, step.replace(/ %/g, "\u00a0%")));
  }

  const forget = () => {
    last = null;
    crossed = null;
  };
  return { show, forget };
})();

// An output over two columns, with the borders of the regions if there are any; the others as they
// typically are. A factor shows exactly one level.
const columnSurface = (() => {
  const CELLS = 48;
  const LINES = 8;

  // The settings that a column can take: cells of a number, or levels.
  function axisOf(player, parts = CELLS) {
    const control = data.controls.find((each) => player.features.every((j) => each.features.includes(j)));
    const place = control.features.indexOf(player.features[0]);
    if (control.kind === "number") {
      const [least, most] = polynomial.heldAt(player.features[0]);
      const [first, last] = [Math.max(control.low, least), Math.min(control.high, most)];
      const [low, high] = first < last ? [first, last] : [control.min, control.max];
      const inside = borders.of(player.features[0]).filter((at) => at > low && at < high);
      const even = Array.from({ length: parts + 1 }, (_, i) => low + ((high - low) * i) / parts);
      const edges = Array.from(new Set([...even, ...inside])).sort((a, b) => a - b);
      return { name: player.name, edges, cells: edges.slice(1).map((end, i) => ({ label: formatted((end + edges[i]) / 2), values: [(end + edges[i]) / 2] })) };
    }
    // A level that was found in the rows is one of several features, but a column of its own here.
    if (player.features.length === 1) {
      const cells = [control.low[place], control.high[place]].map((value, i) => ({ label: control.kind === "switch" ? control.levels[i] : formatted(value), values: [value], share: i ? control.shares[place] : 1 - control.shares[place] }));
      return { name: player.name, edges: null, cells };
    }
    const cells = control.levels.map((label, i) => ({ label, share: control.shares[i], values: control.features.map((_, k) => (k === i ? control.high[k] : control.low[k])) }));
    // A level that no row has says nothing of these rows.
    const seen = cells.filter((cell) => cell.share > 0);
    return { name: player.name, edges: null, cells: seen.length ? seen : cells };
  }

  const typicalRow = doubles(data.typical);
  function placed(players, settings) {
    const x = Float64Array.from(typicalRow);
    players.forEach((player, i) => player.features.forEach((j, k) => { x[j] = settings[i].values[k]; }));
    return x;
  }

  // One polynomial is brought down once to the two numbers that move; regions have few terms each.
  function restriction(a, b, x) {
    const each = Array.from({ length: polynomial.nOutputs }, (_, k) => (polynomial.alone && k !== state.output ? () => 0 : polynomial.restricted(a, b, x, k)));
    return (u, v) => ({ region: 0, value: polynomial.scaled(each.map((value) => value(u, v)))[state.output] });
  }

  function evaluate(players, settings) {
    const x = placed(players, settings);
    const region = polynomial.regionOf(x);
    return { region, value: polynomial.scaled(polynomial.pieces[region].predict(x))[state.output] };
  }

  // All cells of a map: found[i][j] over the first column j and the second i.
  function evaluateAll(players, [across, up]) {
    if (polynomial.rules || !across.edges || !up.edges) return up.cells.map((v) => across.cells.map((u) => evaluate(players, [u, v])));
    const at = restriction(players[0].features[0], players[1].features[0], typicalRow);
    return up.cells.map((v) => across.cells.map((u) => at(u.values[0], v.values[0])));
  }

  // Along a number, at one level of the other column.
  function evaluateAlong(players, number, level) {
    if (polynomial.rules) return number.cells.map((cell) => evaluate(players, [cell, level]));
    const at = restriction(players[0].features[0], -1, placed(players, [number.cells[0], level]));
    return number.cells.map((cell) => at(cell.values[0], 0));
  }

  // Edges of cells between which the region changes, as one broken line.
  function outline(found, across, up) {
    const [x, y] = [[], []];
    const add = (x0, y0, x1, y1) => { x.push(x0, x1, null); y.push(y0, y1, null); };
    found.forEach((row, i) => row.forEach((cell, j) => {
      if (j + 1 < row.length && row[j + 1].region !== cell.region) add(across[j + 1], up[i], across[j + 1], up[i + 1]);
      if (i + 1 < found.length && found[i + 1][j].region !== cell.region) add(across[j], up[i + 1], across[j + 1], up[i + 1]);
    }));
    return { x, y };
  }

  // The middle of each region's part of the map.
  function middles(found, across, up) {
    const spans = new Map();
    found.forEach((row, i) => row.forEach(({ region }, j) => {
      const span = spans.get(region) || [j, j, i, i];
      spans.set(region, [Math.min(span[0], j), Math.max(span[1], j), Math.min(span[2], i), Math.max(span[3], i)]);
    }));
    return Array.from(spans, ([region, [left, right, low, high]]) => ({ region, x: (across[left] + across[right + 1]) / 2, y: (up[low] + up[high + 1]) / 2 }));
  }

  const named = (region) => (polynomial.rules ? `<br>region ${region}` : "");
  const edgesOf = (axis) => axis.edges || Array.from({ length: axis.cells.length + 1 }, (_, i) => i - 0.5);
  function scaleOf(axis, box, share) {
    const edges = edgesOf(axis);
    const own = { title: charts.title(axis.name, box, share), showgrid: false, zeroline: false, range: [edges[0], edges[edges.length - 1]] };
    if (axis.edges) return own;
    const length = charts.width(box) < 520 ? 16 : 18;
    if (axis.cells.length > 8) own.tickfont = { size: charts.width(box) < 520 ? 9 : 11 };
    return { ...own, tickvals: axis.cells.map((_, i) => i), ticktext: axis.cells.map((cell) => plain(shortened(cell.label, length))) };
  }

  function bordersText(marks) {
    if (!polynomial.rules) return "";
    return marks.length === 1 ? `All of this map is in region ${marks[0].region}. ` : "Lines are the borders of regions, with their numbers in boxes. ";
  }

  function map(box, players, [across, up], held) {
    const c = theme.colours();
    const found = evaluateAll(players, [across, up]);
    const [x, y] = [edgesOf(across), edgesOf(up)];
    const marks = middles(found, x, y);
    const top = found.flatMap((row, i) => row.map((cell, j) => ({ value: cell.value, x: across.cells[j].label, y: up.cells[i].label }))).reduce((best, cell) => (cell.value > best.value ? cell : best));
    const numbers = across.edges && up.edges;
    // Levels across stand upright below the map and need room.
    const below = across.edges ? 90 : 100 + 6 * Math.min(18, Math.max(...across.cells.map((cell) => cell.label.length)));
    const text = found.map((row, i) => row.map(({ value, region }, j) => `${plain(across.cells[j].label)}, ${plain(up.cells[i].label)}: ${shownText(value)}${named(region)}`));
    return {
      traces: [
        {
          type: "heatmap", x, y, z: found.map((row) => row.map((cell) => cell.value)), text, hoverinfo: "text", colorscale: [[0, c.paper], [1, c.accent]],
          colorbar: { thickness: 10, outlinewidth: 0, tickfont: { color: c.faint, size: 11 }, nticks: 6, ...shownAxis() },
        },
        ...(numbers ? [{ x: columnOf(players[0].features[0]), y: columnOf(players[1].features[0]), mode: "markers", marker: { size: 3, color: c.ink, opacity: 0.35 }, hoverinfo: "skip" }] : []),
        { ...outline(found, x, y), mode: "lines", line: { color: c.ink, width: 1.5 }, hoverinfo: "skip" },
      ],
      layout: {
        height: Math.max(below + (up.edges ? 0 : 15 * up.cells.length), Math.min(520, Math.max(box.dataset.paper ? 260 : 300, charts.width(box)))), xaxis: scaleOf(across, box, 0.7), yaxis: scaleOf(up, box, 0.5),
        annotations: (polynomial.rules ? marks : []).map((m) => ({ x: m.x, y: m.y, text: String(m.region), showarrow: false, bgcolor: c.paper, borderpad: 2, opacity: 0.85, font: { size: 12, color: c.ink } })),
      },
      caption: `${shownName()} over ${across.name} and ${up.name}, ${held}. ${bordersText(marks)}${numbers ? "Dots are rows." : ""}`,
      summary: `Map of ${shownName()} over ${across.name} and ${up.name}${polynomial.rules ? `, with ${marks.length === 1 ? "one region" : `${marks.length} regions`} on it` : ""}. Largest at ${top.x} and ${top.y}, ${shownText(top.value)}.`,
    };
  }

  // A number and levels: a line for each of the most frequent levels that rows have, broken between
  // regions.
  function lines(box, players, [number, levels], held) {
    const c = theme.colours();
    const shown = levels.cells.map((cell, i) => ({ ...cell, i })).filter((cell) => cell.share > 0).sort((a, b) => b.share - a.share).slice(0, LINES);
    const palette = [c.positive, c.negative, c.accent, c.faint, c.ink];
    const dashes = ["solid", "dash", "dot", "dashdot"];
    const traces = shown.map((level, i) => {
      const found = evaluateAlong(players, number, level);
      const at = number.cells.map((cell) => cell.values[0]);
      const cut = (values) => values.flatMap((value, k) => (k && found[k].region !== found[k - 1].region ? [null, value] : [value]));
      // The caption names the column of words; a number says nothing without it.
      const short = Number.isNaN(Number(level.label.replace("−", "-"))) && !["no", "yes"].includes(level.label);
      const name = `${short ? "" : `${plain(shortened(levels.name, 18))} = `}${plain(shortened(level.label, 18))}`;
      return {
        x: cut(at), y: cut(found.map((f) => f.value)), mode: "lines", name, hoverinfo: "text",
        line: { color: palette[i % palette.length], width: 2.2, dash: dashes[Math.floor(i / 2) % dashes.length] },
        text: cut(at.map((v, k) => `${name}<br>${formatted(v)}: ${shownText(found[k].value)}${named(found[k].region)}`)),
      };
    });
    const paper = box.dataset.paper && charts.legend(box, traces.map((trace) => trace.name));
    const legend = paper ? paper.settings : { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 };
    const more = levels.cells.length > shown.length ? ` The ${shown.length} most frequent levels of ${levels.cells.length}.` : "";
    return {
      traces,
      layout: {
        height: paper ? 200 + paper.height : 400 + (charts.width(box) < 520 ? 20 : 10) * shown.length, showlegend: true, legend, margin: { l: 12, r: 12, t: paper ? paper.height : 36, b: 40 },
        xaxis: { title: charts.title(number.name, box), zeroline: false }, yaxis: { title: charts.title(shownName(), box, 0.35), zeroline: false, ...shownAxis() },
      },
      caption: `${shownName()} over ${number.name}, by ${levels.name}, ${held}.${polynomial.rules ? " Lines are broken where regions meet." : ""}${more}`,
      summary: `${shown.length} lines: ${shownName()} over ${number.name} for the levels of ${levels.name}.${more}`,
    };
  }

  return (box, a, b, held) => {
    const axes = [axisOf(a), axisOf(b)];
    if (axes.every((axis) => axis.edges)) return map(box, [a, b], axes, held);
    // Names of levels have more room beside a map than below it.
    const turned = axes[0].cells.length > axes[1].cells.length;
    if (axes.every((axis) => !axis.edges)) return turned ? map(box, [b, a], axes.reverse(), held) : map(box, [a, b], axes, held);
    // A line shows more than a map does.
    const [number, other] = axes[0].edges ? [a, b] : [b, a];
    return lines(box, [number, other], [axisOf(number, 3 * CELLS), axisOf(other)], held);
  };
})();
