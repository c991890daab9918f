/** The open conversations, each as the lines of a document that is kept current. */

import { setTimeout as pause } from "node:timers/promises";
import { Lost, ReelError, Sheet, type Client, type Following } from "../client";
import { difference } from "./difference";
import { naming, notice, parsed } from "./naming";
import { Virtual } from "./virtual";

/** Changes within this time, in milliseconds, are shown together. */
const DELAY = 30;
/** Before a change that the editor refused is tried again, in milliseconds. */
const RETRY = 1_000;
const AWAY = "the daemon went away; waiting for it to come back";
const NOTHING = new Sheet();

/** What a document is about: the conversation, with `past` as it was at this seq. */
export interface Conversation {
  name: string;
  /** Its id, if that is known. */
  agent: string;
  past: number | undefined;
}

interface Document {
  /** Resolves when there is a `following`, or a `problem`: why there is none. */
  ready: Promise<void>;
  following: Following | undefined;
  problem: ReelError | undefined;
  /** The lines that the editor has. */
  shown: string[];
  isStale: boolean;
  /** Until it is up to date. */
  updating: Promise<void> | undefined;
  /** Until the editor has made a change. */
  changing: Promise<boolean> | undefined;
}

export class Documents {
  private readonly open = new Map<string, Document>();

  private readonly virtual = new Virtual();
  /** Until a document is shown. */
  private showing: Promise<void> | undefined;

  /** @param changed is called when there is something new about a document. */
  constructor(
    private readonly client: Client,
    private readonly changed: () => void,
  ) {}

  /** Return the first lines of a conversation, which is followed from then on; or the line that says why not. */
  async text(path: string): Promise<string> {
    const document = this.open.get(path) ?? this.begin(path, []);
    await document.ready;
    const { following } = document;
    await following?.until(() => following.sheet.lines.length > 0 || !following.isReading);
    document.shown = wanted(path, document);
    return document.shown.join("\n");
  }

  /** Return the newest lines, with their folds and headings. */
  sheet(path: string | undefined): Sheet {
    return this.following(path ?? "")?.sheet ?? NOTHING;
  }

  /** Return the following of an open conversation, once it has begun. */
  following(path: string): Following | undefined {
    return this.open.get(path)?.following;
  }

  /** Return what a document is about. Once it is open, a rename does not matter. */
  async conversation(path: string): Promise<Conversation> {
    await this.open.get(path)?.ready;
    const [{ name, past }, following] = [parsed(path), this.following(path)];
    return { name: following?.name ?? name, agent: following?.agent ?? name, past };
  }

  /** Wait until the editor shows all there is of a conversation, as `sheet` has it. */
  async settle(path: string): Promise<void> {
    const document = this.open.get(path);
    await document?.ready;
    await document?.following?.until(() => !document.following!.isReading);
    this.update(path);
    await document?.updating;
  }

  /** Have a document read again if it does not show this agent, which has the name now. */
  async correct(path: string, agent: string): Promise<void> {
    const document = this.open.get(path);
    await document?.ready;
    if (!document || document.following?.agent === agent || this.open.get(path) !== document) return;
    this.close(path);
    await this.begin(path, document.shown).ready;
  }

  /**
   * Have the editor show a document at its end. Nothing is changed in it meanwhile: the editor hears of a change after it
   * was made, and until then its end is where it was before.
   */
  async show(path: string, show: () => Promise<void>): Promise<void> {
    await this.open.get(path)?.changing;
    this.showing = show();
    await this.showing;
  }

  /** Bring what the editor shows up to date, together with what changes a little later. */
  update(path: string): void {
    const document = this.open.get(path);
    if (!document) return;
    document.isStale = true;
    document.updating ??= this.change(path, document).finally(() => (document.updating = undefined));
    this.changed();
  }

  /** Stop following a conversation. */
  close(path: string): void {
    const document = this.open.get(path);
    this.open.delete(path);
    void document?.ready.then(() => document.following?.close());
  }

  private begin(path: string, shown: string[]): Document {
    const { name, past } = parsed(path);
    const changed = () => this.open.get(path) === document && this.update(path);
    const follow = async () => {
      try {
        document.following = await this.client.follow(name, changed, past);
      } catch (error) {
        if (!(error instanceof ReelError)) throw error;
        document.problem = error;
      }
      changed();
    };
    const document: Document = {
      ready: Promise.resolve(),
      following: undefined,
      problem: undefined,
      shown,
      isStale: false,
      updating: undefined,
      changing: undefined,
    };
    this.open.set(path, document);
    document.ready = follow();
    return document;
  }

  private async change(path: string, document: Document): Promise<void> {
    while (document.isStale && this.open.get(path) === document) {
      await pause(DELAY);
      await this.showing?.catch(() => {}); // who shows it hears of the error
      document.isStale = false;
      const lines = wanted(path, document);
      const change = difference(document.shown, lines);
      document.changing = change && this.virtual.change(path, change);
      if (!change || (await document.changing)) {
        document.shown = lines;
        continue;
      }
      const found = this.virtual.lines(path);
      if (!found) continue; // it is being opened, and updated then
      document.shown = found;
      document.isStale = true;
      await pause(RETRY);
    }
  }
}

/** Return the lines that a document should have, at least one. */
function wanted(path: string, { following, problem }: Document): string[] {
  const lines = [...(following?.sheet.lines ?? [])];
  const last = problem ? naming(problem, parsed(path).name).words : below(path, following);
  if (last !== undefined) lines.push(notice(last));
  return lines.length ? lines : [""];
}

/** Return what is said below a conversation: what is wrong, or that it is a past one. */
function below(path: string, following: Following | undefined): string | undefined {
  const { name, past } = parsed(path);
  if (following?.problem instanceof Lost) return AWAY;
  if (following?.problem) return naming(following.problem, following.name).words;
  return past === undefined ? undefined : `${name} as it was at #${past} (Reel: Open a Conversation shows it as it is now)`;
}
