/** Starting the daemon, unless it was stopped with `reel stop`: it lives on when the editor ends. */

import { execFile } from "node:child_process";
import { NotRunning } from "./errors";

/** `reel start` gives up by itself before that. */
const WITHIN = 60_000;

/**
 * Start a daemon on a socket unless one answers there, and wait until it does.
 *
 * @param command the command `reel`, a name or a path.
 * @throws NotRunning with the last words of the command.
 */
export function start(command: string, socket: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { timeout: WITHIN, env: { ...process.env, PYTHONPATH: pythonPath() } };
    execFile(command, ["--socket", socket, "start", "--unless-stopped"], options, (error, _out, complaints) => {
      if (!error) resolve();
      else reject(new NotRunning(`no daemon on ${socket}, and ${reason(error, command, complaints)}`));
    });
  });
}

/** The entries of `$PYTHONPATH` that are absolute: the others would let `reel` run modules of the current directory. */
export function pythonPath(): string {
  const entries = (process.env.PYTHONPATH ?? "").split(":");
  return entries.filter((entry) => entry.startsWith("/")).join(":");
}

function reason(error: Error & { code?: unknown }, command: string, complaints: string): string {
  if (error.code === "ENOENT") return `the command ${command} is not found: pip install 'reeld[daemon]'`;
  const last = complaints.trim().split("\n").at(-1);
  return `${command} start failed: ${last || error.message}`;
}
