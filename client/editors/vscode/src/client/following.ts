/** A copy that is kept up to date: one loop that reads, listens, and begins again when the connection was lost. */

import { setTimeout as pause } from "node:timers/promises";
import type { Client } from "./client";
import type { Connection } from "./connection";
import { Copy } from "./copy";
import { NotRunning, passes, ReelError } from "./errors";
import { messages } from "./paging";
import type { Push } from "./wire";

const SHORTEST = 100;
const LONGEST = 2_000;

export class Following {
  readonly copy = new Copy();
  /** What is wrong: it is being waited for, or is over. */
  problem: ReelError | undefined;
  /** Settles when everything has been read, or cannot be. */
  readonly begun: Promise<void>;
  private readonly ending = new AbortController();
  private hasBegun = false;

  /**
   * @param agent its name, or its id; once it is known by its id, it is followed through renamings.
   * @param changed is called after each change.
   */
  constructor(
    private readonly client: Client,
    public agent: string,
    private readonly changed: () => void,
  ) {
    this.begun = this.run();
  }

  /** Whether there will be nothing more. */
  get over(): boolean {
    return this.ending.signal.aborted;
  }

  /** End it. */
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
    for (let wait = SHORTEST; !this.over; wait = Math.min(2 * wait, LONGEST)) {
      try {
        await this.session(() => {
          wait = SHORTEST;
          this.tell(undefined);
          begun();
        });
      } catch (error) {
        if (this.over) break;
        if (!this.hasBegun || !(error instanceof NotRunning || passes(error))) throw error;
        this.tell(error as ReelError);
        await pause(wait, undefined, { signal: this.ending.signal }).catch(() => {});
      }
    }
    if (!this.hasBegun) throw new NotRunning("this client has hung up");
  }

  /** Follow on one connection until it is lost, or the subscription is over: then there is another session. */
  private async session(upToDate: () => void): Promise<void> {
    const connection = await this.client.connect(!this.hasBegun);
    if (!this.copy.whole) await this.readAll(connection);
    const { sub, agent, head, pushes } = await connection.subscribe({ agent: this.agent, since: this.copy.at });
    this.agent = agent;
    const end = () => pushes.end();
    this.ending.signal.addEventListener("abort", end);
    try {
      if (this.over) return; // it was closed before the daemon answered
      if (head < this.copy.at) return this.copy.reset(); // a log never becomes shorter: this one is a backup
      upToDate();
      for await (const push of pushes) {
        if (this.over) return;
        await this.take(connection, push);
        this.changed();
      }
    } finally {
      this.ending.signal.removeEventListener("abort", end);
      this.copy.drafts.clear(); // whoever still writes says so again
      await hangUp(connection, sub);
    }
  }

  private async take(connection: Connection, push: Push): Promise<void> {
    if (push.method === "event" && this.copy.event(push.params)) {
      await this.read(connection, this.copy.messages.at(-1)?.seq, push.params.seq);
    }
    if (push.method === "draft") this.copy.draft(push.params);
    if (push.method === "reset") await this.readAll(connection);
  }

  /** Read everything as it is now. */
  private async readAll(connection: Connection): Promise<void> {
    this.copy.reset();
    await this.read(connection);
  }

  /** Read what comes after a seq, on this very connection: a lost one is for the loop to make again. */
  private async read(connection: Connection, since?: number, at?: number): Promise<void> {
    const ask = connection.request.bind(connection);
    for await (const page of messages(ask, this.agent, since, at)) this.copy.page(page);
  }

  private tell(problem: ReelError | undefined): void {
    this.problem = problem;
    this.changed();
  }
}

/** End a subscription; one that the daemon has ended, or whose connection is gone, is over anyway. */
async function hangUp(connection: Connection, sub: number): Promise<void> {
  try {
    await connection.unsubscribe(sub);
  } catch (error) {
    if (!(error instanceof ReelError)) throw error;
  }
}
