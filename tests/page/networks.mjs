// Random networks from a fixed seed, and their posteriors by the definition: all cells, one by one.

/** Return a source of numbers in [0, 1): mulberry32, a 32-bit generator. */
export function randomSource(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Return the nodes of a network of labels, with zeros and rows without a doubt among its tables. */
export function randomTables(random, count) {
  const names = Array.from({ length: count }, (_, k) => `v${k}`);
  const levels = names.map(() => ["a", "b", "c"].slice(0, 1 + Math.ceil(random() * 2)));
  const nodes = names.map((id, k) => {
    const parents = names
      .slice(0, k)
      .filter(() => random() < 1.6 / count)
      .slice(0, 4);
    const rows = parents.reduce((n, name) => n * levels[names.indexOf(name)].length, 1);
    const row = () => {
      const weights = levels[k].map(() => (random() < 0.25 ? 0 : random()));
      if (random() < 0.15) weights.fill(0);
      const sum = weights.reduce((a, b) => a + b, 0);
      if (sum > 0) return weights.map((weight) => weight / sum);
      const certain = Math.floor(random() * weights.length);
      return weights.map((_, level) => (level === certain ? 1 : 0));
    };
    return { id, levels: levels[k], parents, cpt: Array.from({ length: rows }, row) };
  });
  return shuffled(random, nodes);
}

/** Return the nodes and factors of an undirected model, with zeros among its tables. */
export function randomFactors(random, count) {
  const names = Array.from({ length: count }, (_, k) => `v${k}`);
  const levels = names.map(() => ["a", "b", "c"].slice(0, 1 + Math.ceil(random() * 2)));
  const nodes = names.map((id, k) => ({ id, levels: levels[k], parents: [] }));
  const factors = names.flatMap((id, k) => {
    const others = names.slice(0, k).filter(() => random() < 1.6 / count);
    const scope = [...others.slice(0, 3), id];
    const cells = scope.reduce((n, name) => n * levels[names.indexOf(name)].length, 1);
    const table = Array.from({ length: cells }, () => (random() < 0.1 ? 0 : 5 * random()));
    // A node may have no factor of its own.
    return scope.length > 1 || random() < 0.6 ? [{ scope, table }] : [];
  });
  return { nodes: shuffled(random, nodes), factors };
}

export function shuffled(random, items) {
  return items
    .map((item) => [random(), item])
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);
}

/** Return evidence on some of the nodes: observed or set, by the toss of a coin. */
export function randomEvidence(random, nodes, value) {
  const chosen = shuffled(random, nodes).slice(0, Math.floor(random() * 4));
  return new Map(
    chosen.map((node) => [
      node.id,
      { kind: random() < 0.4 ? "set" : "observed", value: value(node) },
    ]),
  );
}

/** Return P(evidence | what is set) and the posteriors, by adding up the joint distribution. */
export function enumerate(nodes, evidence) {
  const place = new Map(nodes.map(({ id }, k) => [id, k]));
  const sums = nodes.map(({ levels }) => levels.map(() => 0));
  const cell = nodes.map(() => 0);
  let total = 0;
  const cells = nodes.reduce((n, { levels }) => n * levels.length, 1);
  for (let number = 0; number < cells; number++) {
    let rest = number;
    nodes.forEach(({ levels }, k) => {
      cell[k] = rest % levels.length;
      rest = Math.floor(rest / levels.length);
    });
    let probability = 1;
    nodes.forEach(({ id, levels, parents, cpt }, k) => {
      const known = evidence.get(id);
      if (known && levels[cell[k]] !== known.value) probability = 0;
      if (known?.kind === "set") return;
      const row = parents.reduce((index, parent) => {
        const p = place.get(parent);
        return index * nodes[p].levels.length + cell[p];
      }, 0);
      probability *= cpt[row][cell[k]];
    });
    total += probability;
    cell.forEach((level, k) => (sums[k][level] += probability));
  }
  const shares = new Map(nodes.map(({ id }, k) => [id, sums[k].map((sum) => sum / total)]));
  return { total, shares };
}

/** Return P(evidence) and the posteriors of an undirected model, by adding up its joint table. */
export function enumerateFactors(nodes, factors, evidence) {
  const levelsOf = new Map(nodes.map(({ id, levels }) => [id, levels]));
  const sums = (known) => {
    const shares = new Map(nodes.map(({ id, levels }) => [id, levels.map(() => 0)]));
    const cells = nodes.reduce((n, { levels }) => n * levels.length, 1);
    let total = 0;
    for (let number = 0; number < cells; number++) {
      const cell = new Map();
      let rest = number;
      for (const { id, levels } of nodes) {
        cell.set(id, rest % levels.length);
        rest = Math.floor(rest / levels.length);
      }
      const agrees = [...known].every(([id, { value }]) => {
        return levelsOf.get(id)[cell.get(id)] === value;
      });
      const weight = factors.reduce((product, { scope, table }) => {
        const place = scope.reduce((at, id) => at * levelsOf.get(id).length + cell.get(id), 0);
        return product * table[place];
      }, Number(agrees));
      total += weight;
      for (const [id, level] of cell) shares.get(id)[level] += weight;
    }
    return { total, shares };
  };
  const all = sums(new Map()).total;
  const { total, shares } = sums(evidence);
  for (const [id, found] of shares) shares.set(id, found.map((share) => share / total));
  return { all, total: total / all, shares };
}
