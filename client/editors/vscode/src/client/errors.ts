/** An error with a stable name and code of the protocol. Its `message` is the line `name: what and where`. */
export class ReelError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data: { name: string; [field: string]: unknown },
  ) {
    super(message);
    this.name = data.name;
  }

  /** The text for people: the message without the name, which is for programs. */
  get words(): string {
    const prefix = `${this.name}: `;
    return this.message.startsWith(prefix) ? this.message.slice(prefix.length) : this.message;
  }
}

/** No daemon answers on the socket, or it is not safe to connect to it. The daemon never sends this error. */
export class NotRunning extends ReelError {
  constructor(what: string) {
    super(-32000, `not_running: ${what}`, { name: "not_running" });
  }
}

/** The connection ended before the reply came: the call may have been applied. */
export class Lost extends NotRunning {}

/** The call is over the protocol's limit; nothing was sent. */
export class TooLarge extends ReelError {
  constructor(what: string) {
    super(-32003, `too_large: ${what}`, { name: "too_large" });
  }
}

/** The daemon is older than this client. */
export class Outdated extends ReelError {
  constructor() {
    super(-32000, "unsupported: this reeld cannot show lines; restart the daemon: reel stop; reel start", {
      name: "unsupported",
    });
  }
}

/** The conversation was purged. */
export class Gone extends ReelError {
  constructor() {
    super(-32004, "gone: the conversation is gone", { name: "gone" });
  }
}
