/**
 * The only door to `chokidar`, which is loaded when the first file is watched (25–45 ms, 9 MB that a start does not need).
 */
import { existsSync, watch as watchFolder } from 'node:fs'
import { basename, dirname } from 'node:path'
import { messageOf } from './errors.ts'
import type { Logger } from './log.ts'

export interface WatchOptions {
  readonly log: Logger
  /** How long it must be quiet before `onChange` is called, ms. */
  readonly quietMs?: number
}

export interface Watch {
  /** Resolves when changes are seen from now on; also when watching failed, which is logged. */
  readonly ready: Promise<void>
  /** Ends watching; no call follows. May be called twice. */
  close(): Promise<void>
}

/** A file that never rests is reported all the same, this many quiet times after its first change. */
const patience = 20

/**
 * Calls `onChange` with the paths that came, changed or went, in bursts. Paths may be files or folders (watched with
 * what is in them), and may come into being later. What `onChange` throws is logged. Never throws.
 */
export function watchFiles(
  paths: readonly string[],
  onChange: (changed: readonly string[]) => void,
  { log, quietMs = 100 }: WatchOptions,
): Watch {
  const changed = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let waitingSince = 0
  let closed = false

  const tell = () => {
    timer = undefined
    const burst = [...changed]
    changed.clear()
    try {
      onChange(burst)
    } catch (error) {
      log.error({ err: error, paths: burst }, 'a change of watched files could not be handled')
    }
  }
  const note = (path: string) => {
    if (closed) return
    const now = performance.now()
    if (timer === undefined) waitingSince = now
    changed.add(path)
    if (timer !== undefined && now - waitingSince > patience * quietMs) return
    clearTimeout(timer)
    timer = setTimeout(tell, quietMs)
  }

  const watching = start(paths, note, log).catch((error: unknown) => {
    log.warn({ err: error, paths }, `files cannot be watched; changes count after a restart: ${messageOf(error)}`)
    return undefined
  })
  return {
    ready: watching.then((watcher) => watcher?.ready),
    close: async () => {
      closed = true
      clearTimeout(timer)
      const watcher = await watching
      await watcher?.close()
    },
  }
}

async function start(paths: readonly string[], note: (path: string) => void, log: Logger) {
  const { watch } = await import('chokidar')
  const { promise: ready, resolve } = Promise.withResolvers<void>()
  const open = new Set<{ close(): void | Promise<void> }>()
  const onError = (error: unknown) => log.warn({ err: error, paths }, 'watching files met an error')
  const observe = (some: readonly string[], ignoreInitial: boolean) => {
    const watcher = watch([...some], { ignoreInitial })
    open.add(watcher)
    watcher.on('all', (_event, path) => note(path))
    watcher.on('error', onError)
    watcher.on('ready', resolve)
  }
  const there = paths.filter((path) => {
    const birth = awaitBirth(path, () => observe([path], false), onError)
    if (birth !== undefined) open.add(birth)
    return birth === undefined
  })
  if (there.length > 0) observe(there, true)
  else resolve()
  return {
    ready,
    close: async () => {
      await Promise.all([...open].map((one) => one.close()))
      // A watcher that is closed early never says that it is ready.
      resolve()
    },
  }
}

/**
 * Waits for a file that is not there, by its name alone: chokidar would read the whole folder at each change of anything
 * in it, and beside the database something changes all the time. Undefined where chokidar should see to the path itself.
 */
function awaitBirth(path: string, born: () => void, onError: (error: unknown) => void) {
  if (existsSync(path) || !existsSync(dirname(path))) return undefined
  try {
    const name = basename(path)
    const watcher = watchFolder(dirname(path), (_event, changed) => {
      // Some systems do not say what has changed.
      if ((changed !== null && changed !== name) || !existsSync(path)) return
      watcher.close()
      born()
    })
    watcher.on('error', onError)
    return watcher
  } catch (error) {
    onError(error)
    return undefined
  }
}
