/** A queue of pushes: each is stored at once, and one reader takes them out in order. */

/** With more than this, we read more slowly than the daemon pushes: reading from the log is better. */
const CAPACITY = 10_000;

export class Inbox<T> implements AsyncIterableIterator<T> {
  private waiting: T[] = [];
  private wake: (() => void) | undefined;
  private ended: { error?: Error } | undefined;

  /** Store an item; after the end, it is dropped. Going over the capacity is an end. */
  put(item: T): void {
    if (this.ended) return;
    this.waiting.push(item);
    if (this.waiting.length > CAPACITY) this.end();
    this.wake?.();
  }

  /** End the queue: after the stored items the reader ends, or throws the error. */
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
