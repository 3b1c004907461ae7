// The data of the page, numbers in words, and small helpers.

const data = JSON.parse(document.getElementById("report-data").textContent);

function bytesOf(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i += 1) bytes[i] = raw.charCodeAt(i);
  return bytes.buffer;
}

const doubles = (text) => new Float64Array(bytesOf(text));
const singles = (text) => new Float32Array(bytesOf(text));
const integers = (text, wide = true) =>
  wide ? new Uint32Array(bytesOf(text)) : new Uint16Array(bytesOf(text));

const byId = (id) => document.getElementById(id);

// Text goes in as text: no string of the data is ever parsed as HTML.
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

// A name that breaks after =, _, . and the like before it breaks within a word.
function breakable(text) {
  const parts = String(text).split(/(?<=[=_.,:/|])(?<!\d[.,])(?=[^\s=_.,:/|])/);
  return parts.flatMap((part, i) => (i ? [element("wbr"), part] : [part]));
}

// Plotly reads a few tags and entities in labels.
const plain = (text) =>
  String(text).replace(/[\r\n\t]+/g, " ").replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

function shortened(text, length) {
  const letters = Array.from(String(text));
  if (letters.length <= length) return letters.join("");
  const end = Math.floor((length - 1) / 3);
  return `${letters.slice(0, length - 1 - end).join("")}…${letters.slice(letters.length - end).join("")}`;
}

function formatted(value, digits = 4) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "n/a" : String(value);
  if (value === 0) return "0";
  const size = Math.abs(value);
  let text;
  if (size >= 1e-4 && size < 1e7) {
    const power = Number(value.toExponential(digits - 1).split("e")[1]);
    text = value.toLocaleString("en-US", { maximumFractionDigits: Math.max(0, digits - 1 - power), useGrouping: size >= 1e4 });
  } else {
    text = value.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e");
  }
  return text.replace(/-/g, "−");
}

// How far errors go, rounded up, as numerals.bound.
function bounded(value, digits) {
  if (!(value > 1e-300) || !Number.isFinite(value)) return formatted(value, digits);
  const unit = 10 ** (Math.floor(Math.log10(value)) - digits + 1);
  return formatted(Math.ceil(value / unit - 1e-9) * unit, digits);
}

// A probability in percent; what is not 0 or 1 is not said to be.
function percentText(share) {
  if (!Number.isFinite(share)) return "n/a";
  if (share > 0 && share < 1e-4) return "< 0.01 %";
  if (share < 1 && share > 0.9999) return "> 99.99 %";
  return `${formatted(100 * share, share > 0.99 ? 4 : 3)} %`;
}

// What all parts of the page share; a part that draws asks to be told of changes.
const state = { output: 0, x: null };
const listeners = [];
const whenChanged = (listener) => listeners.push(listener);
const announce = () => listeners.forEach((listener) => listener());
