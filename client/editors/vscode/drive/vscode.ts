/**
 * The part of VS Code that the extension calls, without a user: answers come from a list, and messages are recorded.
 * As in VS Code, the provider is asked for the text of a document once, and edits may change it.
 */

import { EventEmitter as Emitter } from "node:events";
import { extname } from "node:path";

type Listener = (value: any) => void;
const changed = new Emitter();
const opened = new Emitter();
const closed = new Emitter();
const activated = new Emitter();
const providers = new Map<string, any>();
const folders: any[] = [];
const outlines: any[] = [];
const focused = new Emitter();
/** The list in the side bar: what VS Code shows of it, as soon as it is in sight. */
const tree = { provider: undefined as any, message: "", read: 0 };
const registered = new Map<string, (...given: unknown[]) => unknown>();

const nothing = { dispose() {} };

function on(emitter: Emitter): (listener: Listener) => typeof nothing {
  return (listener) => {
    emitter.on("it", listener);
    return nothing;
  };
}

export class EventEmitter {
  private readonly emitter = new Emitter();
  readonly event = on(this.emitter);
  fire(value: unknown): void {
    this.emitter.emit("it", value);
  }
  dispose(): void {
    this.emitter.removeAllListeners();
  }
}

export class Uri {
  constructor(
    readonly scheme: string,
    readonly path: string,
  ) {}
  static from({ scheme, path }: { scheme: string; path: string }): Uri {
    return new Uri(scheme, path);
  }
  toString(): string {
    return `${this.scheme}:${this.path}`;
  }
}

export class Position {
  constructor(
    readonly line: number,
    readonly character: number,
  ) {}
}

export class Range {
  readonly start: Position;
  readonly end: Position;
  constructor(...ends: [Position, Position] | [number, number, number, number]) {
    [this.start, this.end] =
      ends.length === 2 ? ends : [new Position(ends[0], ends[1]), new Position(ends[2], ends[3])];
  }
}

export class Selection extends Range {
  readonly active: Position;
  constructor(anchor: Position, active: Position) {
    super(anchor, active);
    this.active = active;
  }
  get isEmpty(): boolean {
    return this.start.line === this.end.line && this.start.character === this.end.character;
  }
}

export enum ViewColumn {
  Beside = -2,
}

export enum TextEditorRevealType {
  InCenter = 1,
  AtTop = 3,
}

export enum QuickPickItemKind {
  Separator = -1,
}

export enum StatusBarAlignment {
  Left = 1,
}

export class TreeItem {
  constructor(readonly label: string) {}
}

export enum SymbolKind {
  String = 14,
}

export class DocumentSymbol {
  constructor(
    readonly name: string,
    readonly detail: string,
    readonly kind: SymbolKind,
    readonly range: Range,
    readonly selectionRange: Range,
  ) {
    if (selectionRange.start.line < range.start.line || selectionRange.end.line > range.end.line) {
      throw new Error("selectionRange must be contained in fullRange");
    }
  }
}

export class FoldingRange {
  constructor(
    readonly start: number,
    readonly end: number,
  ) {}
}

/** The languages by file extension: VS Code's own Markdown, and those that the extension contributes. */
const languageIds = new Map([[".md", "markdown"]]);
for (const { id, extensions } of require("../../package.json").contributes.languages ?? []) {
  for (const extension of extensions) languageIds.set(extension, id);
}

class TextDocument {
  readonly languageId: string;
  lines: string[];
  constructor(
    readonly uri: Uri,
    text: string,
  ) {
    this.languageId = languageIds.get(extname(uri.path)) ?? "plaintext";
    this.lines = text.split("\n");
  }
  get lineCount(): number {
    return this.lines.length;
  }
  lineAt(line: number): { text: string } {
    return { text: this.lines[line]! };
  }
  getText(): string {
    return this.lines.join("\n");
  }
}

const documents = new Map<string, TextDocument>();

const HEIGHT = 30;

class TextEditor {
  top = 0;
  selection = new Selection(new Position(0, 0), new Position(0, 0));
  constructor(readonly document: TextDocument) {}
  /** The last line that is seen. */
  get bottom(): number {
    return Math.min(this.top + HEIGHT, this.document.lineCount) - 1;
  }
  get visibleRanges(): Range[] {
    return [new Range(new Position(this.top, 0), new Position(this.bottom, 0))];
  }
  revealRange({ end }: Range): void {
    this.top = Math.min(Math.max(this.top, end.line - HEIGHT + 1), end.line);
  }
}

export class WorkspaceEdit {
  readonly replaced: { uri: Uri; range: Range; text: string }[] = [];
  replace(uri: Uri, range: Range, text: string): void {
    this.replaced.push({ uri, range, text });
  }
}

