/** What differs between two versions of a document. Pure. */

/** The lines from `first` up to, but not including, `last` are replaced. */
export interface Change {
  first: number;
  last: number;
  lines: string[];
}

/** Return what makes some lines other ones; undefined if they are the same. */
export function difference(before: string[], after: string[]): Change | undefined {
  const most = Math.min(before.length, after.length);
  let first = 0;
  while (first < most && before[first] === after[first]) first++;
  if (first === before.length && first === after.length) return undefined;
  let same = 0;
  while (same < most - first && before.at(-1 - same) === after.at(-1 - same)) same++;
  return { first, last: before.length - same, lines: after.slice(first, after.length - same) };
}

/** A replacement in a text whose lines are joined by line breaks. */
export interface Edit {
  start: [line: number, character: number];
  end: [line: number, character: number];
  text: string;
}

/**
 * Return a change of lines as one of the text.
 *
 * @param length how long a line is; `last` is not a line if it is behind the end.
 */
export function editOf({ first, last, lines }: Change, count: number, length: (line: number) => number): Edit {
  if (last < count) return { start: [first, 0], end: [last, 0], text: lines.map((line) => `${line}\n`).join("") };
  const end: [number, number] = [count - 1, length(count - 1)];
  if (first === 0) return { start: [0, 0], end, text: lines.join("\n") };
  return { start: [first - 1, length(first - 1)], end, text: lines.map((line) => `\n${line}`).join("") };
}

/** Return the line of a cursor after a change: at the end it stays there, and in what is replaced it keeps its line. */
export function cursorAfter({ first, last, lines }: Change, line: number, count: number): number | undefined {
  if (line === count - 1) return count - 1 + lines.length - (last - first);
  return line >= first && line < last ? Math.min(line, Math.max(first + lines.length - 1, 0)) : undefined;
}
