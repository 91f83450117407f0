/**
 * Pieces of a page: elements, bars, tables, and numbers and names as people read them.
 *
 * All text goes in as text nodes and attributes, never as markup: a label such as <script> is a
 * label. Names are shown without the characters that would hide or reverse what is around them.
 */
"use strict";

(() => {
  const FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif";
  // Differences of shares, or of means in standard deviations, below this are rounding.
  const ROUNDING = 1e-9;

  function filled(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined && value !== false) {
        element.setAttribute(name, value === true ? "" : value);
      }
    }
    element.append(...children);
    return element;
  }

  /** Return an element of HTML; attributes that are null or false are left out. */
  function html(tag, attributes = {}, ...children) {
    return filled(document.createElement(tag), attributes, children);
  }

  /** Return an element of SVG. */
  function svg(tag, attributes = {}, ...children) {
    return filled(
      document.createElementNS("http://www.w3.org/2000/svg", tag),
      attributes,
      children,
    );
  }

  /** Return text for people: what controls, reverses or ends a line is written as its number. */
  function shown(text) {
    return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) => {
      const code = character.codePointAt(0).toString(16);
      return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
    });
  }

  let ruler = null;

  /** Return how wide a label is in letters of this size, one pixel at least. */
  function textWidth(text, size, weight = 600) {
    ruler ??= document.createElement("canvas").getContext("2d");
    ruler.font = `${weight} ${size}px ${FONT}`;
    return Math.max(ruler.measureText(shown(text)).width, 1);
  }

  /** Return as much of a label as fits into the room, with an ellipsis for the rest. */
  function fitted(text, room, size, weight = 600) {
    const letters = Array.from(shown(text));
    const wide = () => textWidth(letters.join(""), size, weight) > room;
    if (!wide()) return letters.join("");
    letters.push("…");
    while (letters.length > 1 && wide()) letters.splice(-2, 1);
    return letters.join("");
  }

  /** Return a share for people; what is not quite 0 or 1 does not look like it. */
  function percent(share) {
    if (share === 0 || share === 1) return `${100 * share}\u00a0%`;
    if (share < 0.0005) return "<0.1\u00a0%";
    if (share >= 0.9995) return ">99.9\u00a0%";
    return `${(100 * share).toFixed(1)}\u00a0%`;
  }

  const written = (value) => String(value).replaceAll("-", "−").replace("Infinity", "∞");

  /** Return a number for people, with four digits that count; whole ones have all of theirs. */
  function brief(value) {
    if (Number.isInteger(value) && Math.abs(value) < 1e15) return written(value);
    const whole = Math.abs(value) >= 1000 && Math.abs(value) < 1e15;
    return written(Number(whole ? value.toFixed(0) : value.toPrecision(4)));
  }

  /** Return a share as a decimal fraction; only 1 itself is shown as such. */
  function fraction(share) {
    const text = brief(share);
    return share < 1 && text === "1" ? ">0.9999" : text;
  }

  /** Return how many decimals a number has as it is written. */
  function ownDecimals(value) {
    const [digits, exponent] = String(value).split("e");
    const after = digits.split(".")[1]?.length ?? 0;
    return Math.max(after - Number(exponent ?? 0), 0);
  }

  /**
   * Return the decimals with which to show means and standard deviations beside each other: three
   * digits of the smallest deviation; a mean that is certain has all of its own.
   *
   * @param {{mean: number, sd: number}[]} known
   */
  function decimalsOf(known) {
    const digits = known.map(({ mean, sd }) =>
      sd > 0 ? 2 - Math.floor(Math.log10(sd)) : ownDecimals(Number(mean.toPrecision(15))),
    );
    return Math.min(Math.max(...digits, 0), 100);
  }

  function rounded(value, decimals) {
    return Number(value.toFixed(decimals));
  }

  /** Return a number for people, with so many decimals at most. */
  function decimal(value, decimals) {
    return written(rounded(value, decimals));
  }

  /** Return the mean of a distribution, and how far from it values are; certain ones are not. */
  function spread(known) {
    const decimals = decimalsOf([known]);
    const mean = decimal(known.mean, decimals);
    return known.sd > 0 ? `${mean} ± ${decimal(known.sd, decimals)}` : mean;
  }

  function signed(value) {
    return value > 0 ? `+${written(value)}` : written(value);
  }

  /**
   * Return how far a number moved, as its two values say when they are shown with so many decimals;
   * with one digit that counts where these do not tell.
   *
   * @param {number} scale what to measure rounding by
   */
  function shift(before, after, decimals, scale) {
    const seen = rounded(rounded(after, decimals) - rounded(before, decimals), decimals);
    if (seen !== 0) return signed(seen);
    const change = after - before;
    return Math.abs(change) <= ROUNDING * scale ? "0" : signed(Number(change.toPrecision(1)));
  }

  /** Return a change of a share in points of a percentage; only what does not change has none. */
  function points(change) {
    const size = 100 * Math.abs(change);
    if (size <= 100 * ROUNDING) return "0";
    let text = size.toFixed(1);
    if (size < 0.05) text = written(Number(size.toPrecision(1)));
    if (size >= 99.95) text = size < 100 ? ">99.9" : "100";
    return `${change > 0 ? "+" : "−"}${text}`;
  }

  /** Return a bar as long as a share; what it says is in numbers beside it. */
  function bar(share, kind = "now") {
    const inside = html("span", { class: kind });
    inside.style.width = `${100 * Math.min(Math.max(share, 0), 1)}%`;
    return html("span", { class: "meter", "aria-hidden": "true" }, inside);
  }

  function button(text, attributes, act) {
    const made = html("button", { type: "button", ...attributes }, text);
    made.addEventListener("click", act);
    return made;
  }

  /** Return a table; a heading is text, {number: text} above numbers, or empty above none. */
  function table(caption, headings, rows) {
    const cells = headings.map((text) => {
      if (text === "") return html("td");
      if (text.number === undefined) return html("th", { scope: "col" }, text);
      return html("th", { scope: "col", class: "number" }, text.number);
    });
    return html(
      "table",
      {},
      html("caption", {}, caption),
      html("thead", {}, html("tr", {}, ...cells)),
      html("tbody", {}, ...rows),
    );
  }

  /** Return a region that scrolls by itself, by keyboard too. */
  function scrolling(name, ...children) {
    return html(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": name },
      ...children,
    );
  }

  const number = (text) => html("td", { class: "number" }, text);
  const heading = (text) => html("th", { scope: "row" }, shown(text));

  /** Return a node in words: its name, what is most probable, and what is known of it. */
  function describe(node, posterior, known) {
    const name = shown(node.id);
    if (known)
      return `${name}: ${known.kind === "set" ? "set to" : "observed to be"} ${valueText(known)}`;
    if (!posterior) return `${name}: no posterior`;
    if (!posterior.shares) {
      const decimals = decimalsOf([posterior]);
      const [mean, sd] = [posterior.mean, posterior.sd].map((value) => decimal(value, decimals));
      return `${name}: mean ${mean}, standard deviation ${sd}`;
    }
    const share = percent(Math.max(...posterior.shares));
    // Levels that look alike are a tie for a reader.
    const best = node.levels.filter((_, k) => percent(posterior.shares[k]) === share).map(shown);
    if (best.length === 1) return `${name}: most probable ${best[0]}, ${share}`;
    const some = best.length > 3 ? [...best.slice(0, 2), `${best.length - 2} more`] : best;
    const list = `${some.slice(0, -1).join(", ")} and ${some[some.length - 1]}`;
    return `${name}: most probable ${list}, ${share} each`;
  }

  function valueText({ value }) {
    return typeof value === "number" ? written(value) : shown(value);
  }

  Object.assign(gml, {
    html,
    svg,
    shown,
    textWidth,
    fitted,
    percent,
    brief,
    fraction,
    decimalsOf,
    decimal,
    spread,
    shift,
    points,
    ROUNDING,
    bar,
    button,
    table,
    scrolling,
    number,
    heading,
    describe,
    valueText,
  });
})();

if (typeof module !== "undefined") module.exports = gml;
