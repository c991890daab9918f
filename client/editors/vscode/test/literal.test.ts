/** Text that VS Code shows as it is. */

import { equal } from "node:assert/strict";
import { test } from "node:test";
import { literal } from "../src/editor/literal";

test("a link is no longer one", () => {
  equal(literal("run [Approve](command:x) [b](https://y)"), "run [Approve] (command:x) [b] (https://y)");
});

test("an icon is no longer one", () => {
  equal(literal("$(trash) $$(x)"), "$ (trash) $$ (x)");
});

test("brackets that are neither stay", () => {
  equal(literal("f(x) [y] (z) $ (w) ()"), "f(x) [y] (z) $ (w) ()");
});
