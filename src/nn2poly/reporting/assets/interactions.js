// Which columns act together: the strength of pairs, and the output over a chosen one.

const interactions = (() => {
  const source = data.effects;
  const pairs = integers(source.pairs);
  const strengths = singles(source.strengths);
  const { nOutputs } = polynomial;
  const { players } = source;

  // The pairs by strength, and the columns that take part.
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
      return element("option", { value: `${a},${b}` }, `${players[a].name} and ${players[b].name}`);
    });
    pairSelect.replaceChildren(...options);
    if (options.some((option) => option.value === before)) pairSelect.value = before;
  }
  fillPairs();
  whenChanged(fillPairs);
  pairSelect.addEventListener("change", () => charts.refresh("chart-surface"));

  function heatmap(box) {
    const c = theme.colours();
    const kept = heatFeatures(charts.width(box) < 520 ? 10 : 24);
    const place = new Map(kept.map((j, i) => [j, i]));
    const z = kept.map(() => kept.map(() => null));
    const text = kept.map(() => kept.map(() => ""));
    for (let i = 0; i < pairs.length / 2; i += 1) {
      const [a, b] = [place.get(pairs[2 * i]), place.get(pairs[2 * i + 1])];
      if (a === undefined || b === undefined) continue;
      const [row, column] = [Math.max(a, b), Math.min(a, b)];
      z[row][column] = strength(i);
      const names = `${plain(players[kept[a]].name)} and ${plain(players[kept[b]].name)}`;
      text[row][column] = `${names}<br>${formatted(strength(i))}`;
    }
    const at = kept.map((_, i) => i);
    const labels = kept.map((j) => shortened(players[j].name, charts.width(box) < 520 ? 11 : 20));
    const crowded = 8 * Math.max(...labels.map((l) => l.length)) * kept.length > 0.7 * charts.width(box);
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
      caption: `How far pairs of inputs move ${outputWords()}.${kept.length < players.length ? ` The ${kept.length} inputs that take part most, of ${players.length}.` : ""}`,
      summary: `Heatmap of the strength of pairs of inputs for ${outputLabel()}. Strongest pair: ${first}.`,
    };
  }

  function choosable(box) {
    box.on("plotly_click", (event) => {
      const kept = heatFeatures(charts.width(box) < 520 ? 10 : 24);
      const value = [kept[event.points[0].x], kept[event.points[0].y]].sort((m, n) => m - n).join(",");
      if (!Array.from(pairSelect.options).some((option) => option.value === value)) return;
      pairSelect.value = value;
      charts.refresh("chart-surface");
    });
  }

  const levels = players.some((player) => player.features.length > 1) ? " (factors at their most frequent level)" : "";
  const HELD = `the other inputs at their means${levels}`;
  const surface = (box, pair) => columnSurface(box, ...pair.split(",").map((j) => players[Number(j)]), HELD);
  if (pairs.length) {
    charts.add("chart-pairs", heatmap, choosable);
    charts.add("chart-surface", (box) => surface(box, pairSelect.value));
  }

  const strongest = (count) => rankedPairs().slice(0, count).filter((i) => strength(i) > 0).map((i) => `${pairs[2 * i]},${pairs[2 * i + 1]}`);
  return { surface, strongest };
})();
