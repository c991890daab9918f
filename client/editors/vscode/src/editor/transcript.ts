/** What a conversation looks like: markdown. Pure: a copy in, lines and what can be folded out. */

import type { Copy } from "../client/copy";
import type { Block, Message } from "../client/wire";

/** Lines; the first and the last line of each part that can be folded; and the lines that are headings, from 0. */
export interface Section {
  lines: string[];
  folds: [first: number, last: number][];
  headings: number[];
}

type Clock = (time: number) => string;

/** Lay out messages, each once: they never change. */
export class Transcript {
  private readonly sections = new WeakMap<Message, Section>();

  /** @param clock how a time (milliseconds since the epoch) is shown. */
  constructor(private readonly clock: Clock = localTime) {}

  /**
   * Lay out everything.
   *
   * @param problem what is wrong, shown at the end.
   */
  whole(copy: Copy, problem?: string): Section {
    const sections = copy.messages.map((message) => this.message(message));
    if (copy.system !== null) sections.unshift(section("## system", copy.system));
    for (const [connection, text] of copy.drafts) {
      sections.push(section(`## draft · being written on connection ${connection}`, text));
    }
    if (problem) sections.push({ lines: [notice(problem)], folds: [], headings: [] });
    return joined(sections);
  }

  private message(message: Message): Section {
    let laid = this.sections.get(message);
    if (!laid) {
      const heading = { lines: [this.heading(message), ""], folds: [], headings: [0] };
      laid = joined([heading, ...message.content.map(blockSection)]);
      this.sections.set(message, laid);
    }
    return laid;
  }

  private heading({ role, seq, time }: Message): string {
    return `## ${role} ${seq} · ${this.clock(time)}`;
  }
}

/** The line that says what is wrong. */
export function notice(text: string): string {
  return `*${text.replaceAll("\n", " ")}*`;
}

/** Show a time as the user's clock has it. */
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

/** A block with a blank line after it; what no text is can be folded. */
function blockSection(block: Block): Section {
  const lines = blockText(block).split("\n");
  const folds: Section["folds"] = FOLDED.has(block.type) && lines.length > 1 ? [[0, lines.length - 1]] : [];
  return { lines: [...lines, ""], folds, headings: [] };
}

const FOLDED: ReadonlySet<string> = new Set(["thinking", "tool_call", "tool_result"]);

function blockText(block: Block): string {
  switch (block.type) {
    case "text":
      return String(block.text);
    case "thinking":
      return `**thinking**\n${block.text}`;
    case "tool_call":
      return `**tool_call** ${block.name} \`${block.id}\`\n${fenced(String(block.arguments), "json")}`;
    case "tool_result":
      return `**tool_result** \`${block.tool_call_id}\`${block.is_error ? " failed" : ""}\n${fenced(result(block), "")}`;
    case "media":
      return media(block);
    default:
      return `*${block.type}${block.provider ? ` of ${block.provider}` : ""}*`;
  }
}

function result({ content }: Block): string {
  return typeof content === "string" ? content : (content as Block[]).map(blockText).join("\n");
}

/** A fence that is longer than any in the text. */
function fenced(text: string, language: string): string {
  let longest = 2;
  for (const [ticks] of text.matchAll(/`+/g)) longest = Math.max(longest, ticks.length);
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

function media({ name, url, mime_type, data_base64 }: Block): string {
  const bytes = () => Buffer.from(String(data_base64), "base64").length;
  return `![${name ?? "media"}](${url ?? ""}) ${mime_type}${url ? "" : `, ${bytes()} bytes`}`;
}
