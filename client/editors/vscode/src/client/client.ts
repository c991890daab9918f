/** The client: one connection that is made when it is needed, and made again when it was lost. */

import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { defaultSocket } from "./address";
import { Connection } from "./connection";
import { Lost, NotRunning, passes, TooLarge } from "./errors";
import { Following } from "./following";
import { agents, messages } from "./paging";
import { start } from "./starting";
import { COMMANDS, MAX_MESSAGE, ONCE, type AgentRow, type MessagesPage, type Params } from "./wire";

const PROTOCOL = 1;
const AGAIN = 100;

export interface Options {
  /** The path of the socket; left out, as `reel socket` prints it. */
  socket?: string;
  /** The command that starts a daemon where none runs; empty: none is started. */
  command?: string;
  /** What the daemon shows of this client, with the events that it wrote. */
  name?: string;
  version?: string;
  /** How long a call that was not answered is tried again, in milliseconds. */
  patience?: number;
}

export class Client {
  readonly socket: string;
  private readonly options: Required<Omit<Options, "socket">>;
  private connection: Connection | undefined;
  private dialling: Promise<Connection> | undefined;
  private starting: Promise<void> | undefined;
  private closings = 0;
  private readonly followings = new Set<Following>();

  constructor({ socket, ...options }: Options = {}) {
    this.options = { command: "reel", name: "node", version: "0", patience: 5_000, ...options };
    this.socket = socket || defaultSocket(process.env, this.options.command);
  }

  /**
   * Call a method with parameters by name.
   *
   * It is repeated when the connection is lost; a command has a key, so that it is not done twice.
   *
   * @throws ReelError as the daemon answered, or `not_running`.
   */
  async call<R = Params>(method: string, params: Params = {}): Promise<R> {
    const given = COMMANDS.has(method) ? { key: randomUUID(), ...params } : params;
    requireFit(method, given);
    const until = Date.now() + this.options.patience;
    for (;;) {
      try {
        return await (await this.connect()).request<R>(method, given);
      } catch (error) {
        const again = passes(error) && !ONCE.has(method) && Date.now() < until;
        if (!again) throw error;
        await pause(AGAIN);
      }
    }
  }

  /** Give every agent, in the order in which they were made. */
  agents(filter: { prefix?: string; alive?: boolean } = {}): AsyncGenerator<AgentRow> {
    return agents(this.call.bind(this), filter);
  }

  /** Give the living messages page by page, as they are now or as they were `at` a seq. */
  messages(agent: string, since?: number, at?: number): AsyncGenerator<MessagesPage> {
    return messages(this.call.bind(this), agent, since, at);
  }

  /**
   * Keep a copy of a conversation, and hear of every change; it comes back after the daemon was restarted.
   *
   * @param changed is called after each change of `following.copy`.
   * @throws ReelError where it cannot be read in the first place.
   */
  async follow(agent: string, changed: () => void): Promise<Following> {
    const following = new Following(this, agent, changed);
    this.followings.add(following);
    try {
      await following.begun;
    } catch (error) {
      this.forget(following);
      throw error;
    }
    return following;
  }

  /** Give the connection; make one, and with `starts` a daemon, where there is none. */
  async connect(starts = true): Promise<Connection> {
    try {
      return await this.dial();
    } catch (error) {
      if (!starts || !this.options.command || !(error instanceof Lost)) throw error;
    }
    this.starting ??= start(this.options.command, this.socket).finally(() => (this.starting = undefined));
    await this.starting;
    return await this.dial();
  }

  /** End everything. */
  close(): void {
    this.closings += 1;
    for (const following of this.followings) following.close();
    this.connection?.close();
    this.connection = undefined;
  }

  /** Called by a following that is over. */
  forget(following: Following): void {
    this.followings.delete(following);
  }

  private dial(): Promise<Connection> {
    if (this.connection) return Promise.resolve(this.connection);
    this.dialling ??= this.greet().finally(() => (this.dialling = undefined));
    return this.dialling;
  }

  private async greet(): Promise<Connection> {
    const closings = this.closings;
    const connection: Connection = await Connection.dial(this.socket, () => {
      if (this.connection === connection) this.connection = undefined;
    });
    const { name, version } = this.options;
    await connection.request("hello", { client: { name, version }, protocol: { min: PROTOCOL, max: PROTOCOL } });
    if (closings !== this.closings) {
      connection.close();
      throw new NotRunning("this client has hung up");
    }
    this.connection = connection;
    return connection;
  }
}

/** Refuse what is over the limit: the daemon would end the connection. */
function requireFit(method: string, params: Params): void {
  const size = Buffer.byteLength(JSON.stringify({ jsonrpc: "2.0", id: Number.MAX_SAFE_INTEGER, method, params }));
  if (size > MAX_MESSAGE) {
    throw new TooLarge(`${method}: ${size} bytes; a message may have ${MAX_MESSAGE}`);
  }
}
