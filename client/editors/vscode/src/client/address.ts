/** The path of the daemon's socket, and whether it is safe to connect to it. */

import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, statSync, type Stats } from "node:fs";
import { dirname } from "node:path";
import { NotRunning } from "./errors";
import { pythonPath } from "./starting";

/** sun_path has 108 bytes and ends in a NUL. */
const MAX_PATH = 107;
const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;
/** How long `reel socket` may take, in milliseconds. */
const TIMEOUT = 10_000;

function ownUid(): number {
  return process.getuid?.() ?? -1;
}

function fallbackDirectory(): string {
  return `/tmp/reel-${ownUid()}`;
}

/**
 * Return the path: `$REEL_SOCKET`, else the one in reeld.toml, else one in the runtime directory, else one in /tmp.
 *
 * @param command the command `reel`, which reads the file; empty: the file is ignored.
 */
export function defaultSocket(environment: NodeJS.ProcessEnv = process.env, command = "reel"): string {
  if (environment.REEL_SOCKET) return environment.REEL_SOCKET;
  const configured = fromFile(environment, command);
  if (configured) return configured;
  if (environment.XDG_RUNTIME_DIR) return `${environment.XDG_RUNTIME_DIR}/reel/reel.sock`;
  return `${fallbackDirectory()}/reel.sock`;
}

/** Return the path that `reel socket` prints if there is a reeld.toml, which may name one. */
function fromFile(environment: NodeJS.ProcessEnv, command: string): string | undefined {
  const home = environment.XDG_CONFIG_HOME || `${environment.HOME}/.config`;
  if (!command || !existsSync(`${home}/reel/reeld.toml`)) return undefined;
  const env = { ...environment, PYTHONPATH: pythonPath() };
  try {
    return execFileSync(command, ["socket"], { env, timeout: TIMEOUT, stdio: ["ignore", "pipe", "ignore"] })
      .toString()
      .trim();
  } catch {
    return undefined; // starting the daemon reports what is wrong
  }
}

/**
 * Check that no other user can listen on a socket: Node cannot ask the kernel who is at the other end.
 *
 * The socket must belong to the user or to root, and so must its directory. Nobody else may write to the directory,
 * unless it is sticky like /tmp, where others cannot replace the user's files. The fallback directory must not be a
 * link, because anybody can make it.
 *
 * @throws NotRunning if something is wrong. A missing socket is not reported: connecting to it does that.
 */
export function requireOwn(path: string): void {
  if (Buffer.byteLength(path) > MAX_PATH) {
    throw new NotRunning(`${path} is too long for a socket; name one of at most ${MAX_PATH} bytes with REEL_SOCKET`);
  }
  const directory = dirname(path);
  const found = look(directory === fallbackDirectory() ? lstatSync : statSync, directory);
  const socket = look(statSync, path);
  if (found && !found.isDirectory()) throw new NotRunning(`${directory} is not a directory; remove it`);
  if (found && !isOwn(found)) throw new NotRunning(`${directory} belongs to another user (uid ${found.uid})`);
  if (found && found.mode & WRITABLE_BY_OTHERS && !(found.mode & STICKY)) {
    throw new NotRunning(`others may write to ${directory}; chmod go-w ${directory}`);
  }
  if (socket && !socket.isSocket()) throw new NotRunning(`${path} is not a socket`);
  if (socket && !isOwn(socket)) throw new NotRunning(`${path} belongs to another user (uid ${socket.uid})`);
}

function isOwn(found: Stats): boolean {
  return found.uid === ownUid() || found.uid === 0;
}

function look(by: (path: string) => Stats, path: string): Stats | undefined {
  try {
    return by(path);
  } catch {
    return undefined; // missing or not accessible: connecting reports which
  }
}
