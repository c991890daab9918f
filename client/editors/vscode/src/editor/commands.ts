/** The commands, without VS Code: what they ask, call and say. */

import { ReelError, type AgentInfo, type AgentRow, type Client, type Hit, type Message, type Params } from "../client";
import type { Asking } from "./asking";
import { lastAnswer, lastCode } from "./code";
import type { Documents } from "./documents";
import { nearest, place, type Place } from "./hits";
import { naming, parsed, pathTo } from "./naming";
import { Search, type Found, type OpenList } from "./searching";
import { count, described, summary } from "./summary";

/** The commands that people know by their kind; all others added messages. */
const KINDS: ReadonlySet<string> = new Set("clear clone mark restore rewind".split(" "));
/** How many messages are searched for an answer or a code block. */
const SEARCHED = 200;

/** A message that is being composed in a document. */
export interface Composed {
  conversation: string;
  text: string;
  /** Close the document, whose text was sent. */
  close(): Promise<void>;
}

/** An item of a list to choose from; `value` is what it stands for. */
export interface Choice<T = unknown> {
  label: string;
  description: string;
  value: T;
}

/** What the commands need of an editor. The answer of a user who cancels is undefined. */
export interface Screen {
  /** The path of the conversation in the active editor, else of the one that was opened last. */
  current(): string | undefined;
  /** The selection in a document that is not a conversation. */
  selection(): string | undefined;
  /** The message in the active editor, if that composes one. */
  composed(): Composed | undefined;
  /** Open a document to compose a message in. */
  compose(name: string): Promise<void>;
  copy(text: string): Promise<void>;
  /** The line of the cursor in the active editor, from 0. */
  line(): number;
  goTo(place: Place): void;
  ask(prompt: string): Promise<string | undefined>;
  choose<T>(prompt: string, choices: Choice<T>[]): Promise<T | undefined>;
  /**
   * Let the user type, and choose from a list that follows what is typed.
   *
   * @param text what is typed at first.
   * @param begin is called with the list, and returns what hears of each text, and of each choice. A choice for which
   *   that returns a value is the user's answer.
   */
  search<T, R>(
    prompt: string,
    text: string,
    begin: (list: OpenList) => { type(text: string): void; choose(value: T): R | undefined },
  ): Promise<R | undefined>;
  /** Show the conversation that a path names, or a past state of it. */
  show(path: string): Promise<void>;
  say(line: string): void;
  complain(line: string): void;
}

export interface Desk {
  client: Client;
  documents: Documents;
  screen: Screen;
  asking: Asking;
}

/** A command; `given` is the answer to its question, which is then not asked. */
export type Command = (desk: Desk, given?: string) => Promise<void>;

