/**
 * The page at work: what is known, the answer to it, and everything that shows the answer.
 */
"use strict";

(() => {
  /** Return the nodes whose name has the text in it, those that begin with it first. */
  function matches(names, text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return [];
    const found = names.filter((name) => name.toLowerCase().includes(wanted));
    const begins = (name) => (name.toLowerCase().startsWith(wanted) ? 0 : 1);
    return found.sort((a, b) => begins(a) - begins(b) || gml.compareNames(a, b));
  }

  /**
   * Return the evidence after one more piece of it; with the value null, after one less.
   *
   * @param {Evidence} evidence stays as it is
   * @param {boolean} single whether a new piece takes the place of all others
   */
  function withEvidence(evidence, single, kind, id, value) {
    const next = new Map(single && value !== null ? [] : evidence);
    next.delete(id);
    if (value !== null) next.set(id, { kind, value });
    return next;
  }

  /** Say in a sentence what is known and how probable it is. */
  function statusText(answer, evidence, isDensity, kinds = ["observed", "set"]) {
    if (!evidence.size) return gml.nothingKnown(kinds);
    const said = [...evidence].map(([id, known]) => {
      const value = `${gml.shown(id)} = ${gml.valueText(known)}`;
      return known.kind === "set" ? `do(${value})` : value;
    });
    const list = said.length > 6 ? [...said.slice(0, 6), `${said.length - 6} more`] : said;
    if (answer.why) return `${list.join(", ")}: ${answer.why} Take something back to go on.`;
    const probability = gml.evidenceText(answer, evidence, isDensity);
    return `Known: ${list.join(", ")}.${probability ? ` ${probability}.` : ""}`;
  }

  /** The state of the page. */
  class Report {
    constructor(payload, find) {
      const { model, graph } = payload;
      this.nodes = new Map(model.nodes.map((node) => [node.id, node]));
      this.engine = gml.makeEngine(payload);
      this.evidence = new Map();
      this.answer = this.engine.ask(this.evidence);
      this.prior = this.answer.posteriors;
      this.chosen = null;
      this.status = find("status");
      const act = (kind, id, value) => this.learn(kind, id, value);
      const close = () => this.closePanel();
      this.nodePanel = new gml.NodePanel(find("node-panel"), payload, this.engine, act, close);
      const clear = () => this.clear();
      const evidencePanel = find("evidence-panel");
      this.evidencePanel = new gml.EvidencePanel(evidencePanel, payload, this.engine, act, clear);
      this.posteriorPanel = new gml.PosteriorPanel(find("posterior-panel"), payload, this.prior);
      this.graphView = this.drawGraph(find("graph-view"), payload);
      // The page of a model without arrows has no interventions.
      const root = find("interventions-view");
      if (root) {
        this.interventions = new gml.InterventionsView(root, payload, this.engine, this.prior);
      }
      if (payload.strengths && find("strengths-view")) {
        new gml.StrengthsView(find("strengths-view"), payload, this.graphView.edges);
      }
      this.legend.textContent = gml.widthLegend(graph.edges);
      this.nodePanel.invite();
      this.update();
    }

    drawGraph(root, payload) {
      const search = gml.html("input", {
        id: "graph-search",
        type: "search",
        autocomplete: "off",
        spellcheck: "false",
      });
      const zoom = (text, name, act) => gml.button(text, { "aria-label": name, title: name }, act);
      this.legend = gml.html("p", { class: "legend" });
      const bar = gml.html(
        "div",
        { class: "controls toolbar" },
        gml.html("label", { for: "graph-search" }, "Find a node"),
        search,
        zoom("+", "Zoom in", () => this.graphView.zoom(1.4)),
        zoom("−", "Zoom out", () => this.graphView.zoom(1 / 1.4)),
        zoom("Fit", "Fit the whole graph", () => this.graphView.fit()),
      );
      root.replaceChildren(bar);
      const view = new gml.GraphView(root, payload, this.prior, {
        choose: (id) => this.choose(id),
        show: (id) => this.nodePanel.isBusy() || this.show(id),
        showEdge: (edge) => this.nodePanel.isBusy() || this.nodePanel.showEdge(edge),
        leave: () => this.leave(search),
      });
      const help =
        "Drag to move; zoom with Ctrl or ⌘ and the wheel, or with the wheel alone after a click on " +
        "the graph; by touch, with two fingers. Point at a node or an edge to read about it, click a " +
        "node to choose it. By keyboard: Tab, arrow keys, Enter, Escape, + and −. Once something is " +
        "known, a tint shows how much a node changed, and a mark or a thin strip what it was" +
        (this.engine.kinds.includes("set")
          ? "; dotted arrows lead into nodes that are set, which their parents tell nothing."
          : ".");
      const hint = "Hold Ctrl or ⌘ to zoom with the wheel, or click the graph first.";
      root.append(gml.html("p", { class: "wheel-hint", "aria-hidden": "true" }, hint));
      root.append(this.legend, gml.html("p", { class: "note help" }, help));
      this.followSearch(search, [...this.nodes.keys()]);
      return view;
    }

    /** Mark what matches while a name is typed; Enter goes from one match to the next. */
    followSearch(search, names) {
      let next = 0;
      search.addEventListener("input", () => {
        next = 0;
        const found = matches(names, search.value);
        this.graphView.highlight(found);
        const count = `${found.length} of ${names.length} names match.`;
        this.status.textContent = search.value.trim() ? count : "";
      });
      search.addEventListener("keydown", (event) => {
        if (event.key === "Escape") this.leave(search);
        const found = event.key === "Enter" ? matches(names, search.value) : [];
        if (!found.length) return;
        event.preventDefault();
        this.graphView.approach(found[next % found.length]);
        this.choose(found[next % found.length]);
        next++;
      });
      search.addEventListener("blur", () => this.graphView.highlight([]));
    }

    /** Show a node in the panel for as long as a pointer or the focus is on it. */
    show(id) {
      const shown = id ?? this.chosen ?? this.shown;
      const node = this.nodes.get(shown);
      if (!node) return;
      this.shown = shown;
      const [prior, posterior] = [this.prior.get(shown), this.answer.posteriors.get(shown)];
      this.nodePanel.show(node, prior, posterior, this.evidence.get(shown));
    }

    choose(id) {
      this.chosen = id;
      this.graphView.choose(id);
      this.show(id);
      this.openPanel(id);
      this.interventions?.choose(id);
      const node = this.nodes.get(id);
      const known = this.evidence.get(id);
      const said = gml.describe(node, this.answer.posteriors.get(id), known);
      this.status.textContent = `Chosen: ${said}.`;
    }

    /** Show the panel; on a narrow screen it covers the foot of it, and the node goes above. */
    openPanel(id) {
      this.nodePanel.open(true);
      const { root } = this.nodePanel;
      if (getComputedStyle(root).position !== "fixed") return;
      const node = this.graphView.nodes.get(id)?.group.getBoundingClientRect();
      const hidden = node ? node.bottom + 8 - root.getBoundingClientRect().top : 0;
      if (hidden > 0) scrollBy({ top: hidden });
    }

    closePanel() {
      this.nodePanel.open(false);
      this.graphView.nodes.get(this.chosen)?.group.focus({ preventScroll: true });
    }

    /** Undo the search and the choice; what is known stays. */
    leave(search) {
      search.value = "";
      this.chosen = null;
      this.shown = null;
      this.graphView.highlight([]);
      this.graphView.choose(null);
      this.nodePanel.invite();
      this.nodePanel.open(false);
      this.status.textContent = "Nothing is chosen.";
    }

    /** Observe or set a node; with the value null, forget what is known of it. */
    learn(kind, id, value) {
      const node = this.nodes.get(id);
      if (!node) throw new RangeError(`no node ${id}`);
      const fits = node.levels ? node.levels.includes(value) : Number.isFinite(value);
      if (value !== null && !fits) throw new RangeError(`${value} is no value of ${id}`);
      if (!this.engine.kinds.includes(kind)) throw new RangeError("the page has no such answers");
      this.evidence = withEvidence(this.evidence, this.engine.single, kind, id, value);
      this.update();
    }

    clear() {
      this.evidence = new Map();
      this.update();
    }

    changes() {
      const choose = (id) => this.choose(id);
      return gml.changeList(this.nodes, this.prior, this.answer, this.evidence, choose);
    }

    /** Whether the evidence has a density, as observed numbers have, and no probability. */
    get isDensity() {
      const known = [...this.evidence];
      return known.some(([id, { kind }]) => kind === "observed" && !this.nodes.get(id).levels);
    }

    statusText() {
      return statusText(this.answer, this.evidence, this.isDensity, this.engine.kinds);
    }

    update() {
      this.answer = this.engine.ask(this.evidence);
      this.graphView.update(this.answer, this.evidence);
      this.evidencePanel.update(this.answer, this.evidence, this.isDensity, this.changes());
      this.posteriorPanel.update(this.answer, this.evidence);
      if (this.shown) this.show(this.shown);
      document.documentElement.classList.toggle("has-evidence", this.evidence.size > 0);
      this.status.textContent = this.statusText();
    }
  }

  function start() {
    const find = (id) => document.getElementById(id);
    const report = new Report(JSON.parse(find("gml-data").textContent), find);
    gml.unfoldOnPaper();
    window.gmlReport = {
      observe: (id, value) => report.learn("observed", id, value),
      intervene: (id, value) => report.learn("set", id, value),
      clear: () => report.clear(),
    };
  }

  Object.assign(gml, { matches, withEvidence, statusText });
  if (typeof document !== "undefined") start();
})();

if (typeof module !== "undefined") module.exports = gml;
