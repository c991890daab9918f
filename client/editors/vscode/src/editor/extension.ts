/** The part that needs VS Code: documents, folds, the outline, commands. */

import * as vscode from "vscode";
import { Client, type Sheet } from "../client";
import { Asking } from "./asking";
import { commands, run, type Choice, type Composed, type Desk, type Screen } from "./commands";
import type { Place } from "./hits";
import type { Item, OpenList } from "./searching";
import { cursorAfter, editOf, type Change } from "./difference";
import { Documents, type Shelf } from "./documents";
import { literal } from "./literal";
import { notice } from "./naming";
import { status } from "./status";

const SCHEME = "reel";
/**
 * The ending gives a conversation the language `reel-conversation`. With `.md` it would be a Markdown document, and VS
 * Code runs the `command:` links of those on a click.
 */
const ENDING = ".reel";

/** Return the document of a conversation, `reel:/NAME.reel`, or of a past state, `reel:/NAME#SEQ.reel`. */
function uriOf(name: string): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, path: `/${name}${ENDING}` });
}

/** Return the path of a document's conversation; undefined if the document is not a conversation. */
function pathOf({ scheme, path }: vscode.Uri): string | undefined {
  return scheme === SCHEME && path.endsWith(ENDING) ? path.slice(1, -ENDING.length) : undefined;
}

class Window implements Screen {
  private last: string | undefined;
  /** The conversations of the documents that compose a message. */
  private readonly composing = new WeakMap<vscode.TextDocument, string>();

  current(): string | undefined {
    const document = vscode.window.activeTextEditor?.document;
    return (document && (pathOf(document.uri) ?? this.composing.get(document))) ?? this.last;
  }

  composed(): Composed | undefined {
    const document = vscode.window.activeTextEditor?.document;
    if (!document || !this.composing.has(document)) return undefined;
    const text = document.getText();
    const close = async () => {
      // The user may have typed more, or gone to another editor, while the text was sent.
      if (document.getText() !== text || vscode.window.activeTextEditor?.document !== document) return;
      await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
    };
    return { text, close };
  }

  /** The document is an untitled one. Saving a file could send it, but VS Code may save files while one is typing. */
  async compose(path: string, name: string): Promise<void> {
    const document = await vscode.workspace.openTextDocument({ language: "markdown", content: "" });
    this.composing.set(document, path);
    await vscode.window.showTextDocument(document, { preview: false, viewColumn: vscode.ViewColumn.Beside });
    this.say(`To ${name}: the command Reel: Send sends this document`);
  }

  async copy(text: string): Promise<void> {
    await vscode.env.clipboard.writeText(text);
  }

  line(): number {
    return vscode.window.activeTextEditor?.selection.active.line ?? 0;
  }

  goTo({ line, first, last }: Place): void {
    const editor = vscode.window.activeTextEditor;
    if (!editor || pathOf(editor.document.uri) === undefined) return;
    const [start, end] = [new vscode.Position(line, first), new vscode.Position(line, last)];
    editor.selection = new vscode.Selection(start, end);
    const { AtTop, InCenter } = vscode.TextEditorRevealType;
    editor.revealRange(new vscode.Range(start, end), last === 0 ? AtTop : InCenter);
  }

  selection(): string | undefined {
    const editor = vscode.window.activeTextEditor;
    if (!editor || editor.document.uri.scheme === SCHEME) return undefined;
    return editor.document.getText(editor.selection) || undefined;
  }

  async ask(prompt: string): Promise<string | undefined> {
    return vscode.window.showInputBox({ prompt: literal(prompt), ignoreFocusOut: true });
  }

  async choose<T>(placeHolder: string, choices: Choice<T>[]): Promise<T | undefined> {
    const items = choices.map(({ label, description, value }) => ({
      label: literal(label),
      description: literal(description),
      value,
    }));
    const options = { placeHolder: literal(placeHolder), matchOnDescription: true };
    return (await vscode.window.showQuickPick(items, options))?.value;
  }

