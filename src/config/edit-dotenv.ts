/**
 * Removes variables from the text of a `.env` file and preserves the rest, including comments.
 */
import { parseDotenv } from './dotenv.ts'

/** Removes every line of a variable that `isRemoved` names. */
export function removeVariables(
  text: string,
  isRemoved: (name: string) => boolean,
): { readonly text: string; readonly removed: readonly string[] } {
  const removed = new Set<string>()
  let lines = text.split('\n')
  for (;;) {
    const found = [...parseDotenv(lines.join('\n')).entries].find(([name]) => isRemoved(name))
    if (found === undefined) return { text: lines.join('\n'), removed: [...removed] }
    const [name, { line }] = found
    removed.add(name)
    let end = line
    // A value in quotes may span several lines.
    while (end < lines.length && !parseDotenv(lines.slice(line - 1, end).join('\n')).entries.has(name)) end += 1
    lines = [...lines.slice(0, line - 1), ...lines.slice(end)]
  }
}
