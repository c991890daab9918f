/** What goes over the wire, as far as this client reads it. */

export type Params = Record<string, unknown>;

export interface Block {
  type: string;
  [field: string]: unknown;
}

export interface Message {
  role: "user" | "assistant" | "tool";
  content: Block[];
  seq: number;
  /** Milliseconds since the epoch. */
  time: number;
}

export interface MessagesPage {
  agent: string;
  head: number;
  at: number;
  system: string | null;
  messages: Message[];
  more: boolean;
}

export interface AgentRow {
  id: string;
  name: string;
  title: string | null;
  alive: boolean;
  head: number;
  updated: number;
}

export interface AgentInfo extends AgentRow {
  tags: Record<string, string>;
  /** Milliseconds since the epoch. */
  created: number;
  system: string | null;
  messages: number;
  marks: { label: string | null; seq: number }[];
  open_calls: { id: string; name: string; seq: number }[];
  /** How many connections follow it. */
  attached: number;
  /** What it was cloned from. */
  source?: { agent: string; at: number } | null;
}

export interface EventPush {
  sub: number;
  agent: string;
  name: string;
  seq: number;
  kind: string;
  keep: number;
  count: number;
  message?: Message;
}

export interface DraftPush {
  agent: string;
  connection: number;
  /** The name of the program that writes; null if it has not said so. */
  client: string | null;
  text: string;
}

/** A push as it came; `params` is an `EventPush`, a `DraftPush`, … according to the method. */
export type Push =
  | { method: "event"; params: EventPush }
  | { method: "draft"; params: DraftPush }
  | { method: "reset" | "lagged" | "bye"; params: Params };

/** The longest message that the daemon takes, in bytes. */
export const MAX_MESSAGE = 16 << 20;
/** Method calls that write: the daemon does one only once under its `key`, however often it is repeated. */
export const COMMANDS: ReadonlySet<string> = new Set(
  "create add clear clone mark rewind restore undo redo kill revive change".split(" "),
);
/** Calls that mean something else when they are repeated on another connection. */
export const ONCE: ReadonlySet<string> = new Set("subscribe unsubscribe draft shutdown".split(" "));
