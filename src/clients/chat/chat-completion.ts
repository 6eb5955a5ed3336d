/**
 * Completes what is typed in the terminal chat (Tab): slash commands with their choices, and paths of files. Names with
 * characters that cannot be seen are left out.
 */
import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { toVisibleText } from '../../lib/visible-text.ts'

export interface KnownCommand {
  /** Without the slash. */
  readonly name: string
  /** `[on|off]` offers its words. */
  readonly argsHint?: string | undefined
}

export interface ChatCompletionOptions {
  /** The directory of relative paths. */
  readonly directory: string
  /** The directory that `~` stands for. */
  readonly userHome: string
  /** Rejects when the gateway cannot tell them; then only paths are completed. */
  commands(): Promise<readonly KnownCommand[]>
}

/** Resolves with what the end of the line may become, and that end, as `readline` takes them. Never rejects. */
export type ChatCompleter = (line: string) => Promise<[completions: string[], completed: string]>

/** Handled by the terminal itself. */
const ownCommands: readonly KnownCommand[] = [{ name: 'exit' }, { name: 'quit' }, { name: 'image' }]
const maxPaths = 100

export function createChatCompleter({ directory, userHome, commands }: ChatCompletionOptions): ChatCompleter {
  return async (line) => {
    const known = line.startsWith('/') ? await listCommands() : []
    if (/^\/[^\s/]*$/.test(line)) {
      const names = [...new Set(known.map(({ name }) => `/${name} `))].filter((name) => name.startsWith(line)).sort()
      if (names.length > 0) return [names, line]
    }
    const [, command = '', word = ''] = /^\/(\S+)\s+(\S*)$/.exec(line) ?? []
    const choices = choicesOf(known.find(({ name }) => name === command)).filter((choice) => choice.startsWith(word))
    if (choices.length > 0) return [choices, word]
    return await completePath(line)
  }

  async function listCommands(): Promise<readonly KnownCommand[]> {
    return [...ownCommands, ...(await commands().catch(() => []))]
  }

  async function completePath(line: string): Promise<[string[], string]> {
    // A space belongs to a path behind a backslash.
    const [, sign = '', written = ''] = /(?:^|\s)(@?)((?:\\.|[^\s\\])*)$/.exec(line) ?? []
    if (sign === '' && written === '') return [[], '']
    const slash = written.lastIndexOf('/')
    const folder = written.slice(0, slash + 1)
    const name = unescapePath(written.slice(slash + 1))
    const place = unescapePath(folder)
    const path = place.startsWith('~/') ? join(userHome, place.slice(2)) : resolve(directory, place)
    const entries = await readdir(path, { withFileTypes: true }).catch((): Dirent[] => [])
    const lines = entries
      .filter((entry) => entry.name.startsWith(name) && (name !== '' || !entry.name.startsWith('.')))
      .filter((entry) => toVisibleText(entry.name) === entry.name)
      .map((entry) => `${sign}${folder}${escapePath(entry.name)}${entry.isDirectory() ? '/' : ' '}`)
      .sort()
    return [lines.slice(0, maxPaths), `${sign}${written}`]
  }
}

/** The words of `[on|off|status]`; none of hints such as `[number]` or `<message>`. */
function choicesOf(command: KnownCommand | undefined): string[] {
  const [, words] = /^\[([\w-]+(?:\|[\w-]+)+)\]$/.exec(command?.argsHint ?? '') ?? []
  return words?.split('|') ?? []
}

function escapePath(name: string): string {
  return name.replace(/[\s\\'"]/g, '\\$&')
}

function unescapePath(written: string): string {
  return written.replace(/\\(.)/g, '$1')
}
