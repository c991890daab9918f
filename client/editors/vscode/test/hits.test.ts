/** The hits of a search. */

import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import type { Heading, Hit } from "../src/client/wire";
import { place } from "../src/editor/hits";

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
  context: ["😀 two ", "tape", ""],
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
