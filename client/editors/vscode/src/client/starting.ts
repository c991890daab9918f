/** Starts the daemon, unless it was stopped with `reel stop`. It keeps running when the editor ends. */

import { execFile } from "node:child_process";
import { NotRunning } from "./errors";

/** In milliseconds; `reel start` gives up by itself before that. */
const TIMEOUT = 60_000;
/** What to do if the command `reel` is not found. */
export const REMEDY = "install reel as its README says, or set reel.command";

/**
 * Start a daemon on a socket, unless one answers there, and wait until it answers.
 *
 * @param command the command `reel`, a name or a path.
 * @throws NotRunning with the last line of the command's output.
 */
export function start(command: string, socket: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { timeout: TIMEOUT, env: { ...process.env, PYTHONPATH: pythonPath() } };
    execFile(command, ["--socket", socket, "start", "--unless-stopped"], options, (error, _out, complaints) => {
      if (!error) resolve();
      else reject(new NotRunning(reason(error, command, socket, complaints)));
    });
  });
}

/** Return the absolute entries of `$PYTHONPATH`: the others let `reel` run modules of the current directory. */
export function pythonPath(): string {
  const entries = (process.env.PYTHONPATH ?? "").split(":");
  return entries.filter((entry) => entry.startsWith("/")).join(":");
}

function reason(error: Error & { code?: unknown }, command: string, socket: string, complaints: string): string {
  if (error.code === "ENOENT") {
    return `no daemon answers on ${socket}, and there is no command ${command} to start one: ${REMEDY}`;
  }
  const last = complaints.trim().split("\n").at(-1)!.replace(/^reel: ([a-z_]+: )?/, "");
  return `no daemon answers on ${socket}: ${last || `${command} start ended with status ${error.code}`}`;
}