export const commands: Record<string, Command> = {
  async open(desk, given) {
    const name = given ?? (await chooseAgent(desk.client, desk.screen));
    if (name === undefined) return;
    const agent = await desk.client.call<AgentInfo>("agent", { agent: name }).catch((error) => {
      throw error instanceof ReelError ? naming(error, name) : error;
    });
    await show(desk, name, agent);
  },

  async search(desk, given) {
    const begin = (list: OpenList) => new Search(desk.client, list);
    const hit = await desk.screen.search<Found, Hit>("Search", given ?? "", begin);
    if (hit) await visit(desk, hit);
  },

  async send(desk, given) {
    const name = current(desk);
    const composed = given === undefined ? desk.screen.composed() : undefined;
    const text = given ?? composed?.text ?? desk.screen.selection() ?? (await desk.screen.ask(`To ${name}`));
    if (text === undefined) return;
    if (await sent(desk, name, text)) await composed?.close();
  },

  async compose(desk) {
    await desk.screen.compose(current(desk));
  },

  async ask(desk, given) {
    const name = current(desk);
    desk.asking.check(name);
    const prompt = `Ask ${name} (empty: what was sent before)`;
    const composed = given === undefined ? desk.screen.composed() : undefined;
    const text = given ?? composed?.text ?? desk.screen.selection() ?? (await desk.screen.ask(prompt));
    if (text === undefined) return;
    if (text.trim() && (await sent(desk, name, text))) await composed?.close();
    desk.asking.start(name, (line) => desk.screen.complain(line));
  },

  async stop(desk) {
    desk.asking.stop(current(desk));
  },

  async code(desk) {
    const name = current(desk);
    const block = lastCode(await newest(desk, name));
    if (!block) throw nothing(`${name}: no code block in an answer`);
    await desk.screen.copy(`${block.lines.join("\n")}\n`);
    const language = block.language ? ` of ${block.language}` : "";
    desk.screen.say(`${name}: copied ${count(block.lines.length, "line")}${language} from #${block.seq}`);
  },

  async answer(desk) {
    const name = current(desk);
    const answer = lastAnswer(await newest(desk, name));
    if (!answer) throw nothing(`${name}: no answer to copy`);
    await desk.screen.copy(`${answer.text}\n`);
    desk.screen.say(`${name}: copied the answer #${answer.seq}`);
  },

  async next({ documents, screen }) {
    const below = documents.shown(screen.current()).headings.find((heading) => heading > screen.line());
    if (below !== undefined) screen.goTo({ line: below, first: 0, last: 0 });
  },

  async previous({ documents, screen }) {
    const above = documents.shown(screen.current()).headings.filter((heading) => heading < screen.line());
    if (above.length) screen.goTo({ line: above.at(-1)!, first: 0, last: 0 });
  },

  async new(desk, given) {
    const name = given ?? (await desk.screen.ask("Name (empty: the daemon chooses one)"));
    if (name === undefined) return;
    const made = await desk.client.call<AgentInfo>("create", name ? { agent: name } : {});
    await show(desk, made.name, made);
  },

  async clone(desk, given) {
    const from = current(desk);
    const at = past(desk);
    const name = given ?? (await desk.screen.ask(`Name of the clone of ${from} (empty: the daemon chooses one)`));
    if (name === undefined) return;
    const made = await callOn<AgentInfo>(desk, from, "clone", { ...(name ? { name } : {}), at });
    await show(desk, made.name, made);
  },

  async mark(desk, given) {
    const name = current(desk);
    const label = given ?? (await desk.screen.ask(`Label of the mark in ${name} (may be empty)`));
    if (label === undefined) return;
    const { seq } = await callOn<{ seq: number }>(desk, name, "mark", label ? { label } : {});
    desk.screen.say(`${name}: marked${label ? ` as ${label}` : ""} (#${seq})`);
  },

  async rewind(desk, given) {
    const name = current(desk);
    const label = given ?? (await chooseMark(desk, name));
    if (label === undefined) return;
    const reply = await callOn<{ target: number; dropped: number }>(desk, name, "rewind", label ? { label } : {});
    const mark = label ? `${label} (#${reply.target})` : `#${reply.target}`;
    desk.screen.say(`${name}: back at mark ${mark}; ${count(reply.dropped, "message")} set aside`);
  },

  async undo(desk) {
    const name = current(desk);
    const { undone } = await callOn<{ undone: number }>(desk, name, "undo");
    desk.screen.say(`${name}: undid ${await called(desk, name, undone)}; Reel: Redo brings it back`);
  },

  async redo(desk) {
    const name = current(desk);
    const { redone } = await callOn<{ redone: number }>(desk, name, "redo");
    desk.screen.say(`${name}: redid ${await called(desk, name, redone)}`);
  },

  async clear(desk) {
    const name = current(desk);
    await callOn(desk, name, "clear");
    desk.screen.say(`${name}: cleared; Reel: Undo brings it back`);
  },

  async rename(desk, given) {
    const name = current(desk);
    const to = given ?? (await desk.screen.ask(`Rename ${name} to`));
    if (to === undefined) return;
    const made = await callOn<AgentInfo>(desk, name, "change", { name: to });
    desk.screen.say(`${name} renamed to ${made.name}`);
    await show(desk, made.name, made);
  },

  async title(desk, given) {
    const name = current(desk);
    const title = given ?? (await desk.screen.ask(`Title of ${name} (empty: none)`));
    if (title === undefined) return;
    const made = await callOn<AgentInfo>(desk, name, "change", { title });
    desk.screen.say(`${name}: ${made.title ?? "no title"}`);
  },

  async info(desk) {
    const agent = await callOn<AgentInfo>(desk, current(desk), "agent");
    const source = agent.source && (await nameOf(desk.client, agent.source.agent));
    desk.screen.say(summary(agent, source ?? undefined));
  },
};

/** Run a command; show an error as one line. */
export async function run(desk: Desk, command: Command, given?: string): Promise<void> {
  try {
    await command(desk, given);
  } catch (error) {
    if (!(error instanceof ReelError)) throw error;
    desk.screen.complain(error.words);
  }
}

/**
 * Return the conversation that a command is about. A command calls this once, before it asks anything, because the user
 * may switch to another conversation meanwhile.
 */
