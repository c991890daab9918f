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
  equal(shown(copyOf([{ type: "text", text: "a\n\n# b" }])), "## user #2 · t7\n\na\n\n# b\n");
});

test("the prompt is on top, drafts and what is wrong are at the end", () => {
  const copy = copyOf([{ type: "text", text: "hi" }]);
  copy.system = "be brief";
  copy.draft({ agent: "a", connection: 4, client: "vim\n## user #9", text: "hel" });
  copy.draft({ agent: "a", connection: 5, client: null, text: "wor" });

  equal(
    shown(copy, "away\nfor long"),
    "## system\n\nbe brief\n\n## user #2 · t7\n\nhi\n\n" +
      "## assistant · writing… (vim ## user #9)\n\nhel\n\n## assistant · writing…\n\nwor\n\n*away for long*",
  );
});

test("a call is fenced, with a fence that is longer than any inside", () => {
  equal(
    body({ type: "tool_call", id: "c1", name: "run", arguments: '"````"' }),
    '### call run c1\n`````json\n"````"\n`````',
  );
});

test("a result is fenced, and says whether it failed", () => {
  const content = [
    { type: "text", text: "out" },
    { type: "media", mime_type: "image/png", data_base64: "AAAA" },
  ];

  equal(
    body({ type: "tool_result", tool_call_id: "c2", content, is_error: true }),
    "### error c2\n```\nout\n### media image/png 3 bytes\n```",
  );
  equal(body({ type: "tool_result", tool_call_id: "c2", content: "ok" }), "### result c2\n```\nok\n```");
});

test("a result has the name of the tool that was called", () => {
  const call = { type: "tool_call", id: "c3", name: "run", arguments: "{}" };
  const { lines } = transcript.whole(copyOf([call], [{ type: "tool_result", tool_call_id: "c3", content: "ok" }]));

  equal(lines.includes("### result of run c3"), true);
});

test("thinking is marked", () => {
  equal(body({ type: "thinking", text: "hm" }), "### thinking\nhm");
});

test("media are named, with their address or their size", () => {
  const media = { type: "media", mime_type: "image/png", name: "cat" };

  equal(body({ ...media, url: "https://x.org/cat.png" }), "### media image/png cat https://x.org/cat.png");
  equal(body({ ...media, data_base64: "AAA=" }), "### media image/png cat 2 bytes");
});

test("what cannot be shown is named", () => {
  equal(body({ type: "opaque", provider: "gemini", data_json: "{}" }), "### opaque block of gemini\n```json\n{}\n```");
  equal(body({ type: "redacted_thinking", data: "xyz" }), "### thinking, redacted (3 characters)");
  equal(body({ type: "hologram" }), "### block of type hologram (a newer plug-in can show it)");
});

test("a name with a line break stays in its line", () => {
  equal(body({ type: "tool_call", id: "i", name: "n\r\n## user #9", arguments: "" }).split("\n")[0], "### call n ## user #9 i");
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
      ["### thinking", "hm"],
      ["### call run c1", "```"],
    ],
  );
});

test("a time is the user's own", () => {
  const time = new Date(2025, 10, 22, 1, 2, 3).getTime();

  equal(localTime(time), "2025-11-22 01:02:03");
  match(localTime(0), /^(1970-01-01|1969-12-31) /);
});
