// The page itself: which output, copying, and where the reader is.

(() => {
  document.documentElement.classList.add("scripted");
  const output = byId("output");

  function showOutput() {
    document.querySelectorAll("#formula [data-output], #findings [data-output]").forEach((node) => {
      node.hidden = Number(node.dataset.output) !== state.output;
    });
  }
  if (output) {
    output.value = "0";
    output.addEventListener("change", () => {
      state.output = Number(output.value);
      announce();
    });
  }
  showOutput();
  whenChanged(showOutput);

  const subgroup = byId("subgroup");
  function showSubgroup() {
    document.querySelectorAll("[data-subgroup]").forEach((node) => { node.hidden = node.dataset.subgroup !== subgroup.value; });
  }
  if (subgroup) {
    subgroup.value = "0";
    subgroup.addEventListener("change", showSubgroup);
    showSubgroup();
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // A file opened from a disk may not use the clipboard directly.
      const area = element("textarea", { class: "away", readonly: "" });
      area.value = text;
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  }

  document.querySelectorAll("[data-copy]").forEach((button) => button.addEventListener("click", async () => {
    const { copy: language, output: k } = button.dataset;
    const box = Array.from(document.querySelectorAll("details.export")).find((d) => d.dataset.language === language && d.dataset.output === k);
    const done = await copy(box.querySelector("pre").textContent);
    button.focus();
    if (!done) box.open = true;
    byId("copied").textContent = done ? `Copied as ${language}.` : "The browser does not let this page copy: select the text.";
  }));

  const links = new Map(Array.from(document.querySelectorAll("nav a"), (a) => [a.hash.slice(1), a]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      links.forEach((link) => link.removeAttribute("aria-current"));
      links.get(entry.target.id).setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-20% 0px -75% 0px" });
  links.forEach((_, id) => seen.observe(byId(id)));
  document.documentElement.dataset.ready = "true";
})();
