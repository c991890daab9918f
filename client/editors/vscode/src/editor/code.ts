/** The code blocks of a conversation. Pure. */

import type { Message } from "../client/wire";

export interface CodeBlock {
  lines: string[];
  /** The word after the fence; "" if there is none. */
  language: string;
  seq: number;
}

/** A fence that opens a code block, and the word after it (CommonMark, section 4.5). */
const OPENING = /^ {0,3}(?:(`{3,})\s*(\S*)[^`]*|(~{3,})\s*(\S*).*)$/;
const CLOSING = /^ {0,3}(`{3,}|~{3,})\s*$/;

/** Return the last code block that an assistant wrote; undefined if there is none. */
export function lastCode(messages: Message[]): CodeBlock | undefined {
  for (const { role, content, seq } of [...messages].reverse()) {
    const texts = role === "assistant" ? content.filter(({ type }) => type === "text") : [];
    for (const { text } of texts.reverse()) {
      const found = lastIn(String(text));
      if (found) return { ...found, seq };
    }
  }
  return undefined;
}

function lastIn(text: string): { lines: string[]; language: string } | undefined {
  let last: { lines: string[]; language: string } | undefined;
  let fence: string | undefined;
  for (const line of text.split("\n")) {
    if (fence === undefined) {
      const opening = OPENING.exec(line);
      if (!opening || opening[2]?.includes("`")) continue;
      fence = opening[1] ?? opening[3]!;
      last = { lines: [], language: opening[2] ?? opening[4] ?? "" };
    } else if (CLOSING.exec(line)?.[1]!.startsWith(fence)) {
      fence = undefined;
    } else {
      last!.lines.push(line);
    }
  }
  return last;
}
