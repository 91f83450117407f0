/**
 * Changes: how far what is known moves a distribution, and strips that show it where nodes are
 * too small for bars with numbers.
 */
"use strict";

(() => {
  // How many standard deviations of the prior a strip reaches to each side.
  const REACH = 3.5;

  /**
   * Return how far two distributions are apart: the largest difference of a share; of numbers,
   * that of the mean or the standard deviation, in standard deviations of the prior.
   */
  function changeSize(one, other, priorSd) {
    if (one.shares) return Math.max(...one.shares.map((p, k) => Math.abs(p - other.shares[k])));
    return Math.max(Math.abs(one.mean - other.mean), Math.abs(one.sd - other.sd)) / (priorSd || 1);
  }

  /**
   * Return the nodes whose distribution changed, most first, and names in order where all is equal.
   *
   * @returns {{id: string, size: number}[]}
   */
  function changedNodes(before, after, prior) {
    const nodes = [];
    for (const [id, one] of before) {
      const other = after.get(id);
      const size = other ? changeSize(one, other, prior.get(id)?.sd) : 0;
      if (size > gml.ROUNDING) nodes.push({ id, size });
    }
    return nodes.sort((a, b) => b.size - a.size || gml.compareNames(a.id, b.id));
  }

  /** Return where each share begins and how long it is, in a strip of length 1. */
  function stacked(shares) {
    let start = 0;
    return shares.map((share) => {
      const piece = { start, share };
      start += share;
      return piece;
    });
  }

  /** Return the piece of a strip from one standard deviation below the mean to one above it. */
  function momentsPiece({ mean, sd }, prior) {
    const place = (x) => {
      const share = 0.5 + (x - prior.mean) / (2 * REACH * (prior.sd || 1));
      return Math.min(Math.max(share, 0), 1);
    };
    const start = Math.min(place(mean - sd), 0.98);
    return { start, share: Math.max(place(mean + sd) - start, 0.02) };
  }

  /** The strip of a node: its levels one after another, or its mean; what they were in a thin one. */
  class Strip {
    constructor(node, prior, { left, top, width, height }) {
      Object.assign(this, { node, prior, left, width });
      this.group = gml.svg("g", { class: "strip" });
      const frame = gml.svg("rect", { class: "track", x: left, y: top, width, height });
      const now = { y: top, height: 0.72 * height };
      const was = { y: top + 0.78 * height, height: 0.22 * height };
      this.now = this.pieces(now, "now");
      this.was = this.pieces(was, "was");
      this.group.append(frame, ...this.now, ...this.was);
      if (prior) this.place(this.was, prior);
    }

    pieces(across, kind) {
      const count = this.node.levels?.length ?? 1;
      return Array.from({ length: count }, (_, k) => {
        // Neighbours differ in shade; of many levels, each shade comes again.
        return gml.svg("rect", { class: `${kind} shade-${k % 3}`, ...across, x: this.left });
      });
    }

    place(pieces, distribution) {
      const found = distribution.shares
        ? stacked(distribution.shares)
        : [momentsPiece(distribution, this.prior ?? distribution)];
      found.forEach(({ start, share }, k) => {
        pieces[k].style.transform = `translateX(${this.width * start}px)`;
        pieces[k].style.width = `${this.width * share}px`;
      });
    }

    update(posterior) {
      if (posterior) this.place(this.now, posterior);
    }
  }

  Object.assign(gml, { changeSize, changedNodes, stacked, momentsPiece, Strip });
})();

if (typeof module !== "undefined") module.exports = gml;
