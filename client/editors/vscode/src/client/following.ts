/** A copy that is kept current: a loop that reads, subscribes, and starts again when the connection was lost. */

import { setTimeout as pause } from "node:timers/promises";
import type { Client } from "./client";
import type { Connection } from "./connection";
import { Copy } from "./copy";
import { isTransient, NotRunning, ReelError } from "./errors";
import { messages } from "./paging";
import type { Push } from "./wire";

const SHORTEST_PAUSE = 100;
const LONGEST_PAUSE = 2_000;
/** For how long a draft that has ended is shown, in milliseconds. */
const GRACE = 1_000;

export class Following {
  readonly copy = new Copy();
  /** What is wrong: the loop waits for it to pass, or has ended. */
  problem: ReelError | undefined;
  /** Resolves when everything has been read; rejects if it cannot be. */
  readonly begun: Promise<void>;
  private readonly ending = new AbortController();
  private hasBegun = false;

  /**
   * @param agent its name or id; after the first subscription the id, so that a rename does not matter.
   * @param changed is called after each change.
   */
  constructor(
    private readonly client: Client,
    public agent: string,
    private readonly changed: () => void,
  ) {
    this.begun = this.run();
  }

  /** Whether the following has ended. */
  get over(): boolean {
    return this.ending.signal.aborted;
  }

  /** End the following. */
  close(): void {
    this.ending.abort();
    this.client.forget(this);
  }

  private run(): Promise<void> {
    return new Promise((resolve, reject) => {
      const begun = () => {
        this.hasBegun = true;
        resolve();
      };
      void this.loop(begun).catch((error: ReelError) => {
        this.close();
        this.problem = error;
        if (this.hasBegun) this.changed();
        else reject(error);
      });
    });
  }

  private async loop(begun: () => void): Promise<void> {
    for (let wait = SHORTEST_PAUSE; !this.over; wait = Math.min(2 * wait, LONGEST_PAUSE)) {
      try {
        await this.session(() => {
          wait = SHORTEST_PAUSE;
          this.report(undefined);
          begun();
        });
      } catch (error) {
        if (this.over) break;
        if (!this.hasBegun || !(error instanceof NotRunning || isTransient(error))) throw error;
        this.report(error as ReelError);
        await pause(wait, undefined, { signal: this.ending.signal }).catch(() => {});
      }
    }
    if (!this.hasBegun) throw new NotRunning("this client was closed");
  }

  /** Follow on one connection, until it is lost or the subscription ends; then there is another session. */
  private async session(upToDate: () => void): Promise<void> {
    const connection = await this.client.connect(!this.hasBegun);
    if (!this.copy.whole) await this.readAll(connection);
    const { sub, agent, head, pushes } = await connection.subscribe({ agent: this.agent, since: this.copy.at });
    this.agent = agent;
    const end = () => pushes.end();
    this.ending.signal.addEventListener("abort", end);
    try {
      if (this.over) return; // closed before the daemon replied
      if (head < this.copy.at) return this.copy.reset(); // a log never becomes shorter: it was replaced by a backup
      upToDate();
      for await (const push of pushes) {
        if (this.over) return;
        await this.take(connection, push);
        if (push.method === "draft" && !push.params.text) this.changedSoon();
        else this.changed();
      }
    } finally {
      this.ending.signal.removeEventListener("abort", end);
      this.copy.drafts.clear(); // the next subscription pushes the current drafts again
      await unsubscribe(connection, sub);
    }
  }

  private async take(connection: Connection, push: Push): Promise<void> {
    if (push.method === "event" && this.copy.event(push.params)) {
      await this.read(connection, this.copy.messages.at(-1)?.seq, push.params.seq);
    }
    if (push.method === "draft") this.copy.draft(push.params);
    if (push.method === "reset") await this.readAll(connection);
  }

  /**
   * Report the end of a draft with its message, which comes a moment later: who reads the draft must not lose the place.
   * Without a message, report it after a second.
   */
  private changedSoon(): void {
    void pause(GRACE, undefined, { signal: this.ending.signal, ref: false }).then(this.changed, () => {});
  }

  /** Read everything as it is now. */
  private async readAll(connection: Connection): Promise<void> {
    this.copy.reset();
    await this.read(connection);
  }

  /** Read what comes after a seq, on this connection: if it is lost, the loop opens the next one. */
  private async read(connection: Connection, since?: number, at?: number): Promise<void> {
    const call = connection.request.bind(connection);
    for await (const page of messages(call, this.agent, since, at)) this.copy.page(page);
  }

  private report(problem: ReelError | undefined): void {
    this.problem = problem;
    this.changed();
  }
}

/** End a subscription; ignore errors, because the daemon or the loss of the connection may have ended it. */
async function unsubscribe(connection: Connection, sub: number): Promise<void> {
  try {
    await connection.unsubscribe(sub);
  } catch (error) {
    if (!(error instanceof ReelError)) throw error;
  }
}
