/** Where the socket is, and whose it is. */

import { doesNotThrow, equal, throws } from "node:assert/strict";
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { after, test } from "node:test";
import { defaultSocket, requireOwn } from "../src/client";

const directory = mkdtempSync("/tmp/reel-");
const listening = createServer().listen(`${directory}/s.sock`);
after(() => {
  listening.close();
  rmSync(directory, { recursive: true });
});

test("the environment says where, else it is in /tmp", () => {
  equal(defaultSocket({ REEL_SOCKET: "/a", XDG_RUNTIME_DIR: "/run" }), "/a");
  equal(defaultSocket({ XDG_RUNTIME_DIR: "/run" }), "/run/reel/reel.sock");
  equal(defaultSocket({ XDG_RUNTIME_DIR: "" }), `/tmp/reel-${process.getuid!()}/reel.sock`);
});

test("our own, and none at all, are for the connection to see", () => {
  doesNotThrow(() => requireOwn(`${directory}/s.sock`));
  doesNotThrow(() => requireOwn(`${directory}/none/s.sock`));
});

test("what is not a socket is refused", () => {
  writeFileSync(`${directory}/file`, "");

  throws(() => requireOwn(`${directory}/file`), /^not_running: .*file is not a socket$/m);
});

test("a directory that others may write to is refused, unless it is sticky", () => {
  chmodSync(directory, 0o777);
  throws(() => requireOwn(`${directory}/s.sock`), /chmod go-w/);
  chmodSync(directory, 0o1777);
  doesNotThrow(() => requireOwn(`${directory}/s.sock`));
  chmodSync(directory, 0o700);
});

test("somebody else's is refused", { skip: process.getuid!() !== 0 }, () => {
  chownSync(`${directory}/s.sock`, 12345, 0);
  throws(() => requireOwn(`${directory}/s.sock`), /another user \(uid 12345\)/);
  chownSync(`${directory}/s.sock`, 0, 0);
  chownSync(directory, 12345, 0);
  throws(() => requireOwn(`${directory}/s.sock`), /another user \(uid 12345\)/);
  chownSync(directory, 0, 0);
});

test("a path that is too long is refused with the remedy", () => {
  throws(() => requireOwn(`/${"x".repeat(107)}`), /REEL_SOCKET/);
});
