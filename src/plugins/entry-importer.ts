/**
 * Imports the entry of a plugin in JavaScript or TypeScript and finds its `register`.
 */
import { pathToFileURL } from 'node:url'
import { HermesError, messageOf } from '../lib/errors.ts'
import { fingerprintOf } from '../lib/file-memo.ts'
import type { Register } from './contract.ts'
import type { DiscoveredPlugin } from './discovery.ts'

export interface EntryImporter {
  /**
   * Resolves with `register` of the plugin. A file that was edited since it was imported is imported again.
   * Rejects with `plugins/unloadable` when the file cannot be imported or has no `register`; a failed import may be retried.
   */
  importEntry(plugin: Pick<DiscoveredPlugin, 'entryFile'>): Promise<Register>
  /** A file that the entry imports was edited: the entry is imported again the next time. */
  invalidate(plugin: Pick<DiscoveredPlugin, 'entryFile'>): void
}

/** The latest import of a file. */
interface ImportRecord {
  readonly attempt: number
  /** The fingerprint of the version that was imported. */
  readonly fingerprint: string
}

export function createEntryImporter(): EntryImporter {
  const imported = new Map<string, ImportRecord>()

  /** Node imports a URL only once, even if the import failed. */
  async function importAttempt(file: string, attempt: number): Promise<unknown> {
    const url = pathToFileURL(file)
    // The resolver adds this query to the files that the entry imports, too.
    if (attempt > 1) url.searchParams.set('attempt', String(attempt))
    const exports: unknown = await import(url.href)
    return exports
  }

  return {
    async importEntry({ entryFile }) {
      const fingerprint = fingerprintOf(entryFile)
      const last = imported.get(entryFile) ?? { attempt: 0, fingerprint: 'never imported' }
      const attempt = last.fingerprint === fingerprint ? last.attempt : last.attempt + 1
      let exports: unknown
      try {
        exports = await importAttempt(entryFile, attempt)
      } catch (error) {
        // The cause may be a file that the entry imports, so that the entry itself need not change.
        imported.set(entryFile, { attempt, fingerprint: 'import failed' })
        throw new HermesError('plugins/unloadable', messageOf(error), { cause: error })
      }
      imported.set(entryFile, { attempt, fingerprint })
      const register = findRegister(exports)
      if (register === undefined)
        throw new HermesError('plugins/unloadable', 'expected a function register, found none')
      return register
    },
    invalidate({ entryFile }) {
      const last = imported.get(entryFile)
      if (last !== undefined) imported.set(entryFile, { attempt: last.attempt, fingerprint: 'invalidated' })
    },
  }
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
