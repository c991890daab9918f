/** Runs the user's own command, which lets a model answer: the extension calls no provider. */

import { spawn, type ChildProcess } from "node:child_process";
import { ReelError } from "../client";
import { pythonPath, REMEDY } from "../client/starting";

function refusal(text: string): ReelError {
  return new ReelError(-32602, `invalid_params: ${text}`, { name: "invalid_params" });
}

export class Asking {
  /** The processes that run, by the names of conversations. */
  private readonly running = new Map<string, ChildProcess>();

  /**
   * @param command a line for the shell, or words.
   * @param changed is called with the name of a conversation when its command starts or ends.
   */
  constructor(
    private readonly command: string | [string, ...string[]],
    private readonly socket: string,
    private readonly changed: (name: string) => void,
  ) {}

  /** Throw why the command cannot be run for a conversation now, if it cannot. */
  check(name: string): void {
    if (this.isRunning(name)) throw refusal(`${name}: the command is still running (Reel: Stop Asking ends it)`);
  }

  /**
   * Run the command for a conversation, and return at once.
   *
   * @param failed is called with the last line of its errors if it fails.
   */
  start(name: string, failed: (line: string) => void): void {
    this.check(name);
    const env = { ...process.env, REEL_AGENT: name, REEL_SOCKET: this.socket, PYTHONPATH: pythonPath() };
    // In a group of its own, so that `stop` ends what the shell has started as well.
    const isLine = typeof this.command === "string";
    const [program, ...words] = isLine ? [this.command] : this.command;
    const child = spawn(program, words, { shell: isLine, env, detached: true, stdio: ["ignore", "ignore", "pipe"] });
    let errors = "";
    child.stderr.on("data", (data) => (errors += data));
    child.on("error", (error: NodeJS.ErrnoException) => {
      errors += error.code === "ENOENT" ? `there is no command ${program} to ask with: ${REMEDY}` : error.message;
    });
    child.on("close", (status) => {
      const stopped = !this.running.delete(name);
      const last = errors.trim().split("\n").at(-1);
      if (status !== 0 && !stopped) failed(`${name}: ${last || `the command ended with status ${status}`}`);
      this.changed(name);
    });
    this.running.set(name, child);
    this.changed(name);
  }

  /** Stop the command of a conversation. */
  stop(name: string): void {
    const child = this.running.get(name);
    if (!child) throw refusal(`${name}: no command is running`);
    this.end(name, child);
    this.changed(name);
  }

  isRunning(name: string): boolean {
    return this.running.has(name);
  }

  /** Stop all commands. */
  dispose(): void {
    for (const [name, child] of this.running) this.end(name, child);
  }

  private end(name: string, child: ChildProcess): void {
    this.running.delete(name);
    if (child.pid !== undefined) process.kill(-child.pid);
  }
}
