// The formula, in double precision: coefficients belong to z = (f(x) - center) / scale, with x
// held at its bounds and f the function of its column, if it has one. One polynomial, or one for
// each region: data.polynomial.pieces, and a tree that tells the region of a row.

const polynomial = (() => {
  const source = data.polynomial;
  const center = doubles(source.center);
  const scale = doubles(source.scale);
  const [low, high] = source.bounds.map(doubles);
  const nOutputs = source.outputs.length;
  const nFeatures = source.features.length;

  // A part of a function, sign · ((added + max(sign · x, 0))^exponent - 1) / exponent.
  const power = ([sign, added, exponent], x) => {
    const logarithm = Math.log(added + Math.max(sign * x, 0));
    return sign * (exponent === 0 ? logarithm : Math.expm1(exponent * logarithm) / exponent);
  };

  // A function of Math, a sum of powers, or a table that is linear between its points.
  const curves = source.curves.map((curve) => {
    if (curve === null) return (x) => x;
    if (typeof curve === "string") return Math[curve];
    if (curve.powers) return (x) => curve.powers.reduce((sum, part) => sum + power(part, x), 0);
    const [knots, shares] = curve.map(doubles);
    return (x) => {
      let i = 1;
      while (i < knots.length - 1 && x >= knots[i]) i += 1;
      return shares[i - 1] + (shares[i] - shares[i - 1]) / (knots[i] - knots[i - 1]) * (x - knots[i - 1]);
    };
  });

  const coordinate = (value, j) => (curves[j](Math.min(Math.max(value, low[j]), high[j])) - center[j]) / scale[j];

  const standard = (x) => Float64Array.from(x, coordinate);

  // The bounds at which an input is held; beyond them the formula stays the same.
  const heldAt = (j) => [low[j], high[j]];

  // The terms of one polynomial.
  function piece(terms) {
    const coefficients = doubles(terms.coefficients);
    const variables = terms.variables.map((text) => integers(text, source.wide));
    const { sizes } = terms;
    const nTerms = sizes.reduce((a, b) => a + b, 0);
    const orders = new Uint8Array(nTerms);
    const begins = [0];
    sizes.forEach((size, degree) => {
      orders.fill(degree, begins[degree], begins[degree] + size);
      begins.push(begins[degree] + size);
    });

    // The variables of a term, in order and repeated.
    function term(place) {
      const degree = orders[place];
      const row = place - begins[degree];
      return variables[degree].subarray(row * degree, (row + 1) * degree);
    }

    function factors(place) {
      const powers = new Map();
      for (const j of term(place)) powers.set(j, (powers.get(j) || 0) + 1);
      return powers;
    }

    // As Polynomial.term_names spells it, powers raised.
    const raised = (power) => (power > 1 ? Array.from(String(power), (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("") : "");
    function name(place) {
      if (!orders[place]) return "1";
      return Array.from(factors(place), ([j, power]) => `${source.entries[j]}${raised(power)}`).join(" · ");
    }

    // Every term's value at x, one product each.
    function termValues(x) {
      const z = standard(x);
      const values = new Float64Array(nTerms);
      let place = 0;
      sizes.forEach((size, degree) => {
        const block = variables[degree];
        for (let i = 0, at = 0; i < size; i += 1, place += 1) {
          let value = 1;
          for (let c = 0; c < degree; c += 1, at += 1) value *= z[block[at]];
          values[place] = value;
        }
      });
      return values;
    }

    function predict(x, values = termValues(x)) {
      const raw = new Float64Array(nOutputs);
      for (let i = 0, at = 0; i < nTerms; i += 1) {
        for (let k = 0; k < nOutputs; k += 1, at += 1) raw[k] += coefficients[at] * values[i];
      }
      return raw;
    }

    const coefficient = (place, output) => coefficients[place * nOutputs + output];

    // Coefficients of z_a^r z_b^s with all other inputs fixed at x; below 0, b is none.
    function restricted(a, b, x, output) {
      const z = standard(x);
      const highest = sizes.length;
      const table = Array.from({ length: highest }, () => new Float64Array(highest));
      for (let place = 0; place < nTerms; place += 1) {
        let value = coefficient(place, output);
        let r = 0;
        let s = 0;
        for (const j of term(place)) {
          if (j === a) r += 1;
          else if (j === b) s += 1;
          else value *= z[j];
        }
        table[r][s] += value;
      }
      return (xa, xb) => {
        const za = coordinate(xa, a);
        const zb = b < 0 ? 0 : coordinate(xb, b);
        let total = 0;
        for (let r = highest - 1; r >= 0; r -= 1) {
          let inner = 0;
          for (let s = highest - 1; s >= 0; s -= 1) inner = inner * zb + table[r][s];
          total = total * za + inner;
        }
        return total;
      };
    }

    return { nTerms, orders, highest: sizes.length - 1, term, factors, name, termValues, predict, coefficient, restricted };
  }

  const pieces = (source.pieces || [source]).map(piece);

  // The number of the region that a row is in.
  function regionOf(x) {
    let node = source.tree || 0;
    while (typeof node === "object") {
      const { features, numbers, reached, left, right } = node;
      node = features.some((j, i) => x[j] >= numbers[i]) === reached ? left : right;
    }
    return node;
  }

  // As links.py: sigmoid(-x) instead of 1 - p, and the largest taken off before exp.
  const sigmoid = (x) => {
    const small = Math.exp(-Math.abs(x));
    return (x >= 0 ? 1 : small) / (1 + small);
  };

  function probabilities(raw) {
    if (source.link !== "sigmoid" && source.link !== "softmax") return null;
    const names = source.classes;
    if (source.link === "softmax") {
      const top = Math.max(...raw);
      const weights = Array.from(raw, (value) => Math.exp(value - top));
      const total = weights.reduce((a, b) => a + b, 0);
      return weights.map((w, k) => ({ name: names ? names[k] : String(k), share: w / total }));
    }
    if (raw.length === 1) {
      const inner = source.calibration ? source.calibration[0] * sigmoid(raw[0]) + source.calibration[1] : -raw[0];
      const both = [sigmoid(inner), sigmoid(-inner)];
      return both.map((share, k) => ({ name: names ? names[k] : String(k), share }));
    }
    return Array.from(raw, (value, k) => ({ name: source.outputs[k], share: sigmoid(value) }));
  }

  const several = source.link === "sigmoid" && nOutputs > 1;

  // Without a threshold a tie is no label; at a threshold it is.
  const reached = (value) => (source.cut === null ? value > 0 : value >= source.cut);

  function label(raw) {
    const shares = probabilities(raw);
    if (!shares) return null;
    if (several) return shares.filter((_, k) => reached(raw[k])).map((s) => s.name).join(", ") || "none";
    if (raw.length === 1) return shares[reached(raw[0]) ? 1 : 0].name;
    if (source.cut !== null) return shares[reached(raw[1] - raw[0]) ? 1 : 0].name;
    return shares[raw.indexOf(Math.max(...raw))].name;
  }

  // As target_links.py: what undoes the link of a regression.
  const undo = {
    log: Math.exp, log1p: Math.expm1, sqrt: (z) => z * z, inverse: (z) => 1 / z, exp: Math.log,
  }[source.link] || null;

  // Raw outputs on the scale that is shown: probabilities (of two classes that of the second), or
  // the target.
  function scaled(raw) {
    const shares = probabilities(raw);
    if (shares) return (raw.length === 1 ? shares.slice(1) : shares).map((s) => s.share);
    return undo ? Array.from(raw, undo) : Array.from(raw);
  }
  const isProbability = source.link === "sigmoid" || source.link === "softmax";
  // Whether one output is enough to put it on that scale.
  const alone = source.link !== "softmax";

  const shared = {
    undo, scaled, isProbability, alone, shown: source.shown, prefix: source.prefix, features: source.features, entries: source.entries, outputs: source.outputs, center, scale, nOutputs, nFeatures,
    probabilities, label, threshold: source.threshold, pieces, regionOf, heldAt, rules: source.rules || null,
  };
  // What asks for terms without a region asks about the only polynomial.
  return source.pieces ? { ...shared, predict: (x) => pieces[regionOf(x)].predict(x) } : { ...pieces[0], ...shared };
})();
