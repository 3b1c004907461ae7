// The table of all terms: filtered, sorted and shown a page at a time.

(() => {
  const PAGE = 25;
  const tools = { search: byId("term-search"), order: byId("term-order"), region: byId("term-region") };
  const view = { key: "move", down: true, page: 0, places: [] };
  const names = new Map();

  // The region shown, and its terms: with a single polynomial the only ones.
  const region = () => (tools.region ? Number(tools.region.value) : 0);
  const piece = () => polynomial.pieces[region()];
  const spelled = () => {
    const shown = region();
    if (!names.has(shown)) names.set(shown, Array.from({ length: piece().nTerms }, (_, i) => piece().name(i)));
    return names.get(shown);
  };

  for (let order = 0; order <= Math.max(...polynomial.pieces.map((p) => p.highest)); order += 1) {
    tools.order.append(element("option", { value: order }, String(order)));
  }

  function keys() {
    const n = piece().nTerms;
    if (view.key === "order") return Float64Array.from(piece().orders);
    const by = {
      place: (i) => i,
      coefficient: (i) => piece().coefficient(i, state.output),
      move: (i) => effects.move(i, state.output, region()),
    }[view.key];
    return Float64Array.from({ length: n }, (_, i) => by(i));
  }

  function compare() {
    if (view.key === "name") {
      const order = new Intl.Collator("en", { numeric: true });
      return (a, b) => order.compare(spelled()[a], spelled()[b]);
    }
    const values = keys();
    return (a, b) => values[a] - values[b];
  }

  function select() {
    const words = tools.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const order = tools.order.value === "" ? null : Number(tools.order.value);
    const lower = words.length ? spelled().map((name) => name.toLowerCase()) : null;
    const places = [];
    for (let i = 0; i < piece().nTerms; i += 1) {
      if (order !== null && piece().orders[i] !== order) continue;
      if (lower && !words.every((word) => lower[i].includes(word))) continue;
      places.push(i);
    }
    const rule = compare();
    // Ties keep the order of the polynomial, either way up.
    view.places = places.sort((a, b) => (view.down ? rule(b, a) : rule(a, b)) || a - b);
    view.page = 0;
    show();
  }

  function row(i) {
    const cells = [
      element("td", { class: "number" }, i.toLocaleString("en-US")),
      element("th", { scope: "row" }, ...breakable(piece().name(i))),
      element("td", { class: "number" }, String(piece().orders[i])),
      element("td", { class: "number", title: String(piece().coefficient(i, state.output)) }, formatted(piece().coefficient(i, state.output), 5)),
      element("td", { class: "number" }, formatted(effects.move(i, state.output, region()), 4)),
    ];
    return element("tr", { "data-place": i }, ...cells);
  }

  function show() {
    const total = view.places.length;
    const pages = Math.max(1, Math.ceil(total / PAGE));
    const first = view.page * PAGE;
    byId("term-rows").replaceChildren(...view.places.slice(first, first + PAGE).map(row));
    byId("term-page").textContent = total
      ? `${(first + 1).toLocaleString("en-US")}–${Math.min(first + PAGE, total).toLocaleString("en-US")} of ${total.toLocaleString("en-US")}`
      : "no term matches";
    byId("term-previous").disabled = view.page === 0;
    byId("term-next").disabled = view.page >= pages - 1;
  }

  function sortBy(button) {
    const key = button.dataset.sort;
    view.down = view.key === key ? !view.down : key !== "name" && key !== "place";
    view.key = key;
    document.querySelectorAll("#term-table th[aria-sort]").forEach((head) => {
      const mine = head.contains(button);
      head.setAttribute("aria-sort", mine ? (view.down ? "descending" : "ascending") : "none");
    });
    select();
  }

  document.querySelectorAll("#term-table [data-sort]").forEach((button) => button.addEventListener("click", () => sortBy(button)));
  byId("term-table").querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  let waiting = null;
  tools.search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(select, 120);
  });
  tools.order.addEventListener("change", select);
  if (tools.region) tools.region.addEventListener("change", select);
  byId("term-previous").addEventListener("click", () => { view.page -= 1; show(); });
  byId("term-next").addEventListener("click", () => { view.page += 1; show(); });
  let output = state.output;
  whenChanged(() => {
    if (output !== state.output) select();
    output = state.output;
  });
  select();
})();
