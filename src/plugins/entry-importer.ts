/**
 * The code of a plugin in JavaScript or TypeScript: imports its entry and finds `register`.
 */
import { statSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { HermesError, messageOf } from '../lib/errors.ts'
import type { Register } from './contract.ts'
import type { DiscoveredPlugin } from './discovery.ts'

export interface ImportedPlugin {
  readonly register: Register
  /** Its file is another one than the one that runs: the runtime imports a file once. */
  readonly isOutdated: boolean
}

export interface EntryImporter {
  /** Throws `plugins/unloadable` when the file cannot be imported or has no `register`. A failed import may be tried again. */
  importEntry(plugin: Pick<DiscoveredPlugin, 'entryFile'>): Promise<ImportedPlugin>
  /** Its `register` failed: once its file has changed it is imported anew. */
  markFailed(plugin: Pick<DiscoveredPlugin, 'entryFile'>): void
}

/** What the runtime has imported under its latest address. */
interface ImportRecord {
  readonly attempt: number
  readonly fingerprint: string
  readonly isUsable: boolean
}

export function createEntryImporter(): EntryImporter {
  const imported = new Map<string, ImportRecord>()

  /** The runtime never imports the same address twice, whatever came of it. */
  function nextAttempt(file: string, fingerprint: string): ImportRecord {
    const last = imported.get(file)
    if (last === undefined) return { attempt: 1, fingerprint, isUsable: true }
    if (last.isUsable || last.fingerprint === fingerprint) return last
    return { attempt: last.attempt + 1, fingerprint, isUsable: true }
  }

  async function importModule(file: string, { attempt, fingerprint }: ImportRecord): Promise<unknown> {
    const address = pathToFileURL(file)
    if (attempt > 1) address.searchParams.set('attempt', String(attempt))
    try {
      const exports: unknown = await import(address.href)
      return exports
    } catch (error) {
      // What it imports may be mended without it.
      imported.set(file, { attempt, fingerprint: `${fingerprint} failed`, isUsable: false })
      throw new HermesError('plugins/unloadable', messageOf(error), { cause: error })
    }
  }

  function markFailed({ entryFile }: Pick<DiscoveredPlugin, 'entryFile'>): void {
    const last = imported.get(entryFile)
    if (last !== undefined) imported.set(entryFile, { ...last, isUsable: false })
  }

  return {
    markFailed,
    async importEntry({ entryFile }) {
      const stamp = fingerprintOf(entryFile)
      const attempt = nextAttempt(entryFile, stamp)
      const exports = await importModule(entryFile, attempt)
      imported.set(entryFile, { ...attempt, isUsable: true })
      const register = findRegister(exports)
      if (register === undefined) {
        markFailed({ entryFile })
        throw new HermesError('plugins/unloadable', 'expected a function register, found none')
      }
      return { register, isOutdated: attempt.fingerprint !== stamp }
    },
  }
}

/** Another one when the file has changed. */
export function fingerprintOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false })
  return found === undefined ? '' : `${found.mtimeMs} ${found.size}`
}

/** `export function register`, `export default function`, or `export default { register }`. */
function findRegister(exports: unknown): Register | undefined {
  if (hasRegister(exports)) return exports.register
  if (typeof exports !== 'object' || exports === null || !('default' in exports)) return undefined
  const { default: main } = exports
  if (isRegister(main)) return main
  return hasRegister(main) ? (context) => main.register(context) : undefined
}

function hasRegister(value: unknown): value is { register: Register } {
  return typeof value === 'object' && value !== null && 'register' in value && isRegister(value.register)
}

function isRegister(value: unknown): value is Register {
  return typeof value === 'function'
}
