/** A search as the user types: one request at a time, always for what was typed last. */

import { ReelError, type Client, type Hit, type HitsPage } from "../client";
import { grouped, shown, title } from "./hits";
import { count } from "./summary";

const PAGE = 50;
const MORE = Symbol("more hits");

/** What an item of the list stands for: a hit, more hits, or nothing. */
export type Found = Hit | typeof MORE | undefined;

/** An item of a list; one without `value` and `detail` may be a line between others. */
export interface Item {
  label: string;
  description?: string;
  detail?: string;
  separates?: boolean;
  value?: Found;
}

/** An open list, with a line to type in. */
export interface OpenList {
  show(items: Item[]): void;
  setBusy(busy: boolean): void;
}

export class Search {
  private query = "";
  private pages: HitsPage[] = [];
  private waiting: Promise<void> | undefined;
  private stale = false;

  constructor(
    private readonly client: Client,
    private readonly list: OpenList,
  ) {}

  /** Search for what was typed, as soon as the answer to what was typed before is in. */
  type(query: string): void {
    this.query = query;
    this.stale = true;
    this.list.setBusy(true);
    this.waiting ??= this.run();
  }

  /** Take a choice. Returns the hit if it is one; otherwise more hits are shown. */
  choose(found: Found): Hit | undefined {
    if (found !== MORE) return found;
    this.list.setBusy(true);
    this.waiting ??= this.run();
    return undefined;
  }

  private async run(): Promise<void> {
    do {
      if (this.stale) this.pages = [];
      this.stale = false;
      const items = await this.items().catch((error) => {
        if (!(error instanceof ReelError)) throw error;
        return [{ label: error.words }];
      });
      if (!this.stale) this.list.show(items);
    } while (this.stale);
    this.waiting = undefined;
    this.list.setBusy(false);
  }

  /** Read a page, unless nothing is searched for; return the items of all pages. */
  private async items(): Promise<Item[]> {
    const query = this.query;
    if (!query.trim()) return [];
    for (let page: HitsPage | undefined; !page || (page.more && !page.hits.length && !this.stale); ) {
      // A page without hits is not the end: the daemon ends a search after a second.
      const after = page?.next ?? this.pages.at(-1)?.next;
      page = await this.client.call<HitsPage>("search", { query, limit: PAGE, after });
      if (page.hits.length || !page.more) this.pages.push(page);
    }
    return this.laid(query);
  }

  private laid(query: string): Item[] {
    const items: Item[] = [];
    let above: string | undefined;
    for (const group of this.pages.flatMap(({ hits }) => grouped(hits))) {
      if (group[0]!.agent !== above) items.push({ label: title(group[0]!), separates: true });
      above = group[0]!.agent;
      for (const hit of group) items.push({ ...shown(hit, Date.now()), value: hit });
    }
    const { more, behind } = this.pages.at(-1) ?? { more: false, behind: 0 };
    if (!items.length) items.push({ label: `no matches for ${query}` });
    if (more) items.push({ label: "more hits", value: MORE });
    const lacking = `${count(behind, "event")} cannot be found yet`;
    if (behind) items.push({ label: `the index is behind: ${lacking}; repeat the search later` });
    return items;
  }
}
