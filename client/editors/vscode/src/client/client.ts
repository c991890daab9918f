/** The client: one connection, opened when it is first needed, and again after a loss. */

import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { defaultSocket } from "./address";
import { Connection } from "./connection";
import { isTransient, Lost, NotRunning, TooLarge } from "./errors";
import { Following } from "./following";
import { agents, messages } from "./paging";
import { start } from "./starting";
import {
  COMMANDS,
  MAX_MESSAGE,
  ONCE,
  type AgentFilter,
  type AgentRow,
  type MessagesPage,
  type Params,
} from "./wire";

const PROTOCOL = 1;
const RETRY = 100;

export interface Options {
  /** The path of the socket; by default, the one that `reel socket` prints. */
  socket?: string;
  /** The command that starts the daemon if it is not running; empty: it is not started. */
  command?: string;
  /** The name of this client, which the daemon shows with its events and drafts. */
  name?: string;
  version?: string;
  /** How long a call that was not answered is repeated, in milliseconds. */
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
   * It is repeated when the connection is lost; a command has a key, so it is applied once.
   *
   * @throws ReelError the daemon's error, or `not_running`.
   */
  async call<R = Params>(method: string, params: Params = {}): Promise<R> {
    const given = COMMANDS.has(method) ? { key: randomUUID(), ...params } : params;
    requireFit(method, given);
    const until = Date.now() + this.options.patience;
    for (;;) {
      try {
        return await (await this.connect()).request<R>(method, given);
      } catch (error) {
        const again = isTransient(error) && !ONCE.has(method) && Date.now() < until;
        if (!again) throw error;
        await pause(RETRY);
      }
    }
  }

  /** Yield every agent, each once; by default in the order of creation. */
  agents(filter: AgentFilter = {}): AsyncGenerator<AgentRow> {
    return agents(this.call.bind(this), filter);
  }

  /** Yield the messages page by page, as they are now or as they were `at` a seq. */
  messages(agent: string, since?: number, at?: number): AsyncGenerator<MessagesPage> {
    return messages(this.call.bind(this), agent, since, at);
  }

  /**
   * Keep a copy of a conversation current, also after the daemon was restarted.
   *
   * @param changed is called after each change of `following.copy`.
   * @throws ReelError if the conversation cannot be read in the first place.
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

  /** Return the connection; open one if there is none, and with `starts`, start the daemon if it is not running. */
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

  /** End all followings, and close the connection. */
  close(): void {
    this.closings += 1;
    for (const following of this.followings) following.close();
    this.connection?.close();
    this.connection = undefined;
  }

  /** Drop a following that has ended. */
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
      throw new NotRunning("this client was closed");
    }
    this.connection = connection;
    return connection;
  }
}

/** Throw TooLarge for a call over the limit, for which the daemon would close the connection. */
function requireFit(method: string, params: Params): void {
  const size = Buffer.byteLength(JSON.stringify({ jsonrpc: "2.0", id: Number.MAX_SAFE_INTEGER, method, params }));
  if (size > MAX_MESSAGE) {
    throw new TooLarge(`${method}: the call has ${size} bytes; it may have ${MAX_MESSAGE}; send it in parts`);
  }
}
