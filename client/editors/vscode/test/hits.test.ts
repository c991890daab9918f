/** The hits of a search. */

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { Heading, Hit } from "../src/client/wire";
import { place, shown } from "../src/editor/hits";

const HIT: Hit = {
  id: 7,
  agent: "a",
  name: "demo",
  title: null,
  seq: 5,
  role: "user",
  kind: "user",
  time: 0,
  live: true,
  snippet: "one\n😀 two tape\nthree",
  matches: [[10, 14]],
};
const HEADINGS: Heading[] = [
  [0, "user", 2, 0],
  [4, "user", 5, 0],
];
const LINES = ["## user #2 · t", "", "tape", "", "## user #5 · t", "", "one", "a 😀 two tape", ""];

test("a match is found in its message, although characters may have two halves", () => {
  deepEqual(place({ lines: LINES, headings: HEADINGS }, HIT), { line: 7, first: 9, last: 13 });
});

test("the match alone, and the heading, are what is left if the text was laid out in another way", () => {
  const lines = LINES.map((line, at) => (at === 7 ? "two\ttape" : line));
  deepEqual(place({ lines, headings: HEADINGS }, HIT), { line: 7, first: 4, last: 8 });
  const without = lines.map((line, at) => (at === 7 ? "" : line));
  deepEqual(place({ lines: without, headings: HEADINGS }, HIT), { line: 4, first: 0, last: 0 });
});

test("an age is in its largest unit", () => {
  const ages = [-5, 0, 59, 60, 7200, 86400 * 29, 86400 * 364, 86400 * 800].map((seconds) => {
    return shown(HIT, seconds * 1000).label.split("  ")[2];
  });
  equal(ages.join(" "), "now now 59s 1m 2h 29d 12mo 2y");
});
