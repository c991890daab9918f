/** The commands, without an editor: what they ask, what they call, what they say. */

import { ReelError, type AgentInfo, type AgentRow, type Client, type Params } from "../client";
import type { Documents } from "./documents";
import { localTime } from "./transcript";

/** What a choice shows, and what it stands for. */
export interface Choice<T = unknown> {
  label: string;
  description: string;
  value: T;
}

/** What the commands need of an editor. What the user does not want to say is undefined. */
export interface Screen {
  /** The conversation that is looked at, or was opened last. */
  current(): string | undefined;
  /** What is selected in a document that is no conversation. */
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

/** A command; `given` is what it would ask for. */
export type Command = (desk: Desk, given?: string) => Promise<void>;

export const commands: Record<string, Command> = {
  async open({ client, screen }, given) {
    const name = given ?? (await chooseAgent(client, screen));
    if (name === undefined) return;
    await client.call("agent", { agent: name });
    await screen.show(name);
  },

  async send(desk, given) {
    const name = current(desk);
    const text = given ?? desk.screen.selection() ?? (await desk.screen.ask(`To ${name}`));
    if (text) await carryOut(desk, name, "add", { messages: [text] });
  },

  async new({ client, screen }, given) {
    const name = given ?? (await screen.ask("Name of the conversation (empty: one is made)"));
    if (name === undefined) return;
    const made = await client.call<AgentInfo>("create", name ? { agent: name } : {});
    await screen.show(made.name);
  },

  async clone(desk, given) {
    const from = current(desk);
    const name = given ?? (await desk.screen.ask(`Name of the clone of ${from} (empty: one is made)`));
    if (name === undefined) return;
    const made = await carryOut<AgentInfo>(desk, from, "clone", name ? { name } : {});
    await desk.screen.show(made.name);
  },

  async mark(desk, given) {
    const name = current(desk);
    const label = given ?? (await desk.screen.ask(`Label of the mark in ${name} (may be empty)`));
    if (label === undefined) return;
    const { seq } = await carryOut<{ seq: number }>(desk, name, "mark", label ? { label } : {});
    desk.screen.say(`${name}: marked${label ? ` ${label}` : ""} at ${seq}`);
  },

  async rewind(desk, given) {
    const name = current(desk);
    const label = given ?? (await chooseMark(desk, name));
    if (label === undefined) return;
    const { dropped } = await carryOut<{ dropped: number }>(desk, name, "rewind", label ? { label } : {});
    desk.screen.say(`${name}: rewound${label ? ` to ${label}` : ""}, dropped ${dropped}`);
  },

  async undo(desk) {
    const name = current(desk);
    const { undone } = await carryOut<{ undone: number }>(desk, name, "undo");
    desk.screen.say(`${name}: took back ${undone}`);
  },

  async redo(desk) {
    const name = current(desk);
    const { redone } = await carryOut<{ redone: number }>(desk, name, "redo");
    desk.screen.say(`${name}: brought back ${redone}`);
  },

  async clear(desk) {
    const name = current(desk);
    await carryOut(desk, name, "clear");
    desk.screen.say(`${name}: cleared; Undo brings it back`);
  },

  async info(desk) {
    desk.screen.say(summary(await carryOut<AgentInfo>(desk, current(desk), "agent")));
  },
};

/** Run a command; what is refused is said in a line. */
export async function run(desk: Desk, command: Command, given?: string): Promise<void> {
  try {
    await command(desk, given);
  } catch (error) {
    if (!(error instanceof ReelError)) throw error;
    desk.screen.complain(error.message);
  }
}

/** Give the conversation that a command is about: asked once, for the user may look at another one before it is done. */
function current({ screen }: Desk): string {
  const name = screen.current();
  if (name === undefined) {
    throw new ReelError(-32602, "invalid_params: no conversation is open; open one with Reel: Open a Conversation", {
      name: "invalid_params",
    });
  }
  return name;
}

async function carryOut<R>(desk: Desk, conversation: string, method: string, params: Params = {}): Promise<R> {
  return desk.client.call<R>(method, { agent: await desk.documents.agent(conversation), ...params });
}

async function chooseAgent(client: Client, screen: Screen): Promise<string | undefined> {
  const rows: AgentRow[] = [];
  for await (const row of client.agents({ alive: true })) rows.push(row);
  if (!rows.length) screen.say("there is no conversation yet; make one with Reel: New Conversation");
  rows.sort((one, other) => other.updated - one.updated);
  const choices = rows.map(({ name, title, updated }) => ({
    label: name,
    description: [title, localTime(updated)].filter(Boolean).join("  "),
    value: name,
  }));
  return choices.length ? screen.choose("Open a conversation", choices) : undefined;
}

/** Let a mark be chosen, the newest first; "" is the newest one, whatever it is called. */
async function chooseMark(desk: Desk, conversation: string): Promise<string | undefined> {
  const { marks, name } = await carryOut<AgentInfo>(desk, conversation, "agent");
  const newest = { label: "the newest mark", description: "", value: "" };
  const named = marks.filter(({ label }) => label !== null).reverse();
  const choices = named.map(({ label, seq }) => ({ label: label!, description: `at ${seq}`, value: label! }));
  return desk.screen.choose(`Rewind ${name} to`, [newest, ...choices]);
}

/** Say in a line what matters of an agent. */
export function summary({ name, id, alive, messages, head, title, marks, open_calls }: AgentInfo): string {
  const parts = [
    `${name}${alive ? "" : " (killed)"}: ${messages} messages, head ${head}`,
    title && `title: ${title}`,
    marks.length && `marks: ${marks.map(({ label, seq }) => label ?? `(${seq})`).join(", ")}`,
    open_calls.length && `waiting for: ${open_calls.map((call) => `${call.name} (${call.id})`).join(", ")}`,
    id,
  ];
  return parts.filter(Boolean).join("; ");
}
