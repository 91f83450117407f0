/**
 * What hands do to the graph: keys, wheel, the mouse to move it, two fingers to move and zoom.
 *
 * The page scrolls past the graph: one finger that goes up or down moves the page, and so does the
 * wheel unless Ctrl or ⌘ is held or the graph has the focus, as after a click on it.
 *
 * On a node the arrow keys lead to other nodes; with Shift, or beside the nodes, they move the
 * picture. A press that moves by a few pixels is a drag, and no click.
 */
"use strict";

(() => {
  const PAN_STEP = 60;
  const ZOOM_STEP = 1.25;
  const DRAG_THRESHOLD = 4;
  // A target of 24 pixels, however small a node is drawn.
  const TAP_REACH = 12;
  const HINT_MILLISECONDS = 1500;

  const DIRECTIONS = {
    ArrowLeft: [1, 0],
    ArrowRight: [-1, 0],
    ArrowUp: [0, 1],
    ArrowDown: [0, -1],
  };

  /** Return what a key asks for: the name of a deed and what it takes; null for other keys. */
  function keyDeed({ key, shiftKey, ctrlKey, metaKey, altKey }, onNode) {
    if (ctrlKey || metaKey || altKey) return null;
    if (key === "+" || key === "=") return ["zoom", ZOOM_STEP];
    if (key === "-" || key === "_") return ["zoom", 1 / ZOOM_STEP];
    if (key === "0") return ["fit"];
    if (key === "Escape") return ["leave"];
    if (key in DIRECTIONS && (shiftKey || !onNode)) {
      const [dx, dy] = DIRECTIONS[key];
      return ["pan", dx * PAN_STEP, dy * PAN_STEP];
    }
    if (!onNode) return null;
    if (key === "Enter" || key === " ") return ["choose"];
    if (key in DIRECTIONS || key === "Home" || key === "End") return ["walk", key];
    return null;
  }

  /** Return the view after some pointers moved: all together pan, two of them zoom as well. */
  function dragView(view, before, after) {
    const middle = (points) => [
      points.reduce((sum, [x]) => sum + x, 0) / points.length,
      points.reduce((sum, [, y]) => sum + y, 0) / points.length,
    ];
    const [from, to] = [middle(before), middle(after)];
    const moved = gml.panBy(view, to[0] - from[0], to[1] - from[1]);
    if (before.length < 2) return moved;
    const spread = ([[ax, ay], [bx, by]]) => Math.hypot(ax - bx, ay - by) || 1;
    return gml.zoomAt(moved, spread(after) / spread(before), ...to);
  }

  /** Return whether a turn of the wheel zooms, in place of scrolling the page. */
  function wheelZooms({ ctrlKey, metaKey }, hasFocus) {
    return ctrlKey || metaKey || hasFocus;
  }

  /** Let the drawing of a graph follow keys and pointers. */
  function followHands(graphView) {
    const { svg, on, graph } = graphView;
    const pointers = new Map();
    let dragged = false;
    const nodeAt = (event) => event.target.closest?.("[data-node]")?.dataset.node ?? null;
    const placeOf = (event) => {
      const { left, top } = svg.getBoundingClientRect();
      return [event.clientX - left, event.clientY - top];
    };
    const move = (view) => {
      graphView.fitted = false;
      graphView.move(view);
    };

    let hinted = null;
    const hint = () => {
      svg.parentElement.classList.add("hinting");
      clearTimeout(hinted);
      hinted = setTimeout(() => svg.parentElement.classList.remove("hinting"), HINT_MILLISECONDS);
    };

    svg.addEventListener("keydown", (event) => {
      const id = nodeAt(event);
      const deed = keyDeed(event, id !== null);
      if (!deed) return;
      event.preventDefault();
      const [name, ...values] = deed;
      if (name === "zoom") graphView.zoom(...values);
      else if (name === "fit") graphView.fit();
      else if (name === "pan") move(gml.panBy(graphView.view, ...values));
      else if (name === "walk") graphView.focus(gml.nextNode(graph, id, ...values));
      else if (name === "choose") on.choose(id);
      else on.leave();
    });

    svg.addEventListener(
      "wheel",
      (event) => {
        if (!wheelZooms(event, svg.contains(document.activeElement))) {
          hint();
          return;
        }
        event.preventDefault();
        // Lines or pages instead of pixels, in some browsers.
        const pixels = event.deltaY * [1, 16, 400][event.deltaMode];
        const factor = Math.exp(-Math.max(Math.min(pixels, 200), -200) / 400);
        move(gml.zoomAt(graphView.view, factor, ...placeOf(event)));
      },
      { passive: false },
    );

    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      if (!pointers.size) dragged = false;
      pointers.set(event.pointerId, placeOf(event));
    });
    svg.addEventListener("pointermove", (event) => {
      const start = pointers.get(event.pointerId);
      if (!start) return;
      const place = placeOf(event);
      const oneFinger = event.pointerType === "touch" && pointers.size === 1;
      // Until the browser has seen that one finger scrolls, its ups and downs are told here too.
      const to = oneFinger ? [place[0], start[1]] : place;
      const far = Math.hypot(to[0] - start[0], to[1] - start[1]);
      if (!dragged && far < DRAG_THRESHOLD) return;
      if (!dragged) svg.setPointerCapture(event.pointerId);
      dragged = true;
      const before = [...pointers.values()];
      pointers.set(event.pointerId, place);
      move(dragView(graphView.view, before, oneFinger ? [to] : [...pointers.values()]));
    });
    for (const end of ["pointerup", "pointercancel"]) {
      svg.addEventListener(end, (event) => pointers.delete(event.pointerId));
    }
    // Else the browser would take two fingers for a scroll of the page.
    for (const name of ["touchstart", "touchmove"]) {
      const keep = (event) => event.touches.length > 1 && event.cancelable && event.preventDefault();
      svg.addEventListener(name, keep, { passive: false });
    }
    svg.addEventListener("click", (event) => {
      if (dragged) return;
      const id = nodeAt(event) ?? gml.nodeNear(graph, graphView.view, ...placeOf(event), TAP_REACH);
      if (id !== null) on.choose(id);
    });

    svg.addEventListener("pointerover", (event) => {
      if (pointers.size) return;
      const edge = event.target.closest?.("[data-edge]")?.dataset.edge;
      if (edge !== undefined) on.showEdge(graph.edges[Number(edge)]);
      else on.show(nodeAt(event));
    });
    svg.addEventListener("pointerleave", () => on.show(null));
    svg.addEventListener("focusin", (event) => {
      const id = nodeAt(event);
      if (id === null) return;
      graphView.rove(id);
      on.show(id);
    });

    new ResizeObserver(() => graphView.fitted && graphView.fit()).observe(svg);
    addEventListener("beforeprint", () => graphView.enterPaper());
    addEventListener("afterprint", () => graphView.leavePaper());
  }

  /** Open what is folded while the page is printed: on paper nobody can. */
  function unfoldOnPaper() {
    let unfolded = [];
    addEventListener("beforeprint", () => {
      const folded = [...document.querySelectorAll("details:not([open])")];
      for (const each of folded) each.open = true;
      unfolded.push(...folded);
    });
    addEventListener("afterprint", () => {
      for (const each of unfolded) each.open = false;
      unfolded = [];
    });
  }

  Object.assign(gml, { keyDeed, dragView, wheelZooms, followHands, unfoldOnPaper });
})();

if (typeof module !== "undefined") module.exports = gml;
