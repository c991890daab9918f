/** The places of editors: what they keep in sight, and where their cursors are. */

import * as vscode from "vscode";
import { cursorAfter, type Change } from "./difference";

/** Go to the end of a document. */
export function goToEnd(editor: vscode.TextEditor): void {
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

/**
 * Return what brings an editor back to its place after a change: the end of the document, or the same text. VS Code does
 * not keep that in sight when lines come above it, and can only scroll the active editor by a number of lines.
 */
export function place(editor: vscode.TextEditor, change: Change): () => void {
  const last = editor.document.lineCount - 1;
  const [top, bottom] = [editor.visibleRanges[0]?.start.line ?? 0, editor.visibleRanges.at(-1)?.end.line ?? 0];
  const line = editor.selection.active.line;
  const cursor = cursorAfter(change, line, last + 1);
  const by = change.lines.length - (change.last - change.first);
  return () => {
    if (cursor !== undefined && editor.selection.isEmpty) setLine(editor, cursor);
    if (bottom >= last || line === last) revealEnd(editor);
    else if (by && top >= change.last && editor === vscode.window.activeTextEditor) {
      void vscode.commands.executeCommand("editorScroll", { to: by > 0 ? "down" : "up", by: "line", value: Math.abs(by) });
    }
  };
}
