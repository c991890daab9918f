/** The text for the status bar. Pure. */

import type { Following } from "../client";

/** Return what is going on in a conversation: who writes, whether the daemon is away, whether the command runs. */
export function status(name: string, following: Following | undefined, asking: boolean): string {
  const words = [name];
  if (following?.problem) words.push("away");
  else if (!following?.copy.whole) words.push("reading");
  for (const { client } of following?.copy.drafts.values() ?? []) {
    words.push(`writing…${client ? ` (${client})` : ""}`);
  }
  if (asking) words.push("asking");
  return words.join(" · ");
}
