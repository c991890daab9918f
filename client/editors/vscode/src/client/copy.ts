/** A copy of a conversation, kept current by the fields `keep` and `count` of events. Pure: no connection. */

import type { DraftPush, EventPush, Message, MessagesPage } from "./wire";

/** The kinds of events that may change the prompt. */
const PROMPT: ReadonlySet<string> = new Set(["system", "clear", "rewind", "restore", "clone"]);

export class Copy {
  system: string | null = null;
  messages: Message[] = [];
  /** What other clients are writing, by their connections. */
  readonly drafts = new Map<number, DraftPush>();
  /** The newest known seq. */
  at = 0;
  /** Whether everything at `at` has been read. */
  whole = false;

  /** Drop the messages and the prompt, to read them again. */
  reset(): void {
    this.messages = [];
    this.system = null;
    this.whole = false;
  }

  /** Take an event; return whether messages or the prompt have to be read, as they were at its seq. */
  event(push: EventPush): boolean {
    if (push.seq <= this.at) return false;
    this.at = push.seq;
    this.messages.length = Math.min(this.messages.length, push.keep);
    if (push.message) this.messages.push(push.message);
    this.whole = this.messages.length === push.count && !PROMPT.has(push.kind);
    return !this.whole;
  }

  /** Take a page of the missing messages. */
  page(page: MessagesPage): void {
    this.messages.push(...page.messages);
    this.system = page.system;
    this.at = page.at;
    this.whole = !page.more;
  }

  /** Take a draft. An empty text ends the draft. */
  draft(push: DraftPush): void {
    if (push.text) this.drafts.set(push.connection, push);
    else this.drafts.delete(push.connection);
  }
}
