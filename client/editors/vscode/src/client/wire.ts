/** The types of the protocol, as far as this client reads them. */

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
  sent?: number;
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
  /** With `details`: how many messages there are. */
  messages?: number;
  /** With `details`: the first characters that a user wrote. */
  first_words?: string | null;
  /** With `details`: whose turn it is. */
  turn?: "user" | "assistant" | "tool" | null;
  /** With `details`: the names of the clients that are writing; null for one without. */
  drafts?: (string | null)[];
}

/** What `agents` lists, and how. */
export interface AgentFilter {
  prefix?: string;
  alive?: boolean;
  order?: "created" | "updated";
  details?: boolean;
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
  /** The conversation that it was cloned from. */
  source?: { agent: string; at: number } | null;
}

/** What a search found. */
export interface Hit {
  /** The ids of the event and of its agent. */
  id: number;
  agent: string;
  name: string;
  title: string | null;
  seq: number;
  /** Null for a note, and for a name or a title. */
  role: "system" | "user" | "assistant" | "tool" | null;
  kind: string;
  time: number;
  /** The time elsewhere, if it comes from there. */
  sent?: number;
  /** Whether it is in the current conversation. */
  live: boolean;
  snippet: string;
  /** The places of the matches in the snippet, in characters. */
  matches: [begin: number, end: number][];
}

export interface HitsPage {
  hits: Hit[];
  more: boolean;
  /** How many events cannot be found yet. */
  behind: number;
  next?: string;
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
  /** The name of the client that writes; null if it has none. */
  client: string | null;
  text: string;
}

/** A push. Its method decides what `params` is: an `EventPush`, a `DraftPush`, … */
export type Push =
  | { method: "event"; params: EventPush }
  | { method: "draft"; params: DraftPush }
  | { method: "reset" | "lagged" | "bye"; params: Params };

/** The longest call that the daemon accepts, in bytes. */
export const MAX_MESSAGE = 16 << 20;
/** The methods that write. The daemon applies calls with the same `key` once. */
export const COMMANDS: ReadonlySet<string> = new Set(
  "create add clear clone mark rewind restore undo redo kill revive change redact purge".split(" "),
);
/** The methods that mean something else on another connection, so a call is not repeated there. */
export const ONCE: ReadonlySet<string> = new Set("subscribe unsubscribe draft shutdown".split(" "));
