/** A conversation that is followed: its lines, which the daemon's patches keep current. */

import type { Connection } from "./connection";
import { Gone, Outdated, ReelError } from "./errors";
import { Sheet } from "./sheet";
import type { Push } from "./wire";

export class Following {
  /** The lines: as they are read at first, afterwards always whole. */
  sheet = new Sheet();
  /** Whether `sheet` has been the conversation as it was at some moment. */
  isWhole = false;
  /** Whether the daemon is still sending what there is. */
  isReading = true;
  /** What is wrong: the daemon is away, or the conversation cannot be shown. */
  problem: ReelError | undefined;
  name: string;
  /** What is being read; the same as `sheet` until that is whole. */
  private next = this.sheet;
  private subscribed: { connection: Connection; sub: number } | undefined;
  private isOver = false;
  private waiting: (() => void)[] = [];

  /**
   * @param agent its name or id; after the first subscription the id, so that a rename does not matter.
   * @param at a seq, to follow the conversation as it was then.
   * @param changed is called after each change.
   * @param closed is called when the following ends.
   */
  constructor(
    public agent: string,
    private readonly at: number | undefined,
    private readonly changed: () => void,
    private readonly closed: (following: Following) => void,
  ) {
    this.name = agent;
  }

  /**
   * Subscribe on a connection. The lines stay until all has been read anew.
   *
   * @throws ReelError if the daemon refuses it, or goes away.
   */
  async subscribe(connection: Connection): Promise<void> {
    if (!connection.features.includes("facts")) throw new Outdated();
    const params = { agent: this.agent, view: "lines", at: this.at };
    const { sub, agent } = await connection.subscribe(params, (push) => this.take(push));
    this.subscribed = { connection, sub };
    if (this.isOver) return this.unsubscribe();
    this.agent = agent;
    this.next = new Sheet();
    if (!this.isWhole) this.sheet = this.next;
    this.isReading = true;
    this.report(undefined);
  }

  /** Subscribe again; what is wrong is a problem of the following. */
  async resume(connection: Connection): Promise<void> {
    try {
      await this.subscribe(connection);
    } catch (error) {
      if (!(error instanceof ReelError)) throw error;
      this.report(error);
    }
  }

  /** Take note that the daemon is away. */
  lose(problem: ReelError): void {
    this.subscribed = undefined;
    this.report(problem);
  }

  /** Wait until something is so, or cannot become so any more. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo() && !this.problem && !this.isOver) await new Promise<void>((wake) => this.waiting.push(wake));
  }

  /** End the following. */
  close(): void {
    this.isOver = true;
    this.unsubscribe();
    this.closed(this);
    this.wake();
  }

  private unsubscribe(): void {
    const { connection, sub } = this.subscribed ?? {};
    this.subscribed = undefined;
    connection?.unsubscribe(sub!);
  }

  private take(push: Push): void {
    if (push.method === "lines") {
      this.next.apply(push.params);
      this.name = push.params.name;
      this.isReading = push.params.more;
      if (!this.isReading) [this.sheet, this.isWhole] = [this.next, true];
      this.report(this.problem);
    } else if (push.method === "lagged") {
      void this.resume(this.subscribed!.connection);
    } else if (push.method === "reset") {
      this.close();
      this.report(new Gone());
    }
  }

  private report(problem: ReelError | undefined): void {
    this.problem = problem;
    this.wake();
    this.changed();
  }

  private wake(): void {
    for (const wake of this.waiting.splice(0)) wake();
  }
}
