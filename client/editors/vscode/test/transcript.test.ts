/** Conversations as markdown. */

import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { Copy } from "../src/client/copy";
import type { Block } from "../src/client/wire";
import { localTime, Transcript } from "../src/editor/transcript";

const transcript = new Transcript((time) => `t${time}`);

function copyOf(...contents: Block[][]): Copy {
  const copy = new Copy();
  copy.messages = contents.map((content, index) => ({ role: "user", content, seq: index + 2, time: 7 }));
  return copy;
}

const shown = (copy: Copy, problem?: string) => transcript.whole(copy, problem).lines.join("\n");
const body = (block: Block) => transcript.whole(copyOf([block])).lines.slice(2, -1).join("\n");

test("a message has a heading, and its text as it is", () => {
  equal(shown(copyOf([{ type: "text", text: "a\n\n# b" }])), "## user 2 · t7\n\na\n\n# b\n");
});

test("the prompt is on top, drafts and what is wrong are at the end", () => {
  const copy = copyOf([{ type: "text", text: "hi" }]);
  copy.system = "be brief";
  copy.draft({ agent: "a", connection: 4, text: "hel" });

  equal(
    shown(copy, "not_running: away\nfor long"),
    "## system\n\nbe brief\n\n## user 2 · t7\n\nhi\n\n" +
      "## draft · being written on connection 4\n\nhel\n\n*not_running: away for long*",
  );
});

test("a call is fenced, with a fence that is longer than any inside", () => {
  equal(
    body({ type: "tool_call", id: "c1", name: "run", arguments: '"````"' }),
    '**tool_call** run `c1`\n`````json\n"````"\n`````',
  );
});

test("a result is fenced, and says whether it failed", () => {
  const content = [
    { type: "text", text: "out" },
    { type: "media", mime_type: "image/png", data_base64: "AAAA" },
  ];

  equal(
    body({ type: "tool_result", tool_call_id: "c1", content, is_error: true }),
    "**tool_result** `c1` failed\n```\nout\n![media]() image/png, 3 bytes\n```",
  );
  equal(body({ type: "tool_result", tool_call_id: "c1", content: "ok" }), "**tool_result** `c1`\n```\nok\n```");
});

test("thinking is marked", () => {
  equal(body({ type: "thinking", text: "hm" }), "**thinking**\nhm");
});

test("media are named, and linked where they have an address", () => {
  const block = { type: "media", mime_type: "image/png", name: "cat", url: "https://x.org/cat.png" };

  equal(body(block), "![cat](https://x.org/cat.png) image/png");
});

test("what is not known is named by its type", () => {
  equal(body({ type: "opaque", provider: "gemini", data_json: "{}" }), "*opaque of gemini*");
  equal(body({ type: "redacted_thinking", data: "x" }), "*redacted_thinking*");
});

test("calls, results and thinking can be folded, text cannot", () => {
  const copy = copyOf(
    [{ type: "text", text: "a\nb" }],
    [
      { type: "thinking", text: "hm" },
      { type: "tool_call", id: "c1", name: "run", arguments: "{}" },
    ],
  );

  const { lines, folds } = transcript.whole(copy);
  deepEqual(
    folds.map(([first, last]) => [lines[first], lines[last]]),
    [
      ["**thinking**", "hm"],
      ["**tool_call** run `c1`", "```"],
    ],
  );
});

test("a time is the user's own", () => {
  const time = new Date(2025, 10, 22, 1, 2, 3).getTime();

  equal(localTime(time), "2025-11-22 01:02:03");
  match(localTime(0), /^(1970-01-01|1969-12-31) /);
});