function current({ screen }: Desk): string {
  const name = screen.current();
  if (name === undefined) {
    throw new ReelError(-32602, "invalid_params: no conversation is open (Reel: Open a Conversation opens one)", {
      name: "invalid_params",
    });
  }
  return parsed(name).name;
}

/** Return the seq at which the current document shows its conversation; undefined if that is followed. */
function past({ screen }: Desk): number | undefined {
  return parsed(screen.current() ?? "").past;
}

/**
 * Show the conversation of a hit, and go to the match. What is not in the conversation any more is shown in the
 * conversation as it was.
 */
async function visit(desk: Desk, hit: Hit): Promise<void> {
  const { client, documents, screen } = desk;
  const agent = await client.call<AgentInfo>("agent", { agent: hit.agent });
  const replaced = hit.role === "system" && !agent.system?.includes(hit.snippet);
  const path = pathTo(agent.alive ? agent.name : agent.id, hit.live && !replaced ? undefined : hit.seq);
  await show(desk, path, agent);
  const isNote = hit.kind === "note";
  if (isNote) screen.say(`${agent.name}: #${hit.seq} is a note; reel log ${agent.name} shows it`);
  if (hit.role === null && !isNote) return;
  const section = documents.shown(path);
  if (hit.role !== null && hit.role !== "system" && nearest(section, hit) !== hit.seq) {
    screen.say(`${agent.name}: #${hit.seq} is not in the conversation any more; search again to see it`);
  }
  screen.goTo(place(section, hit));
}

/** Show what a path names: this agent, also if the path has named another one until now. */
async function show({ documents, screen }: Desk, path: string, { id }: AgentInfo): Promise<void> {
  await documents.correct(path, id);
  await screen.show(path);
}

/** Call a method on a conversation. */
async function callOn<R>(desk: Desk, conversation: string, method: string, params: Params = {}): Promise<R> {
  return desk.client.call<R>(method, { agent: await desk.documents.agent(conversation), ...params });
}

/** Send a text to a conversation, and say which message it is; return whether it was sent. */
async function sent(desk: Desk, name: string, text: string): Promise<boolean> {
  if (!text.trim()) {
    desk.screen.say("nothing sent");
    return false;
  }
  const added = await callOn<{ first: number; replaced?: number }>(desk, name, "add", { messages: [text] });
  const note = added.replaced ? `; ${count(added.replaced, "character")} replaced by U+FFFD` : "";
  desk.screen.say(`${name}: added #${added.first}${note}`);
  return true;
}

/** Return the newest messages of a conversation. */
async function newest(desk: Desk, name: string): Promise<Message[]> {
  return (await callOn<{ messages: Message[] }>(desk, name, "messages", { last: SEARCHED, at: past(desk) })).messages;
}

function nothing(text: string): ReelError {
  return new ReelError(-32004, `not_found: ${text}`, { name: "not_found" });
}

/** Return what to call a command: `the rewind (#7)`, or `#3` if it added messages. */
async function called(desk: Desk, name: string, seq: number): Promise<string> {
  const params = { since: seq - 1, limit: 1 };
  const { events } = await callOn<{ events: { kind: string }[] }>(desk, name, "history", params);
  const kind = events[0]?.kind;
  return kind && KINDS.has(kind) ? `the ${kind} (#${seq})` : `#${seq}`;
}

/** Return the name of an agent, or its id if there is no such agent. */
async function nameOf(client: Client, id: string): Promise<string> {
  const found = await client.call<AgentInfo>("agent", { agent: id }).catch(() => undefined);
  return found?.name ?? id;
}

async function chooseAgent(client: Client, screen: Screen): Promise<string | undefined> {
  const rows: AgentRow[] = [];
  for await (const row of client.agents({ alive: true, order: "updated", details: true })) rows.push(row);
  if (!rows.length) screen.say("no conversations (Reel: New Conversation creates one)");
  const choices = rows.map((row) => ({ label: row.name, description: described(row), value: row.name }));
  return choices.length ? screen.choose("Open", choices) : undefined;
}

/** Let the user choose a mark, the newest first; "" is the newest with a message after it. */
async function chooseMark(desk: Desk, conversation: string): Promise<string | undefined> {
  const { marks, name } = await callOn<AgentInfo>(desk, conversation, "agent");
  const newest = { label: "the newest mark", description: "", value: "" };
  const named = marks.filter(({ label }) => label !== null).reverse();
  const choices = named.map(({ label, seq }) => ({ label: label!, description: `#${seq}`, value: label! }));
  return desk.screen.choose(`Rewind ${name} to`, [newest, ...choices]);
}
