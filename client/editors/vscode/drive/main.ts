/**
 * Lets another program drive the extension. Each line of the input is a JSON object, `{"do": name, …}`; each gets one
 * line of output, in order. At the end of the input, the extension is disposed of, and nothing may keep the process
 * alive.
 */

import Module from "node:module";
import { createInterface } from "node:readline";
import * as vscode from "./vscode";

const { user } = vscode;
const loader = Module as unknown as { _load: (name: string, ...rest: unknown[]) => unknown };
const load = loader._load;
loader._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));

const path = (name: string) => `/${name}.reel`;
const text = (name: string) => user.document(path(name))?.getText() ?? "";

/** Wait until a document contains a text, or no longer does. */
function shown(name: string, wanted: string, gone: boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (text(name).includes(wanted) === gone) return;
      user.changed.off("it", look);
      resolve();
    };
    user.changed.on("it", look);
    look();
  });
}

const actions: Record<string, (asked: any) => unknown> = {
  /** `typed` is what the user types, `seen` the document that the user goes to, while the command waits for the daemon. */
  async run({ command, given, answers = [], meanwhile, typed, seen }) {
    user.answers = answers;
    user.meanwhile = meanwhile === undefined ? undefined : () => user.look(path(meanwhile));
    for (const list of [user.asked, user.said, user.complained, user.markup]) list.length = 0;
    const running = user.run(command, ...(given === undefined ? [] : [given]));
    if (typed !== undefined) user.write(typed);
    if (seen !== undefined) await user.look(path(seen));
    await running;
    const { asked, said, complained, markup } = user;
    return { asked, said, complained, markup, looksAt: vscode.window.activeTextEditor?.document.uri.path };
  },
  /** Start a command, and do not wait for its end. */
  give({ command, given }) {
    void user.run(command, ...(given == null ? [] : [given]));
  },
  heard: () => user.heard,
  tail({ count }) {
    const { document } = vscode.window.activeTextEditor!;
    return [document.lineCount, document.lines.slice(-count)];
  },
  go({ line }) {
    const position = new vscode.Position(line, 0);
    vscode.window.activeTextEditor!.selection = new vscode.Selection(position, position);
  },
  async shows({ name, text: wanted, gone = false }) {
    await shown(name, wanted, gone);
    return text(name);
  },
  opened: ({ name }) => user.open(path(name)),
  text: ({ name }) => text(name),
  language: ({ name }) => user.document(path(name))?.languageId,
  async read({ path: other }) {
    await user.open(other);
    return user.document(other)?.getText();
  },
  folds: ({ name }) => user.folds(path(name)).map(({ start, end }: { start: number; end: number }) => [start, end]),
  active_folds() {
    const { uri } = vscode.window.activeTextEditor!.document;
    return user.folds(uri.path).map(({ start, end }: { start: number; end: number }) => [start, end]);
  },
  outline: ({ name }) => user.outline(path(name)).map((symbol: { name: string }) => symbol.name),
  select: ({ text: selected }) => user.select(selected),
  write: ({ text: typed }) => user.write(typed),
  clipboard: () => user.clipboard,
  status: () => user.status ?? null,
  found: () => user.found.map(({ label, description, detail, kind }) => [label, description, detail, kind]),
  selected() {
    const { document, selection } = vscode.window.activeTextEditor!;
    const line = document.getText().split("\n")[selection.start.line]!;
    return [line, line.slice(selection.start.character, selection.end.character)];
  },
  line: () => vscode.window.activeTextEditor!.selection.active.line,
  active: () => vscode.window.activeTextEditor!.document.getText(),
  scheme: () => vscode.window.activeTextEditor!.document.uri.scheme,
  close: ({ name }) => user.close(path(name)),
  commands: () => user.commands(),
  async list() {
    const { items, message } = await user.list();
    return [items.map(({ label, description, command }) => [label, description, command.arguments]), message];
  },
  refreshed: () => user.refreshed(),
  focus: () => user.focus(),
  /** Scroll until a line is the first one in sight. */
  scroll({ line }) {
    vscode.window.activeTextEditor!.top = line;
  },
  sight() {
    const { top, bottom, document } = vscode.window.activeTextEditor!;
    return [document.lines[top], bottom, document.lineCount];
  },
};

async function main(): Promise<void> {
  // It needs "vscode", which can be loaded only now.
  const extension = require("../src/editor/extension");
  const context = { subscriptions: [] as { dispose(): void }[], extension: { packageJSON: { version: "0.1.0" } } };
  extension.activate(context);
  for await (const line of createInterface({ input: process.stdin })) {
    const asked = JSON.parse(line);
    const answer = await actions[asked.do]!(asked);
    process.stdout.write(`${JSON.stringify(answer ?? null)}\n`);
  }
  for (const one of context.subscriptions) one.dispose();
}

void main();
