/** The client of reeld for Node: `new Client().call("ping")`, `client.follow("demo", changed)`. */

export { defaultSocket, requireOwn } from "./address";
export { Client, type Options } from "./client";
export { Lost, NotRunning, ReelError, TooLarge } from "./errors";
export { Following } from "./following";
export { localTime, Sheet } from "./sheet";
export type * from "./wire";
