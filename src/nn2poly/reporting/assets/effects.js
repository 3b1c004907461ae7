// Importance of terms (of columns, with regions), main effects, and interactions.

const effects = (() => {
  const source = data.effects;
  const deviations = [source.deviations].flat().map(doubles);
  const pairs = integers(source.pairs);
  const strengths = singles(source.strengths);
  const { nOutputs } = polynomial;
  // What pairs are made of: features, or with regions the columns of the table.
  const players = source.players || polynomial.features.map((name, j) => ({ name, features: [j] }));
  const SHOWN = 20;

  // What a term moves the output by, and which terms do most.
  const move = (place, output, region = 0) => Math.abs(polynomial.pieces[region].coefficient(place, output)) * deviations[region][place];
  function topTerms(output, count) {
    const places = Array.from({ length: polynomial.nTerms }, (_, i) => i).filter((i) => polynomial.orders[i]);
    return places.sort((a, b) => move(b, output) - move(a, output)).slice(0, count);
  }

  const controlOf = new Map();
  data.controls.forEach((control) => control.features.forEach((j, i) => {
    const two = control.kind !== "number";
    controlOf.set(j, two
      ? { two, low: control.low[i], high: control.high[i], share: control.shares[i] }
      : { two, ...control });
  }));

  // With regions: how far the output moves with each column.
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
        xaxis: { title: charts.title(`moves ${polynomial.prefix ? outputLabel() : "the output"} by`, box), rangemode: "tozero", nticks: 6 },
        yaxis: { tickvals: shown.map((_, i) => i), ticktext: shown.map((b) => plain(shortened(b.name, charts.room(box)))), showgrid: false, zeroline: false },
      },
      caption: `How far ${outputLabel()} moves with each input.${shown.length < bars.length ? ` The ${shown.length} inputs that move it most, of ${bars.length}.` : ""}`,
      summary: `Bar chart of how far ${outputLabel()} moves with each input. First: ${bars.slice(0, 3).map((b) => b.name).join("; ")}.`,
    };
  }

  charts.add("chart-importance", source.columns ? columnBars : (box) => {
    const c = theme.colours();
    const places = topTerms(state.output, SHOWN).reverse();
    const signs = places.map((i) => polynomial.coefficient(i, state.output));
    const names = places.map((i) => polynomial.name(i));
    return {
      traces: [{
        type: "bar", orientation: "h", x: places.map((i) => move(i, state.output)), y: places.map((_, i) => i),
        marker: { color: signs.map((v) => (v < 0 ? c.negative : c.positive)) }, hoverinfo: "text", textposition: "none",
        text: places.map((i, k) => `${plain(names[k])}<br>coefficient ${formatted(signs[k])}<br>moves the output by ${formatted(move(i, state.output))}`),
      }],
      layout: {
        height: 60 + 24 * Math.max(places.length, 2),
        xaxis: { title: charts.title(`moves ${polynomial.prefix ? outputLabel() : "the output"} by`, box), rangemode: "tozero", nticks: 6 },
        yaxis: { tickvals: places.map((_, i) => i), ticktext: places.map((i) => termLabel(i, charts.room(box))), showgrid: false, zeroline: false },
      },
      caption: `${outputTitle()}. Blue: positive coefficient; orange: negative.`,
      summary: `Bar chart of the ${places.length} terms that move ${outputLabel()} most. First: ${names.slice(-3).reverse().join("; ")}.`,
    };
  });

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

  const grid = (low, high, n) => Array.from({ length: n }, (_, i) => low + ((high - low) * i) / (n - 1));

  function density(control) {
    if (control.two) return { x: [control.low, control.high], y: [1 - control.share, control.share], width: 0.2 * (control.high - control.low) };
    const step = (control.max - control.min) / control.counts.length;
    return { x: control.counts.map((_, i) => control.min + (i + 0.5) * step), y: control.counts, width: step };
  }

  const ends = (control) => [control.low, control.high].map((x) => ({
    type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, line: { color: theme.colours().faint, width: 1, dash: "dot" },
  }));

  // One bar for each level of a factor, from the average of all rows to that with the level on.
  const means = doubles(source.mean);
  function factor(box, control, averages) {
    const c = theme.colours();
    const mean = means[state.output];
    const bars = control.levels.map((level, i) => ({ level, y: averages[i], share: control.shares[i] }));
    bars.sort((a, b) => a.y - b.y);
    const at = bars.map((_, i) => i);
    const share = (bar) => `${formatted(100 * bar.share, 2)} %`;
    const narrow = box.clientWidth < 520;
    const [least, most] = [bars[0], bars[bars.length - 1]];
    return {
      traces: [{
        type: "bar", orientation: "h", y: at, x: bars.map((b) => b.y - mean), base: bars.map(() => mean), hoverinfo: "text", textposition: "none",
        marker: { color: bars.map((b) => (b.y < mean ? c.negative : c.positive)) },
        text: bars.map((b) => `${plain(b.level)}<br>average ${formatted(b.y)}<br>${share(b)} of rows`),
      }],
      layout: {
        height: 76 + 24 * Math.max(bars.length, 3),
        shapes: [{ type: "line", x0: mean, x1: mean, yref: "paper", y0: 0, y1: 1, line: { color: c.ink, width: 1 } }],
        xaxis: { title: charts.title(`average ${outputLabel()}`, box), zeroline: false, nticks: 7 },
        yaxis: { tickvals: at, ticktext: bars.map((b) => `${plain(shortened(b.level, charts.room(box)))}${narrow ? "" : ` (${share(b)})`}`), showgrid: false, zeroline: false, range: [-0.6, bars.length - 0.4] },
      },
      caption: `${control.name}: average ${outputLabel()} over the rows with exactly that level on, all other inputs as they are${narrow ? ". " : "; "}${narrow ? "" : "in brackets, the share of rows that have it. "}The line is the average of the rows as they are, ${formatted(mean)}.`,
      summary: `Bar chart of the average ${outputLabel()} for the ${bars.length} levels of ${control.name}: from ${formatted(least.y)} with ${least.level} to ${formatted(most.y)} with ${most.level}.`,
    };
  }

  charts.add("chart-effect", (box) => {
    const place = Number(featureSelect.value);
    const [chosen, found] = [data.controls[place], average(place, state.output)];
    if (chosen.kind === "levels") return factor(box, chosen, found.y);
    const c = theme.colours();
    const [j] = chosen.features;
    const control = controlOf.get(j);
    const [atLow, atHigh] = found.y.slice(-2);
    const [x, y] = control.two ? [found.x, found.y] : [found.x.slice(0, -2), found.y.slice(0, -2)];
    const where = density(control);
    const name = polynomial.features[j];
    const change = `${formatted(atLow, 3)} at ${formatted(control.low)} to ${formatted(atHigh, 3)} at ${formatted(control.high)}`;
    return {
      traces: [
        {
          x: broken(x, found.jumps), y: broken(y, found.jumps), mode: control.two ? "lines+markers" : "lines", line: { color: c.accent, width: 2.5 }, marker: { size: 9 },
          hoverinfo: "text", text: broken(x.map((v, i) => `${formatted(v)}: ${formatted(y[i])}`), found.jumps),
        },
        { type: "bar", x: where.x, y: where.y, width: where.width, yaxis: "y2", marker: { color: c.faint, opacity: 0.55 }, hoverinfo: "skip" },
        ...(found.jumps.length ? [joints(x, y, found.jumps)] : []),
      ],
      layout: {
        height: 380, bargap: 0, shapes: control.two ? [] : ends(control),
        xaxis: { title: charts.title(name, box), anchor: "y2", tickvals: control.two ? x : undefined, zeroline: false },
        yaxis: { domain: [0.2, 1], title: charts.title(`average ${outputLabel()}`, box, 0.35) },
        yaxis2: { domain: [0, 0.15], showticklabels: false, showgrid: false, zeroline: false },
      },
      caption: control.two ? `${name}: average ${outputLabel()} at its two values.` : `${name}: average ${outputLabel()}. Between the dotted lines is the range of validity.${found.jumps.length ? ` It jumps at ${found.jumps.map((i) => formatted(x[i])).join(", ")}, where regions meet.` : ""}`,
      summary: `Curve of the average ${outputLabel()} over ${name}: from ${change}${found.jumps.length ? `, with jumps at ${found.jumps.map((i) => formatted(x[i])).join(", ")}` : ""}.`,
    };
  });

  // Interactions: the pairs by strength, and the features that take part.
  const strength = (i) => strengths[i * nOutputs + state.output];
  function heatFeatures(most) {
    const total = new Map();
    for (let i = 0; i < pairs.length / 2; i += 1) {
      for (const j of [pairs[2 * i], pairs[2 * i + 1]]) total.set(j, (total.get(j) || 0) + strength(i) ** 2);
    }
    return Array.from(total.keys()).sort((a, b) => total.get(b) - total.get(a)).slice(0, most);
  }
  function rankedPairs() {
    const found = Array.from({ length: pairs.length / 2 }, (_, i) => i);
    return found.sort((a, b) => strength(b) - strength(a)).slice(0, 100);
  }

  const pairSelect = byId("pair");
  function fillPairs() {
    const before = pairSelect.value;
    const options = rankedPairs().map((i) => {
      const [a, b] = [pairs[2 * i], pairs[2 * i + 1]];
      return element("option", { value: `${a},${b}` }, `${players[a].name} × ${players[b].name}`);
    });
    pairSelect.replaceChildren(...options);
    if (options.some((option) => option.value === before)) pairSelect.value = before;
  }
  fillPairs();
  whenChanged(fillPairs);
  pairSelect.addEventListener("change", () => charts.refresh("chart-surface"));

  function heatmap(box) {
    const c = theme.colours();
    const kept = heatFeatures(box.clientWidth < 520 ? 10 : 24);
    const place = new Map(kept.map((j, i) => [j, i]));
    const z = kept.map(() => kept.map(() => null));
    const text = kept.map(() => kept.map(() => ""));
    for (let i = 0; i < pairs.length / 2; i += 1) {
      const [a, b] = [place.get(pairs[2 * i]), place.get(pairs[2 * i + 1])];
      if (a === undefined || b === undefined) continue;
      const [row, column] = [Math.max(a, b), Math.min(a, b)];
      z[row][column] = strength(i);
      const names = `${plain(players[kept[a]].name)} × ${plain(players[kept[b]].name)}`;
      text[row][column] = `${names}<br>${formatted(strength(i))}`;
    }
    const at = kept.map((_, i) => i);
    const labels = kept.map((j) => shortened(players[j].name, box.clientWidth < 520 ? 11 : 20));
    const crowded = 8 * Math.max(...labels.map((l) => l.length)) * kept.length > 0.7 * box.clientWidth;
    const first = pairSelect.options[0].textContent;
    return {
      traces: [{
        type: "heatmap", z, x: at, y: at, text, hoverinfo: "text", colorscale: [[0, c.paper], [1, c.accent]], zmin: 0, xgap: 1, ygap: 1,
        colorbar: { thickness: 10, outlinewidth: 0, tickfont: { color: c.faint, size: 11 }, nticks: 5 },
      }],
      layout: {
        height: Math.min(620, Math.max(260, 120 + 22 * kept.length)),
        xaxis: { tickvals: at, ticktext: labels.map(plain), tickangle: crowded ? -60 : 0, showgrid: false, zeroline: false, range: [-0.5, kept.length - 1.5] },
        yaxis: { tickvals: at, ticktext: labels.map(plain), range: [kept.length - 0.5, 0.5], showgrid: false, zeroline: false },
      },
      caption: `${outputTitle()}. ${kept.length < players.length ? `The ${kept.length} inputs that take part most, of ${players.length}. ` : ""}Choose a cell, or a pair below.`,
      summary: `Heatmap of the strength of pairs of inputs for ${outputLabel()}. Strongest pair: ${first}.`,
    };
  }

  function choosable(box) {
    box.on("plotly_click", (event) => {
      const kept = heatFeatures(box.clientWidth < 520 ? 10 : 24);
      const value = [kept[event.points[0].x], kept[event.points[0].y]].sort((m, n) => m - n).join(",");
      if (!Array.from(pairSelect.options).some((option) => option.value === value)) return;
      pairSelect.value = value;
      charts.refresh("chart-surface");
    });
  }

  function span(control, n) {
    if (control.two) return [control.low, control.high];
    return control.low < control.high ? grid(control.low, control.high, n) : grid(control.min, control.max, n);
  }
  const HELD = "the other inputs at their means (factors at their most frequent level)";

  function surface(box) {
    const [a, b] = pairSelect.value.split(",").map(Number);
    if (polynomial.rules) return regionSurface(box, players[a], players[b], HELD);
    if (controlOf.get(a).two || controlOf.get(b).two) return controlOf.get(b).two ? lines(box, a, b) : lines(box, b, a);
    const c = theme.colours();
    const value = polynomial.restricted(a, b, doubles(data.typical), state.output);
    const [x, y] = [span(controlOf.get(a), 45), span(controlOf.get(b), 45)];
    const z = y.map((v) => x.map((u) => value(u, v)));
    const [na, nb] = [polynomial.features[a], polynomial.features[b]];
    const all = z.flat();
    const most = all.indexOf(Math.max(...all));
    const axis = (name, ends, share) => ({ title: charts.title(name, box, share), showgrid: false, zeroline: false, range: [ends[0], ends[ends.length - 1]] });
    return {
      traces: [
        {
          type: "contour", x, y, z, colorscale: [[0, c.paper], [1, c.accent]], line: { color: c.faint, width: 0.7 }, contours: { coloring: "heatmap" },
          hoverinfo: "text", text: y.map((v, i) => x.map((u, j) => `${formatted(u)}, ${formatted(v)}: ${formatted(z[i][j])}`)),
          colorbar: { thickness: 10, outlinewidth: 0, tickfont: { color: c.faint, size: 11 }, nticks: 6 },
        },
        { x: columnOf(a), y: columnOf(b), mode: "markers", marker: { size: 4, color: c.ink, opacity: 0.6, line: { color: c.paper, width: 0.7 } }, hoverinfo: "skip" },
      ],
      layout: { height: Math.min(520, Math.max(300, box.clientWidth)), xaxis: axis(na, x, 0.7), yaxis: axis(nb, y, 0.5) },
      caption: `${outputTitle()} over ${na} and ${nb}, ${HELD}; dots are rows.`,
      summary: `Contour chart of ${outputLabel()} over ${na} and ${nb}. Largest near ${na} ${formatted(x[most % x.length])} and ${nb} ${formatted(y[Math.floor(most / x.length)])}.`,
    };
  }

  // With a feature of two values: one line for each of them.
  function lines(box, a, two) {
    const c = theme.colours();
    const [ca, levels] = [controlOf.get(a), span(controlOf.get(two), 2)];
    const value = polynomial.restricted(a, two, doubles(data.typical), state.output);
    const x = span(ca, 61);
    const [na, nb] = [polynomial.features[a], polynomial.features[two]];
    const traces = levels.map((level, i) => ({
      x, y: x.map((u) => value(u, level)), mode: ca.two ? "lines+markers" : "lines", name: `${plain(shortened(nb, 24))} = ${formatted(level)}`,
      line: { color: i ? c.positive : c.negative, width: 2.5, dash: i ? "solid" : "dash" }, hoverinfo: "text",
      text: x.map((u) => `${plain(shortened(nb, 24))} = ${formatted(level)}<br>${formatted(u)}: ${formatted(value(u, level))}`),
    }));
    return {
      traces,
      layout: {
        height: 400, showlegend: true, legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 }, margin: { l: 12, r: 12, t: 36, b: 40 },
        xaxis: { title: charts.title(na, box), zeroline: false, tickvals: ca.two ? x : undefined },
        yaxis: { title: charts.title(outputLabel(), box, 0.35), zeroline: false },
      },
      caption: `${outputTitle()} over ${na}, for the two values of ${nb}, ${HELD}.`,
      summary: `Two lines: ${outputLabel()} over ${na} for ${levels.map((level, i) => `${nb} ${formatted(level)}, from ${formatted(traces[i].y[0])} to ${formatted(traces[i].y[x.length - 1])}`).join("; ")}.`,
    };
  }
  if (pairs.length) {
    charts.add("chart-pairs", heatmap, choosable);
    charts.add("chart-surface", surface);
  }

  return { move, topTerms };
})();
