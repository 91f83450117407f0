/**
 * The interactive graph: what a hand, a wheel or a keyboard does to it, and how it is drawn.
 *
 * The first half is geometry without a document. A view is where the graph stands in the window:
 * a point (x, y) of the graph is seen at (view.x + view.scale · x, view.y + view.scale · y).
 *
 * @typedef {{x: number, y: number, scale: number}} View
 * @typedef {{id: string, x: number, y: number, width: number, height: number}} Box by its centre
 */
"use strict";

(() => {
  const MARGIN = 16;
  const [LEAST_SCALE, FIT_SCALE, MOST_SCALE] = [0.02, 1.5, 8];
  // Below this scale numbers are too small to read: names and strips take their room.
  const FAR_SCALE = 0.55;
  // On paper smaller letters can be read.
  const PAPER_SCALE = 0.4;
  const MOST_ROWS = 5;
  // Parts of a mixture around which its curve is drawn in more detail.
  const MOST_PARTS = 12;
  const [HEADER, BELOW] = [24, 6];
  // A change that tints a node as much as any can.
  const MOST_CHANGE = 0.5;
  // Room for >99.9 % in letters of 10 pixels.
  const NUMBER_ROOM = 42;
  const [PAPER_WIDTH, LEAST_PAPER, MOST_PAPER] = [720, 420, 900];

  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  // ------------------------------------------------------------------ geometry

  /** Return the view that shows all of a graph in a window, enlarged by half at most. */
  function fitView(graph, width, height) {
    const room = Math.min(
      (width - 2 * MARGIN) / Math.max(graph.width, 1),
      (height - 2 * MARGIN) / Math.max(graph.height, 1),
    );
    const scale = clamp(room, LEAST_SCALE, FIT_SCALE);
    return {
      x: (width - scale * graph.width) / 2,
      y: (height - scale * graph.height) / 2,
      scale,
    };
  }

  /** Return the view after a zoom in which the point (x, y) of the window stays where it is. */
  function zoomAt(view, factor, x, y) {
    const scale = clamp(view.scale * factor, LEAST_SCALE, MOST_SCALE);
    const ratio = scale / view.scale;
    return { x: x - ratio * (x - view.x), y: y - ratio * (y - view.y), scale };
  }

  function panBy(view, dx, dy) {
    return { ...view, x: view.x + dx, y: view.y + dy };
  }

  /** Return the nearest view in which a box can be seen, the same one if it can be already. */
  function reveal(view, box, width, height) {
    const shift = (centre, size, offset, room) => {
      const low = offset + view.scale * (centre - size / 2) - MARGIN;
      const high = offset + view.scale * (centre + size / 2) + MARGIN;
      if (high - low > room) return room / 2 - (offset + view.scale * centre);
      return low < 0 ? -low : Math.min(room - high, 0);
    };
    return panBy(
      view,
      shift(box.x, box.width, view.x, width),
      shift(box.y, box.height, view.y, height),
    );
  }

  /**
   * Return the node that a key leads to: along its row with left and right; up and down along an
   * edge if one goes there, else to the nearest row; the same node where there is none.
   */
  function nextNode(graph, id, key) {
    const here = graph.nodes.find((node) => node.id === id);
    const nearest = (nodes, distance) => {
      const sorted = nodes
        .map((node) => [distance(node), node.id])
        .sort(([a, x], [b, y]) => a - b || gml.compareNames(x, y));
      return sorted.length ? sorted[0][1] : id;
    };
    if (key === "Home") return nearest(graph.nodes, (node) => 1e6 * node.y + node.x);
    if (key === "End") return nearest(graph.nodes, (node) => -(1e6 * node.y + node.x));
    const level = (node) => 2 * Math.abs(node.y - here.y) < node.height + here.height;
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const side = key === "ArrowLeft" ? -1 : 1;
      const row = graph.nodes.filter((node) => level(node) && side * (node.x - here.x) > 0);
      return nearest(row, (node) => Math.abs(node.x - here.x));
    }
    const side = key === "ArrowUp" ? -1 : 1;
    const beyond = graph.nodes.filter((node) => !level(node) && side * (node.y - here.y) > 0);
    const joined = new Set();
    for (const { source, target } of graph.edges) {
      if (source === id) joined.add(target);
      if (target === id) joined.add(source);
    }
    const along = beyond.filter((node) => joined.has(node.id));
    const far = (node) => Math.hypot(node.x - here.x, 4 * (node.y - here.y));
    return nearest(along.length ? along : beyond, far);
  }

  /**
   * Return the rows of bars in a node: one per level, or the most probable ones and the rest.
   * @param {string[]} levels
   * @param {number[]} shares
   */
  function barRows(levels, shares) {
    const all = levels.map((level, place) => ({ level, places: [place] }));
    const total = (places) => places.reduce((sum, place) => sum + shares[place], 0);
    let rows = all;
    if (levels.length > MOST_ROWS) {
      const ranked = [...all.keys()].sort((a, b) => shares[b] - shares[a] || a - b);
      const kept = ranked.slice(0, MOST_ROWS - 1).sort((a, b) => a - b);
      const rest = ranked.slice(MOST_ROWS - 1);
      rows = [...kept.map((place) => all[place]), { level: `${rest.length} more`, places: rest }];
    }
    return rows.map((row) => ({ ...row, share: total(row.places) }));
  }

  /** Return the numbers from which and to which bells are drawn: all that any of them reaches. */
  function bellRange(known) {
    const low = Math.min(...known.map(({ mean, sd }) => mean - 3.5 * sd));
    const high = Math.max(...known.map(({ mean, sd }) => mean + 3.5 * sd));
    const room = high > low ? 0.02 * (high - low) : Math.max(1, Math.abs(low) / 2);
    return [low - room, high + room];
  }

  /** Return where to look at the density of a mixture: evenly, and around each of its parts. */
  function densityPlaces(parts, [low, high]) {
    const places = Array.from({ length: 121 }, (_, k) => low + ((high - low) * k) / 120);
    const heavy = [...parts].sort((a, b) => b.weight - a.weight).slice(0, MOST_PARTS);
    for (const { mean, sd } of heavy) {
      for (let z = -3; z <= 3; z += 0.5) places.push(mean + z * sd);
    }
    return places.filter((x) => x >= low && x <= high).sort((a, b) => a - b);
  }

  /** Return the density of a mixture over a range, as a path in a box; points are spikes. */
  function densityPath({ parts, sd }, prior, range, left, top, width, height) {
    const [low, high] = range;
    const at = (x, y) => `${(left + width * ((x - low) / (high - low))).toFixed(1)},${y.toFixed(1)}`;
    const bottom = top + height;
    const spread = parts.filter((part) => part.sd > 0);
    const places = densityPlaces(spread, range);
    // In units of the highest point of a bell with the deviation of the prior, as for single bells.
    const heights = places.map((x) =>
      spread.reduce((sum, part) => {
        const z = (x - part.mean) / part.sd;
        return sum + part.weight * ((prior.sd || sd) / part.sd) * Math.exp((-z * z) / 2);
      }, 0),
    );
    const scale = Math.min(0.7 * height, height / Math.max(...heights, 1e-300));
    const curve = places.map((x, k) => at(x, bottom - scale * heights[k]));
    const spikes = parts
      .filter((part) => !(part.sd > 0))
      .map(({ mean }) => `M${at(mean, bottom)} L${at(mean, top)}`);
    return [...(spread.length ? [`M${curve.join(" L")}`] : []), ...spikes].join(" ");
  }

  /** Return a bell over a range, as a path in a box; a spike if nothing varies. */
  function bellPath(known, prior, range, left, top, width, height) {
    if (known.parts) return densityPath(known, prior, range, left, top, width, height);
    const { mean, sd } = known;
    const [low, high] = range;
    const place = (z) => left + width * ((z - low) / (high - low));
    const bottom = top + height;
    const at = (x, y) => `${x.toFixed(1)},${y.toFixed(1)}`;
    if (!(sd > 0)) return `M${at(place(mean), bottom)} L${at(place(mean), top)}`;
    const steps = Array.from({ length: 41 }, (_, k) => (k - 20) / 20);
    // Areas are alike as far as the box is high enough.
    const peak = Math.min(height, 0.7 * height * ((prior.sd || sd) / sd));
    const curve = steps.map((step) => {
      const z = 3.2 * step;
      return at(place(mean + z * sd), bottom - peak * Math.exp((-z * z) / 2));
    });
    return `M${curve.join(" L")}`;
  }

  /**
   * Return how large names are in a picture seen from afar: as large as fits, but no larger than
   * fits three quarters of them, as larger ones would look like emphasis.
   *
   * @param {number[]} fitting the largest size that fits each name
   */
  function farSizes(fitting) {
    const common = [...fitting].sort((a, b) => a - b)[Math.floor(fitting.length / 4)];
    return fitting.map((size) => Math.min(size, common));
  }

  /**
   * Return the node whose box is nearest to a point of the window, within a reach in pixels: a
   * finger that misses a small node means it all the same.
   */
  function nodeNear(graph, view, x, y, reach) {
    const beyond = (at, centre, size, offset) =>
      Math.max(Math.abs(at - offset - view.scale * centre) - (view.scale * size) / 2, 0);
    const found = graph.nodes
      .map((box) => {
        const dx = beyond(x, box.x, box.width, view.x);
        const dy = beyond(y, box.y, box.height, view.y);
        return [Math.hypot(dx, dy), box.id];
      })
      .filter(([distance]) => distance <= reach)
      .sort(([a, one], [b, other]) => a - b || gml.compareNames(one, other));
    return found.length ? found[0][1] : null;
  }

  /** Return the size of a frame on paper that a graph fills as well as it can. */
  function paperSize(graph) {
    const height = (PAPER_WIDTH * graph.height) / Math.max(graph.width, 1);
    return [PAPER_WIDTH, Math.round(clamp(height, LEAST_PAPER, MOST_PAPER))];
  }

  /** Return how the width of a node is shared among labels of its levels, bars and numbers. */
  function rowRooms(width, widestLabel) {
    const room = clamp(widestLabel + 5, 12, 0.5 * (width - NUMBER_ROOM));
    return { room, bar: width - room - NUMBER_ROOM };
  }

  /**
   * Return a node in words: what is to be seen of it, then what it was before anything was known.
   * @param {?object} prior null if nothing is known
   */
  function nodeLabel(node, posterior, prior, known) {
    const name = gml.shown(node.id);
    const mark = known ? [known.kind === "set" ? "do" : "seen"] : [];
    const said = (distribution) => {
      if (!node.levels) {
        if (!distribution) return ["–"];
        return [gml.spread(distribution)];
      }
      const shares = distribution?.shares ?? node.levels.map(() => 0);
      return barRows(node.levels, shares).map(({ level, share }) => {
        return `${gml.shown(level)} ${distribution ? gml.percent(share) : "–"}`;
      });
    };
    const now = `${name}: ${[...said(posterior), ...mark].join(", ")}`;
    return prior ? `${now}; was ${said(prior).join(", ")}` : now;
  }

  // ------------------------------------------------------------------ nodes

  /** The drawing of one node: its name, its distribution, and a badge if it is known. */
  class NodeView {
    constructor(box, node, prior, far) {
      Object.assign(this, { box, node, prior });
      const [left, top] = [box.x - box.width / 2, box.y - box.height / 2];
      const size = { x: left, y: top, width: box.width, height: box.height, rx: 6 };
      this.title = gml.svg("title", {}, gml.shown(box.id));
      this.inside = gml.svg("g", { class: "distribution" });
      this.badge = gml.svg("g", { class: "badge" });
      const name = { class: "name", x: box.x, y: top + 16 };
      const low = { top: box.y + 0.14 * box.height, height: 0.31 * box.height };
      this.strip = new gml.Strip(node, prior, { left: left + 8, width: box.width - 16, ...low });
      const farName = { class: "far-name", x: box.x, y: box.y + 0.35 * far, "font-size": far };
      // The label of the group says all this in words; spaces keep them apart where it is read.
      const drawn = gml.svg(
        "g",
        { "aria-hidden": "true" },
        gml.svg("rect", { class: "focus-ring", ...grown(size, 4) }),
        gml.svg("rect", { class: "box", ...size }),
        gml.svg("text", name, gml.fitted(box.id, box.width - 8, 13)),
        " ",
        gml.svg("text", farName, gml.shown(box.id)),
        this.strip.group,
        this.inside,
        this.badge,
      );
      const attributes = { class: "node", role: "button", tabindex: -1, "data-node": box.id };
      this.group = gml.svg("g", attributes, this.title, drawn);
      // From afar the name stands above the strip.
      this.group.style.setProperty("--lift", `${-0.16 * box.height}px`);
      const inner = { left: left + 8, top: top + HEADER, width: box.width - 16 };
      inner.height = box.height - HEADER - BELOW;
      this.rows = node.levels ? this.makeRows(inner) : this.makeBell(inner);
    }

    makeRows({ left, top, width, height }) {
      const count = Math.min(this.node.levels.length, MOST_ROWS);
      const labels = this.node.levels.map((level) => gml.textWidth(level, 10, 400));
      const { room, bar } = rowRooms(width, Math.max(...labels));
      const step = height / count;
      return Array.from({ length: count }, (_, k) => {
        const [y, x] = [top + k * step, left + room];
        const across = { x, y: y + 2, height: step - 4 };
        const row = {
          room,
          bar,
          label: gml.svg("text", { class: "level", x: left, y: y + step / 2 + 3.5 }),
          share: gml.svg("rect", { class: "bar", ...across, width: 0 }),
          prior: gml.svg("rect", { class: "prior", ...across, width: 1.5 }),
          number: gml.svg("text", { class: "share", x: left + width, y: y + step / 2 + 3.5 }),
          start: x,
        };
        const track = gml.svg("rect", { class: "track", ...across, width: bar });
        this.inside.append(row.label, " ", track, row.share, row.prior, row.number, " ");
        return row;
      });
    }

    makeBell({ left, top, width, height }) {
      const [text, prior, now] = [
        gml.svg("text", { class: "moments", x: left + width / 2, y: top + height }),
        gml.svg("path", { class: "prior-bell" }),
        gml.svg("path", { class: "bell" }),
      ];
      const track = { class: "track", x: left, y: top, width, height: height - 12 };
      this.inside.append(gml.svg("rect", track), prior, now, text, " ");
      this.bell = { text, prior, now, area: [left, top, width, height - 14] };
      return [];
    }

    /** Show a posterior, or that there is none, and what is known of the node. */
    update(posterior, known, isAnythingKnown) {
      const { group, node } = this;
      const prior = isAnythingKnown ? this.prior : null;
      // What is known has a mark of its own.
      const change = posterior && prior && !known ? gml.changeSize(posterior, prior, prior.sd) : 0;
      group.style.setProperty("--change", clamp(change / MOST_CHANGE, 0, 1).toFixed(3));
      this.strip.update(posterior);
      group.classList.toggle("observed", known?.kind === "observed");
      group.classList.toggle("set", known?.kind === "set");
      group.classList.toggle("unanswered", !posterior);
      const badge = { observed: "seen", set: "do" }[known?.kind];
      this.showBadge(badge);
      if (node.levels) this.updateRows(posterior?.shares);
      else this.updateBell(posterior);
      // Those who see the node and those who hear of it have the same words for it.
      group.setAttribute("aria-label", nodeLabel(node, posterior, prior, known));
      this.title.textContent = gml.describe(node, posterior, known);
    }

    updateRows(shares) {
      const zeros = this.node.levels.map(() => 0);
      const prior = this.prior?.shares ?? null;
      barRows(this.node.levels, shares ?? zeros).forEach(({ level, places, share }, k) => {
        const row = this.rows[k];
        row.label.textContent = gml.fitted(level, row.room - 1, 10, 400);
        row.share.setAttribute("width", row.bar * share);
        const before = places.reduce((sum, place) => sum + (prior?.[place] ?? 0), 0);
        row.prior.setAttribute("x", row.start + row.bar * before - 0.75);
        row.prior.setAttribute("visibility", prior ? "visible" : "hidden");
        row.number.textContent = shares ? gml.percent(share) : "–";
      });
    }

    updateBell(posterior) {
      const { text, prior, now, area } = this.bell;
      text.textContent = posterior ? gml.spread(posterior) : "–";
      const range = bellRange([this.prior, posterior].filter(Boolean));
      const path = (known) =>
        known && this.prior ? bellPath(known, this.prior, range, ...area) : "";
      now.setAttribute("d", path(posterior));
      prior.setAttribute("d", path(this.prior));
    }

    showBadge(text) {
      const right = this.box.x + this.box.width / 2;
      const top = this.box.y - this.box.height / 2;
      this.badge.replaceChildren();
      if (!text) return;
      const wide = text === "do" ? 24 : 36;
      this.badge.append(
        gml.svg("rect", { x: right - wide + 6, y: top - 9, width: wide, height: 17, rx: 8 }),
        gml.svg("text", { x: right - wide / 2 + 6, y: top + 3.5 }, text),
      );
    }
  }

  /** Return the largest size of letters in which the name of a node fits into its box. */
  function fittingSize({ id, width, height }) {
    return Math.min(0.5 * height, (10 * (width - 8)) / gml.textWidth(id, 10));
  }

  function grown({ x, y, width, height, rx }, by) {
    const sides = { width: width + 2 * by, height: height + 2 * by };
    return { x: x - by, y: y - by, ...sides, rx: rx + by };
  }

  // ------------------------------------------------------------------ the whole

  /**
   * The drawing of the graph, and what moves it.
   *
   * `on` has what to call: choose(id), show(id or null), showEdge(edge), leave().
   */
  class GraphView {
    constructor(root, { graph, model }, prior, on) {
      Object.assign(this, { graph, on, view: { x: 0, y: 0, scale: 1 }, before: null });
      this.boxes = new Map(graph.nodes.map((box) => [box.id, box]));
      this.edges = gml.drawEdges(graph.edges);
      this.nodes = new Map();
      const nodes = model.nodes.filter(({ id }) => this.boxes.has(id));
      const sizes = farSizes(nodes.map(({ id }) => fittingSize(this.boxes.get(id))));
      nodes.forEach((node, k) => {
        const view = new NodeView(this.boxes.get(node.id), node, prior.get(node.id), sizes[k]);
        this.nodes.set(node.id, view);
      });
      this.viewport = gml.svg(
        "g",
        {},
        gml.svg("g", { class: "edges" }, ...this.edges.map(({ group }) => group)),
        ...[...this.nodes.values()].map(({ group }) => group),
      );
      const keys = "Arrow keys move the picture, plus and minus zoom, 0 shows all of it.";
      this.svg = gml.svg(
        "svg",
        { class: "canvas", tabindex: 0, role: "group", "aria-label": `Graph. ${keys}` },
        this.viewport,
      );
      root.append(this.svg);
      this.choose(null);
      this.rove(nextNode(graph, graph.nodes[0]?.id, "Home"));
      gml.followHands(this);
      this.fit();
    }

    get size() {
      const { width, height } = this.svg.getBoundingClientRect();
      return [width || 800, height || 500];
    }

    move(view) {
      this.view = view;
      const { x, y, scale } = view;
      this.viewport.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
      this.svg.classList.toggle("far", scale < (this.before ? PAPER_SCALE : FAR_SCALE));
      // So that styles can keep lines and badges large enough for the screen.
      this.svg.style.setProperty("--pixel", `${1 / scale}px`);
      this.svg.style.setProperty("--badge", clamp(0.75 / scale, 1, 3));
    }

    fit() {
      if (this.before) return;
      this.fitted = true;
      this.move(fitView(this.graph, ...this.size));
    }

    /** Show all of the graph in a frame that is scaled to whatever paper there is. */
    enterPaper() {
      this.before ??= { view: this.view, fitted: this.fitted };
      const [width, height] = paperSize(this.graph);
      this.move(fitView(this.graph, width, height));
      this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      this.svg.style.setProperty("--paper", `${width} / ${height}`);
    }

    /** Show again what was seen before the paper. */
    leavePaper() {
      const { view, fitted } = this.before ?? this;
      this.before = null;
      this.svg.removeAttribute("viewBox");
      this.fitted = fitted;
      if (fitted) this.fit();
      else this.move(view);
    }

    /** Zoom around the chosen node if it is in sight, else around the middle. */
    zoom(factor) {
      const [width, height] = this.size;
      const { x, y, scale } = this.view;
      const box = this.boxes.get(this.chosen);
      const place = box ? [x + scale * box.x, y + scale * box.y] : [-1, -1];
      const inSight = place[0] >= 0 && place[0] <= width && place[1] >= 0 && place[1] <= height;
      this.fitted = false;
      this.move(zoomAt(this.view, factor, ...(inSight ? place : [width / 2, height / 2])));
    }

    /** Go so near to a node that its bars can be read. */
    approach(id) {
      const [width, height] = this.size;
      const { x, y } = this.boxes.get(id);
      if (this.view.scale >= FAR_SCALE) return;
      this.fitted = false;
      this.move({ x: width / 2 - x, y: height / 2 - y, scale: 1 });
    }

    /** Make a node the one that Tab leads to. */
    rove(id) {
      this.nodes.get(this.current)?.group.setAttribute("tabindex", -1);
      this.current = id;
      this.nodes.get(id)?.group.setAttribute("tabindex", 0);
    }

    focus(id) {
      this.rove(id);
      this.move(reveal(this.view, this.boxes.get(id), ...this.size));
      this.nodes.get(id).group.focus({ preventScroll: true });
    }

    /** Mark the chosen node; bring it into sight. */
    choose(id) {
      this.chosen = id;
      for (const [name, { group }] of this.nodes) {
        group.classList.toggle("chosen", name === id);
        group.setAttribute("aria-pressed", name === id);
      }
      this.edges.forEach(({ group }, k) => {
        const { source, target } = this.graph.edges[k];
        group.classList.toggle("touching", id !== null && (source === id || target === id));
      });
      if (id === null) return;
      this.rove(id);
      this.move(reveal(this.view, this.boxes.get(id), ...this.size));
    }

    highlight(ids) {
      const found = new Set(ids);
      this.svg.classList.toggle("searching", found.size > 0);
      for (const [id, { group }] of this.nodes) group.classList.toggle("match", found.has(id));
    }

    update(answer, evidence) {
      for (const [id, view] of this.nodes) {
        view.update(answer.posteriors.get(id), evidence.get(id), evidence.size > 0);
      }
      this.edges.forEach(({ group }, k) => {
        group.classList.toggle("cut", gml.isCut(this.graph.edges[k], evidence));
      });
    }
  }

  Object.assign(gml, {
    fitView,
    zoomAt,
    panBy,
    reveal,
    nextNode,
    barRows,
    bellRange,
    bellPath,
    farSizes,
    GraphView,
  });
  Object.assign(gml, { nodeNear, paperSize, rowRooms, nodeLabel });
})();

if (typeof module !== "undefined") module.exports = gml;
