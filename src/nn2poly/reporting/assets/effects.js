// Importance of the columns, and what each does.

const effects = (() => {
  const source = data.effects;
  const deviations = [source.deviations].flat().map(doubles);
  const { nOutputs } = polynomial;
  const SHOWN = 20;

  // What a term moves the output by.
  const move = (place, output, region = 0) => Math.abs(polynomial.pieces[region].coefficient(place, output)) * deviations[region][place];

  const controlOf = new Map();
  data.controls.forEach((control) => control.features.forEach((j, i) => {
    const two = control.kind !== "number";
    controlOf.set(j, two
      ? { two, low: control.low[i], high: control.high[i], share: control.shares[i], names: control.kind === "switch" ? control.levels : null }
      : { two, ...control });
  }));

  // How far the output moves with each column.
  function columnBars(box) {
    const moves = doubles(source.columns.moves);
    const bars = source.columns.names.map((name, i) => ({ name, size: moves[i * nOutputs + state.output] }));
    bars.sort((a, b) => b.size - a.size);
    const shown = bars.slice(0, SHOWN).reverse();
    return {
      traces: [{
        type: "bar", orientation: "h", x: shown.map((b) => b.size), y: shown.map((_, i) => i), marker: { color: theme.colours().accent },
        hoverinfo: "text", textposition: "none", text: shown.map((b) => `${plain(b.name)}<br>moves the output by ${formatted(b.size)}`),
      }],
      layout: {
        height: 60 + 24 * Math.max(shown.length, 2),
        xaxis: { title: charts.title(`moves ${outputLabel()} by`, box), rangemode: "tozero", nticks: 6 },
        yaxis: { tickvals: shown.map((_, i) => i), ticktext: shown.map((b) => plain(shortened(b.name, charts.room(box)))), showgrid: false, zeroline: false },
      },
      caption: `How far each input moves ${outputWords()}.${shown.length < bars.length ? ` The ${shown.length} inputs that move it most, of ${bars.length}.` : ""}`,
      summary: `Bar chart of how far each input moves ${outputWords()}. First: ${bars.slice(0, 3).map((b) => b.name).join("; ")}.`,
    };
  }

  charts.add("chart-importance", columnBars);

  const featureSelect = byId("effect-feature");
  data.controls.slice(0, source.averages.length).forEach((control, i) => featureSelect.append(element("option", { value: i }, control.name)));
  featureSelect.addEventListener("change", () => charts.refresh("chart-effect"));

  // Average outputs at the points x of an input; the ends of its range of validity come last.
  function average(place, output) {
    const { x, y, jumps } = source.averages[place];
    const all = doubles(y);
    return { jumps: jumps || [], x: x && Array.from(doubles(x)), y: Array.from({ length: all.length / nOutputs }, (_, i) => all[i * nOutputs + output]) };
  }

  // Between regions a curve is broken before some points; thin dots join its ends.
  const broken = (values, jumps) => values.flatMap((value, i) => (jumps.includes(i) ? [null, value] : [value]));
  const joints = (x, y, jumps) => ({
    x: jumps.flatMap((i) => [x[i - 1], x[i], null]), y: jumps.flatMap((i) => [y[i - 1], y[i], null]), mode: "lines",
    line: { color: theme.colours().accent, width: 1, dash: "dot" }, hoverinfo: "skip",
  });

  function density(control) {
    if (control.two) return { x: [control.low, control.high], y: [1 - control.share, control.share], width: 0.2 * (control.high - control.low) };
    return { x: control.counts.map((_, i) => control.start + (i + 0.5) * control.step), y: control.counts, width: control.step };
  }

  // Where within its range an input is held, so that the curve is flat there.
  function heldText(j, control) {
    const [low, high] = polynomial.heldAt(j);
    const parts = [low > control.low + slack(control.low, control.high) ? `below ${formatted(low)}` : "", high < control.high - slack(control.low, control.high) ? `above ${formatted(high)}` : ""].filter(Boolean);
    return parts.length ? ` ${parts.join(" and ").replace(/^./, (letter) => letter.toUpperCase())} it is held: the formula stays the same there.` : "";
  }

  const inView = (control) => [control.low, control.high].filter((x) => x >= control.min && x <= control.max);
  const ends = (control) => inView(control).map((x) => ({
    type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, line: { color: theme.colours().faint, width: 1, dash: "dot" },
  }));

  const rangeText = (control) => (inView(control).length === 2
    ? "Between the dotted lines is the range of validity."
    : `The range of validity, ${formatted(control.low)} to ${formatted(control.high)}, goes on beyond this chart.`);

  // A range for an axis of averages that is no narrower than a quarter of what rows differ by:
  // an input that hardly matters must not look steep.
  const LEAST = 0.25;
  function honest(values) {
    const shown = rows.index.map((_, i) => shownOf(rows.polynomial, i));
    const middle = shown.reduce((sum, v) => sum + v, 0) / shown.length;
    const least = LEAST * Math.sqrt(shown.reduce((sum, v) => sum + (v - middle) ** 2, 0) / shown.length);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    if (!(high - low < least)) return {};
    const bottom = (low + high - least) / 2;
    return { range: polynomial.isProbability && bottom < 0 ? [0, least] : [bottom, bottom + least] };
  }

  // One bar for each level of a factor, from the average of all rows to that with the level on.
  const means = doubles(source.mean);
  function factor(box, control, averages) {
    const c = theme.colours();
    const mean = means[state.output];
    // A level that no row has says nothing of these rows.
    const all = control.levels.map((level, i) => ({ level, y: averages[i], share: control.shares[i] }));
    const bars = all.filter((bar) => bar.share > 0);
    // Nor is the one of values that the model does not know a level that a reader could miss.
    const left = all.filter((bar, i) => bar.share === 0 && i !== control.other).length;
    bars.sort((a, b) => a.y - b.y);
    const at = bars.map((_, i) => i);
    const share = (bar) => `${formatted(100 * bar.share, 2)} %`;
    const narrow = charts.width(box) < 520;
    const [least, most] = [bars[0], bars[bars.length - 1]];
    return {
      traces: [{
        type: "bar", orientation: "h", y: at, x: bars.map((b) => b.y - mean), base: bars.map(() => mean), hoverinfo: "text", textposition: "none",
        marker: { color: bars.map((b) => (b.y < mean ? c.negative : c.positive)) },
        text: bars.map((b) => `${plain(b.level)}<br>average ${shownText(b.y)}<br>${share(b)} of rows`),
      }],
      layout: {
        height: (box.dataset.paper ? 66 : 76) + (box.dataset.paper ? 14 : 24) * Math.max(bars.length, 3),
        shapes: [{ type: "line", x0: mean, x1: mean, yref: "paper", y0: 0, y1: 1, line: { color: c.ink, width: 1 } }],
        xaxis: { title: charts.title(`average ${shownName()}`, box), zeroline: false, nticks: 7, ...shownAxis(), ...honest([mean, ...bars.map((b) => b.y)]) },
        yaxis: { tickvals: at, ticktext: bars.map((b) => `${plain(shortened(b.level, charts.room(box)))}${narrow ? "" : ` (${share(b)})`}`), showgrid: false, zeroline: false, range: [-0.6, bars.length - 0.4] },
      },
      caption: `${control.name}: average ${shownName()} over the rows with exactly that level on, all other inputs as they are${narrow ? ". " : "; "}${narrow ? "" : "in brackets, the share of rows that have it. "}The line is the average of the rows as they are, ${shownText(mean)}.${left ? ` Left out: ${left} ${left === 1 ? "level" : "levels"} that no row has.` : ""}`,
      summary: `Bar chart of the average ${shownName()} for the ${bars.length} levels of ${control.name}: from ${shownText(least.y)} with ${least.level} to ${shownText(most.y)} with ${most.level}.`,
    };
  }

  function effect(box, place) {
    const [chosen, found] = [data.controls[place], average(place, state.output)];
    if (chosen.kind === "levels") return factor(box, chosen, found.y);
    const c = theme.colours();
    const [j] = chosen.features;
    const control = controlOf.get(j);
    const [atLow, atHigh] = found.y.slice(-2);
    const [x, y] = control.two ? [found.x, found.y] : [found.x.slice(0, -2), found.y.slice(0, -2)];
    const where = density(control);
    const name = polynomial.features[j];
    const change = `${shownText(atLow, 3)} at ${formatted(control.low)} to ${shownText(atHigh, 3)} at ${formatted(control.high)}`;
    return {
      traces: [
        {
          x: broken(x, found.jumps), y: broken(y, found.jumps), mode: control.two ? "lines+markers" : "lines", line: { color: c.accent, width: 2.5 }, marker: { size: 9 },
          hoverinfo: "text", text: broken(x.map((v, i) => `${formatted(v)}: ${shownText(y[i])}`), found.jumps),
        },
        { type: "bar", x: where.x, y: where.y, width: where.width, yaxis: "y2", marker: { color: c.faint, opacity: 0.55 }, hoverinfo: "skip" },
        ...(found.jumps.length ? [joints(x, y, found.jumps)] : []),
      ],
      layout: {
        height: box.dataset.paper ? 230 : 380, bargap: 0, shapes: control.two ? [] : ends(control),
        xaxis: { title: charts.title(name, box), anchor: "y2", tickvals: control.two ? x : undefined, ticktext: control.names ? control.names.map(plain) : undefined, zeroline: false },
        yaxis: { domain: [0.2, 1], title: charts.title(`average ${shownName()}`, box, 0.4), ...shownAxis(), ...honest(y) },
        yaxis2: { domain: [0, 0.15], showticklabels: false, showgrid: false, zeroline: false },
      },
      caption: control.two ? `${name}: average ${shownName()} at its two values.` : `${name}: average ${shownName()}. ${rangeText(control)}${heldText(j, control)}${found.jumps.length ? ` It jumps at ${found.jumps.map((i) => formatted(x[i])).join(", ")}, where regions meet.` : ""}`,
      summary: `Curve of the average ${shownName()} over ${name}: from ${change}${found.jumps.length ? `, with jumps at ${found.jumps.map((i) => formatted(x[i])).join(", ")}` : ""}.`,
    };
  }
  charts.add("chart-effect", (box) => effect(box, Number(featureSelect.value)));

  return { move, effect, average };
})();
