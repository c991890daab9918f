/** Lists that the daemon returns in pages. */

import type { AgentFilter, AgentRow, MessagesPage, Params } from "./wire";

type Call = <R>(method: string, params: Params) => Promise<R>;

/** Yield the messages page by page, all as they were at one seq: `at`, or the newest when the first page is read. */
export async function* messages(call: Call, agent: string, since = 0, at?: number): AsyncGenerator<MessagesPage> {
  for (let more = true; more; ) {
    const page: MessagesPage = await call("messages", { agent, since, at });
    yield page;
    ({ more, at } = page);
    since = page.messages.at(-1)?.seq ?? since;
  }
}

/** Yield every agent, each once. */
export async function* agents(call: Call, filter: AgentFilter): AsyncGenerator<AgentRow> {
  const seen = new Set<string>(); // in the order `updated`, one that changes meanwhile comes twice
  for (let [more, after] = [true, undefined as string | undefined]; more; ) {
    const page: { agents: AgentRow[]; more: boolean } = await call("agents", { ...filter, after });
    for (const agent of page.agents) {
      if (!seen.has(agent.id)) yield agent;
      seen.add(agent.id);
    }
    more = page.more;
    after = page.agents.at(-1)?.id;
  }
}
