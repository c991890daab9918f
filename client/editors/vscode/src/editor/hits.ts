/** Where the hits of a search are in their conversations. Pure. */

import type { Hit, Sheet } from "../client";

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
function contexts({ context }: Hit): Context[] {
  if (!context) return [];
  const [before, match] = context;
  return [
    { text: context.join(""), first: before.length, last: before.length + match.length },
    { text: match, first: 0, last: match.length },
  ];
}
