/**
 * Edits `.env` files and preserves the rest, including comments.
 */
import { statSync } from 'node:fs'
import { HermesError, messageOf } from '../lib/errors.ts'
import { readTextIfExists, writeFileAtomic } from '../lib/files.ts'
import { parseDotenv } from './dotenv.ts'

/**
 * Replaces the value of a variable by items with commas between them. Throws `config/unreadable` when the variable is not set on
 * a line of its own.
 */
export function replaceDotenvList(path: string, name: string, items: readonly string[]): void {
  const text = read(path)
  const line = parseDotenv(text).entries.get(name)?.line
  const lines = text.split('\n')
  const current = line === undefined ? undefined : lines[line - 1]
  // A value of several lines, or one after which the parser would read another line.
  if (line === undefined || current === undefined || parseDotenv(current).entries.size !== 1) {
    throw new HermesError('config/unreadable', `${path}: ${name} cannot be edited.`, { hint: `Edit ${name} by hand.` })
  }
  const start = /^(?:\uFEFF)?[ \t]*(?:export[ \t]+)?[A-Za-z0-9_]+[ \t]*=[ \t]*/.exec(current)?.[0] ?? `${name}=`
  const end = current.endsWith('\r') ? '\r' : ''
  lines[line - 1] = `${start}${quoted(items.join(','))}${end}`
  try {
    writeFileAtomic(path, lines.join('\n'), statSync(path).mode & 0o777)
  } catch (error) {
    throw new HermesError('config/unreadable', `${path}: ${messageOf(error)}`, { cause: error })
  }
}

/** Sets a variable, or removes it, and creates the file, for its owner only. Throws `config/unreadable`. */
export function setVariable(path: string, name: string, value: string | undefined): void {
  const { text, removed } = removeVariables(read(path), (known) => known === name)
  if (value === undefined && removed.length === 0) return
  const before = text === '' || text.endsWith('\n') ? text : `${text}\n`
  try {
    const mode = (statSync(path, { throwIfNoEntry: false })?.mode ?? 0o600) & 0o777
    writeFileAtomic(path, value === undefined ? text : `${before}${name}=${quoted(value)}\n`, mode)
  } catch (error) {
    throw new HermesError('config/unreadable', `${path}: ${messageOf(error)}`, { cause: error })
  }
}

function read(path: string): string {
  try {
    return readTextIfExists(path) ?? ''
  } catch (error) {
    throw new HermesError('config/unreadable', `${path}: ${messageOf(error)}`, { cause: error })
  }
}

function quoted(value: string): string {
  if (/^[\w.,:@+/-]*$/.test(value)) return value
  return `"${value.replace(/["\\$]/g, '\\$&').replace(/[\r\n]/g, ' ')}"`
}

/** Removes every line of a variable that `isRemoved` names. */
export function removeVariables(
  text: string,
  isRemoved: (name: string) => boolean,
): { readonly text: string; readonly removed: readonly string[] } {
  const removed = new Set<string>()
  let lines = text.split('\n')
  for (;;) {
    const entry = [...parseDotenv(lines.join('\n')).entries].find(([name]) => isRemoved(name))
    if (entry === undefined) return { text: lines.join('\n'), removed: [...removed] }
    const [name, { line }] = entry
    removed.add(name)
    let end = line
    // A value in quotes may span several lines.
    while (end < lines.length && !parseDotenv(lines.slice(line - 1, end).join('\n')).entries.has(name)) end += 1
    lines = [...lines.slice(0, line - 1), ...lines.slice(end)]
  }
}
