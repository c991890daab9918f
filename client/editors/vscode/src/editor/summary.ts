/** A conversation in the words of a list or a notification. Pure. */

import { localTime, type AgentRow, type Facts } from "../client";
import { oneLine } from "./naming";

const MINUTES = "2026-11-22 10:29".length;
/** The width of the column with the names of facts. */
const NAMES = 12;

/** Return what a list shows after the name: the time, the number of messages, what it is about, who is writing. */
export function described({ updated, messages, title, first_words, turn, drafts }: AgentRow): string {
  const about = [
    title ?? first_words,
    turn === "tool" ? "(waits for a tool)" : "",
    ...(drafts ?? []).map((client) => `(writing: ${client ?? "somebody"})`),
  ];
  const words = [localTime(updated).slice(0, MINUTES), messages, ...about.filter(Boolean)];
  return oneLine(words.join("  "));
}

/** Return the lines with the facts about a conversation in one line: a notification shows no more. */
export function summary({ name, lines }: Facts): string {
  const facts = lines.slice(1).map((line) => `${line.slice(0, NAMES).trim()} ${line.slice(NAMES + 1)}`);
  return `${name}: ${facts.join("; ")}`;
}

/** Return a number with a noun, in the plural if the number is not 1. */
export function count(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? "" : "s"}`;
}
