/** The extension: documents, folds, the outline, the status bar, the side bar, commands. */

import * as vscode from "vscode";
import { Client, type Sheet } from "../client";
import { ENDING, pathOf, SCHEME } from "./addresses";
import { Asking } from "./asking";
import { commands, run, type Desk } from "./commands";
import { Documents } from "./documents";
import { literal } from "./literal";
import { notice } from "./naming";
import { SideBar } from "./sidebar";
import { status } from "./status";
import { Window } from "./window";

/** The messages in an outline, the newest ones. VS Code asks for all of them after each change. */
const MOST_SYMBOLS = 2_000;

/** Return the outline of a conversation: its messages. */
function outline({ lines, headings }: Sheet): vscode.DocumentSymbol[] {
  const newest = headings.slice(-MOST_SYMBOLS);
  return newest.map(([first], index) => {
    const last = (newest[index + 1]?.[0] ?? lines.length) - 1;
    const heading = new vscode.Range(first, 0, first, lines[first]!.length);
    const whole = new vscode.Range(first, 0, last, lines[last]!.length);
    return new vscode.DocumentSymbol(lines[first]!.slice(3), "", vscode.SymbolKind.String, whole, heading);
  });
}

/** The commands that change what a list shows. */
const LISTED: ReadonlySet<string> = new Set("ask clear clone new redo rename rewind send title undo".split(" "));

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
  const command = settings.get("command", "reel");
  const client = new Client({
    socket: settings.get("socket", ""),
    command,
    name: "vscode",
    version: context.extension.packageJSON.version,
  });
  const documents = new Documents(client, () => bar.update());
  const asking = new Asking(settings.get("ask", "") || [command || "reel", "ask"], client.socket, () => bar.update());
  const bar = new StatusBar({ client, documents, asking });
  const side = new SideBar(client);
  const desk: Desk = { client, documents, asking, screen: new Window() };

  context.subscriptions.push(
    bar,
    side,
    asking,
    vscode.window.onDidChangeWindowState(({ focused }) => focused && side.refresh()),
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
        run(desk, command, typeof given === "string" ? given : undefined).then(() => LISTED.has(name) && side.refresh()),
      ),
    ),
    vscode.commands.registerCommand(`${SCHEME}.refresh`, () => side.refresh()),
  );
}
