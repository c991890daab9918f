/**
 * As much of VS Code as the extension calls, with nobody in front of it: what it asks is answered from a list, what it
 * says is kept. Documents live as in VS Code: a provider's text is asked for again after each of its changes.
 */

import { EventEmitter as Emitter } from "node:events";

type Listener = (value: any) => void;
const changed = new Emitter();
const closed = new Emitter();
const providers = new Map<string, any>();
const folders: any[] = [];
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
  constructor(
    readonly start: Position,
    readonly end: Position,
  ) {}
}

export class FoldingRange {
  constructor(
    readonly start: number,
    readonly end: number,
  ) {}
}

class TextDocument {
  constructor(
    readonly uri: Uri,
    public text: string,
  ) {}
  get lineCount(): number {
    return this.text.split("\n").length;
  }
  getText(): string {
    return this.text;
  }
}

const documents = new Map<string, TextDocument>();

class TextEditor {
  revealed = 0;
  readonly selection = undefined;
  constructor(readonly document: TextDocument) {}
  get visibleRanges(): Range[] {
    return [new Range(new Position(0, 0), new Position(this.revealed, 0))];
  }
  revealRange({ end }: Range): void {
    this.revealed = end.line;
  }
}

async function refresh(uri: Uri): Promise<void> {
  const text = await providers.get(uri.scheme).provideTextDocumentContent(uri);
  const document = documents.get(`${uri}`);
  if (!document || document.text === text) return;
  document.text = text;
  const everything = new Range(new Position(0, 0), new Position(document.lineCount, 0));
  changed.emit("it", { document, contentChanges: [{ range: everything }] });
}

/** What the user sees and does; the driver's own. */
export const user = {
  answers: [] as string[],
  /** Does what the user does before the next answer. */
  meanwhile: undefined as (() => Promise<void>) | undefined,
  asked: [] as { prompt: string; choices?: string[] }[],
  said: [] as string[],
  complained: [] as string[],
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
  select(text: string): void {
    window.activeTextEditor = new TextEditor(new TextDocument(new Uri("file", "/notes.txt"), text));
  },
  folds: (path: string) => folders[0].provideFoldingRanges({ uri: new Uri("reel", path) }),
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
    user.asked.push({ prompt });
    await user.meanwhile?.();
    return user.answers.shift();
  },
  async showQuickPick<T extends { label: string }>(choices: T[], { placeHolder }: { placeHolder: string }) {
    user.asked.push({ prompt: placeHolder, choices: choices.map(({ label }) => label) });
    await user.meanwhile?.();
    const answer = user.answers.shift();
    return choices.find(({ label }) => label === answer);
  },
  async showInformationMessage(line: string): Promise<void> {
    user.said.push(line);
  },
  async showErrorMessage(line: string): Promise<void> {
    user.complained.push(line);
  },
  async showTextDocument(document: TextDocument): Promise<TextEditor> {
    const editor = new TextEditor(document);
    window.activeTextEditor = editor;
    window.visibleTextEditors.push(editor);
    return editor;
  },
};

export const workspace = {
  getConfiguration: () => ({ get: (name: string, otherwise: unknown) => process.env[`SETTING_${name}`] ?? otherwise }),
  registerTextDocumentContentProvider(scheme: string, provider: any) {
    providers.set(scheme, provider);
    provider.onDidChange((uri: Uri) => void refresh(uri));
    return nothing;
  },
  async openTextDocument(uri: Uri): Promise<TextDocument> {
    let document = documents.get(`${uri}`);
    if (!document) {
      document = new TextDocument(uri, await providers.get(uri.scheme).provideTextDocumentContent(uri));
      documents.set(`${uri}`, document);
    }
    return document;
  },
  onDidCloseTextDocument: on(closed),
  onDidChangeTextDocument: on(changed),
};

export const languages = {
  registerFoldingRangeProvider(_selector: unknown, provider: any) {
    folders.push(provider);
    return nothing;
  },
};

export const commands = {
  registerCommand(name: string, command: (...given: unknown[]) => unknown) {
    registered.set(name, command);
    return nothing;
  },
};
