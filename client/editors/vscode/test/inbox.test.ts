/** What was pushed and not yet read. */

import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { Inbox } from "../src/client/inbox";

async function all<T>(inbox: Inbox<T>): Promise<T[]> {
  const taken: T[] = [];
  for await (const item of inbox) taken.push(item);
  return taken;
}

test("what comes while the reader waits, and before, is read in order", async () => {
  const inbox = new Inbox<number>();
  inbox.put(1);
  const reading = all(inbox);
  await new Promise(setImmediate);
  inbox.put(2);
  inbox.put(3);
  inbox.end();
  inbox.put(4);

  deepEqual(await reading, [1, 2, 3]);
});

test("an end with an error is thrown, after what was there", async () => {
  const inbox = new Inbox<number>();
  inbox.put(1);
  inbox.end(new Error("lost"));

  deepEqual(await inbox.next(), { done: false, value: 1 });
  await rejects(inbox.next(), /lost/);
});

test("it holds a bounded number, and is over when there are more", async () => {
  const inbox = new Inbox<number>();
  for (let item = 0; item < 20_000; item++) inbox.put(item);

  equal((await all(inbox)).length, 10_001);
});