  search<T, R>(
    placeHolder: string,
    text: string,
    begin: (list: OpenList) => { type(text: string): void; choose(value: T): R | undefined },
  ): Promise<R | undefined> {
    const list = vscode.window.createQuickPick<vscode.QuickPickItem & { value?: unknown }>();
    const search = begin({
      show: (items) => (list.items = items.map(itemOf)),
      setBusy: (busy) => (list.busy = busy),
    });
    list.placeholder = literal(placeHolder);
    list.matchOnDetail = true; // only for the colours of a match: each item is always shown
    // Otherwise VS Code sorts by the match in the label, and shows no separators. This is not in the types of its API.
    Object.assign(list, { sortByLabel: false });
    return new Promise((resolve) => {
      list.onDidChangeValue((typed) => search.type(typed));
      list.onDidAccept(() => {
        const answer = search.choose(list.selectedItems[0]?.value as T);
        if (answer === undefined) return;
        resolve(answer);
        list.hide();
      });
      list.onDidHide(() => {
        resolve(undefined);
        list.dispose();
      });
      list.value = text;
      list.show();
      search.type(text);
    });
  }

  async show(path: string): Promise<void> {
    this.last = path;
    const document = await vscode.workspace.openTextDocument(uriOf(path));
    goToEnd(await vscode.window.showTextDocument(document, { preview: false }));
  }

  say(line: string): void {
    void vscode.window.showInformationMessage(literal(line));
  }

  complain(line: string): void {
    void vscode.window.showErrorMessage(literal(line));
  }
}

function itemOf({ label, description, detail, separates, value }: Item): vscode.QuickPickItem & { value?: unknown } {
  if (separates) return { label: literal(label), kind: vscode.QuickPickItemKind.Separator };
  return {
    label: literal(label),
    description: literal(description ?? ""),
    detail: literal(detail ?? ""),
    alwaysShow: true,
    value,
  };
}

function goToEnd(editor: vscode.TextEditor): void {
  setLine(editor, editor.document.lineCount - 1);
  revealEnd(editor);
}

function setLine(editor: vscode.TextEditor, line: number): void {
  const position = new vscode.Position(line, 0);
  editor.selection = new vscode.Selection(position, position);
}

function revealEnd(editor: vscode.TextEditor): void {
  const end = new vscode.Position(editor.document.lineCount - 1, 0);
  editor.revealRange(new vscode.Range(end, end));
}

/** Return the outline of a conversation: its messages. */
function outline({ lines, headings }: Sheet): vscode.DocumentSymbol[] {
  return headings.map(([first], index) => {
    const last = (headings[index + 1]?.[0] ?? lines.length) - 1;
    const heading = new vscode.Range(first, 0, first, lines[first]!.length);
    const whole = new vscode.Range(first, 0, last, lines[last]!.length);
    return new vscode.DocumentSymbol(lines[first]!.slice(3), "", vscode.SymbolKind.String, whole, heading);
  });
}

/**
 * Return what brings an editor back to its place after a change: the end of the document, or the same text. VS Code does
 * not keep that in sight when lines come above it, and can only scroll the active editor by a number of lines.
 */
function place(editor: vscode.TextEditor, change: Change): () => void {
  const last = editor.document.lineCount - 1;
  const [top, bottom] = [editor.visibleRanges[0]?.start.line ?? 0, editor.visibleRanges.at(-1)?.end.line ?? 0];
  const cursor = cursorAfter(change, editor.selection.active.line, last + 1);
  const by = change.lines.length - (change.last - change.first);
  return () => {
    if (cursor !== undefined && editor.selection.isEmpty) setLine(editor, cursor);
    if (bottom >= last) revealEnd(editor);
    else if (by && top >= change.last && editor === vscode.window.activeTextEditor) {
      void vscode.commands.executeCommand("editorScroll", { to: by > 0 ? "down" : "up", by: "line", value: Math.abs(by) });
    }
  };
}

