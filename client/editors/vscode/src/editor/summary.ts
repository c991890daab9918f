/** A conversation in the words of a list or a notification. Pure. */

import { localTime, type AgentInfo, type AgentRow } from "../client";
import { oneLine } from "./naming";

const MINUTES = "2026-11-22 10:29".length;

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

/**
 * Return the facts about a conversation in one line: a notification shows no more.
 *
 * @param origin the name of the conversation that it was cloned from.
 */
export function summary(agent: AgentInfo, origin?: string): string {
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
    ["cloned from", source ? `${origin ?? source.agent} at #${source.at}` : null],
    ["created", localTime(agent.created)],
    ["updated", localTime(agent.updated)],
    ["followers", agent.attached],
    ["prompt", agent.system],
  ];
  const known = facts.filter(([, value]) => value !== null && value !== "");
  return `${agent.name}: ${known.map(([name, value]) => `${name} ${value}`).join("; ")}`;
}

/** Return a number with a noun, in the plural if the number is not 1. */
export function count(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? "" : "s"}`;
}
