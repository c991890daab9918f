/** The types of the protocol, as far as this client reads them. */

export type Params = Record<string, unknown>;

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
  /** With `details`: the short form of the name; an older daemon has none. */
  short?: string;
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
}

/** What is known of a conversation, in lines: a name of 12 columns, a blank and a text. */
export interface Facts {
  name: string;
  lines: string[];
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
  /** Whether it is in the current conversation. */
  live: boolean;
  snippet: string;
  /** The line around its first match: before it, the match, behind it. */
  context: [before: string, match: string, behind: string] | null;
}

/** A line of a list of hits: its texts, each with what it is, and which of the hits it is about. */
export interface HitLine {
  spans: [text: string, what: string][];
  hit: number | null;
}

export interface HitsPage {
  hits: Hit[];
  lines: HitLine[];
  more: boolean;
  /** How many events cannot be found yet. */
  behind: number;
  next?: string;
  /** What was searched for instead of words that nothing has. */
  instead?: Record<string, string[]>;
  /** Whether not all messages with the words were ranked. */
  partial?: boolean;
}

/** The first and the last row of what may be folded. */
export type Fold = [first: number, last: number];

/** Where a message begins; the prompt and drafts have no seq and no time, which is in milliseconds since the epoch. */
export type Heading = [row: number, role: string, seq: number | null, time: number | null];

/** The rows from `first` up to, but not including, `last` are replaced; the other rows are those after that. */
export interface Patch {
  sub: number;
  agent: string;
  name: string;
  replace: [first: number, last: number];
  lines: string[];
  folds: Fold[];
  headings: Heading[];
  marks: [row: number, text: string][];
  /** Whether the lines are not yet the conversation as it is. */
  more: boolean;
}

/** A push. Its method decides what `params` is. */
export type Push = { method: "lines"; params: Patch } | { method: "reset" | "lagged" | "bye"; params: Params };

/** The longest call that the daemon accepts, in bytes. */
export const MAX_MESSAGE = 16 << 20;
/** The methods that write. The daemon applies calls with the same `key` once. */
export const COMMANDS: ReadonlySet<string> = new Set(
  "create add ingest load commit clear clone mark rewind restore undo redo kill revive change redact purge".split(" "),
);
