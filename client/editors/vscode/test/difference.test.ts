/** What differs between two versions of a document. */

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { cursorAfter, difference, editOf } from "../src/editor/difference";

/** Return a text after a change, as an editor makes it. */
function edited(before: string[], after: string[]): string {
  const change = difference(before, after);
  if (!change) return before.join("\n");
  const { start, end, text } = editOf(change, before.length, (line) => before[line]!.length);
  const offset = ([line, character]: [number, number]) =>
    before.slice(0, line).reduce((sum, each) => sum + each.length + 1, character);
  const whole = before.join("\n");
  return whole.slice(0, offset(start)) + text + whole.slice(offset(end));
}

test("an edit makes one version the other, whatever differs", () => {
  const versions = [[""], ["a"], ["a", ""], ["", ""], ["a", "b", ""], ["a", "b", "c"], ["c", "b", "a"], ["x", "a", "b"], ["b"]];

  for (const before of versions) for (const after of versions) equal(edited(before, after), after.join("\n"));
});

test("only what differs is replaced", () => {
  deepEqual(difference(["a", "b", "c"], ["a", "x", "y", "c"]), { first: 1, last: 2, lines: ["x", "y"] });
  deepEqual(difference(["a", ""], ["a", "", "a", ""]), { first: 2, last: 2, lines: ["a", ""] });
  equal(difference(["a", ""], ["a", ""]), undefined);
});

test("a cursor at the end stays there, and one in what is replaced keeps its line", () => {
  const change = { first: 2, last: 6, lines: ["x", "y"] };
  const after = [0, 2, 3, 5, 6, 8].map((line) => cursorAfter(change, line, 9));

  deepEqual(after, [undefined, 2, 3, 3, undefined, 6]);
  equal(cursorAfter({ first: 0, last: 3, lines: [] }, 1, 4), 0);
});
