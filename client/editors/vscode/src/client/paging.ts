/** Lists that come in pages. */

import type { AgentRow, MessagesPage, Params } from "./wire";

type Ask = <R>(method: string, params: Params) => Promise<R>;

/** Give the living messages page by page, as they are now or as they were `at` a seq, whatever happens meanwhile. */
export async function* messages(ask: Ask, agent: string, since = 0, at?: number): AsyncGenerator<MessagesPage> {
  for (let more = true; more; ) {
    const page: MessagesPage = await ask("messages", { agent, since, at });
    yield page;
    ({ more, at } = page);
    since = page.messages.at(-1)?.seq ?? since;
  }
}

/** Give every agent, in the order in which they were made. */
export async function* agents(ask: Ask, filter: { prefix?: string; alive?: boolean }): AsyncGenerator<AgentRow> {
  for (let [more, after] = [true, undefined as string | undefined]; more; ) {
    const page: { agents: AgentRow[]; more: boolean } = await ask("agents", { ...filter, after });
    yield* page.agents;
    more = page.more;
    after = page.agents.at(-1)?.id;
  }
}
