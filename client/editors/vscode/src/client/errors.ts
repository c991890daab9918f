/** What goes wrong, with the protocol's stable names and codes; `message` is the line `name: what and where`. */
export class ReelError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data: { name: string; [field: string]: unknown },
  ) {
    super(message);
    this.name = data.name;
  }

  /** What a person reads: the message without the name, which is for programs. */
  get words(): string {
    const prefix = `${this.name}: `;
    return this.message.startsWith(prefix) ? this.message.slice(prefix.length) : this.message;
  }
}

/** Nobody answers on the socket, or nobody whom we may talk to. The client's own: it is never sent. */
export class NotRunning extends ReelError {
  constructor(what: string) {
    super(-32000, `not_running: ${what}`, { name: "not_running" });
  }
}

/** The connection ended before the answer came: what was asked for may have happened. */
export class Lost extends NotRunning {}

/** The message is over the limit of the wire; nothing was sent. */
export class TooLarge extends ReelError {
  constructor(what: string) {
    super(-32003, `too_large: ${what}`, { name: "too_large" });
  }
}

/** Tell whether the same call may go well a moment later. */
export function passes(error: unknown): boolean {
  return error instanceof Lost || (error instanceof ReelError && ["shutting_down", "busy"].includes(error.name));
}