/** Replace a range, and move the cursors: one inside is then behind the new text, and one below stays on its text. */
function replace({ uri, range: { start, end }, text }: WorkspaceEdit["replaced"][number]): boolean {
  const document = documents.get(`${uri}`);
  if (!document || end.line >= document.lineCount) return false;
  const before = document.lines[start.line]!.slice(0, start.character);
  const made = `${before}${text}${document.lines[end.line]!.slice(end.character)}`.split("\n");
  document.lines = [...document.lines.slice(0, start.line), ...made, ...document.lines.slice(end.line + 1)];
  const last = text.split("\n");
  const behind = start.line + last.length - 1;
  for (const editor of window.visibleTextEditors.filter((each) => each.document === document)) {
    const { line, character } = editor.selection.active;
    if (line < start.line || (line === start.line && character < start.character)) continue;
    const isBelow = line > end.line || (line === end.line && character > end.character);
    const position = isBelow
      ? new Position(behind + line - end.line, character)
      : new Position(behind, last.at(-1)!.length + (last.length === 1 ? start.character : 0));
    editor.selection = new Selection(position, position);
  }
  changed.emit("it", document);
  return true;
}

/** The parts of a text that VS Code does not show as they are: links, which may run commands, and icons. */
const MARKUP = /\[[^\]]+\]\((?:https?:\/\/|command:|file:)[^)\s]+[^)]*\)|\$\([\w~-]+\)/gi;

/** Record the markup of a text that VS Code shows the user. */
function show(text: string): string {
  user.markup.push(...(text.match(MARKUP) ?? []));
  return text;
}

interface QuickPickItem {
  label: string;
  description?: string;
  detail?: string;
  kind?: QuickPickItemKind;
}

/**
 * A list that follows what is typed. Each answer of the user is the text of an item, which is then chosen, or else it is
 * typed. It is given when the list is not busy; after the last one, the user leaves.
 */
class QuickPick {
  placeholder = "";
  value = "";
  items: QuickPickItem[] = [];
  selectedItems: QuickPickItem[] = [];
  private isBusy = false;
  private readonly typed = new Emitter();
  private readonly accepted = new Emitter();
  private readonly hidden = new Emitter();
  private readonly idle = new Emitter();
  readonly onDidChangeValue = on(this.typed);
  readonly onDidAccept = on(this.accepted);
  readonly onDidHide = on(this.hidden);

  set busy(busy: boolean) {
    this.isBusy = busy;
    if (!busy) this.idle.emit("it");
  }
  show(): void {
    void this.use();
  }
  hide(): void {
    this.hidden.emit("it");
  }
  dispose(): void {}

  private async use(): Promise<void> {
    await this.settle();
    for (let answer = user.answers.shift(); answer !== undefined; answer = user.answers.shift()) {
      const item = this.items.find(({ label, detail }) => [label, detail].includes(answer));
      if (item) {
        this.selectedItems = [item];
        this.accepted.emit("it");
      } else {
        this.value = answer;
        this.typed.emit("it", answer);
      }
      await this.settle();
    }
    this.hide();
  }
  private async settle(): Promise<void> {
    await null; // what is called after show() is called
    if (this.isBusy) await new Promise((resolve) => this.idle.once("it", resolve));
    user.found = this.items;
    for (const text of [this.placeholder, ...this.items.flatMap((item) => Object.values(item).map(String))]) show(text);
  }
}

/** The user: what they see and do. This is the driver's own. */
export const user = {
  answers: [] as string[],
  /** What the user does before the next answer. */
  meanwhile: undefined as (() => Promise<void>) | undefined,
  asked: [] as { prompt: string; choices?: string[] }[],
  /** What the last list of a search showed, with the text and the kind of each item. */
  found: [] as QuickPickItem[],
  said: [] as string[],
  complained: [] as string[],
  /** What was said and complained of since the beginning. */
  heard: [] as string[],
  /** The markup in all these texts. */
  markup: [] as string[],
  clipboard: "",
  /** The text in the status bar; undefined if it is hidden. */
  status: undefined as string | undefined,
  run: (command: string, ...given: unknown[]) => registered.get(`reel.${command}`)!(...given),
  commands: () => [...registered.keys()],
  document: (path: string) => documents.get(`reel:${path}`),
  changed,
  async open(path: string): Promise<void> {
    await workspace.openTextDocument(new Uri("reel", path));
  },
  async look(path: string): Promise<void> {
    await window.showTextDocument(await workspace.openTextDocument(new Uri("reel", path)));
  },
  /** Type into the active editor. */
  write(text: string): void {
    window.activeTextEditor!.document.lines = text.split("\n");
  },
  select(text: string): void {
    window.activeTextEditor = new TextEditor(new TextDocument(new Uri("file", "/notes.txt"), text));
  },
  folds: (path: string) => folders[0].provideFoldingRanges({ uri: new Uri("reel", path) }),
  /** Return the items of the list in the side bar, and the message above them. */
  async list(): Promise<{ items: any[]; message: string }> {
    const rows: any[] = await tree.provider.getChildren();
    return { items: rows.map((row) => tree.provider.getTreeItem(row)), message: tree.message };
  },
  /** Return how often the list was to be read again. */
  refreshed: () => tree.read,
  focus(): void {
    focused.emit("it", { focused: true });
  },
  outline: (path: string) => outlines[0].provideDocumentSymbols({ uri: new Uri("reel", path) }),
  close(path: string): void {
    const document = documents.get(`reel:${path}`);
    documents.delete(`reel:${path}`);
    closed.emit("it", document);
  },
};

