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
import type { Params, Push } from "./wire";

/** Ignores failed writes: the library throws where nobody can catch it, and the socket reports the loss anyway. */
class Writer extends StreamMessageWriter {
  override write(message: Message): Promise<void> {
    return super.write(message).catch(() => {});
  }
}

export class Connection {
  /** What the daemon can do, once it has been greeted. */
  features: string[] = [];
  /** What takes the pushes of each subscription. */
  private readonly subscribed = new Map<number, (push: Push) => void>();
  /** Reject the calls that have no reply yet. */
  private readonly waiting = new Set<(error: Error) => void>();
  private over: Lost | undefined;

  private constructor(
    private readonly rpc: MessageConnection,
    private readonly socket: Socket,
    lost: (error: Lost) => void,
  ) {
    rpc.onNotification((method: string, params: unknown) => this.push({ method, params } as Push));
    rpc.onError(() => {}); // the socket reports it as well
    rpc.onUnhandledNotification(() => {});
    socket.on("close", () => {
      this.end(new Lost("the daemon closed the connection"));
      lost(this.over!);
    });
    rpc.listen();
  }

  /**
   * Connect to the user's own daemon.
   *
   * @param lost is called once, when the connection has ended.
   * @throws Lost if no daemon answers; NotRunning if it is not safe to connect to the socket.
   */
  static dial(path: string, lost: (error: Lost) => void): Promise<Connection> {
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

  /** Subscribe to an agent; `take` gets its pushes. */
  async subscribe(params: Params, take: (push: Push) => void): Promise<{ sub: number; agent: string }> {
    const reply = await this.request<{ sub: number; agent: string }>("subscribe", params);
    // vscode-jsonrpc handles one message in each turn of the event loop: no push was handled since the reply.
    this.subscribed.set(reply.sub, take);
    return reply;
  }

  /** End a subscription. Errors do not matter, because the daemon or the loss of the connection may have ended it. */
  unsubscribe(sub: number): void {
    this.subscribed.delete(sub);
    this.request("unsubscribe", { sub }).catch(() => {});
  }

  /** Close the connection. */
  close(): void {
    this.end(new Lost("this client was closed"));
    this.socket.end();
  }

  private push(push: Push): void {
    const { sub } = push.params as { sub?: number };
    const take = this.subscribed.get(sub ?? 0);
    if (push.method === "lagged") this.subscribed.delete(sub!);
    take?.(push);
  }

  private end(error: Lost): void {
    if (this.over) return;
    this.over = error;
    this.rpc.dispose();
    for (const giveUp of this.waiting) giveUp(error);
    this.subscribed.clear();
  }
}
