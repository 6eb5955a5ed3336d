/**
 * Handles uncaught exceptions and unhandled rejections of the process. A rejection only affects the work it belongs to. After
 * an exception the process exits, because its state is unknown; the next start continues from the database. An exception in
 * a timer or a socket of a plugin, without code of the gateway on the stack, only affects the plugin.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { existsSync, realpathSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createLruCache } from '../../lib/cache.ts'
import { messageOf, stackOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'

export interface ProcessErrorHandlers {
  /** Runs code of a plugin. The timers and sockets that it opens are attributed to the plugin. */
  readonly runAsPlugin: <Value>(plugin: string, work: () => Value) => Value
  /** Sets the log, and writes earlier errors to it. */
  logTo(log: Logger): void
  /** Restores the default behaviour of the runtime. */
  uninstall(): void
}

export interface ProcessErrorHandlersDeps {
  /** The process. */
  readonly source: {
    on(event: 'unhandledRejection' | 'uncaughtException', listener: (error: unknown) => void): unknown
    off(event: 'unhandledRejection' | 'uncaughtException', listener: (error: unknown) => void): unknown
  }
  exit(code: number): void
  /** Prints an error that ends the process before there is a log. Never rejects. */
  print(error: unknown): Promise<void>
  /** Directories that contain plugins. */
  readonly pluginDirectories: readonly string[]
}

/** The number of different errors that are logged once at level error. A plugin may cause one every second. */
const maxLogged = 100
const maxBuffered = 50

export function installProcessErrorHandlers({
  source,
  exit,
  print,
  pluginDirectories,
}: ProcessErrorHandlersDeps): ProcessErrorHandlers {
  const storage = new AsyncLocalStorage<string>()
  const roots = pluginDirectories.map(resolveRealPath)
  const logged = createLruCache<true>(maxLogged)
  const buffered: ((log: Logger) => void)[] = []
  let log: Logger | undefined

  function logError(event: ErrorEvent, error: unknown, plugin: string | undefined, what: LoggedMessage): void {
    const key = `${plugin ?? ''}\n${what}\n${messageOf(error)}`
    const level = logged.has(key) ? 'debug' : 'error'
    logged.set(key, true)
    const write = (to: Logger) => to[level]({ event, plugin, err: error }, what)
    if (log !== undefined) write(log)
    else if (buffered.length < maxBuffered) buffered.push(write)
  }

  const onRejection = (reason: unknown) => {
    const plugin = attributePlugin(codeOwnersIn(reason, roots)[0], storage.getStore())
    const what = plugin === undefined ? 'unhandled rejection' : 'unhandled rejection in a plugin, which continues'
    logError('process.unhandled_rejection', reason, plugin, what)
  }
  const onException = (error: unknown) => {
    // The outermost frame is the code that the runtime has called. If it belongs to a plugin, no other code was running.
    const plugin = attributePlugin(codeOwnersIn(error, roots).at(-1), storage.getStore())
    const event = 'process.uncaught_exception'
    if (plugin !== undefined) return logError(event, error, plugin, 'uncaught exception in a plugin, which continues')
    const what = 'uncaught exception; the process exits'
    if (log === undefined) return void print(error).finally(() => exit(1))
    logError(event, error, undefined, what)
    exit(1)
  }
  source.on('unhandledRejection', onRejection)
  source.on('uncaughtException', onException)

  return {
    runAsPlugin: (plugin, work) => storage.run(plugin, work),
    logTo(to) {
      log = to
      for (const line of buffered.splice(0)) line(to)
    },
    uninstall() {
      source.off('unhandledRejection', onRejection)
      source.off('uncaughtException', onException)
    },
  }
}

type ErrorEvent = 'process.unhandled_rejection' | 'process.uncaught_exception'

/** The error itself is in the field `err`. */
type LoggedMessage =
  | 'unhandled rejection'
  | 'unhandled rejection in a plugin, which continues'
  | 'uncaught exception in a plugin, which continues'
  | 'uncaught exception; the process exits'

interface CodeOwner {
  /** `undefined` for code of the gateway. */
  readonly plugin: string | undefined
}

/** Falls back to the plugin that opened the timer or socket when the stack only has frames of the runtime. */
function attributePlugin(code: CodeOwner | undefined, opener: string | undefined): string | undefined {
  return code === undefined ? opener : code.plugin
}

/** The owners of the frames, the innermost first. Frames of packages are skipped, so their caller is the owner. */
function codeOwnersIn(error: unknown, roots: readonly string[]): CodeOwner[] {
  return filesIn(stackOf(error)).flatMap((file) => {
    const plugin = pluginOf(file, roots)
    return plugin === undefined && isPackage(file) ? [] : [{ plugin }]
  })
}

function isPackage(file: string): boolean {
  return file.includes(`${sep}node_modules${sep}`)
}

/** The file of each frame. Frames of the runtime have none. */
function filesIn(stack: string): string[] {
  const frames = stack.matchAll(/^ {4}at (?:[^\n]* \()?(?:async )?(?<file>(?:file:\/\/)?\/[^\n]*?):\d+:\d+\)?$/gm)
  return [...frames].map(({ groups = {} }) => plainPath(groups['file'] ?? ''))
}

function plainPath(file: string): string {
  const [path = ''] = file.split('?', 1)
  try {
    return path.startsWith('file:') ? fileURLToPath(path) : path
  } catch {
    // The stack of an error may be any text.
    return path
  }
}

/** The id of the plugin that contains the file: its directory, with its category. */
function pluginOf(file: string, roots: readonly string[]): string | undefined {
  for (const root of roots) {
    const [first = '', second = ''] = relative(root, file).split(sep)
    if (first === '..' || first === '' || second === '') continue
    const isPlugin = ['plugin.yaml', 'plugin.yml'].some((name) => existsSync(join(root, first, name)))
    return isPlugin ? first : `${first}/${second}`
  }
  return undefined
}

/** Stack frames contain real paths. */
function resolveRealPath(directory: string): string {
  try {
    return realpathSync(directory)
  } catch {
    // Does not exist yet.
    return directory
  }
}
