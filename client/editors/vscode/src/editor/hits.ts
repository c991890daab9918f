/** The hits of a search: what a list shows of each, and where one is in its conversation. Pure. */

import type { Hit, Sheet } from "../client";

const DAY = 24 * 3600;
const AGES: [unit: string, seconds: number][] = [
  ["y", 365 * DAY],
  ["mo", 30 * DAY],
  ["d", DAY],
  ["h", 3600],
  ["m", 60],
  ["s", 1],
];

/** A place in a document: a line and two columns, from 0. */
export interface Place {
  line: number;
  first: number;
  last: number;
}

/** What to look for in a message: a text, and where the match is in it. */
interface Context {
  text: string;
  first: number;
  last: number;
}

/** Return what a list shows of a hit. */
export function shown(hit: Hit, now: number): { label: string; description: string; detail: string } {
  return {
    label: `#${hit.seq}  ${hit.role ?? hit.kind}  ${age(hit.sent ?? hit.time, now)}`,
    description: hit.live ? hit.name : `${hit.name}  not in the conversation`,
    detail: flat(hit.snippet),
  };
}

/** Return what a list shows above the hits of a conversation. */
export function title({ name, title: its }: Hit): string {
  return flat(its === null ? name : `${name}  ${its}`);
}

/** Return hits with those of each conversation together, conversations in the order of their first hit. */
export function grouped(hits: Hit[]): Hit[][] {
  const groups = new Map<string, Hit[]>();
  for (const hit of hits) groups.set(hit.agent, [...(groups.get(hit.agent) ?? []), hit]);
  return [...groups.values()];
}

/** Return where the first match of a hit is; if it is not there, where its message begins, or the one before. */
export function place({ lines, headings }: Pick<Sheet, "lines" | "headings">, hit: Hit): Place {
  const most = hit.role === "system" ? 0 : hit.seq;
  const found = headings.findLastIndex(([, role, seq]) => role !== "draft" && (seq ?? 0) <= most);
  const begin = headings[found]?.[0] ?? 0;
  const section = lines.slice(begin, headings[found + 1]?.[0]);
  for (const { text, first, last } of contexts(hit)) {
    const number = section.findIndex((line) => line.includes(text));
    if (number < 0) continue;
    const column = section[number]!.indexOf(text);
    return { line: begin + number, first: column + first, last: column + last };
  }
  return { line: begin, first: 0, last: 0 };
}

/** The line around the first match, and the match alone. */
function contexts({ snippet, matches: [match] }: Hit): Context[] {
  if (!match) return [];
  const characters = [...snippet]; // the daemon counts characters, JavaScript counts halves of some
  const [first, last] = match.map((end) => characters.slice(0, end).join("").length) as [number, number];
  const before = snippet.slice(0, first).split("\n").at(-1)!;
  const after = snippet.slice(first).split("\n")[0]!;
  const word = snippet.slice(first, last).split("\n")[0]!;
  return [
    { text: before + after, first: before.length, last: before.length + word.length },
    { text: word, first: 0, last: word.length },
  ];
}

/** Return how long ago a time was, in its largest unit. */
function age(time: number, now: number): string {
  const seconds = Math.floor((now - time) / 1000);
  const [unit, size] = AGES.find(([, least]) => seconds >= least) ?? [];
  return unit === undefined ? "now" : `${Math.floor(seconds / size!)}${unit}`;
}

/** Return a text on one line. */
function flat(text: string): string {
  return text.replace(/\s/g, " ");
}
