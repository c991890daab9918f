/** Lays out a conversation as Markdown. Pure: a copy in, lines and folds out. */

import type { Copy } from "../client/copy";
import type { Block, Message } from "../client/wire";

/** Lines; the first and the last line of each fold; and the lines that are headings. Lines count from 0. */
export interface Section {
  lines: string[];
  folds: [first: number, last: number][];
  headings: number[];
}

type Clock = (time: number) => string;

/** Lays out messages, each once, because they never change. */
export class Transcript {
  private readonly sections = new WeakMap<Message, Section>();
  /** The name of each tool by the id of its call. */
  private readonly tools = new Map<unknown, string>();

  /** @param clock returns the text of a time in milliseconds since the epoch. */
  constructor(private readonly clock: Clock = localTime) {}

  /**
   * Lay out everything.
   *
   * @param problem is shown at the end.
   */
  whole(copy: Copy, problem?: string): Section {
    const sections = copy.messages.map((message) => this.message(message));
    if (copy.system !== null) sections.unshift(section("## system", copy.system));
    for (const { client, text } of copy.drafts.values()) {
      sections.push(section(oneLine(`## assistant · writing…${client ? ` (${client})` : ""}`), text));
    }
    if (problem) sections.push({ lines: [notice(problem)], folds: [], headings: [] });
    return joined(sections);
  }

  private message(message: Message): Section {
    let laid = this.sections.get(message);
    if (!laid) {
      const heading = { lines: [this.heading(message), ""], folds: [], headings: [0] };
      laid = joined([heading, ...message.content.map((block) => this.block(block))]);
      this.sections.set(message, laid);
    }
    return laid;
  }

  private heading({ role, seq, time, sent }: Message): string {
    return `## ${role} #${seq} · ${this.clock(sent ?? time)}`;
  }

  /** Lay out a block, with a blank line after it. */
  private block(block: Block): Section {
    const lines = this.text(block).split("\n");
    const folds: Section["folds"] = FOLDED.has(block.type) && lines.length > 1 ? [[0, lines.length - 1]] : [];
    return { lines: [...lines, ""], folds, headings: [] };
  }

  private text(block: Block): string {
    switch (block.type) {
      case "text":
        return String(block.text);
      case "thinking":
        return `${label("thinking")}\n${block.text}`;
      case "redacted_thinking":
        return label(`thinking, redacted (${[...String(block.data)].length} characters)`);
      case "tool_call":
        this.tools.set(block.id, String(block.name));
        return `${label("call", block.name, block.id)}\n${fenced(String(block.arguments), "json")}`;
      case "tool_result":
        return `${this.resultLabel(block)}\n${fenced(this.result(block), "")}`;
      case "media":
        return media(block);
      case "opaque":
        return `${label("opaque block of", block.provider)}\n${fenced(String(block.data_json), "json")}`;
      default:
        return label("block of type", block.type, "(a newer plug-in can show it)");
    }
  }

  private resultLabel({ tool_call_id, is_error }: Block): string {
    const name = this.tools.get(tool_call_id);
    return label(is_error ? "error" : "result", ...(name === undefined ? [] : ["of", name]), tool_call_id);
  }

  private result({ content }: Block): string {
    return typeof content === "string" ? content : (content as Block[]).map((block) => this.text(block)).join("\n");
  }
}

/** Return the line that shows a problem. */
export function notice(text: string): string {
  return `*${oneLine(text)}*`;
}

/** Join the lines of a text: names and ids are other people's, and a line break would begin another line. */
export function oneLine(text: string): string {
  return text.replace(/[\r\n]+/g, " ");
}

/** Return the line above a block. */
function label(...words: unknown[]): string {
  return oneLine(["###", ...words].join(" "));
}

/** Return a time in local time. */
export function localTime(time: number): string {
  const date = new Date(time - new Date(time).getTimezoneOffset() * 60_000);
  return date.toISOString().slice(0, 19).replace("T", " ");
}

function joined(sections: Section[]): Section {
  const whole: Section = { lines: [], folds: [], headings: [] };
  for (const { lines, folds, headings } of sections) {
    const above = whole.lines.length;
    for (const line of lines) whole.lines.push(line);
    for (const [first, last] of folds) whole.folds.push([above + first, above + last]);
    for (const heading of headings) whole.headings.push(above + heading);
  }
  return whole;
}

function section(heading: string, text: string): Section {
  return { lines: [heading, "", ...text.split("\n"), ""], folds: [], headings: [0] };
}

const FOLDED: ReadonlySet<string> = new Set(["thinking", "tool_call", "tool_result", "opaque"]);

/** Return a text between fences that are longer than any in it. */
function fenced(text: string, language: string): string {
  let longest = 2;
  for (const [ticks] of text.matchAll(/`+/g)) longest = Math.max(longest, ticks.length);
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

function media({ name, url, mime_type, data_base64 }: Block): string {
  // With or without padding.
  const bytes = () => Math.floor((String(data_base64).replace(/=+$/, "").length * 3) / 4);
  return label("media", mime_type, ...(name ? [name] : []), url ?? `${bytes()} bytes`);
}
