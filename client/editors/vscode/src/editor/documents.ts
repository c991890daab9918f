/** The conversations that are open, each as the text of a document that lives. */

import { Lost, ReelError, type Client, type Following } from "../client";
import { naming } from "./naming";
import { notice, Transcript, type Section } from "./transcript";

/** Changes within so many milliseconds are shown at once. */
const TOGETHER = 30;
const AWAY = "the daemon went away; waiting for it to come back";
const NOTHING: Section = { lines: [], folds: [], headings: [] };

interface Document {
  following: Promise<Following>;
  transcript: Transcript;
  shown: Section;
  timer: NodeJS.Timeout | undefined;
}

export class Documents {
  private readonly open = new Map<string, Document>();

  /** @param changed is called with the name of a conversation whose text is another now. */
  constructor(
    private readonly client: Client,
    private readonly changed: (name: string) => void,
  ) {}

  /** Give the text of a conversation, which is followed from then on; or the line that says why there is none. */
  async text(name: string): Promise<string> {
    const document = this.open.get(name) ?? this.begin(name);
    try {
      this.lay(document, await document.following);
    } catch (error) {
      if (!(error instanceof ReelError)) throw error;
      if (this.open.get(name) === document) this.open.delete(name); // to look again tries again
      document.shown = { ...NOTHING, lines: [notice(naming(error, name).words), ""] };
    }
    return document.shown.lines.join("\n");
  }

  /** Return the text that was given last, with its folds and headings; nothing if the document is not open. */
  shown(name: string | undefined): Section {
    return (name === undefined ? undefined : this.open.get(name)?.shown) ?? NOTHING;
  }

  /** Give the id of a conversation that is open, which stays when its name does not; else its name. */
  async agent(name: string): Promise<string> {
    const following = await this.open.get(name)?.following.catch(() => undefined);
    return following?.agent ?? name;
  }

  /** No longer follow a conversation. */
  close(name: string): void {
    const document = this.open.get(name);
    this.open.delete(name);
    clearTimeout(document?.timer);
    document?.following.then(
      (following) => following.close(),
      () => {}, // it never began, and was told to whoever looked
    );
  }

  private begin(name: string): Document {
    const following = this.client.follow(name, () => this.tell(name, document));
    const document: Document = { following, transcript: new Transcript(), shown: NOTHING, timer: undefined };
    this.open.set(name, document);
    return document;
  }

  private tell(name: string, document: Document): void {
    if (this.open.get(name) !== document) return;
    document.timer ??= setTimeout(() => {
      document.timer = undefined;
      this.changed(name);
    }, TOGETHER);
  }

  /** While something is being read, what was shown last stands. */
  private lay(document: Document, { copy, problem }: Following): void {
    const away = problem instanceof Lost ? AWAY : problem?.words;
    if (copy.whole || problem) document.shown = document.transcript.whole(copy, away);
  }
}
