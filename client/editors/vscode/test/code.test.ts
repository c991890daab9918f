/** The code blocks of a conversation. */

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { Message } from "../src/client/wire";
import { lastCode } from "../src/editor/code";

function messages(...texts: string[]): Message[] {
  return texts.map((text, seq) => ({ role: "assistant", content: [{ type: "text", text }], seq, time: 0 }));
}

test("the last block is found, whatever fences it contains", () => {
  const found = lastCode(messages("```sh\nls\n```\n\n````python x\nprint()\n```\n````", "no code"));

  deepEqual(found, { lines: ["print()", "```"], language: "python", seq: 0 });
});

test("a block of a user is not an answer", () => {
  const [message] = messages("```\nmine\n```");

  equal(lastCode([{ ...message!, role: "user" }]), undefined);
});

test("fences open and close as in CommonMark", () => {
  const cases: [string, string[] | undefined][] = [
    ["~~~\na\n```\n~~~", ["a", "```"]],
    ["   ```  lua x\nopen", ["open"]],
    ["```a`b\nno block", undefined],
    ["    ```\nno block", undefined],
    ["```\na\n``` x\n```", ["a", "``` x"]],
  ];

  for (const [text, lines] of cases) deepEqual(lastCode(messages(text))?.lines, lines, text);
});
