/** One connection: calls, and the pushes of its subscriptions. A connection that was lost is not opened again. */

import { connect, type Socket } from "node:net";
import {
  createMessageConnection,
  ResponseError,
  StreamMessageReader,
  StreamMessageWriter,
  type Message,
  type MessageConnection,
} from "vscode-jsonrpc/node";
import { requireOwn } from "./address";
import { Lost, ReelError } from "./errors";
import { Inbox } from "./inbox";
import type { Params, Push } from "./wire";

/** A subscription on one connection. */
export interface Subscribed {
  sub: number;
  agent: string;
  /** The newest seq when the subscription began. */
  head: number;
  pushes: Inbox<Push>;
}

/** Ignores failed writes: the library throws where nobody can catch it, and the socket reports the loss anyway. */
class Writer extends StreamMessageWriter {
  override write(message: Message): Promise<void> {
    return super.write(message).catch(() => {});
  }
}

export class Connection {
  private readonly subscribed = new Map<number, Subscribed>();
  /** Reject the calls that have no reply yet. */
  private readonly waiting = new Set<(error: Error) => void>();
  private over: Lost | undefined;

  private constructor(
    private readonly rpc: MessageConnection,
    private readonly socket: Socket,
    lost: () => void,
  ) {
    rpc.onNotification((method: string, params: unknown) => this.push({ method, params } as Push));
    rpc.onError(() => {}); // the socket reports it as well
    rpc.onUnhandledNotification(() => {});
    socket.on("close", () => {
      this.end(new Lost("the daemon closed the connection"));
      lost();
    });
    rpc.listen();
  }

  /**
   * Connect to the user's own daemon.
   *
   * @param lost is called once, when the connection has ended.
   * @throws Lost if no daemon answers; NotRunning if it is not safe to connect to the socket.
   */
  static dial(path: string, lost: () => void): Promise<Connection> {
    requireOwn(path);
    return new Promise((resolve, reject) => {
      const socket = connect(path);
      socket.once("error", (error) => reject(new Lost(`no daemon answers on ${path}: ${error.message}`)));
      socket.once("connect", () => {
        socket.on("error", () => {}); // "close" comes next
        const [reader, writer] = [new StreamMessageReader(socket), new Writer(socket)];
        resolve(new Connection(createMessageConnection(reader, writer), socket, lost));
      });
    });
  }

  /**
   * Call a method by name.
   *
   * @throws ReelError the daemon's error; Lost if the connection ended first.
   */
  async request<R>(method: string, params: Params): Promise<R> {
    if (this.over) throw this.over;
    let giveUp: ((error: Error) => void) | undefined;
    try {
      return await new Promise<R>((resolve, reject) => {
        this.waiting.add((giveUp = reject));
        this.rpc.sendRequest<R>(method, params).then(resolve, reject);
      });
    } catch (error) {
      if (error instanceof ResponseError && error.data?.name) {
        throw new ReelError(error.code, error.message, error.data);
      }
      throw this.over ?? new Lost(`the connection broke: ${(error as Error).message}`);
    } finally {
      this.waiting.delete(giveUp!);
    }
  }

  /** Subscribe to an agent. Its pushes go into `pushes`, which ends with the connection. */
  async subscribe(params: Params): Promise<Subscribed> {
    const reply = await this.request<{ sub: number; agent: string; head: number }>("subscribe", params);
    const pushes = new Inbox<Push>();
    // vscode-jsonrpc handles one message in each turn of the event loop: no push was handled since the reply.
    const subscribed = { ...reply, pushes };
    this.subscribed.set(reply.sub, subscribed);
    if (this.over) pushes.end(this.over);
    return subscribed;
  }

  /** End a subscription. */
  async unsubscribe(sub: number): Promise<void> {
    if (this.forget(sub) && !this.over) await this.request("unsubscribe", { sub });
  }

  /** Close the connection. */
  close(): void {
    this.end(new Lost("this client was closed"));
    this.socket.end();
  }

  /** End the pushes of a subscription after those that have arrived; return whether there was one. */
  private forget(sub: number): boolean {
    this.subscribed.get(sub)?.pushes.end();
    return this.subscribed.delete(sub);
  }

  private push(push: Push): void {
    const { sub, agent } = push.params as { sub?: number; agent?: string };
    for (const one of this.subscribed.values()) {
      if (sub === undefined ? agent === undefined || agent === one.agent : sub === one.sub) one.pushes.put(push);
    }
    if (push.method === "lagged") this.forget(sub!);
  }

  private end(error: Lost): void {
    if (this.over) return;
    this.over = error;
    this.rpc.dispose();
    for (const giveUp of this.waiting) giveUp(error);
    for (const { pushes } of this.subscribed.values()) pushes.end(error);
    this.subscribed.clear();
  }
}
