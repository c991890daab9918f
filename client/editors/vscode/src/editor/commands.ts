/** The commands: what they ask, call and say. */

import { ReelError, type AgentInfo, type AgentRow, type Client, type Facts, type Hit } from "../client";
import type { Asking } from "./asking";
import type { Conversation, Documents } from "./documents";
import { place } from "./hits";
import { ambiguous, naming, pathTo } from "./naming";
import { search } from "./searching";
import { count, described, summary } from "./summary";
import type { Composed, Window } from "./window";

/** The commands that people know by their kind; all others added messages. */
const KINDS: ReadonlySet<string> = new Set("clear clone mark restore rewind".split(" "));

export interface Desk {
  client: Client;
  documents: Documents;
  screen: Window;
  asking: Asking;
}

/** A command; `given` is the answer to its question, which is then not asked. */
export type Command = (desk: Desk, given?: string) => Promise<void>;

export const commands: Record<string, Command> = {
  async open(desk, given) {
    const name = given ?? (await chooseAgent(desk.client, desk.screen));
    if (name === undefined) return;
    const agent = await find(desk.client, name);
    await show(desk, name === agent.id ? name : agent.name, agent);
  },

  async search(desk, given) {
    const hit = await search(desk.client, given ?? "");
    if (hit) await visit(desk, hit);
  },

  async send(desk, given) {
    const { text: written, close } = taken(desk, given);
    const to = await current(desk);
    const text = written ?? (await desk.screen.ask(`To ${to.name}`));
    if (text !== undefined && (await sent(desk, to, text))) await close?.();
  },

  async compose(desk) {
    const { path, name } = await current(desk);
    await desk.screen.compose(path, name);
  },

  async ask(desk, given) {
    const { text: written, close } = taken(desk, given);
    const to = await current(desk);
    desk.asking.check(to.name);
    const text = written ?? (await desk.screen.ask(`Ask ${to.name} (empty: what was sent before)`));
    if (text === undefined) return;
    if (text.trim() && (await sent(desk, to, text))) await close?.();
    desk.asking.start(to.name, (line) => desk.screen.complain(line));
  },

  async stop(desk) {
    desk.asking.stop((await current(desk)).name);
  },

  async code(desk) {
    const { name, agent } = await current(desk);
    const { seq, text, language } = await desk.client.call<Answer>("answer", { agent, code: true });
    if (seq === null) throw nothing(`${name}: no code block in an answer`);
    await desk.screen.copy(`${text}\n`);
    const lines = count(text.split("\n").length, "line");
    desk.screen.say(`${name}: copied ${lines}${language ? ` of ${language}` : ""} from #${seq}`);
  },

  async answer(desk) {
    const { name, agent } = await current(desk);
    const { seq, text } = await desk.client.call<Answer>("answer", { agent });
    if (seq === null) throw nothing(`${name}: no answer to copy`);
    await desk.screen.copy(`${text}\n`);
    desk.screen.say(`${name}: copied the answer #${seq}`);
  },

  async next({ documents, screen }) {
    const below = documents.sheet(screen.current()).headings.find(([row]) => row > screen.line());
    if (below) screen.goTo({ line: below[0], first: 0, last: 0 });
  },

  async previous({ documents, screen }) {
    const above = documents.sheet(screen.current()).headings.findLast(([row]) => row < screen.line());
    if (above) screen.goTo({ line: above[0], first: 0, last: 0 });
  },

  async new(desk, given) {
    const name = given ?? (await desk.screen.ask("Name (empty: the daemon chooses one)"));
    if (name === undefined) return;
    const made = await desk.client.call<AgentInfo>("create", name ? { agent: name } : {});
    await show(desk, made.name, made);
  },

  async clone(desk, given) {
    const { name: from, agent, past: at } = await current(desk);
    const name = given ?? (await desk.screen.ask(`Name of the clone of ${from} (empty: the daemon chooses one)`));
    if (name === undefined) return;
    const made = await desk.client.call<AgentInfo>("clone", { agent, ...(name ? { name } : {}), at });
    await show(desk, made.name, made);
  },

  async mark(desk, given) {
    const { name, agent } = await current(desk);
    const label = given ?? (await desk.screen.ask(`Label of the mark in ${name} (may be empty)`));
    if (label === undefined) return;
    const { seq } = await desk.client.call<{ seq: number }>("mark", { agent, ...(label ? { label } : {}) });
    desk.screen.say(`${name}: marked${label ? ` as ${label}` : ""} (#${seq})`);
  },

  async rewind(desk, given) {
    const { name, agent } = await current(desk);
    const label = given ?? (await chooseMark(desk, name, agent));
    if (label === undefined) return;
    const reply = await desk.client.call<{ target: number; label?: string; dropped: number }>("rewind", { agent, ...(label ? { label } : {}) });
    const called = reply.label ?? label;
    const mark = called ? `${called} (#${reply.target})` : `mark #${reply.target}`;
    desk.screen.say(`${name}: back at ${mark}; ${count(reply.dropped, "message")} set aside`);
  },

  async undo(desk) {
    const { name, agent } = await current(desk);
    const { undone } = await desk.client.call<{ undone: number }>("undo", { agent });
    desk.screen.say(`${name}: undid ${await called(desk, agent, undone)}; Reel: Redo does it again`);
  },

  async redo(desk) {
    const { name, agent } = await current(desk);
    const { redone } = await desk.client.call<{ redone: number }>("redo", { agent });
    desk.screen.say(`${name}: redid ${await called(desk, agent, redone)}`);
  },

  async clear(desk) {
    const { name, agent } = await current(desk);
    await desk.client.call("clear", { agent });
    desk.screen.say(`${name}: cleared; Reel: Undo brings it back`);
  },

  async rename(desk, given) {
    const { name, agent } = await current(desk);
    const to = given ?? (await desk.screen.ask(`Rename ${name} to`));
    if (to === undefined) return;
    const made = await desk.client.call<AgentInfo>("change", { agent, name: to });
    desk.screen.say(`${name} renamed to ${made.name}`);
    await show(desk, made.name, made);
  },

  async title(desk, given) {
    const { name, agent } = await current(desk);
    const title = given ?? (await desk.screen.ask(`Title of ${name} (empty: none)`));
    if (title === undefined) return;
    const made = await desk.client.call<AgentInfo>("change", { agent, title });
    desk.screen.say(`${name}: ${made.title ?? "no title"}`);
  },

  async info(desk) {
    const { agent } = await current(desk);
    desk.screen.say(summary(await desk.client.call<Facts>("facts", { agent })));
  },
};

