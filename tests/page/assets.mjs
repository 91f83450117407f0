// The scripts of the report page, joined and run as the page does it, without a document.
import { readFileSync } from "node:fs";

export const FILES = [
  "factors.js",
  "inference.js",
  "gaussian.js",
  "mixed.js",
  "pieces.js",
  "changes.js",
  "edges.js",
  "graph_view.js",
  "hands.js",
  "panels.js",
  "interventions.js",
  "strengths.js",
  "main.js",
];
const folder = new URL("../../gml/pictures/page/assets/", import.meta.url);
const script = FILES.map((name) => readFileSync(new URL(name, folder), "utf8")).join("\n");
const module = { exports: {} };
new Function("module", script)(module);

export const gml = module.exports;
