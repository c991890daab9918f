/** The last answer and the last code block of a conversation. Pure. */

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
  for (const message of [...messages].reverse()) {
    for (const text of textsOf(message).reverse()) {
      const found = lastIn(text);
      if (found) return { ...found, seq: message.seq };
    }
  }
  return undefined;
}

/** Return the text of the last answer; undefined if there is none. A message of calls alone is not one. */
export function lastAnswer(messages: Message[]): { text: string; seq: number } | undefined {
  const found = [...messages].reverse().find((message) => textsOf(message).length);
  return found && { text: textsOf(found).join("\n\n"), seq: found.seq };
}

/** Return the texts of a message, if an assistant wrote it. */
function textsOf({ role, content }: Message): string[] {
  return role === "assistant" ? content.filter(({ type }) => type === "text").map(({ text }) => String(text)) : [];
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
