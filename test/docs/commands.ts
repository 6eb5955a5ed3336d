/**
 * Checks the commands on pages (`hermes …` and `npm run …`), in shell blocks and inline code.
 */
import { allCommands } from './generated/command-line.ts'
import type { Page } from './pages.ts'

/** The commands that do not exist, with their pages. */
export function unknownCommands(pages: readonly Page[], scripts: readonly string[]): string[] {
  const known = new Map<string, Set<string>>()
  for (const { words, aliases } of allCommands()) {
    const parent = known.get(words.slice(0, -1).join(' ')) ?? new Set()
    for (const name of [words.at(-1) ?? '', ...aliases]) parent.add(name)
    known.set(words.slice(0, -1).join(' '), parent)
  }
  return pages.flatMap((page) =>
    commandsIn(page)
      .filter((command) => !exists(command, known, scripts))
      .map((command) => `${page.path}: ${command}`),
  )
}

function commandsIn({ blocks, spans }: Page): string[] {
  const lines = blocks.filter(({ language }) => language === 'sh').flatMap(({ text }) => text.split('\n'))
  return [...lines, ...spans]
    .flatMap((line) => line.split(/&&|\s\|\s|;/))
    .map((command) =>
      command
        .trim()
        .replace(/\s+#.*$/, '')
        .replace(/^\$ |^docker compose exec hermes /, ''),
    )
    .filter((command) => /^(?:hermes|npm) /.test(command))
}

function exists(command: string, known: ReadonlyMap<string, ReadonlySet<string>>, scripts: readonly string[]): boolean {
  const words = command.replace(/^npm run (?:-s )?hermes --/, 'hermes').split(/\s+/)
  if (words[0] === 'npm') return npmExists(words, scripts)
  let path = 'hermes'
  for (const word of words.slice(1)) {
    const children = known.get(path)
    // Options and arguments, which are not checked.
    if (children === undefined || /^[-<['"…]/.test(word)) return true
    const alternatives = word.split('|')
    if (!alternatives.every((name) => children.has(name))) return false
    path = `${path} ${alternatives[0]}`
  }
  return true
}

function npmExists(words: readonly string[], scripts: readonly string[]): boolean {
  const [, verb = '', ...rest] = words
  if (verb === 'run') return scripts.includes(rest.find((word) => !word.startsWith('-')) ?? '')
  return verb === 'ci' || verb === 'pack' || (verb === 'install' && rest.length > 0) || scripts.includes(verb)
}
