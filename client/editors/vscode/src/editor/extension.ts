/** What needs VS Code, and nothing else. */

import * as vscode from "vscode";
import { Client } from "../client";
import { commands, run, type Choice, type Desk, type Screen } from "./commands";
import { Documents } from "./documents";

const SCHEME = "reel";
const ENDING = ".md";

/** A conversation is the document `reel:/NAME.md`. */
function uriOf(name: string): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, path: `/${name}${ENDING}` });
}

function nameOf({ path }: vscode.Uri): string {
  return path.slice(1, -ENDING.length);
}

class Window implements Screen {
  private last: string | undefined;

  current(): string | undefined {
    const looked = vscode.window.activeTextEditor?.document.uri;
    return looked?.scheme === SCHEME ? nameOf(looked) : this.last;
  }

  selection(): string | undefined {
    const editor = vscode.window.activeTextEditor;
    if (!editor || editor.document.uri.scheme === SCHEME) return undefined;
    return editor.document.getText(editor.selection) || undefined;
  }

  async ask(prompt: string): Promise<string | undefined> {
    return vscode.window.showInputBox({ prompt, ignoreFocusOut: true });
  }

  async choose<T>(placeHolder: string, choices: Choice<T>[]): Promise<T | undefined> {
    const chosen = await vscode.window.showQuickPick(choices, { placeHolder, matchOnDescription: true });
    return chosen?.value;
  }

  async show(name: string): Promise<void> {
    this.last = name;
    const document = await vscode.workspace.openTextDocument(uriOf(name));
    const editor = await vscode.window.showTextDocument(document, { preview: false });
    revealEnd(editor);
  }

  say(line: string): void {
    void vscode.window.showInformationMessage(line);
  }

  complain(line: string): void {
    void vscode.window.showErrorMessage(line);
  }
}

function revealEnd(editor: vscode.TextEditor): void {
  const end = new vscode.Position(editor.document.lineCount - 1, 0);
  editor.revealRange(new vscode.Range(end, end));
}

/** Keep the end in sight of whoever looks at it while a conversation grows. */
function follow({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
  if (document.uri.scheme !== SCHEME) return;
  const first = Math.min(...contentChanges.map(({ range }) => range.start.line));
  for (const editor of vscode.window.visibleTextEditors) {
    const seen = editor.visibleRanges.at(-1)?.end.line ?? 0;
    if (editor.document === document && seen >= first) revealEnd(editor);
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
  const changes = new vscode.EventEmitter<vscode.Uri>();
  const documents = new Documents(client, (name) => changes.fire(uriOf(name)));
  const desk: Desk = { client, documents, screen: new Window() };

  context.subscriptions.push(
    changes,
    { dispose: () => client.close() },
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
      onDidChange: changes.event,
      provideTextDocumentContent: (uri) => documents.text(nameOf(uri)),
    }),
    vscode.languages.registerFoldingRangeProvider(
      { scheme: SCHEME },
      {
        provideFoldingRanges: ({ uri }) =>
          documents.folds(nameOf(uri)).map(([first, last]) => new vscode.FoldingRange(first, last)),
      },
    ),
    vscode.workspace.onDidCloseTextDocument(({ uri }) => {
      if (uri.scheme === SCHEME) documents.close(nameOf(uri));
    }),
    vscode.workspace.onDidChangeTextDocument(follow),
    ...Object.entries(commands).map(([name, command]) =>
      vscode.commands.registerCommand(`${SCHEME}.${name}`, (given?: unknown) =>
        run(desk, command, typeof given === "string" ? given : undefined),
      ),
    ),
  );
}