/**
 * The documents of VS Code. Their provider gives the whole text once. If it gave it for each change, VS Code 1.91 would
 * need 3 seconds for one message more below 50,000; a workspace edit of a range takes it 20 to 130 ms. It may also change
 * a document that the user cannot edit, and leaves it saved.
 */
class Virtual implements Shelf {
  constructor(readonly changed: (path: string) => void) {}

  lines(path: string): string[] | undefined {
    return this.document(path)?.getText().split(/\r?\n/);
  }

  async change(path: string, change: Change): Promise<boolean> {
    const document = this.document(path);
    if (!document) return false;
    const { lineCount } = document;
    const { start, end, text } = editOf(change, lineCount, (line) => document.lineAt(line).text.length);
    const views = vscode.window.visibleTextEditors.filter((editor) => editor.document === document);
    const restorations = views.map((editor) => place(editor, change));
    const edit = new vscode.WorkspaceEdit();
    edit.replace(document.uri, new vscode.Range(...start, ...end), text);
    if (!(await vscode.workspace.applyEdit(edit))) return false;
    for (const restore of restorations) restore();
    return true;
  }

  private document(path: string): vscode.TextDocument | undefined {
    const uri = `${uriOf(path)}`;
    return vscode.workspace.textDocuments.find((document) => `${document.uri}` === uri);
  }
}

/** Shows what is going on in the conversation of the active editor. */
class StatusBar {
  private readonly item = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Left);

  constructor(private readonly desk: Omit<Desk, "screen">) {}

  update(): void {
    const document = vscode.window.activeTextEditor?.document;
    const name = document && pathOf(document.uri);
    if (name === undefined) return this.item.hide();
    const { documents, asking } = this.desk;
    this.item.text = literal(status(name, documents.following(name), asking.isRunning(name)));
    this.item.show();
  }

  dispose(): void {
    this.item.dispose();
  }
}

export function activate(context: vscode.ExtensionContext): void {
  const settings = vscode.workspace.getConfiguration(SCHEME);
  const client = new Client({
    socket: settings.get("socket", ""),
    command: settings.get("command", "reel"),
    name: "vscode",
    version: context.extension.packageJSON.version,
  });
  const documents = new Documents(client, new Virtual(() => bar.update()));
  const asking = new Asking(settings.get("ask", ""), client.socket, () => bar.update());
  const bar = new StatusBar({ client, documents, asking });
  const desk: Desk = { client, documents, asking, screen: new Window() };

  context.subscriptions.push(
    bar,
    asking,
    vscode.window.onDidChangeActiveTextEditor(() => bar.update()),
    { dispose: () => client.close() },
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
      provideTextDocumentContent(uri) {
        const path = pathOf(uri);
        if (path !== undefined) return documents.text(path);
        return `${notice(`${uri} is not a conversation; its path ends in ${ENDING}`)}\n`;
      },
    }),
    vscode.languages.registerFoldingRangeProvider(
      { scheme: SCHEME },
      {
        provideFoldingRanges: ({ uri }) =>
          documents.sheet(pathOf(uri)).folds.map(([first, last]) => new vscode.FoldingRange(first, last)),
      },
    ),
    vscode.languages.registerDocumentSymbolProvider(
      { scheme: SCHEME },
      { provideDocumentSymbols: ({ uri }) => outline(documents.sheet(pathOf(uri))) },
    ),
    vscode.workspace.onDidOpenTextDocument(({ uri }) => documents.update(pathOf(uri) ?? "")),
    vscode.workspace.onDidCloseTextDocument(({ uri }) => documents.close(pathOf(uri) ?? "")),
    ...Object.entries(commands).map(([name, command]) =>
      vscode.commands.registerCommand(`${SCHEME}.${name}`, (given?: unknown) =>
        run(desk, command, typeof given === "string" ? given : undefined),
      ),
    ),
  );
}
