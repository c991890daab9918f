/** The conversations in the side bar, the last changed first; a click opens one. */

import * as vscode from "vscode";
import { ReelError, type AgentRow, type Client } from "../client";
import { SCHEME } from "./addresses";
import { described } from "./summary";

const VIEW = `${SCHEME}.conversations`;

export class SideBar implements vscode.TreeDataProvider<AgentRow> {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly view = vscode.window.createTreeView(VIEW, { treeDataProvider: this });

  constructor(private readonly client: Client) {
    this.view.onDidChangeVisibility(({ visible }) => visible && this.refresh());
  }

  /** Read the list again, if it is in sight; VS Code asks for it when it comes into sight. */
  refresh(): void {
    this.changed.fire();
  }

  async getChildren(): Promise<AgentRow[]> {
    const rows: AgentRow[] = [];
    try {
      for await (const row of this.client.agents({ alive: true, order: "updated", details: true })) rows.push(row);
      this.view.message = rows.length ? "" : "no conversations (Reel: New Conversation creates one)";
    } catch (error) {
      if (!(error instanceof ReelError)) throw error;
      this.view.message = error.words;
    }
    return rows;
  }

  getTreeItem(row: AgentRow): vscode.TreeItem {
    const item = new vscode.TreeItem(row.short ?? row.name);
    const description = described(row);
    const command = { command: `${SCHEME}.open`, title: "Open", arguments: [row.name] };
    return Object.assign(item, { id: row.id, description, tooltip: `${row.name}  ${description}`, command });
  }

  dispose(): void {
    this.view.dispose();
    this.changed.dispose();
  }
}
