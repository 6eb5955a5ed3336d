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
  open(plugin: Pick<FoundPlugin, 'id' | 'entryFile'>): Promise<PluginEntry>
}

export function createPluginEntries(): PluginEntries {
  const imported = new Map<string, string>()
  const failures = new Map<string, number>()

  async function exportsOf(file: string): Promise<unknown> {
    const address = pathToFileURL(file)
    const failed = failures.get(file) ?? 0
    // What the runtime could not import once it never tries again under the same address.
    if (failed > 0) address.searchParams.set('attempt', String(failed + 1))
    try {
      const exports: unknown = await import(address.href)
      return exports
    } catch (error) {
      failures.set(file, failed + 1)
      throw new HermesError('plugins/unloadable', messageOf(error), { cause: error })
    }
  }

  return {
    async open({ entryFile }) {
      const stamp = stampOf(entryFile)
      const exports = await exportsOf(entryFile)
      const first = imported.get(entryFile) ?? stamp
      imported.set(entryFile, first)
      const register = registerIn(exports)
      if (register === undefined) {
        throw new HermesError('plugins/unloadable', 'expected a function register, found none')
      }
      return { register, isOutdated: first !== stamp }
    },
  }
}

function stampOf(file: string): string {
  const { mtimeMs, size } = statSync(file)
  return `${mtimeMs} ${size}`
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
