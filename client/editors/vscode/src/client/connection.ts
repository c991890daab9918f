/** One connection: calls, and the pushes of its subscriptions. When it is lost, it is over. */

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
  /** The newest seq when it began. */
  head: number;
  pushes: Inbox<Push>;
}

/** Writes, and leaves it to the socket to say that it broke: what the library makes of that, nobody can catch. */
class Writer extends StreamMessageWriter {
  override write(message: Message): Promise<void> {
    return super.write(message).catch(() => {});
  }
}

export class Connection {
  private readonly subscribed = new Map<number, Subscribed>();
  /** How to tell those who wait for an answer that there will be none. */
  private readonly waiting = new Set<(error: Error) => void>();
  private over: Lost | undefined;

  private constructor(
    private readonly rpc: MessageConnection,
    private readonly socket: Socket,
    lost: () => void,
  ) {
    rpc.onNotification((method: string, params: unknown) => this.push({ method, params } as Push));
    rpc.onError(() => {}); // the socket says so as well
    rpc.onUnhandledNotification(() => {});
    socket.on("close", () => {
      this.end(new Lost("the daemon closed the connection"));
      lost();
    });
    rpc.listen();
  }

  /**
   * Connect to a daemon of our own.
   *
   * @param lost is called once, when the connection has ended.
   * @throws Lost where nobody answers; NotRunning where we must not talk to who does.
   */
  static dial(path: string, lost: () => void): Promise<Connection> {
    requireOwn(path);
    return new Promise((resolve, reject) => {
      const socket = connect(path);
      socket.once("error", (error) => reject(new Lost(`no daemon answers on ${path}: ${error.message}`)));
      socket.once("connect", () => {
        socket.on("error", () => {}); // it closes next
        const [reader, writer] = [new StreamMessageReader(socket), new Writer(socket)];
        resolve(new Connection(createMessageConnection(reader, writer), socket, lost));
      });
    });
  }

  /**
   * Call a method by name.
   *
   * @throws ReelError as the daemon answered; Lost where the connection ended first.
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

  /** Subscribe to an agent; what is pushed from then on goes into `pushes`, which ends with the connection. */
  async subscribe(params: Params): Promise<Subscribed> {
    const reply = await this.request<{ sub: number; agent: string; head: number }>("subscribe", params);
    const pushes = new Inbox<Push>();
    // Messages are handled one a turn of the event loop: no push was handled since the reply.
    const subscribed = { ...reply, pushes };
    this.subscribed.set(reply.sub, subscribed);
    if (this.over) pushes.end(this.over);
    return subscribed;
  }

  /** End a subscription. */
  async unsubscribe(sub: number): Promise<void> {
    if (this.forget(sub) && !this.over) await this.request("unsubscribe", { sub });
  }

  /** Hang up. */
  close(): void {
    this.end(new Lost("this client has hung up"));
    this.socket.end();
  }

  /** Let a subscription's pushes end after what is there; tell whether it was one. */
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
