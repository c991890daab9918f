/** The virtual documents of VS Code. */

import * as vscode from "vscode";
import { uriOf } from "./addresses";
import { editOf, type Change } from "./difference";
import { place } from "./places";

/**
 * Changes documents in their place. Their provider gives the whole text once. If it gave it for each change, VS Code 1.91 would
 * need 3 seconds for one message more below 50,000; a workspace edit of a range takes it 20 to 130 ms. It may also change
 * a document that the user cannot edit, and leaves it saved.
 */
export class Virtual {
  /** Return the lines that are shown of a document; undefined if it is not open. */
  lines(path: string): string[] | undefined {
    return this.document(path)?.getText().split(/\r?\n/);
  }

  /** Change the lines of a document that is open; return whether they were changed. */
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