export const window = {
  activeTextEditor: undefined as TextEditor | undefined,
  visibleTextEditors: [] as TextEditor[],
  async showInputBox({ prompt }: { prompt: string }): Promise<string | undefined> {
    user.asked.push({ prompt: show(prompt) });
    await user.meanwhile?.();
    return user.answers.shift();
  },
  async showQuickPick<T extends { label: string; description: string }>(
    choices: T[],
    { placeHolder }: { placeHolder: string },
  ) {
    for (const { description } of choices) show(description);
    user.asked.push({ prompt: show(placeHolder), choices: choices.map(({ label }) => show(label)) });
    await user.meanwhile?.();
    const answer = user.answers.shift();
    return choices.find(({ label }) => label === answer);
  },
  createQuickPick: () => new QuickPick(),
  createTreeView(_id: string, { treeDataProvider }: { treeDataProvider: any }) {
    tree.provider = treeDataProvider;
    treeDataProvider.onDidChangeTreeData(() => (tree.read += 1));
    return Object.assign(tree, { onDidChangeVisibility: () => nothing, dispose() {} });
  },
  onDidChangeWindowState: on(focused),
  async showInformationMessage(line: string): Promise<void> {
    user.said.push(show(line));
    user.heard.push(line);
  },
  async showErrorMessage(line: string): Promise<void> {
    user.complained.push(show(line));
    user.heard.push(line);
  },
  async showTextDocument(document: TextDocument): Promise<TextEditor> {
    const editor = new TextEditor(document);
    window.activeTextEditor = editor;
    window.visibleTextEditors.push(editor);
    activated.emit("it", editor);
    return editor;
  },
  onDidChangeActiveTextEditor: on(activated),
  createStatusBarItem: () => ({
    text: "",
    show(): void {
      user.status = show(this.text);
    },
    hide(): void {
      user.status = undefined;
    },
    dispose() {},
  }),
};

export const env = {
  clipboard: {
    async writeText(text: string): Promise<void> {
      user.clipboard = text;
    },
  },
};

export const workspace = {
  getConfiguration: () => ({ get: (name: string, otherwise: unknown) => process.env[`SETTING_${name}`] ?? otherwise }),
  registerTextDocumentContentProvider(scheme: string, provider: any) {
    providers.set(scheme, provider);
    return nothing;
  },
  async openTextDocument(uri: Uri | { content: string }): Promise<TextDocument> {
    if (!(uri instanceof Uri)) return new TextDocument(new Uri("untitled", "Untitled-1"), uri.content);
    let document = documents.get(`${uri}`);
    if (!document) {
      document = new TextDocument(uri, await providers.get(uri.scheme).provideTextDocumentContent(uri));
      documents.set(`${uri}`, document);
      opened.emit("it", document);
    }
    return document;
  },
  get textDocuments(): TextDocument[] {
    return [...documents.values()];
  },
  applyEdit: async ({ replaced }: WorkspaceEdit) => replaced.every(replace),
  onDidOpenTextDocument: on(opened),
  onDidCloseTextDocument: on(closed),
};

export const languages = {
  registerFoldingRangeProvider(_selector: unknown, provider: any) {
    folders.push(provider);
    return nothing;
  },
  registerDocumentSymbolProvider(_selector: unknown, provider: any) {
    outlines.push(provider);
    return nothing;
  },
};

export const commands = {
  /** Scroll the active editor, or close it. */
  async executeCommand(name: string, given?: { to: string; value: number }): Promise<void> {
    if (name === "editorScroll") {
      window.activeTextEditor!.top += given!.to === "down" ? given!.value : -given!.value;
      return;
    }
    window.visibleTextEditors.pop();
    window.activeTextEditor = window.visibleTextEditors.at(-1);
    activated.emit("it", window.activeTextEditor);
  },
  registerCommand(name: string, command: (...given: unknown[]) => unknown) {
    registered.set(name, command);
    return nothing;
  },
};
