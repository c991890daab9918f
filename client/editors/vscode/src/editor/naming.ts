/** Errors about the name of a conversation. */

import { ReelError } from "../client";

/** Return the error of a call that names a conversation; if there is none, say what creates it. */
export function naming(error: ReelError, name: string): ReelError {
  if (error.name !== "not_found") return error;
  const text = `not_found: no conversation ${name} (Reel: New Conversation creates it)`;
  return new ReelError(error.code, text, error.data);
}
