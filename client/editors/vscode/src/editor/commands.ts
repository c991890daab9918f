/** The commands, without VS Code: what they ask, call and say. */

import { ReelError, type AgentInfo, type AgentRow, type Client, type Params } from "../client";
import type { Documents } from "./documents";
import { naming } from "./naming";
import { localTime } from "./transcript";

/** An item of a list to choose from; `value` is what it stands for. */
export interface Choice<T = unknown> {
  label: string;
  description: string;
  value: T;
}

/** What the commands need of an editor. The answer of a user who cancels is undefined. */
export interface Screen {
  /** The conversation in the active editor, else the one that was opened last. */
  current(): string | undefined;
  /** The selection in a document that is not a conversation. */
  selection(): string | undefined;
  ask(prompt: string): Promise<string | undefined>;
  choose<T>(prompt: string, choices: Choice<T>[]): Promise<T | undefined>;
  show(name: string): Promise<void>;
  say(line: string): void;
  complain(line: string): void;
}

export interface Desk {
  client: Client;
  documents: Documents;
  screen: Screen;
}

/** A command; `given` is the answer to its question, which is then not asked. */
export type Command = (desk: Desk, given?: string) => Promise<void>;

export const commands: Record<string, Command> = {
  async open({ client, screen }, given) {
    const name = given ?? (await chooseAgent(client, screen));
    if (name === undefined) return;
    await client.call("agent", { agent: name }).catch((error) => {
      throw error instanceof ReelError ? naming(error, name) : error;
    });
    await screen.show(name);
  },

  async send(desk, given) {
    const name = current(desk);
    const text = given ?? desk.screen.selection() ?? (await desk.screen.ask(`To ${name}`));
    if (text === undefined) return;
    if (text === "") return desk.screen.say("nothing sent");
    const { first, replaced } = await callOn<{ first: number; replaced?: number }>(desk, name, "add", {
      messages: [text],
    });
    const note = replaced ? `; ${count(replaced, "character")} replaced by U+FFFD` : "";
    desk.screen.say(`${name}: added #${first}${note}`);
  },

  async new({ client, screen }, given) {
    const name = given ?? (await screen.ask("Name (empty: the daemon chooses one)"));
    if (name === undefined) return;
    const made = await client.call<AgentInfo>("create", name ? { agent: name } : {});
    await screen.show(made.name);
  },

  async clone(desk, given) {
    const from = current(desk);
    const name = given ?? (await desk.screen.ask(`Name of the clone of ${from} (empty: the daemon chooses one)`));
    if (name === undefined) return;
    const made = await callOn<AgentInfo>(desk, from, "clone", name ? { name } : {});
    await desk.screen.show(made.name);
  },

  async mark(desk, given) {
    const name = current(desk);
    const label = given ?? (await desk.screen.ask(`Label of the mark in ${name} (may be empty)`));
    if (label === undefined) return;
    const { seq } = await callOn<{ seq: number }>(desk, name, "mark", label ? { label } : {});
    desk.screen.say(`${name}: mark${label ? ` ${label}` : ""} set (#${seq})`);
  },

  async rewind(desk, given) {
    const name = current(desk);
    const label = given ?? (await chooseMark(desk, name));
    if (label === undefined) return;
    const reply = await callOn<{ target: number; dropped: number }>(desk, name, "rewind", label ? { label } : {});
    const mark = label ? `mark ${label}` : "the newest mark";
    desk.screen.say(`${name}: back at ${mark} (#${reply.target}); ${count(reply.dropped, "record")} set aside`);
  },

  async undo(desk) {
    const name = current(desk);
    const { undone } = await callOn<{ undone: number }>(desk, name, "undo");
    desk.screen.say(`${name}: undid #${undone}; Reel: Redo brings it back`);
  },

  async redo(desk) {
    const name = current(desk);
    const { redone } = await callOn<{ redone: number }>(desk, name, "redo");
    desk.screen.say(`${name}: redid #${redone}`);
  },

  async clear(desk) {
    const name = current(desk);
    await callOn(desk, name, "clear");
    desk.screen.say(`${name}: cleared; Reel: Undo brings it back`);
  },

  async info(desk) {
    desk.screen.say(summary(await callOn<AgentInfo>(desk, current(desk), "agent")));
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
  return name;
}

/** Call a method on a conversation. */
async function callOn<R>(desk: Desk, conversation: string, method: string, params: Params = {}): Promise<R> {
  return desk.client.call<R>(method, { agent: await desk.documents.agent(conversation), ...params });
}

async function chooseAgent(client: Client, screen: Screen): Promise<string | undefined> {
  const rows: AgentRow[] = [];
  for await (const row of client.agents({ alive: true })) rows.push(row);
  if (!rows.length) screen.say("no conversations (Reel: New Conversation creates one)");
  rows.sort((one, other) => other.updated - one.updated);
  const choices = rows.map(({ name, title, updated }) => ({
    label: name,
    description: [title, localTime(updated)].filter(Boolean).join("  "),
    value: name,
  }));
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

/** Return the facts about a conversation in one line: a notification shows no more. */
export function summary(agent: AgentInfo): string {
  const { source } = agent;
  const facts: [string, string | number | null][] = [
    ["id", agent.id],
    ["state", agent.alive ? null : "killed"],
    ["title", agent.title],
    ["messages", agent.messages],
    ["head", `#${agent.head}`],
    ["marks", agent.marks.map(({ label, seq }) => `${label === null ? "" : `${label} `}#${seq}`).join(", ")],
    ["waiting for", agent.open_calls.map(({ name, id }) => `${name} ${id}`).join(", ")],
    ["tags", Object.entries(agent.tags).map((tag) => tag.join("=")).sort().join(", ")],
    ["cloned from", source ? `${source.agent} at #${source.at}` : null],
    ["created", localTime(agent.created)],
    ["updated", localTime(agent.updated)],
    ["followers", agent.attached],
    ["prompt", agent.system],
  ];
  const known = facts.filter(([, value]) => value !== null && value !== "");
  return `${agent.name}: ${known.map(([name, value]) => `${name} ${value}`).join("; ")}`;
}

function count(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? "" : "s"}`;
}
