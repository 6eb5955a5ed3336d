/**
 * Completes slash commands and the paths of files behind `@`. Names with characters that cannot be seen are left out.
 */
import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import {
  type AutocompleteItem,
  type AutocompleteProvider,
  CombinedAutocompleteProvider,
  fuzzyFilter,
} from '@earendil-works/pi-tui'
import { toVisibleText } from '../../lib/visible-text.ts'
import type { GatewayCommand } from './keys.ts'

export interface CompletionOptions {
  /** The directory of relative paths. */
  readonly directory: string
  /** The directory that `~` stands for. */
  readonly userHome: string
  commands(): readonly GatewayCommand[]
}

const maxItems = 50
/** Entries that a search below the directory looks at. */
const maxWalked = 3_000
const maxDepth = 5
const skipped = new Set(['node_modules', '.git'])

export function createCompletion({ directory, userHome, commands }: CompletionOptions): AutocompleteProvider {
  const applier = new CombinedAutocompleteProvider([], directory)

  return {
    async getSuggestions(lines, cursorLine, cursorCol, { signal, force = false }) {
      const before = (lines[cursorLine] ?? '').slice(0, cursorCol)
      if (cursorLine === 0 && /^\/[^\s/]*$/.test(before)) return nonEmpty(completeCommand(before), before)
      const [, prefix] =
        /(?:^|\s)(@"[^"]*|@\S*)$/.exec(before) ?? (force ? /(?:^|\s)(\S*\/\S*)$/.exec(before) : null) ?? []
      if (prefix === undefined) return null
      const paths = await completePath(prefix.replace(/^@?"?/, ''), signal)
      const sign = prefix.startsWith('@') ? '@' : ''
      return signal.aborted
        ? null
        : nonEmpty(
            paths.map((path) => toItem(path, sign)),
            prefix,
          )
    },
    applyCompletion: (lines, cursorLine, cursorCol, item, prefix) =>
      applier.applyCompletion([...lines], cursorLine, cursorCol, item, prefix),
  }

  function completeCommand(before: string): AutocompleteItem[] {
    const visible = commands().filter(({ name }) => toVisibleText(name) === name)
    const items = visible.map(({ name, description, argsHint = '' }) => {
      const about = [argsHint, description].filter((part) => part !== '').join(' · ')
      return { value: name, label: name, description: toVisibleText(about.replace(/\s+/g, ' ')) }
    })
    return fuzzyFilter(items, before.slice(1), ({ value }) => value)
  }

  /** The entries of a directory, or with a name alone the files below the directory. */
  async function completePath(written: string, signal: AbortSignal): Promise<string[]> {
    const slash = written.lastIndexOf('/')
    const folder = written.slice(0, slash + 1)
    const name = written.slice(slash + 1)
    if (slash === -1 && name !== '') return fuzzyFilter(await walk(signal), name, (path) => path).slice(0, maxItems)
    const place = folder.startsWith('~/') ? join(userHome, folder.slice(2)) : resolve(directory, folder)
    const entries = await readEntries(place)
    return entries
      .filter((entry) => entry.name.toLowerCase().startsWith(name.toLowerCase()))
      .filter((entry) => name.startsWith('.') || !entry.name.startsWith('.'))
      .map((entry) => folder + pathOf(entry))
      .slice(0, maxItems)
  }

  /** The paths below the directory, the nearest first. */
  async function walk(signal: AbortSignal): Promise<string[]> {
    const paths: string[] = []
    let level = ['']
    for (let depth = 0; depth < maxDepth && level.length > 0; depth++) {
      const next: string[] = []
      for (const folder of level) {
        if (signal.aborted || paths.length >= maxWalked) return paths
        const entries = await readEntries(join(directory, folder))
        for (const entry of entries.filter(({ name }) => !name.startsWith('.') && !skipped.has(name))) {
          paths.push(folder + pathOf(entry))
          if (entry.isDirectory()) next.push(`${folder}${entry.name}/`)
        }
      }
      level = next
    }
    return paths
  }
}

/** Directories first. What cannot be read has nothing to offer. */
async function readEntries(directory: string): Promise<Dirent[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => [])
  return entries
    .filter(({ name }) => toVisibleText(name) === name)
    .sort((a, b) => Number(b.isDirectory()) - Number(a.isDirectory()) || a.name.localeCompare(b.name))
}

function pathOf(entry: Dirent): string {
  return entry.isDirectory() ? `${entry.name}/` : entry.name
}

function toItem(path: string, sign: string): AutocompleteItem {
  return { value: path.includes(' ') ? `${sign}"${path}"` : sign + path, label: path }
}

function nonEmpty(items: AutocompleteItem[], prefix: string) {
  return items.length === 0 ? null : { items, prefix }
}
