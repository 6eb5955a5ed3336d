/**
 * The shape of a command: what an answer "always" covers. It is the program, its sub-command, its flags and its operands
 * as given; only the names of containers and services are left open. A command that is known only at run time, or that has
 * several lines, has no shape.
 */
import { type Command, parse } from 'unbash'
import { matchesWildcards } from './policy.ts'

const maxShapeChars = 300

/** Sub-commands whose operands are names, not paths. */
const nameOperands: Readonly<Record<string, ReadonlySet<string>>> = {
  docker: new Set(['start', 'stop', 'restart', 'pause', 'unpause', 'kill']),
  podman: new Set(['start', 'stop', 'restart', 'pause', 'unpause', 'kill']),
  systemctl: new Set(['start', 'stop', 'restart', 'reload', 'enable', 'disable']),
}

/** Undefined for a command that an entry of the list must not cover. */
export function shapeOfCommand(command: string): string | undefined {
  const text = command.trim()
  // Expansions, line breaks, control characters, patterns and comments: the same text could do something else next time.
  if (text === '' || text.length > maxShapeChars || /[[$`\\\p{C}*?#]|<\(|>\(|<</u.test(text)) return undefined
  const words = wordsOf(text)
  if (words === undefined) return text
  const [program = '', subCommand = ''] = words
  const takesNames = Object.hasOwn(nameOperands, program) && nameOperands[program]?.has(subCommand) === true
  if (!takesNames) return text
  const flags = words.slice(2).filter((word) => word.startsWith('-'))
  return [program, subCommand, ...flags, '*'].join(' ')
}

/**
 * Whether an entry of `command_allowlist` covers the command. In an entry `*` stands for plain words without `/`; an entry
 * with `*` covers only a single simple command.
 */
export function isOnAllowlist(command: string, entries: readonly string[]): boolean {
  const text = command.trim()
  if (entries.includes(text)) return true
  const patterns = entries.filter((entry) => entry.includes('*'))
  if (patterns.length === 0 || shapeOfCommand(text) === undefined) return false
  const words = wordsOf(text)
  if (words === undefined) return false
  const flagsLast = [...words.slice(0, 2), ...words.slice(2).sort(flagsFirst)].join(' ')
  return patterns.some((entry) => {
    const fixed = entry.slice(0, entry.indexOf('*'))
    const open = flagsLast.slice(fixed.length)
    return /^[\w.@: -]*$/.test(open) && !/(?:^| )-/.test(open) && matchesWildcards(flagsLast, entry.trim())
  })
}

function flagsFirst(a: string, b: string): number {
  return Number(b.startsWith('-')) - Number(a.startsWith('-'))
}

/** The words of a single simple command without redirections, assignments, quotes and expansions; otherwise undefined. */
function wordsOf(text: string): readonly string[] | undefined {
  const tree = parse(text)
  const [statement, ...more] = tree.commands
  if (statement === undefined || more.length > 0 || statement.background === true || (tree.errors?.length ?? 0) > 0)
    return undefined
  const { command } = statement
  if (command.type !== 'Command' || !isPlain(command)) return undefined
  return [command.name?.text ?? '', ...command.suffix.flatMap((word) => (word.type === 'Word' ? [word.text] : []))]
}

function isPlain({ name, prefix, redirects, suffix }: Command): boolean {
  const words = [name, ...suffix]
  return (
    prefix.length === 0 &&
    redirects.length === 0 &&
    words.every((word) => word?.type === 'Word' && word.text === word.value)
  )
}
