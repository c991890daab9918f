/** The text for the status bar. Pure. */

import type { Following } from "../client";
import { parsed } from "./naming";

/** Return what is going on in a conversation: who writes, whether the daemon is away, whether the command runs. */
export function status(path: string, following: Following | undefined, isAsking: boolean): string {
  const { name, past } = parsed(path);
  const words = past === undefined ? [following?.name ?? name] : [name, `as it was at #${past}`];
  if (following?.problem) words.push("away");
  else if (following?.isReading ?? true) words.push("reading");
  words.push(...(following?.sheet.writers ?? []));
  if (isAsking) words.push("asking");
  return words.join(" · ");
}
