// What only paper shows: every input and pair that matters, for every output, in small charts. Their
// places are not on the screen; all charts are drawn before printing.

(() => {
  const INPUTS = 12;
  const PAIRS = 8;
  const { nOutputs } = polynomial;

  // A map of two factors with many levels needs the width of the sheet for their names.
  const MANY = 8;
  function isWide(pair) {
    const levels = pair.split(",").map((j) => data.effects.players[Number(j)].features.length);
    return Math.min(...levels) > MANY;
  }

  function place(parent, id, wide = false) {
    const box = element("div", { class: "chart", id, role: "img" });
    byId(parent).append(element("figure", { class: wide ? "wide" : null }, box, element("figcaption", { id: id.replace("chart-", "caption-") })));
    return id;
  }

  // Builds with another output chosen.
  function withOutput(output, build) {
    const before = state.output;
    state.output = output;
    const made = build();
    state.output = before;
    return made;
  }

  // All outputs in one chart: a line each, or with levels a mark each.
  function together(box, number) {
    const control = data.controls[number];
    const levels = control.kind === "levels";
    const seen = levels ? control.levels.map((_, i) => i).filter((i) => control.shares[i] > 0) : [];
    const c = theme.colours();
    const palette = [c.positive, c.negative, c.accent, c.faint, c.ink];
    const shapes = ["circle", "square", "diamond", "cross", "triangle-up", "star", "x"];
    const dashes = ["solid", "dash", "dot", "dashdot"];
    const traces = Array.from({ length: nOutputs }, (_, k) => {
      const { x, y, jumps } = effects.average(number, k);
      const [name, colour] = [plain(shortened(polynomial.outputs[k], 15)), palette[k % palette.length]];
      if (levels) return { x: seen.map((i) => y[i]), y: seen.map((_, i) => i), mode: "markers", name, marker: { color: colour, symbol: shapes[k % shapes.length], size: 7 } };
      const n = control.kind === "number" ? y.length - 2 : y.length;
      const cut = (values) => values.slice(0, n).flatMap((value, i) => (jumps.includes(i) ? [null, value] : [value]));
      return { x: cut(x), y: cut(y), mode: "lines", name, line: { color: colour, width: 1.8, dash: dashes[Math.floor(k / 2) % dashes.length] } };
    });
    const names = { tickvals: seen.map((_, i) => i), ticktext: seen.map((i) => plain(shortened(control.levels[i], 14))) };
    const axis = { zeroline: false, ...shownAxis() };
    const legend = charts.legend(box, traces.map((trace) => trace.name));
    return {
      traces,
      layout: {
        height: (levels ? 60 + 16 * Math.max(3, seen.length) : 190) + legend.height, showlegend: true, legend: legend.settings, margin: { l: 12, r: 12, t: legend.height, b: 36 },
        xaxis: levels ? axis : { title: charts.title(control.name, box), zeroline: false },
        yaxis: levels ? { ...names, zeroline: false, range: [-0.7, seen.length - 0.3] } : axis,
      },
      caption: `${control.name}: average of every output.`,
      summary: `Averages of ${nOutputs} outputs over ${control.name}.`,
    };
  }

  data.controls.slice(0, Math.min(INPUTS, data.effects.averages.length)).forEach((_, i) => {
    charts.add(place("paper-effects", `chart-paper-effect-${i}`), (box) => (nOutputs > 1 ? together(box, i) : effects.effect(box, i)));
  });
  const each = Math.max(1, Math.floor(PAIRS / nOutputs));
  Array.from({ length: Math.min(nOutputs, PAIRS) }, (_, k) => k).forEach((k) => {
    withOutput(k, () => interactions.strongest(each)).forEach((pair, i) => {
      charts.add(place("paper-pairs", `chart-paper-pair-${k}-${i}`, isWide(pair)), (box) => withOutput(k, () => interactions.surface(box, pair)));
    });
  });
})();
