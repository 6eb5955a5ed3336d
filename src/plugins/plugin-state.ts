/**
 * JSON that a plugin keeps beyond the life of the process: one file per plugin in `$HERMES_HOME/plugin-state/`.
 */
import { existsSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { HermesError, messageOf, systemCode } from '../lib/errors.ts'
import { ensureDirectory, readTextIfExists, writeFileAtomicAsync } from '../lib/files.ts'
import type { Logger } from '../lib/log.ts'
import type { PluginState } from './contract.ts'

/** Of one plugin. */
export const maxStateBytes = 1_048_576
/** Of a file that is read: one that somebody edited by hand may be larger. */
const maxReadBytes = 4 * maxStateBytes

export interface PluginStatesDeps {
  /** `$HERMES_HOME/plugin-state`; made when the first value is kept. */
  readonly directory: string
  readonly log: Logger
}

type Values = ReadonlyMap<string, unknown>

/**
 * The states of all plugins, by the plugin's id. What `set` resolves with is on disk; it rejects
 * `plugins/state-too-large`. A file that is no JSON object is set aside as `<id>.json.broken`, and the state begins empty.
 */
export function createPluginStates({ directory: folder, log }: PluginStatesDeps): (id: string) => PluginState {
  const states = new Map<string, PluginState>()
  return (id) => {
    const state = states.get(id) ?? createPluginState(join(folder, `${id}.json`), log.child({ plugin: id }))
    states.set(id, state)
    return state
  }
}

function createPluginState(path: string, log: Logger): PluginState {
  let values: Values | undefined
  /** Reads and writes happen one after the other, in the order they were asked for. */
  let last: Promise<unknown> = Promise.resolve()

  function enqueue<Value>(act: () => Value | Promise<Value>): Promise<Value> {
    const result = last.then(act)
    last = result.catch(() => undefined)
    return result
  }

  function loadValues(): Values {
    values ??= readValues(path, log)
    return values
  }

  /** Nothing counts that is not on disk. */
  async function write(next: Values): Promise<void> {
    const text = `${JSON.stringify(Object.fromEntries(next), undefined, 2)}\n`
    const bytes = Buffer.byteLength(text)
    if (bytes > maxStateBytes)
      throw new HermesError('plugins/state-too-large', `It would have ${bytes} bytes; ${maxStateBytes} are allowed.`)
    ensureDirectory(dirname(path))
    await writeFileAtomicAsync(path, text)
    values = next
  }

  return {
    // A copy: what a plugin does to what it was given changes nothing before `set`.
    get: (key) => enqueue(() => structuredClone(loadValues().get(key))),
    async set(key, value) {
      // As it is now, not as it will be when its turn comes.
      const kept = JSON.stringify(value)
      if (kept === undefined) throw new TypeError(`state.set('${key}'): a ${typeof value} is not JSON`)
      await enqueue(() => write(new Map(loadValues()).set(key, JSON.parse(kept))))
    },
    delete: (key) =>
      enqueue(async () => {
        const next = new Map(loadValues())
        if (next.delete(key)) await write(next)
      }),
    keys: () => enqueue(() => [...loadValues().keys()]),
  }
}

/** Throws the system's error: a file that may not be read is not an empty one. */
function readValues(path: string, log: Logger): Values {
  try {
    const text = readTextIfExists(path, maxReadBytes)
    if (text === undefined) return new Map()
    const found: unknown = JSON.parse(text)
    if (typeof found !== 'object' || found === null || Array.isArray(found)) throw new Error('it is no JSON object')
    return new Map(Object.entries(found))
  } catch (error) {
    if (systemCode(error) !== undefined) throw error
    const backupPath = unusedPath(`${path}.broken`)
    renameSync(path, backupPath)
    log.error(
      { file: path, error },
      `the state of a plugin cannot be read and is kept as ${backupPath}: ${messageOf(error)}`,
    )
    return new Map()
  }
}

/** An earlier broken file is not written over. */
function unusedPath(path: string): string {
  let name = path
  for (let number = 2; existsSync(name); number += 1) name = `${path}-${number}`
  return name
}
