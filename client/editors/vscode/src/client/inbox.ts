/** What was pushed and not yet read: pushes go in at once, one reader takes them out in order. */

/** More than that, and we read slower than the daemon tells: better to read on from the log. */
const MOST = 10_000;

export class Inbox<T> implements AsyncIterableIterator<T> {
  private waiting: T[] = [];
  private wake: (() => void) | undefined;
  private ended: { error?: Error } | undefined;

  /** Put one in; after the end, and over the bound, which is an end, it is dropped. */
  put(item: T): void {
    if (this.ended) return;
    this.waiting.push(item);
    if (this.waiting.length > MOST) this.end();
    this.wake?.();
  }

  /** Let the reader come to an end after what is there; with an error, let it throw that. */
  end(error?: Error): void {
    this.ended ??= error ? { error } : {};
    this.wake?.();
  }

  async next(): Promise<IteratorResult<T>> {
    while (!this.waiting.length) {
      if (this.ended?.error) throw this.ended.error;
      if (this.ended) return { done: true, value: undefined };
      await new Promise<void>((resolve) => (this.wake = resolve));
    }
    return { done: false, value: this.waiting.shift()! };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
