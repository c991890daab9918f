/** The client: one connection, opened when it is first needed, and again after a loss. */

import { randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { defaultSocket } from "./address";
import { Connection } from "./connection";
import { Lost, NotRunning, ReelError, TooLarge } from "./errors";
import { Following } from "./following";
import { start } from "./starting";
import { COMMANDS, MAX_MESSAGE, type AgentFilter, type AgentRow, type Params } from "./wire";

const PROTOCOL = 1;
/** Between two attempts to come back, in milliseconds. */
const SHORTEST_PAUSE = 100;
const LONGEST_PAUSE = 2_000;
/** For how long a command waits to be repeated, in milliseconds. */
const PATIENCE = 30_000;
/** How many agents for which a short form stands are asked for. */
const MOST_MEANT = 100;

export interface Options {
  /** The path of the socket; by default, the one that `reel socket` prints. */
  socket?: string;
  /** The command that starts the daemon if it is not running; empty: it is not started. */
  command?: string;
  /** The name of this client, which the daemon shows with its events and drafts. */
  name?: string;
  version?: string;
  /** How long a command that was not answered waits for the daemon, to be repeated; in milliseconds. */
  patience?: number;
}

export class Client {
  readonly socket: string;
  private readonly options: Required<Omit<Options, "socket">>;
  private connection: Connection | undefined;
  private dialling: Promise<Connection> | undefined;
  private starting: Promise<void> | undefined;
  private isComingBack = false;
  private readonly ending = new AbortController();
  private readonly followings = new Set<Following>();
  /** Emits `connected` with each connection: to the commands that wait to be repeated, in the order they were given. */
  private readonly events = new EventEmitter().setMaxListeners(0);

  constructor({ socket, ...options }: Options = {}) {
    this.options = { command: "reel", name: "node", version: "0", patience: PATIENCE, ...options };
    this.socket = socket || defaultSocket(process.env, this.options.command);
  }

  /**
   * Call a method with parameters by name.
   *
   * A command has a key. If the connection is lost before it was answered, it is sent once more on the next one.
   *
   * @throws ReelError the daemon's error, or `not_running`.
   */
  async call<R = Params>(method: string, params: Params = {}): Promise<R> {
    const given = COMMANDS.has(method) ? { key: randomUUID(), ...params } : params;
    requireFit(method, given);
    const connection = await this.connect();
    try {
      return await connection.request<R>(method, given);
    } catch (error) {
      if (!(error instanceof Lost) || this.ending.signal.aborted) throw error;
    }
    const unanswered = new Lost(`the daemon went away before it answered ${method}`);
    if (!("key" in given)) throw unanswered;
    try {
      return await (await this.next()).request<R>(method, given);
    } catch (error) {
      if (error instanceof ReelError && !(error instanceof Lost)) throw error;
      throw new Lost(`${unanswered.words}; check whether it was applied`);
    }
  }

  /** Return whether the daemon has a feature. */
  async knows(feature: string): Promise<boolean> {
    return (await this.connect()).features.includes(feature);
  }

  /** Return the agents for which a short form stands: the live ones, else the killed ones; none from an older daemon. */
  async meant(short: string): Promise<AgentRow[]> {
    if (!(await this.knows("short_names"))) return [];
    const { agents } = await this.call<{ agents: AgentRow[] }>("agents", { short, limit: MOST_MEANT });
    const live = agents.filter(({ alive }) => alive);
    return live.length ? live : agents;
  }

  /** Yield every agent, each once; by default in the order of creation. */
  async *agents(filter: AgentFilter = {}): AsyncGenerator<AgentRow> {
    const seen = new Set<string>(); // in the order `updated`, one that changes meanwhile comes twice
    for (let [more, after] = [true, undefined as string | undefined]; more; ) {
      const page: { agents: AgentRow[]; more: boolean } = await this.call("agents", { ...filter, after });
      for (const agent of page.agents) {
        if (!seen.has(agent.id)) yield agent;
        seen.add(agent.id);
      }
      more = page.more;
      after = page.agents.at(-1)?.id;
    }
  }

  /**
   * Keep the lines of a conversation current, also after the daemon was restarted.
   *
   * @param changed is called after each change.
   * @param at a seq, to follow the conversation as it was then.
   * @throws ReelError if the conversation cannot be shown in the first place.
   */
  async follow(agent: string, changed: () => void, at?: number): Promise<Following> {
    const following = new Following(agent, at, changed, (ended) => this.followings.delete(ended));
    await following.subscribe(await this.connect());
    this.followings.add(following);
    return following;
  }

  /** Return the connection; open one if there is none, and start the daemon if it is not running. */
  async connect(): Promise<Connection> {
    try {
      return await this.dial();
    } catch (error) {
      if (!this.options.command || !(error instanceof Lost)) throw error;
    }
    this.starting ??= start(this.options.command, this.socket).finally(() => (this.starting = undefined));
    await this.starting;
    return await this.dial();
  }

  /** End all followings, and close the connection. */
  close(): void {
    this.ending.abort();
    for (const following of this.followings) following.close();
    this.connection?.close();
    this.connection = undefined;
  }

  private dial(): Promise<Connection> {
    if (this.connection) return Promise.resolve(this.connection);
    this.dialling ??= this.greet().finally(() => (this.dialling = undefined));
    return this.dialling;
  }

  private async greet(): Promise<Connection> {
    const connection: Connection = await Connection.dial(this.socket, (error) => this.lose(connection, error));
    const { name, version } = this.options;
    const given = { client: { name, version }, protocol: { min: PROTOCOL, max: PROTOCOL } };
    ({ features: connection.features } = await connection.request<{ features: string[] }>("hello", given));
    if (this.ending.signal.aborted) {
      connection.close();
      throw new NotRunning("this client was closed");
    }
    this.connection = connection;
    this.events.emit("connected", connection); // before those who wait for this promise
    for (const following of this.followings) void following.resume(connection);
    return connection;
  }

  private lose(connection: Connection, error: Lost): void {
    if (this.connection === connection) this.connection = undefined;
    for (const following of this.followings) following.lose(error);
    void this.comeBack();
  }

  /** Return the next connection, which is looked for meanwhile. */
  private async next(): Promise<Connection> {
    const signal = AbortSignal.any([this.ending.signal, AbortSignal.timeout(this.options.patience)]);
    const connected = once(this.events, "connected", { signal });
    void this.comeBack();
    return (await connected)[0];
  }

  /** Look for the daemon, as long as a conversation is followed or a command waits; this never starts one. */
  private async comeBack(): Promise<void> {
    if (this.isComingBack) return;
    this.isComingBack = true;
    for (let wait = SHORTEST_PAUSE; this.isNeeded; wait = Math.min(2 * wait, LONGEST_PAUSE)) {
      await pause(wait, undefined, { signal: this.ending.signal }).catch(() => {});
      if (this.isNeeded) await this.dial().catch((error) => this.report(error));
    }
    this.isComingBack = false;
  }

  private get isNeeded(): boolean {
    const isWaiting = this.followings.size > 0 || this.events.listenerCount("connected") > 0;
    return isWaiting && !this.connection && !this.ending.signal.aborted;
  }

  private report(error: ReelError): void {
    for (const following of this.followings) following.lose(error);
  }
}

/** Throw TooLarge for a call over the limit, for which the daemon would close the connection. */
function requireFit(method: string, params: Params): void {
  const size = Buffer.byteLength(JSON.stringify({ jsonrpc: "2.0", id: Number.MAX_SAFE_INTEGER, method, params }));
  if (size > MAX_MESSAGE) {
    throw new TooLarge(`${method}: the call has ${size} bytes; it may have ${MAX_MESSAGE}; send it in parts`);
  }
}
