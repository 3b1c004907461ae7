// What only paper shows: every input and pair that matters, for every output, in small charts. Their
// places are not on the screen; all charts are drawn before printing.

(() => {
  const INPUTS = 12;
  const PAIRS = 8;
  const { nOutputs } = polynomial;

  function place(parent, id) {
    const box = element("div", { class: "chart", id, role: "img" });
    byId(parent).append(element("figure", {}, box, element("figcaption", { id: id.replace("chart-", "caption-") })));
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
    const c = theme.colours();
    const palette = [c.positive, c.negative, c.accent, c.faint, c.ink];
    const shapes = ["circle", "square", "diamond", "cross", "triangle-up", "star", "x"];
    const dashes = ["solid", "dash", "dot", "dashdot"];
    const traces = Array.from({ length: nOutputs }, (_, k) => {
      const { x, y, jumps } = effects.average(number, k);
      const [name, colour] = [plain(shortened(polynomial.outputs[k], 20)), palette[k % palette.length]];
      if (control.kind === "levels") return { x: y, y: control.levels.map((_, i) => i), mode: "markers", name, marker: { color: colour, symbol: shapes[k % shapes.length], size: 7 } };
      const n = control.kind === "number" ? y.length - 2 : y.length;
      const cut = (values) => values.slice(0, n).flatMap((value, i) => (jumps.includes(i) ? [null, value] : [value]));
      return { x: cut(x), y: cut(y), mode: "lines", name, line: { color: colour, width: 1.8, dash: dashes[Math.floor(k / 2) % dashes.length] } };
    });
    const legend = { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 10 } };
    const names = { tickvals: control.kind === "levels" ? control.levels.map((_, i) => i) : undefined, ticktext: control.kind === "levels" ? control.levels.map((level) => plain(shortened(level, 14))) : undefined };
    const axis = { zeroline: false, ...shownAxis() };
    const levels = control.kind === "levels";
    // Two names fit on a line of the legend.
    const key = 8 + 17 * Math.ceil(nOutputs / 2);
    return {
      traces,
      layout: {
        height: (levels ? 90 + 13 * control.levels.length : 220) + key, showlegend: true, legend, margin: { l: 12, r: 12, t: key, b: 36 },
        xaxis: levels ? axis : { title: charts.title(control.name, box), zeroline: false },
        yaxis: levels ? { ...names, zeroline: false } : axis,
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
      charts.add(place("paper-pairs", `chart-paper-pair-${k}-${i}`), (box) => withOutput(k, () => interactions.surface(box, pair)));
    });
  });
})();
