/**
 * Text that VS Code shows as it is, also where it has no option for that.
 *
 * In notifications, prompts and choices VS Code makes a link of `[text](command:…)`, which runs the command on one
 * click, and an icon of `$(name)`. Neither can be escaped. Names, titles, labels and ids are other people's text, so a
 * space goes before the parenthesis.
 */
export function literal(text: string): string {
  return text.replace(/(?<=[\]$])\(/g, " (");
}
