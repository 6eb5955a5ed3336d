/**
 * Stores JSON values of plugins: one file per plugin in `$HERMES_HOME/plugin-state/`.
 */
import { existsSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { HermesError, systemCode } from '../lib/errors.ts'
import { ensureDirectory, readTextIfExists, writeFileAtomicAsync } from '../lib/files.ts'
import { isRecord } from '../lib/json.ts'
import type { Logger } from '../lib/log.ts'
import type { PluginState } from './contract.ts'

/** Per plugin. */
export const maxStateBytes = 1_048_576
/** Limit for reading, because a file that was edited by hand may be larger. */
const maxReadBytes = 4 * maxStateBytes

type Values = ReadonlyMap<string, unknown>

/**
 * Returns the state of a plugin by its id. `set` resolves when the value is on disk and rejects with
 * `plugins/state-too-large`. A file that is not a JSON object is renamed to `<id>.json.broken`; the state then starts empty.
 *
 * @param directory `$HERMES_HOME/plugin-state`; created with the first value
 */
export function createPluginStates(directory: string, log: Logger): (id: string) => PluginState {
  const states = new Map<string, PluginState>()
  return (id) => {
    const state = states.get(id) ?? createPluginState(join(directory, `${id}.json`), log.child({ plugin: id }))
    states.set(id, state)
    return state
  }
}

function createPluginState(path: string, log: Logger): PluginState {
  let values: Values | undefined
  /** Reads and writes run one after the other, in the order of the calls. */
  let last: Promise<unknown> = Promise.resolve()

  function enqueue<Value>(operation: () => Value | Promise<Value>): Promise<Value> {
    const result = last.then(operation)
    last = result.catch(() => undefined)
    return result
  }

  function loadValues(): Values {
    values ??= readValues(path, log)
    return values
  }

  /** Changes the values in memory only after the write has succeeded. */
  async function write(next: Values): Promise<void> {
    const text = `${JSON.stringify(Object.fromEntries(next), undefined, 2)}\n`
    const bytes = Buffer.byteLength(text)
    if (bytes > maxStateBytes)
      throw new HermesError(
        'plugins/state-too-large',
        `The state would have ${bytes} bytes; the limit is ${maxStateBytes}.`,
      )
    ensureDirectory(dirname(path))
    await writeFileAtomicAsync(path, text)
    values = next
  }

  return {
    // Returns a copy: only `set` changes the state.
    get: (key) => enqueue(() => structuredClone(loadValues().get(key))),
    async set(key, value) {
      // Serialized now, because the plugin may change the value while the write is queued.
      const json = JSON.stringify(value)
      if (json === undefined) throw new TypeError(`state.set('${key}'): a ${typeof value} is not JSON`)
      await enqueue(() => write(new Map(loadValues()).set(key, JSON.parse(json))))
    },
    delete: (key) =>
      enqueue(async () => {
        const next = new Map(loadValues())
        if (next.delete(key)) await write(next)
      }),
    keys: () => enqueue(() => [...loadValues().keys()]),
  }
}

/** Throws system errors: a file that cannot be read must not be treated as empty. */
function readValues(path: string, log: Logger): Values {
  try {
    const text = readTextIfExists(path, maxReadBytes)
    if (text === undefined) return new Map()
    const values: unknown = JSON.parse(text)
    if (!isRecord(values)) throw new Error('expected a JSON object')
    return new Map(Object.entries(values))
  } catch (error) {
    if (systemCode(error) !== undefined) throw error
    const backupPath = unusedPath(`${path}.broken`)
    renameSync(path, backupPath)
    log.error(
      { event: 'plugin.state_unreadable', file: path, backup: backupPath, err: error },
      'the state of a plugin cannot be read; it starts empty',
    )
    return new Map()
  }
}

/** Does not overwrite an earlier backup. */
function unusedPath(path: string): string {
  let name = path
  for (let number = 2; existsSync(name); number += 1) name = `${path}-${number}`
  return name
}
