/** The open conversations, each as the text of a document that is kept current. */

import { Copy, Lost, ReelError, type Client } from "../client";
import { naming, parsed, pathTo } from "./naming";
import { notice, Transcript, type Section } from "./transcript";

/** Changes within this time, in milliseconds, are shown together. */
const DELAY = 30;
const AWAY = "the daemon went away; waiting for it to come back";
const NOTHING: Section = { lines: [], folds: [], headings: [] };

/** A copy of a conversation, which is followed or, if it is of the past, only read. */
export interface Reading {
  readonly copy: Copy;
  readonly agent: string;
  readonly problem: ReelError | undefined;
  close(): void;
}

interface Document {
  past: string | undefined;
  following: Promise<Reading>;
  begun: Reading | undefined;
  transcript: Transcript;
  shown: Section;
  timer: NodeJS.Timeout | undefined;
}

export class Documents {
  private readonly open = new Map<string, Document>();

  /** @param changed is called with the name of a conversation whose text has changed. */
  constructor(
    private readonly client: Client,
    private readonly changed: (name: string) => void,
  ) {}

  /** Return the text of a conversation, which is followed from then on; if it cannot be, the line that says why. */
  async text(name: string): Promise<string> {
    const document = this.open.get(name) ?? this.begin(name);
    try {
      this.lay(document, await document.following);
    } catch (error) {
      if (!(error instanceof ReelError)) throw error;
      if (this.open.get(name) === document) this.open.delete(name); // the next look tries again
      document.shown = { ...NOTHING, lines: [notice(naming(error, parsed(name).name).words), ""] };
    }
    return document.shown.lines.join("\n");
  }

  /** Return the newest text, with its folds and headings; an empty section if the document is not open. */
  shown(name: string | undefined): Section {
    return (name === undefined ? undefined : this.open.get(name)?.shown) ?? NOTHING;
  }

  /** Return the id of an open conversation, which a rename does not change; otherwise return the name. */
  async agent(name: string): Promise<string> {
    const past = [...this.open.keys()].find((path) => path.startsWith(pathTo(name, 0).slice(0, -1)));
    const document = this.open.get(name) ?? this.open.get(past ?? "");
    const following = await document?.following.catch(() => undefined);
    return following?.agent ?? name;
  }

  /** Return the following of an open conversation, once it has begun. */
  following(name: string): Reading | undefined {
    return this.open.get(name)?.begun;
  }

  /** Have a document read again if it shows another agent than this one, which has the name now. */
  async correct(name: string, agent: string): Promise<void> {
    const document = this.open.get(name);
    const following = await document?.following.catch(() => undefined);
    if (!following || following.agent === agent || this.open.get(name) !== document) return;
    this.close(name);
    this.changed(name);
  }

  /** Stop following a conversation. */
  close(name: string): void {
    const document = this.open.get(name);
    this.open.delete(name);
    clearTimeout(document?.timer);
    document?.following.then(
      (following) => following.close(),
      () => {}, // it never began; `text` has reported why
    );
  }

  private begin(name: string): Document {
    const { name: conversation, past } = parsed(name);
    const following: Promise<Reading> =
      past === undefined
        ? this.client.follow(name, () => this.schedule(name, document))
        : readPast(this.client, conversation, past);
    const now = "Reel: Open a Conversation shows it as it is now";
    const document: Document = {
      past: past === undefined ? undefined : `${conversation} as it was at #${past} (${now})`,
      following,
      begun: undefined,
      transcript: new Transcript(),
      shown: NOTHING,
      timer: undefined,
    };
    following.then(
      (begun) => (document.begun = begun),
      () => {}, // `text` reports why
    );
    this.open.set(name, document);
    return document;
  }

  /** Report a change a little later, together with those that come meanwhile. */
  private schedule(name: string, document: Document): void {
    if (this.open.get(name) !== document) return;
    document.timer ??= setTimeout(() => {
      document.timer = undefined;
      this.changed(name);
    }, DELAY);
  }

  /** Lay out a copy. While it is incomplete, the newest text remains. */
  private lay(document: Document, { copy, problem }: Reading): void {
    const away = problem instanceof Lost ? AWAY : problem?.words;
    if (copy.whole || problem) document.shown = document.transcript.whole(copy, document.past ?? away);
  }
}

/** Read a conversation as it was at a seq. That never changes, so it is not followed. */
async function readPast(client: Client, name: string, past: number): Promise<Reading> {
  const copy = new Copy();
  let agent = name;
  for await (const page of client.messages(name, undefined, past)) {
    copy.page(page);
    agent = page.agent;
  }
  return { copy, agent, problem: undefined, close() {} };
}
