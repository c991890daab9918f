/** The addresses of the documents that show conversations. */

import * as vscode from "vscode";

export const SCHEME = "reel";
/**
 * The ending gives a conversation the language `reel-conversation`. With `.md` it would be a Markdown document, and VS
 * Code runs the `command:` links of those on a click.
 */
export const ENDING = ".reel";

/** Return the document of a conversation, `reel:/NAME.reel`, or of a past state, `reel:/NAME#SEQ.reel`. */
export function uriOf(path: string): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, path: `/${path}${ENDING}` });
}

/** Return the path of a document's conversation; undefined if the document is not a conversation. */
export function pathOf({ scheme, path }: vscode.Uri): string | undefined {
  return scheme === SCHEME && path.endsWith(ENDING) ? path.slice(1, -ENDING.length) : undefined;
}
