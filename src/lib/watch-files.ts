/**
 * Watches single files with `fs.watch` and a slow poll, and directories with chokidar. Both kinds of watcher wait until what changed is at rest, and
 * then report it once: saving and copying take several steps.
 */
import { existsSync, type FSWatcher as FileNotifier, statSync, watch } from 'node:fs'
import { basename, join, relative, sep } from 'node:path'
import type { ChokidarOptions, FSWatcher } from 'chokidar'
import { type FileFingerprints, fingerprintOf, fingerprintsOf } from './file-memo.ts'
import { isRecord } from './json.ts'
import type { Logger } from './log.ts'

/** Receives the paths that were created, changed or removed. A promise is awaited. What it throws or rejects with is logged. */
export type ChangeListener = (paths: readonly string[]) => unknown

export interface WatchFilesOptions {
  readonly log: Logger
  /** Time between two checks of files of which the system reports nothing, ms. */
  readonly pollIntervalMs?: number
  /** Changed files must be the same for this long before they are reported. */
  readonly settleMs?: number
}

export interface FileWatcher {
  /** Stops watching. The listener is not called again. May be called twice. */
  close(): void
}

export interface WatchDirectoriesOptions {
  readonly log: Logger
  /** Levels of subdirectories that are watched, too. */
  readonly depth: number
  /** Whether the content of this file matters. Other files are not watched, so that writing to them costs little. */
  includes(path: string): boolean
}

export interface DirectoryWatcher extends FileWatcher {
  /** Watches these files too, wherever they are. Repeated paths have no effect. */
  addFiles(paths: Iterable<string>): void
}

/** Changed files of a directory must be the same for this long before they are reported. */
const directorySettleMs = 60
/** A file that is written all the time is reported after this many checks. */
const maxUnstableChecks = 5
/** Directories that hold no code of the user. */
const ignoredDirectoryPattern = /^(?:\..*|node_modules|__pycache__|venv|site-packages)$/

/**
 * Watches a few files by the notifications of the system for each of them: those for their directory would wake the process
 * at every write of a turn, because the database is beside them. A slow poll sees what the system does not report: missing
 * files, links, mounts and network directories. Changes after the call are seen. Never throws.
 */
export function watchFiles(
  paths: readonly string[],
  onChange: ChangeListener,
  { log, pollIntervalMs = 1_000, settleMs = 200 }: WatchFilesOptions,
): FileWatcher {
  const reported = new Map(fingerprintsOf(paths))
  const queue = createChangeQueue(reportChanged, { log, settleMs })
  const notifiers = new Map(paths.map((path) => [path, notify(path, look)]))
  const changedPaths = () => paths.filter((path) => fingerprintOf(path) !== reported.get(path))
  const timer = setInterval(look, pollIntervalMs)

  function look(): void {
    const changed = changedPaths()
    if (changed.length > 0) queue.push(...changed)
  }

  function reportChanged(): unknown {
    const changed = changedPaths()
    for (const path of changed) {
      // Another file may have this path now. What happens to it from now on is seen.
      notifiers.get(path)?.close()
      notifiers.set(path, notify(path, look))
      reported.set(path, fingerprintOf(path))
    }
    return changed.length === 0 ? undefined : onChange(changed)
  }

  return {
    close() {
      clearInterval(timer)
      for (const notifier of notifiers.values()) notifier?.close()
      queue.close()
    },
  }
}

/** Calls after a change of the file that has this path now. Undefined where the system reports nothing: polling sees it. */
function notify(path: string, onEvent: () => void): FileNotifier | undefined {
  try {
    return watch(path, { persistent: false }, onEvent).on('error', () => undefined)
  } catch {
    return undefined
  }
}

/**
 * Watches directories and what is in them by the notifications of the system, including changed permissions. Once
 * everything is watched, the listener is called with no paths, because earlier changes were not seen. Never throws.
 */
