/** The lines of a conversation, as the daemon's patches make them; see docs/protocol.md, "Following as lines". Pure. */

import type { Fold, Heading, Patch } from "./wire";

export class Sheet {
  readonly lines: string[] = [];
  readonly folds: Fold[] = [];
  readonly headings: Heading[] = [];

  /** Replace rows. What is to be shown at the end of one, a time or a mark, is put behind its line. */
  apply({ replace: [first, last], lines, folds, headings, marks }: Patch): void {
    const shown = [...lines];
    for (const [row, , , time] of headings) if (time !== null) shown[row - first] += ` · ${localTime(time)}`;
    for (const [row, text] of marks) shown[row - first] += ` ${text}`;
    const by = lines.length - (last - first);
    this.lines.splice(first, last - first, ...shown);
    put(this.folds, first, last, folds, ([begin, end]) => [begin + by, end + by]);
    put(this.headings, first, last, headings, ([row, ...rest]) => [row + by, ...rest]);
  }

  /** Who is writing, as the headings of drafts say it: `writing… (vim)`. Drafts are below all messages. */
  get writers(): string[] {
    const count = this.headings.length - 1 - this.headings.findLastIndex(([, role]) => role !== "draft");
    return this.headings.slice(this.headings.length - count).map(([row]) => this.lines[row]!.replace(/^.*? · /, ""));
  }
}

/** Replace the items at rows by others, and move those below; the items are in the order of their rows. */
function put<T extends Fold | Heading>(items: T[], first: number, last: number, added: T[], moved: (item: T) => T): void {
  const [begin, end] = [firstFrom(items, first), firstFrom(items, last)];
  for (let index = end; index < items.length; index++) items[index] = moved(items[index]!);
  items.splice(begin, end - begin, ...added);
}

/** Return the index of the first item that is not above a row. */
function firstFrom(items: (Fold | Heading)[], row: number): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (items[middle]![0] < row) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Return a time in local time. */
export function localTime(time: number): string {
  const date = new Date(time - new Date(time).getTimezoneOffset() * 60_000);
  return date.toISOString().slice(0, 19).replace("T", " ");
}
