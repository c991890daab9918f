/** A copy of a conversation: pushes in, messages out. */

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { Copy } from "../src/client/copy";
import type { EventPush, Message, MessagesPage } from "../src/client/wire";

const message = (seq: number): Message => ({ role: "user", content: [{ type: "text", text: `m${seq}` }], seq, time: 0 });

function page(at: number, seqs: number[], fields: Partial<MessagesPage> = {}): MessagesPage {
  return { agent: "a", head: at, at, system: null, messages: seqs.map(message), more: false, ...fields };
}

function event(seq: number, kind: string, keep: number, count: number): EventPush {
  const push: EventPush = { sub: 1, agent: "a", name: "demo", seq, kind, keep, count };
  return kind === "user" ? { ...push, message: message(seq) } : push;
}

function copyOf(at: number, seqs: number[]): Copy {
  const copy = new Copy();
  copy.page(page(at, seqs));
  return copy;
}

const seqs = (copy: Copy) => copy.messages.map(({ seq }) => seq);

test("a message is appended", () => {
  const copy = copyOf(3, [2, 3]);

  equal(copy.event(event(4, "user", 2, 3)), false);
  deepEqual(seqs(copy), [2, 3, 4]);
});

test("what no longer stands is cut off, and the prompt is read again", () => {
  const copy = copyOf(4, [2, 3, 4]);

  equal(copy.event(event(5, "rewind", 1, 1)), true);
  deepEqual(seqs(copy), [2]);
});

test("what came back is read", () => {
  const copy = copyOf(5, [2]);

  equal(copy.event(event(6, "restore", 1, 3)), true);
  equal(copy.whole, false);
  copy.page(page(6, [3, 4], { system: "be brief" }));
  equal(copy.whole, true);
  deepEqual(seqs(copy), [2, 3, 4]);
  equal(copy.system, "be brief");
});

test("an event that says nothing of messages leaves them alone", () => {
  const copy = copyOf(3, [2, 3]);

  equal(copy.event(event(4, "mark", 2, 2)), false);
  deepEqual([seqs(copy), copy.at, copy.whole], [[2, 3], 4, true]);
});

test("an event that is known is passed over", () => {
  const copy = copyOf(5, [2, 3]);

  equal(copy.event(event(5, "user", 0, 1)), false);
  deepEqual(seqs(copy), [2, 3]);
});

test("there is more until the last page", () => {
  const copy = new Copy();

  copy.page(page(9, [2, 3], { more: true }));
  equal(copy.whole, false);
  copy.page(page(9, [4]));
  deepEqual([copy.whole, seqs(copy)], [true, [2, 3, 4]]);
});

test("drafts stand by their connections, and an empty one is none", () => {
  const copy = new Copy();

  const draft = { agent: "a", connection: 1, client: "vim", text: "fir" };
  const other = { ...draft, connection: 2, text: "sec" };
  for (const push of [draft, other, { ...draft, text: "" }]) copy.draft(push);
  deepEqual([...copy.drafts], [[2, other]]);
});