export function watchDirectories(
  directories: readonly string[],
  onChange: ChangeListener,
  { log, depth, includes }: WatchDirectoriesOptions,
): DirectoryWatcher {
  const files = new Set<string>()
  const queue = createChangeQueue(onChange, { log, settleMs: directorySettleMs })
  const options: ChokidarOptions = { persistent: false, ignorePermissionErrors: true }
  const watchers = [
    openWatcher(directories, queue.push, {
      options: { ...options, ignored: (path, stats) => isIgnored(path, stats?.isFile() === true) },
      onReady: () => queue.push(),
      onAttributes: pushAttributes,
      log,
    }),
  ]

  /** The option `depth` of chokidar is not used: it counts one level too many below a directory that was recreated. */
  function isIgnored(path: string, isFile: boolean): boolean {
    const directory = directories.find((directory) => path.startsWith(`${directory}${sep}`))
    if (directory === undefined) return false
    if (ignoredDirectoryPattern.test(basename(path)) || (isFile && !includes(path))) return true
    return relative(directory, path).split(sep).length > depth + 1
  }

  function pushAttributes(path: string): void {
    try {
      const stats = statSync(path, { throwIfNoEntry: false })
      if (stats !== undefined && !isIgnored(path, stats.isFile())) queue.push(path)
    } catch (error) {
      log.debug({ event: 'watch.attributes_unreadable', path, err: error }, 'the attributes of a path cannot be read')
    }
  }

  function pushChanged(fingerprints: FileFingerprints): void {
    const changed = [...fingerprints.keys()].filter((path) => fingerprintOf(path) !== fingerprints.get(path))
    if (changed.length > 0) queue.push(...changed)
  }

  return {
    addFiles(paths) {
      const added = [...paths].filter((path) => !files.has(path))
      if (added.length === 0) return
      for (const path of added) files.add(path)
      const fingerprints = fingerprintsOf(added)
      watchers.push(
        // A watcher of its own, because chokidar does not tell when a path that was added later is watched.
        openWatcher(added, queue.push, { options, onReady: () => pushChanged(fingerprints), log }),
      )
    },
    close() {
      queue.close()
      for (const watcher of watchers) watcher.close()
    },
  }
}

/** Collects paths until they are at rest. The listener is not called again before its last call has ended. */
function createChangeQueue(onChange: ChangeListener, options: { log: Logger; settleMs: number }) {
  const pending = new Map<string, string>()
  let timer: NodeJS.Timeout | undefined
  let checks = 0
  let isRunning = false
  let closed = false

  function push(...paths: readonly string[]): void {
    if (closed) return
    for (const path of paths) if (!pending.has(path)) pending.set(path, fingerprintOf(path))
    timer ??= setTimeout(check, options.settleMs)
  }

  function check(): void {
    timer = undefined
    const unstable = [...pending].filter(([path, fingerprint]) => fingerprintOf(path) !== fingerprint)
    checks += 1
    if (isRunning || (unstable.length > 0 && checks < maxUnstableChecks)) {
      for (const [path] of unstable) pending.set(path, fingerprintOf(path))
      timer = setTimeout(check, options.settleMs)
      return
    }
    void report()
  }

  async function report(): Promise<void> {
    const paths = [...pending.keys()]
    pending.clear()
    checks = 0
    isRunning = true
    try {
      await onChange(paths)
    } catch (error) {
      options.log.error({ event: 'watch.listener_failed', err: error, paths }, 'changed files could not be handled')
    } finally {
      isRunning = false
    }
  }

  return {
    push,
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}

interface OpenWatcherOptions {
  readonly options: ChokidarOptions
  onReady(): void
  /** Receives the path of a file or directory after any change of its content or attributes. */
  onAttributes?(path: string): void
  readonly log: Logger
}

/** Imports chokidar when it is first needed: a command that watches nothing does not pay for it. */
function openWatcher(
  paths: readonly string[],
  onPath: (path: string) => void,
  { options, onReady, onAttributes, log }: OpenWatcherOptions,
): FileWatcher {
  let watcher: FSWatcher | undefined
  let closed = false

  async function open(): Promise<void> {
    const chokidar = await import('chokidar')
    if (closed) return
    watcher = chokidar.watch([...paths], { ...options, ignoreInitial: true, atomic: false })
    watcher.on('all', (_event, path) => onPath(path))
    watcher.on('ready', onReady)
    if (onAttributes !== undefined)
      // The other events leave out changed permissions.
      watcher.on('raw', (_event, name, details) => {
        const path = notifiedPathOf(name, details)
        if (path !== undefined) onAttributes(path)
      })
    watcher.on('error', (error) => {
      log.warn(
        { event: 'watch.failed', err: error },
        'a file or directory cannot be watched; changes in it need a restart',
      )
    })
  }

  open().catch((error: unknown) => {
    log.error({ event: 'watch.not_started', err: error }, 'files cannot be watched; changes need a restart')
  })

  return {
    close() {
      closed = true
      watcher?.close().catch((error: unknown) => {
        log.debug({ event: 'watch.close_failed', err: error }, 'a file watcher could not be closed')
      })
    },
  }
}

/** The system reports a change of a watched directory itself with the name of that directory. */
function notifiedPathOf(name: unknown, details: unknown): string | undefined {
  if (typeof name !== 'string' || !isRecord(details)) return undefined
  const { watchedPath } = details
  if (typeof watchedPath !== 'string') return undefined
  const path = join(watchedPath, name)
  return name === basename(watchedPath) && !existsSync(path) ? watchedPath : path
}
