/** A copy of a conversation, kept by `keep` and `count` and nothing else. Pure: no editor, no wire. */

import type { DraftPush, EventPush, Message, MessagesPage } from "./wire";

/** The kinds after which the prompt may be another. */
const PROMPT: ReadonlySet<string> = new Set(["system", "clear", "rewind", "restore", "clone"]);

export class Copy {
  system: string | null = null;
  messages: Message[] = [];
  /** What others are writing, by their connections. */
  readonly drafts = new Map<number, DraftPush>();
  /** The newest seq that is known of. */
  at = 0;
  /** Whether all that there is at `at` has been read. */
  whole = false;

  /** Forget what was said: it has to be read again. */
  reset(): void {
    this.messages = [];
    this.system = null;
    this.whole = false;
  }

  /** Take an event; tell whether something has to be read now, as it was at its seq. */
  event(push: EventPush): boolean {
    if (push.seq <= this.at) return false;
    this.at = push.seq;
    this.messages.length = Math.min(this.messages.length, push.keep);
    if (push.message) this.messages.push(push.message);
    this.whole = this.messages.length === push.count && !PROMPT.has(push.kind);
    return !this.whole;
  }

  /** Take a page of what was missing. */
  page(page: MessagesPage): void {
    this.messages.push(...page.messages);
    this.system = page.system;
    this.at = page.at;
    this.whole = !page.more;
  }

  /** Take a draft; an empty one is none. */
  draft(push: DraftPush): void {
    if (push.text) this.drafts.set(push.connection, push);
    else this.drafts.delete(push.connection);
  }
}
