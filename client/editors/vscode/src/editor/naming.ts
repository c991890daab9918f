/** The names of conversations and of their past states, and what is said about them. */

import { ReelError, type AgentRow } from "../client";

/** How many of the conversations that may be meant are named. */
const SHOWN = 6;

/** Return the error of a call that names a conversation; if there is none, say what creates it. */
export function naming(error: ReelError, name: string): ReelError {
  if (error.name !== "not_found") return error;
  const text = `not_found: no conversation ${name} (Reel: New Conversation creates it)`;
  return new ReelError(error.code, text, error.data);
}

/** Return the error that a short form stands for several conversations. */
export function ambiguous(error: ReelError, typed: string, agents: AgentRow[]): ReelError {
  const names = agents.slice(0, SHOWN).map(({ name }) => name);
  const listed = names.join(", ") + (agents.length > SHOWN ? ", ..." : "");
  const text = `not_found: no conversation ${typed}, but several are meant by it: ${listed}`;
  return new ReelError(error.code, text, error.data);
}

/** What a document shows: a conversation, with `past` as it was at this seq. */
export interface Shown {
  name: string;
  past?: number;
}

/** Return what a path names: `demo`, or `demo#12` for the conversation as it was at #12. */
export function parsed(path: string): Shown {
  const [, name, past] = /^(.+)#(\d+)$/.exec(path) ?? [];
  return name === undefined ? { name: path } : { name, past: Number(past) };
}

/** Return the path that names a conversation, or a past state of it. */
export function pathTo(name: string, past?: number): string {
  return past === undefined ? name : `${name}#${past}`;
}

/** Return the line that shows a problem. */
export function notice(text: string): string {
  return `*${oneLine(text)}*`;
}

/** Join the lines of a text: names and ids are other people's, and a line break would begin another line. */
export function oneLine(text: string): string {
  return text.replace(/[\r\n]+/g, " ");
}
