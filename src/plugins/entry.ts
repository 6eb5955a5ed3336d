/**
 * The code of a plugin in JavaScript or TypeScript: imports its entry and finds `register`.
 */
import { statSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { HermesError, messageOf } from '../lib/errors.ts'
import type { Register } from './contract.ts'
import type { FoundPlugin } from './discovery.ts'

export interface PluginEntry {
  readonly register: Register
  /** Its file is another one than the one that runs: the runtime imports a file once. */
  readonly isOutdated: boolean
}

export interface PluginEntries {
  /** Throws `plugins/unloadable` when the file cannot be imported or has no `register`. A failed import may be tried again. */
  open(plugin: Pick<FoundPlugin, 'entryFile'>): Promise<PluginEntry>
  /** Its `register` failed: once its file has changed it is imported anew. */
  failed(plugin: Pick<FoundPlugin, 'entryFile'>): void
}

/** What the runtime has imported under its latest address. */
interface Imported {
  readonly attempt: number
  readonly stamp: string
  readonly isUsable: boolean
}

export function createPluginEntries(): PluginEntries {
  const imported = new Map<string, Imported>()

  /** The runtime never imports the same address twice, whatever came of it. */
  function attemptAt(file: string, stamp: string): Imported {
    const last = imported.get(file)
    if (last === undefined) return { attempt: 1, stamp, isUsable: true }
    if (last.isUsable || last.stamp === stamp) return last
    return { attempt: last.attempt + 1, stamp, isUsable: true }
  }

  async function exportsOf(file: string, { attempt, stamp }: Imported): Promise<unknown> {
    const address = pathToFileURL(file)
    if (attempt > 1) address.searchParams.set('attempt', String(attempt))
    try {
      const exports: unknown = await import(address.href)
      return exports
    } catch (error) {
      // What it imports may be mended without it.
      imported.set(file, { attempt, stamp: `${stamp} failed`, isUsable: false })
      throw new HermesError('plugins/unloadable', messageOf(error), { cause: error })
    }
  }

  function failed({ entryFile }: Pick<FoundPlugin, 'entryFile'>): void {
    const last = imported.get(entryFile)
    if (last !== undefined) imported.set(entryFile, { ...last, isUsable: false })
  }

  return {
    failed,
    async open({ entryFile }) {
      const stamp = stampOf(entryFile)
      const attempt = attemptAt(entryFile, stamp)
      const exports = await exportsOf(entryFile, attempt)
      imported.set(entryFile, { ...attempt, isUsable: true })
      const register = registerIn(exports)
      if (register === undefined) {
        failed({ entryFile })
        throw new HermesError('plugins/unloadable', 'expected a function register, found none')
      }
      return { register, isOutdated: attempt.stamp !== stamp }
    },
  }
}

/** Another one when the file has changed. */
export function stampOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false })
  return found === undefined ? '' : `${found.mtimeMs} ${found.size}`
}

/** `export function register`, `export default function`, or `export default { register }`. */
function registerIn(exports: unknown): Register | undefined {
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