interface Answer {
  /** Null if there is none. */
  seq: number | null;
  text: string;
  language: string | null;
}

interface Added {
  first: number;
  /** How many characters were replaced. */
  replaced?: number;
}

/** Run a command; show an error as one line. */
export async function run(desk: Desk, command: Command, given?: string): Promise<void> {
  try {
    await command(desk, given);
  } catch (error) {
    if (!(error instanceof ReelError)) throw error;
    desk.screen.complain(error.words);
  }
}

/** Return an agent by its name, its id or a short form. */
async function find(client: Client, typed: string): Promise<AgentRow> {
  try {
    return await client.call<AgentInfo>("agent", { agent: typed });
  } catch (error) {
    if (!(error instanceof ReelError) || error.name !== "not_found") throw error;
    const meant = await client.meant(typed);
    if (meant.length === 1) return meant[0]!;
    throw meant.length ? ambiguous(error, typed, meant) : naming(error, typed);
  }
}

/**
 * Return the conversation that a command is about, with its path. A command calls this once, before it asks anything,
 * because the user may switch to another conversation meanwhile.
 */
async function current({ documents, screen }: Desk): Promise<Conversation & { path: string }> {
  const path = screen.current();
  if (path === undefined) {
    throw new ReelError(-32602, "invalid_params: no conversation is open (Reel: Open a Conversation opens one)", {
      name: "invalid_params",
    });
  }
  return { path, ...(await documents.conversation(path)) };
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
  await documents.settle(path);
  const sheet = documents.sheet(path);
  const isThere = hit.role === "system" || sheet.headings.some(([, , seq]) => seq === hit.seq);
  if (!isThere && hit.role !== null) {
    screen.say(`${agent.name}: #${hit.seq} is not in the conversation any more; search again to see it`);
  }
  screen.goTo(place(sheet, hit));
}

/** Show what a path names: this agent, also if the path has named another one until now. */
async function show({ documents, screen }: Desk, path: string, { id }: AgentRow): Promise<void> {
  await documents.correct(path, id);
  await documents.show(path, () => screen.show(path));
}

/** Return the text to send, if the user need not be asked for it: what is given, composed or selected at this moment. */
function taken({ screen }: Desk, given: string | undefined): Partial<Composed> {
  if (given !== undefined) return { text: given };
  const selected = screen.selection();
  return screen.composed() ?? (selected === undefined ? {} : { text: selected });
}

/** Send a text to a conversation, and say which message it is; return whether it was sent. */
async function sent(desk: Desk, { name, agent }: Conversation, text: string): Promise<boolean> {
  if (!text.trim()) {
    desk.screen.say("nothing sent");
    return false;
  }
  const added = await desk.client.call<Added>("add", { agent, messages: [text] });
  const note = added.replaced ? `; ${count(added.replaced, "character")} replaced by U+FFFD` : "";
  desk.screen.say(`${name}: added #${added.first}${note}`);
  return true;
}

function nothing(text: string): ReelError {
  return new ReelError(-32004, `not_found: ${text}`, { name: "not_found" });
}

/** Return what to call a command: `the rewind (#7)`, or `#3` if it added messages. */
async function called({ client }: Desk, agent: string, seq: number): Promise<string> {
  const { events } = await client.call<{ events: { kind: string }[] }>("history", { agent, since: seq - 1, limit: 1 });
  const kind = events[0]?.kind;
  return kind && KINDS.has(kind) ? `the ${kind} (#${seq})` : `#${seq}`;
}

async function chooseAgent(client: Client, screen: Window): Promise<string | undefined> {
  const rows: AgentRow[] = [];
  for await (const row of client.agents({ alive: true, order: "updated", details: true })) rows.push(row);
  if (!rows.length) screen.say("no conversations (Reel: New Conversation creates one)");
  const choices = rows.map((row) => ({ label: row.short ?? row.name, description: described(row), value: row.name }));
  return choices.length ? screen.choose("Open", choices) : undefined;
}

/** Let the user choose a mark, the newest first; "" is the newest with a message after it. */
async function chooseMark({ client, screen }: Desk, name: string, agent: string): Promise<string | undefined> {
  const { marks } = await client.call<AgentInfo>("agent", { agent });
  const newest = { label: "the newest mark", description: "", value: "" };
  const named = marks.filter(({ label }) => label !== null).reverse();
  const choices = named.map(({ label, seq }) => ({ label: label!, description: `#${seq}`, value: label! }));
  return screen.choose(`Rewind ${name} to`, [newest, ...choices]);
}
