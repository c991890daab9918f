/**
 * Text that VS Code shows as it is, wherever it takes no option that says so.
 *
 * In notifications, prompts and choices VS Code makes a link of `[text](command:…)`, which runs the command on one
 * click, and an icon of `$(name)`; there is no way to escape either. Names, titles, labels and ids are other people's
 * text, so what opens the link or the name is set apart by a space.
 */
export function literal(text: string): string {
  return text.replace(/(?<=[\]$])\(/g, " (");
}
