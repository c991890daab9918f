/** A search as the user types: one request at a time, always for what was typed last. */

import * as vscode from "vscode";
import { ReelError, type Client, type Hit, type HitsPage } from "../client";
import { literal } from "./literal";
import { count } from "./summary";

const PAGE = 50;
/** How many milliseconds a search waits for what was just said. */
const WAIT = 500;
const PARTIAL =
  "very many messages have these words, and only the newest were ranked; a rarer word or a filter finds older ones";
/** What the text of a hit begins with, below its heading. */
const INSIDE = "    ";
const MORE = Symbol("more hits");

/** What an item of the list stands for: a hit, more hits, or nothing. */
type Found = Hit | typeof MORE | undefined;
type Item = vscode.QuickPickItem & { value?: Found };

/** Let the user type, and choose from a list of hits that follows what is typed; `text` is what is typed at first. */
export function search(client: Client, text: string): Promise<Hit | undefined> {
  const list = vscode.window.createQuickPick<Item>();
  const typing = new Search(client, list);
  list.placeholder = "Search";
  list.matchOnDetail = true; // only for the colours of a match: each item is always shown
  // Otherwise VS Code sorts by the match in the label, and shows no separators. This is not in the types of its API.
  Object.assign(list, { sortByLabel: false });
  return new Promise((resolve) => {
    list.onDidChangeValue((typed) => typing.type(typed));
    list.onDidAccept(() => {
      const hit = typing.choose(list.selectedItems[0]?.value);
      if (!hit) return;
      resolve(hit);
      list.hide();
    });
    list.onDidHide(() => {
      resolve(undefined);
      list.dispose();
    });
    list.value = text;
    list.show();
    typing.type(text);
  });
}

class Search {
  private query = "";
  private pages: HitsPage[] = [];
  private waiting: Promise<void> | undefined;
  private stale = false;

  constructor(
    private readonly client: Client,
    private readonly list: vscode.QuickPick<Item>,
  ) {}

  /** Search for what was typed, as soon as the answer to what was typed before is in. */
  type(query: string): void {
    this.query = query;
    this.stale = true;
    this.list.busy = true;
    this.waiting ??= this.run();
  }

  /** Take a choice. Returns the hit if it is one; otherwise more hits are shown. */
  choose(found: Found): Hit | undefined {
    if (found !== MORE) return found;
    this.list.busy = true;
    this.waiting ??= this.run();
    return undefined;
  }

  private async run(): Promise<void> {
    do {
      if (this.stale) this.pages = [];
      this.stale = false;
      const items = await this.items().catch((error) => {
        if (!(error instanceof ReelError)) throw error;
        return [item({ label: error.words })];
      });
      if (!this.stale) this.list.items = items;
    } while (this.stale);
    this.waiting = undefined;
    this.list.busy = false;
  }

  /** Read a page, unless nothing is searched for; return the items of all pages. */
  private async items(): Promise<Item[]> {
    const query = this.query;
    if (!query.trim()) return [];
    const ranked = (await this.client.knows("patterns")) ? { order: "fresh", wait: WAIT } : {};
    for (let page: HitsPage | undefined; !page || (page.more && !page.hits.length && !this.stale); ) {
      // A page without hits is not the end: the daemon ends a search after a second.
      const above = this.pages.at(-1)?.hits.at(-1)?.agent;
      const after = page?.next ?? this.pages.at(-1)?.next;
      page = await this.client.call<HitsPage>("hits", { query, limit: PAGE, after, above, ...ranked });
      if (page.hits.length || !page.more) this.pages.push(page);
    }
    return this.laid(query);
  }

  private laid(query: string): Item[] {
    const items: Item[] = [];
    for (const { hits, lines } of this.pages) {
      let label = "";
      for (const { spans, hit } of lines.filter(({ hit }) => hit !== null)) {
        const [text, found] = [spans.map(([text]) => text).join(""), hits[hit!]!];
        if (!text.startsWith("  ")) items.push({ label: literal(text), kind: vscode.QuickPickItemKind.Separator });
        else if (!text.startsWith(INSIDE)) label = text.trim();
        else items.push(item({ label, description: found.name, detail: text.slice(INSIDE.length) }, found));
      }
    }
    const { more, behind, instead, partial } = this.pages.at(-1) ?? { more: false, behind: 0 };
    if (!items.length) items.push(item({ label: `no matches for ${query}` }));
    if (more) items.push(item({ label: "more hits" }, MORE));
    for (const [word, others] of Object.entries(instead ?? {}))
      items.push(item({ label: `nothing has ${word}; showing results for ${others.join(" and ")}` }));
    if (partial) items.push(item({ label: PARTIAL }));
    const lacking = `${count(behind, "event")} cannot be found yet`;
    if (behind) items.push(item({ label: `the index is behind: ${lacking}; repeat the search later` }));
    return items;
  }
}

/** Return an item that is shown as it is, whatever is typed. */
function item(texts: { label: string; description?: string; detail?: string }, value?: Found): Item {
  const shown = Object.entries(texts).map(([field, text]) => [field, literal(text)]);
  return { ...(Object.fromEntries(shown) as typeof texts), alwaysShow: true, ...(value && { value }) };
}
