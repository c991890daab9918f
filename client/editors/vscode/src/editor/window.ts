/** The window of VS Code, as the commands need it. */

import * as vscode from "vscode";
import { pathOf, SCHEME, uriOf } from "./addresses";
import type { Place } from "./hits";
import { literal } from "./literal";
import { goToEnd } from "./places";

/** A message that is being composed in a document. */
export interface Composed {
  text: string;
  /** Close the document, whose text was sent. */
  close(): Promise<void>;
}

/** An item of a list to choose from; `value` is what it stands for. */
export interface Choice<T = unknown> {
  label: string;
  description: string;
  value: T;
}

/** The answer of a user who cancels is undefined. */
export class Window {
  private last: string | undefined;
  /** The conversations of the documents that compose a message. */
  private readonly composing = new WeakMap<vscode.TextDocument, string>();

  /** Return the path of the conversation in the active editor, else of the one that was opened last. */
  current(): string | undefined {
    const document = vscode.window.activeTextEditor?.document;
    return (document && (pathOf(document.uri) ?? this.composing.get(document))) ?? this.last;
  }

  /** Return the message in the active editor, if that composes one. */
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

  /**
   * Open a document to compose a message in, for the conversation that a path names. It is an untitled one: saving a file
   * could send it, but VS Code may save files while one is typing.
   */
  async compose(path: string, name: string): Promise<void> {
    const document = await vscode.workspace.openTextDocument({ language: "markdown", content: "" });
    this.composing.set(document, path);
    await vscode.window.showTextDocument(document, { preview: false, viewColumn: vscode.ViewColumn.Beside });
    this.say(`To ${name}: the command Reel: Send sends this document`);
  }

  async copy(text: string): Promise<void> {
    await vscode.env.clipboard.writeText(text);
  }

  /** Return the line of the cursor in the active editor, from 0. */
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

  /** Return the selection in a document that is not a conversation. */
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

  /** Show the conversation that a path names, or a past state of it, at its end. */
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
