/** The lines that patches make. */

import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { localTime, Sheet } from "../src/client";
import type { Patch } from "../src/client/wire";

function patch(first: number, last: number, lines: string[], fields: Partial<Patch> = {}): Patch {
  const nothing = { folds: [], headings: [], marks: [], more: false };
  return { sub: 1, agent: "a", name: "demo", replace: [first, last], lines, ...nothing, ...fields };
}

function sheetOf(...patches: Patch[]): Sheet {
  const sheet = new Sheet();
  for (const each of patches) sheet.apply(each);
  return sheet;
}

test("a patch replaces rows, with what was at them, and moves what is below", () => {
  const sheet = sheetOf(
    patch(0, 0, ["## user #2", "", "a", "", "## tool #3", "", "### result", "b", ""], {
      folds: [[6, 7]],
      headings: [
        [0, "user", 2, null],
        [4, "tool", 3, null],
      ],
    }),
    patch(0, 4, ["## system", "", "be", "brief", ""], { headings: [[0, "system", null, null]] }),
  );

  deepEqual(sheet.lines.slice(0, 7), ["## system", "", "be", "brief", "", "## tool #3", ""]);
  deepEqual(sheet.headings, [
    [0, "system", null, null],
    [5, "tool", 3, null],
  ]);
  deepEqual(sheet.folds, [[7, 8]]);
  sheet.apply(patch(5, 10, []));
  deepEqual([sheet.headings.length, sheet.folds, sheet.lines.length], [1, [], 5]);
});

test("patches anywhere keep each heading and fold at its line", () => {
  let state = 1;
  const random = (below: number) => (state = (state * 48271) % 0x7fffffff) % below; // the same numbers each time
  const sheet = new Sheet();
  const rows: string[] = [];
  for (let round = 0; round < 500; round++) {
    const first = random(rows.length + 1);
    const last = first + random(Math.min(8, rows.length - first) + 1);
    const lines = Array.from({ length: random(8) }, (_, index) => `${["heading", "fold", "text"][random(3)]} ${round}.${index}`);
    const at = (word: string) => lines.flatMap((line, index) => (line.startsWith(word) ? [first + index] : []));
    sheet.apply(
      patch(first, last, lines, {
        headings: at("heading").map((row) => [row, "user", null, null]),
        folds: at("fold").map((row) => [row, row]),
      }),
    );
    rows.splice(first, last - first, ...lines);
    const found = (word: string) => rows.flatMap((line, row) => (line.startsWith(word) ? [row] : []));
    deepEqual(sheet.lines, rows);
    deepEqual(sheet.headings.map(([row]) => row), found("heading"));
    deepEqual(sheet.folds, found("fold").map((row) => [row, row]));
  }
});

test("a fold that begins in an earlier patch comes with its end", () => {
  const sheet = sheetOf(patch(0, 0, ["### call", "```"]), patch(2, 2, ["{}", "```", ""], { folds: [[0, 3]] }));

  sheet.apply(patch(5, 5, ["## user #9"]));
  deepEqual(sheet.folds, [[0, 3]]);
});

test("times and marks are behind their lines", () => {
  const time = new Date(2025, 10, 22, 1, 2, 3).getTime();
  const sheet = sheetOf(patch(0, 0, ["above"]));

  sheet.apply(patch(1, 1, ["## user #2", "", "xx"], { headings: [[1, "user", 2, time]], marks: [[3, "… 9 more characters"]] }));
  deepEqual(sheet.lines, ["above", "## user #2 · 2025-11-22 01:02:03", "", "xx … 9 more characters"]);
});

test("who is writing is said by the headings of drafts alone", () => {
  const lines = ["## assistant · writing… (me)", "## assistant · writing… (vim · x)", "## assistant · writing…"];
  const [message, ...drafts] = [0, 1, 2].map((row) => [row, "draft", null, null] as Patch["headings"][number]);
  message![1] = "user";

  deepEqual(sheetOf(patch(0, 0, lines, { headings: [message!, ...drafts] })).writers, ["writing… (vim · x)", "writing…"]);
  deepEqual(new Sheet().writers, []);
});

test("a time is the user's own", () => {
  equal(localTime(new Date(2025, 10, 22, 1, 2, 3).getTime()), "2025-11-22 01:02:03");
  match(localTime(0), /^(1970-01-01|1969-12-31) /);
});
