/** The text for the status bar. Pure. */

import type { Reading } from "./documents";
import { parsed } from "./naming";

/** Return what is going on in a conversation: who writes, whether the daemon is away, whether the command runs. */
export function status(path: string, following: Reading | undefined, asking: boolean): string {
  const { name, past } = parsed(path);
  const words = past === undefined ? [name] : [name, `as it was at #${past}`];
  if (following?.problem) words.push("away");
  else if (!following?.copy.whole) words.push("reading");
  for (const { client } of following?.copy.drafts.values() ?? []) {
    words.push(`writing…${client ? ` (${client})` : ""}`);
  }
  if (asking) words.push("asking");
  return words.join(" · ");
}
