/**
 * The panels beside the graph: the chosen node, what is known, and all posteriors.
 */
"use strict";

(() => {
  const MOST_TABLE_ROWS = 24;
  const MOST_CHANGES = 6;

  /** The table of a node, or the facts about an edge, with buttons that observe and set. */
  class NodePanel {
    /** `act(kind, id, value)` observes or sets; with the value null it forgets. */
    constructor(root, { graph, tests, model }, engine, act, close) {
      Object.assign(this, { root, graph, tests, engine, act, close });
      this.levelsOf = new Map(model.nodes.map(({ id, levels }) => [id, levels]));
    }

    /** Return whether something is being typed into the panel. */
    isBusy() {
      return this.root.contains(document.activeElement) && document.activeElement.matches("input");
    }

    /** On a narrow screen, show the panel above the foot of the page, or no longer. */
    open(isOpen) {
      this.root.classList.toggle("open", isOpen);
    }

    invite() {
      this.root.replaceChildren(
        gml.html(
          "p",
          { class: "note" },
          this.engine.kinds.includes("set")
            ? "Choose a node to see its table, and to observe or set it."
            : "Choose a node to see its distribution, and to observe it.",
        ),
      );
    }

    showEdge(edge) {
      const facts = gml.edgeFacts(edge, this.tests).map((fact) => gml.html("li", {}, fact));
      this.root.replaceChildren(
        gml.html("h3", {}, gml.edgeName(edge)),
        gml.html("ul", {}, ...facts),
      );
    }

    show(node, prior, posterior, known) {
      const focused = this.focusedButton();
      const parts = [
        gml.button("Close", { class: "close" }, this.close),
        gml.html("h3", {}, gml.shown(node.id)),
        gml.html("p", { class: "state" }, gml.describe(node, posterior, known)),
        node.levels
          ? this.levels(node, prior, posterior, known)
          : this.numbers(node, prior, posterior, known),
        this.given(node),
        this.edgesOf(node),
      ];
      this.root.replaceChildren(...parts.filter(Boolean));
      if (focused) this.root.querySelector(focused)?.focus();
    }

    /** Return what finds the button with the focus again, once the panel is made anew. */
    focusedButton() {
      const { activeElement } = document;
      if (!this.root.contains(activeElement) || !activeElement.dataset.node) return null;
      const names = ["node", "observe", "do"].filter((name) => name in activeElement.dataset);
      return names
        .map((name) => `[data-${name}="${CSS.escape(activeElement.dataset[name])}"]`)
        .join("");
    }

    choices(node, value, known, name) {
      const texts = { observed: ["observe", "Observe"], set: ["do", "Set"] };
      return ["observed", "set"].map((kind) => {
        if (!this.engine.kinds.includes(kind)) return gml.html("td");
        const [attribute, text] = texts[kind];
        const pressed = known?.kind === kind && known.value === value;
        const attributes = {
          "data-node": node.id,
          [`data-${attribute}`]: value,
          "aria-pressed": String(pressed),
          "aria-label": `${text} ${name}`,
        };
        const act = () => this.act(kind, node.id, pressed ? null : value);
        return gml.html("td", {}, gml.button(text, attributes, act));
      });
    }

    levels(node, prior, posterior, known) {
      const rows = node.levels.map((level, k) => {
        const [before, now] = [prior?.shares[k], posterior?.shares[k]];
        const attributes = known?.value === level ? { class: known.kind } : {};
        return gml.html(
          "tr",
          attributes,
          gml.heading(level),
          gml.number(before === undefined ? "–" : gml.percent(before)),
          gml.number(now === undefined ? "–" : gml.percent(now)),
          gml.html("td", {}, gml.bar(now ?? 0)),
          ...this.choices(node, level, known, `${gml.shown(node.id)} = ${gml.shown(level)}`),
        );
      });
      const headings = ["level", { number: "prior" }, { number: "now" }, "", "", ""];
      return gml.scrolling("Levels", gml.table("Levels", headings, rows));
    }

    numbers(node, prior, posterior, known) {
      const decimals = gml.decimalsOf([prior, posterior].filter(Boolean));
      const row = (name, key) =>
        gml.html(
          "tr",
          {},
          gml.heading(name),
          gml.number(prior ? gml.decimal(prior[key], decimals) : "–"),
          gml.number(posterior ? gml.decimal(posterior[key], decimals) : "–"),
        );
      const moments = gml.table(
        "Distribution",
        ["", { number: "prior" }, { number: "now" }],
        [row("mean", "mean"), row("standard deviation", "sd")],
      );
      const count = posterior?.parts?.length;
      const said = `A mixture of ${count} normal distributions, by the labels.`;
      const about = count ? [gml.html("p", { class: "note" }, said)] : [];
      const input = gml.html("input", {
        id: "node-value",
        type: "number",
        step: "any",
        value: known?.value ?? "",
        "data-node": node.id,
      });
      const act = (kind) => {
        if (input.value !== "" && Number.isFinite(input.valueAsNumber)) {
          this.act(kind, node.id, input.valueAsNumber);
        }
      };
      input.addEventListener("keydown", (event) => event.key === "Enter" && act("observed"));
      const name = { "data-node": node.id };
      const buttons = [
        gml.button("Observe", { ...name, "data-observe": "" }, () => act("observed")),
        gml.button("Set", { ...name, "data-do": "" }, () => act("set")),
      ].filter((_, k) => this.engine.kinds.includes(["observed", "set"][k]));
      if (known) buttons.push(gml.button("Forget", {}, () => this.act(known.kind, node.id, null)));
      const label = gml.html("label", { for: "node-value" }, "value");
      const controls = gml.html("div", { class: "controls" }, label, input, ...buttons);
      return gml.html("div", {}, moments, ...about, controls);
    }

    /** What a node is like given its parents; nothing where edges have no arrows. */
    given(node) {
      if (node.gaussian) return regression(node);
      if (!node.levels) return this.regressions(node);
      return this.graph.kind === "undirected" ? null : this.cpt(node);
    }

    /** The table of a node: a row per configuration of its parents, the last one fastest. */
    cpt(node, most = MOST_TABLE_ROWS) {
      const caption = `P(${gml.shown(node.id)}${node.parents.length ? " | parents" : ""})`;
      if (node.cpt == null) {
        return gml.html("p", { class: "note" }, `${caption}: the table is too large to show.`);
      }
      const rows = node.cpt.slice(0, most).map((shares, place) => {
        const counts = node.counts?.[place];
        const cells = shares.map((share, k) => {
          const count = counts ? [" ", gml.html("small", {}, gml.brief(counts[k]))] : [];
          return gml.html("td", { class: "number" }, gml.fraction(share), ...count);
        });
        return gml.html("tr", {}, ...this.configuration(node.parents, place), ...cells);
      });
      const about = node.counts ? `${caption}, with counts of rows` : caption;
      const levels = node.levels.map((level) => ({ number: gml.shown(level) }));
      const headings = [...node.parents.map(gml.shown), ...levels];
      const whole = gml.scrolling(caption, gml.table(about, headings, rows));
      if (node.cpt.length <= most) return whole;
      const more = gml.button(`Show all ${node.cpt.length} rows`, {}, () => {
        whole.parentElement.replaceWith(this.cpt(node, Infinity));
      });
      return gml.html("div", {}, whole, more);
    }

    /** The regressions of a number: a row per configuration of the labels among its parents. */
    regressions(node, most = MOST_TABLE_ROWS) {
      const name = `Regressions of ${gml.shown(node.id)}`;
      if (node.regressions == null) {
        return gml.html("p", { class: "note" }, `${name}: there are too many to show.`);
      }
      const labels = node.parents.filter((id) => this.levelsOf.get(id));
      const numbers = node.parents.filter((id) => !this.levelsOf.get(id));
      const counted = node.regressions.some(({ n }) => n != null);
      const rows = node.regressions.slice(0, most).map((line, place) => {
        const decimals = gml.decimalsOf([{ mean: line.intercept, sd: line.sd }]);
        const texts = [
          gml.decimal(line.intercept, decimals),
          ...line.coefficients.map(gml.brief),
          gml.decimal(line.sd, decimals),
          ...(counted ? [line.n == null ? "none" : gml.brief(line.n)] : []),
        ];
        return gml.html("tr", {}, ...this.configuration(labels, place), ...texts.map(gml.number));
      });
      const terms = ["intercept", ...numbers.map(gml.shown), "error, sd", ...(counted ? ["rows"] : [])];
      const headings = [...labels.map(gml.shown), ...terms.map((text) => ({ number: text }))];
      const whole = gml.scrolling(name, gml.table(`${name}, by its labels`, headings, rows));
      if (node.regressions.length <= most) return whole;
      const more = gml.button(`Show all ${node.regressions.length} rows`, {}, () => {
        whole.parentElement.replaceWith(this.regressions(node, Infinity));
      });
      return gml.html("div", {}, whole, more);
    }

    configuration(labels, place) {
      const cells = [];
      for (const parent of [...labels].reverse()) {
        const levels = this.levelsOf.get(parent);
        cells.unshift(gml.heading(levels[place % levels.length]));
        place = Math.floor(place / levels.length);
      }
      return cells;
    }

    edgesOf({ id }) {
      const touching = this.graph.edges.filter(
        ({ source, target }) => source === id || target === id,
      );
      if (!touching.length) return null;
      const items = touching.map((edge) => {
        const facts = gml.edgeFacts(edge, this.tests).join("; ");
        return gml.html(
          "li",
          {},
          gml.edgeName(edge),
          facts ? gml.html("small", {}, `: ${facts}`) : "",
        );
      });
      const count = touching.length === 1 ? "1 edge" : `${touching.length} edges`;
      const list = gml.html("ul", {}, ...items);
      return gml.html("details", {}, gml.html("summary", {}, count), list);
    }
  }

  /** The regression of a node of numbers on its parents. */
  function regression({ id, parents, gaussian }) {
    const { intercept, coefficients, sd } = gaussian;
    const decimals = gml.decimalsOf([{ mean: intercept, sd }]);
    const rows = [["intercept", gml.decimal(intercept, decimals)]];
    parents.forEach((parent, k) => rows.push([parent, gml.brief(coefficients[k])]));
    rows.push(["error, sd", gml.decimal(sd, decimals)]);
    const made = rows.map(([name, text]) => {
      return gml.html("tr", {}, gml.heading(name), gml.number(text));
    });
    return gml.table(`Regression of ${gml.shown(id)}`, ["term", { number: "coefficient" }], made);
  }

  // ------------------------------------------------------------------ what is known

  /** Say that there is no evidence of the kinds that a model takes. */
  function nothingKnown(kinds) {
    return kinds.includes("set") ? "Nothing is observed or set." : "Nothing is observed.";
  }

  /** Return how probable the evidence is, as a line of text; nothing if there is none. */
  function evidenceText(answer, evidence, isDensity) {
    const kinds = [...evidence.values()].map(({ kind }) => kind);
    if (!kinds.includes("observed") || Number.isNaN(answer.logEvidence)) return "";
    const given = kinds.includes("set") ? " given what is set" : "";
    const log = gml.brief(answer.logEvidence);
    if (isDensity) return `ln density of the evidence${given}: ${log}`;
    if (answer.logEvidence === -Infinity) return `P(evidence)${given} = 0`;
    const probability = Math.exp(answer.logEvidence);
    // Beyond the range of numbers, the logarithm says it alone.
    const plain = probability > 1e-300 ? `= ${gml.fraction(probability)}, ` : "";
    return `P(evidence)${given} ${plain}ln P = ${log}`;
  }

  /** The list of what is observed or set, each with a button that takes it back. */
  class EvidencePanel {
    constructor(root, { graph }, engine, act, clear) {
      Object.assign(this, { root, engine, act, clear, edges: graph.edges });
      root.setAttribute("tabindex", -1);
    }

    update(answer, evidence, isDensity, changes = []) {
      const items = [...evidence].map(([id, known]) => {
        const text = `${gml.shown(id)} = ${gml.valueText(known)}`;
        const kind = known.kind === "set" ? "set" : "observed";
        const forget = gml.button("Take back", { "aria-label": `Take back ${text}` }, () => {
          this.act(known.kind, id, null);
        });
        const mark = gml.html("span", { class: `tag ${kind}` }, kind === "set" ? "do" : "seen");
        return gml.html("li", {}, mark, ` ${text} `, forget);
      });
      const parts = [gml.html("h3", {}, "Evidence")];
      if (items.length) {
        const probability = evidenceText(answer, evidence, isDensity);
        parts.push(gml.html("ul", { class: "evidence" }, ...items));
        if (probability) parts.push(gml.html("p", {}, probability));
        const open = gml.openText(this.edges, evidence);
        if (open) parts.push(gml.html("p", { class: "refusal" }, open));
        parts.push(gml.button("Clear all", {}, this.clear), ...changes);
      } else {
        parts.push(gml.html("p", { class: "note" }, nothingKnown(this.engine.kinds)));
      }
      if (this.engine.single && this.engine.kinds.length) {
        const asked = this.engine.kinds.includes("set") ? "observation or intervention" : "observation";
        const said = `Answers were computed beforehand: one ${asked} at a time.`;
        parts.push(gml.html("p", { class: "note" }, said));
      }
      if (answer.why) parts.push(gml.html("p", { class: "refusal" }, answer.why));
      const hadFocus = this.root.contains(document.activeElement);
      this.root.replaceChildren(...parts);
      // The button that was pressed is gone: the next one takes its place, or the panel.
      if (hadFocus) (this.root.querySelector("button") ?? this.root).focus();
    }
  }

  // ------------------------------------------------------------------ changes

  /** Return a distribution in a few words beside another: the level that changed most, or the mean. */
  function changeWords(node, before, after) {
    if (!node.levels) {
      const decimals = gml.decimalsOf([before, after]);
      return `mean ${[before, after].map(({ mean }) => gml.decimal(mean, decimals)).join(" → ")}`;
    }
    const sizes = after.shares.map((share, k) => Math.abs(share - before.shares[k]));
    const most = sizes.indexOf(Math.max(...sizes));
    const [was, now] = [before, after].map(({ shares }) => gml.percent(shares[most]));
    return `${gml.shown(node.levels[most])} ${was} → ${now}`;
  }

  /** Return a list of what changed most, apart from what is known; each leads to its node. */
  function changeList(nodes, prior, answer, evidence, choose) {
    const moved = gml.changedNodes(prior, answer.posteriors, prior);
    const others = moved.filter(({ id }) => !evidence.has(id));
    if (!others.length) return [];
    const items = others.slice(0, MOST_CHANGES).map(({ id }) => {
      const words = changeWords(nodes.get(id), prior.get(id), answer.posteriors.get(id));
      return gml.html(
        "li",
        {},
        gml.button(gml.shown(id), { class: "plain" }, () => choose(id)),
        ` ${words}`,
      );
    });
    return [gml.html("h4", {}, "Changed most"), gml.html("ul", { class: "changes" }, ...items)];
  }

  // ------------------------------------------------------------------ all posteriors

  /**
   * Tables of all posteriors, one for labels and one for numbers: what changed most comes first, and
   * names in order where all is equal.
   */
  class PosteriorPanel {
    constructor(root, { model }, prior) {
      this.prior = prior;
      this.names = model.nodes.map(({ id }) => id).sort(gml.compareNames);
      const nodes = new Map(model.nodes.map((node) => [node.id, node]));
      this.rows = this.names.flatMap((id) => this.rowsOf(nodes.get(id), prior.get(id)));
      const kinds = [true, false].map((isLabel) =>
        this.rows.filter(({ node }) => Boolean(node.levels) === isLabel),
      );
      const [labels, numbers] = kinds;
      const names = labels.length && numbers.length ? [" of labels", " of numbers"] : ["", ""];
      const tables = kinds.map((rows, k) => rows.length && posteriorTable(rows, names[k]));
      root.replaceChildren(...tables.filter(Boolean));
    }

    rowsOf(node, prior) {
      const cells = () => [gml.number("–"), gml.number("–")];
      if (!node.levels) {
        const made = [...cells(), ...cells(), gml.number("–")];
        const row = gml.html("tr", { "data-node": node.id }, gml.heading(node.id), ...made);
        return [{ row, cells: made, node, prior }];
      }
      return node.levels.map((level, k) => {
        const made = cells();
        const meter = gml.bar(0);
        const before = prior?.shares[k];
        const attributes = { scope: "rowgroup", rowspan: node.levels.length };
        const row = gml.html(
          "tr",
          { "data-node": node.id, "data-level": level, class: k ? null : "first" },
          ...(k ? [] : [gml.html("th", attributes, gml.shown(node.id))]),
          gml.heading(level),
          gml.number(before === undefined ? "–" : gml.percent(before)),
          ...made,
          gml.html("td", {}, meter),
        );
        return { row, cells: made, meter, node, place: k, prior: before };
      });
    }

    /** Put the rows of what changed most first; the order of names is that of no change at all. */
    sort(answer) {
      const moved = gml.changedNodes(this.prior, answer.posteriors, this.prior);
      const order = [...new Set([...moved.map(({ id }) => id), ...this.names])];
      const place = new Map(order.map((id, k) => [id, k]));
      const before = this.rows.map(({ row }) => row);
      this.rows.sort((a, b) => place.get(a.node.id) - place.get(b.node.id));
      if (this.rows.some(({ row }, k) => row !== before[k])) {
        for (const { row } of this.rows) row.parentElement.append(row);
      }
    }

    update(answer, evidence) {
      this.sort(answer);
      for (const { row, cells, meter, node, place, prior } of this.rows) {
        const posterior = answer.posteriors.get(node.id);
        const kind = evidence.get(node.id)?.kind;
        row.classList.toggle("observed", kind === "observed");
        row.classList.toggle("set", kind === "set");
        const now = posterior?.shares?.[place];
        const facts = node.levels
          ? { probability: now }
          : { mean: posterior?.mean, sd: posterior?.sd };
        for (const [name, value] of Object.entries(facts)) {
          if (posterior) row.dataset[name] = value;
          else delete row.dataset[name];
        }
        const texts = node.levels ? shareTexts(prior, now) : momentTexts(prior, posterior);
        texts.forEach((text, k) => (cells[k].textContent = text));
        if (meter) meter.firstChild.style.width = `${100 * (now ?? 0)}%`;
      }
    }
  }

  /** Return the table of all posteriors of nodes of one kind. */
  function posteriorTable(rows, name) {
    const isLabel = Boolean(rows[0].node.levels);
    const headings = isLabel
      ? ["prior", "now", "change, percentage points"]
      : ["prior mean", "prior sd", "mean now", "sd now", "change of mean"];
    const columns = headings.map((text) => ({ number: text }));
    columns.unshift(...(isLabel ? ["node", "level"] : ["node"]));
    if (isLabel) columns.push("");
    const made = rows.map(({ row }) => row);
    const table = gml.table(`All posteriors${name}`, columns, made);
    return gml.scrolling(`Table of all posteriors${name}`, table);
  }

  /** Return a share now, and its change. */
  function shareTexts(before, now) {
    if (now === undefined) return ["–", "–"];
    return [gml.percent(now), before === undefined ? "–" : gml.points(now - before)];
  }

  /** Return the mean and the deviation before and now, and the change of the mean. */
  function momentTexts(before, now) {
    const known = [before, now].filter(Boolean);
    const decimals = gml.decimalsOf(known);
    const texts = [before, now].flatMap((each) =>
      each ? [each.mean, each.sd].map((value) => gml.decimal(value, decimals)) : ["–", "–"],
    );
    const scale = Math.max(...known.map(({ sd }) => sd));
    const change = before && now ? gml.shift(before.mean, now.mean, decimals, scale) : "–";
    return [...texts, change];
  }

  Object.assign(gml, { NodePanel, EvidencePanel, PosteriorPanel, evidenceText, momentTexts });
  Object.assign(gml, { changeWords, changeList, nothingKnown });
})();

if (typeof module !== "undefined") module.exports = gml;
