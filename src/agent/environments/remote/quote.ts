/**
 * Text for the shell of another environment, and paths in it.
 */
import { posix } from 'node:path'
import { quoteWord } from '../../../lib/shell-quote.ts'

/** Quotes a path; `~` is the home of the user in the environment. */
export function quotePath(path: string): string {
  if (path === '~') return '"$HOME"'
  return path.startsWith('~/') ? `"$HOME"/${quoteWord(path.slice(2))}` : quoteWord(path)
}

/** A path that a model wrote, against the working directory of the environment. Both may begin with `~`. */
export function resolveRemotePath(path: string, cwd: string): string {
  if (path.startsWith('/')) return posix.normalize(path).replace(/(.)\/$/, '$1')
  const joined = path === '~' || path.startsWith('~/') ? path : posix.join(cwd, path)
  if (joined !== '~' && !joined.startsWith('~/')) return joined.replace(/(.)\/$/, '$1')
  const rest = posix.normalize(joined.slice(2)).replace(/\/$/, '')
  return rest === '.' || rest === '' ? '~' : `~/${rest}`
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
const controlCharacter = /[\x01-\x1f\x7f]/g

/** Shell text as one line without control characters, which `printf %b` turns back into the text. */
export function encodeShellText(text: string): string {
  return text
    .replaceAll('\\', '\\\\')
    .replaceAll(controlCharacter, (character) => `\\0${character.charCodeAt(0).toString(8).padStart(3, '0')}`)
}
