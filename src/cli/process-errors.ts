/**
 * Faults that nobody caught. A rejection harms only the work it belongs to; after an exception nothing is certain, and a
 * new start goes on where the database stands. The exception to that is a plugin's: what threw in a timer or a socket of
 * its own, with nothing of the gateway below it, has harmed the plugin alone.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { existsSync, realpathSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { messageOf, stackOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { createLruCache } from '../lib/lru-cache.ts'

export interface ProcessErrorHandlers {
  /** Runs something of a plugin: timers and sockets that it opens there are known as its own. */
  readonly runAsPlugin: <Value>(plugin: string, work: () => Value) => Value
  /** Faults go there from now on, also those that came before. */
  logTo(log: Logger): void
  /** Faults are again what the runtime makes of them. */
  uninstall(): void
}

export interface ProcessErrorHandlersDeps {
  /** The process. */
  readonly source: {
    on(event: 'unhandledRejection' | 'uncaughtException', listener: (error: unknown) => void): unknown
    off(event: 'unhandledRejection' | 'uncaughtException', listener: (error: unknown) => void): unknown
  }
  exit(code: number): void
  /** Where a fault is told that ends the process before there is a log. */
  readonly errors: { write(text: string): unknown }
  /** Folders of plugins. */
  readonly pluginDirectories: readonly string[]
}

/** Different faults that are told loudly; a plugin may have one every second. */
const maxRemembered = 100
const maxBuffered = 50

export function installProcessErrorHandlers({
  source,
  exit,
  errors,
  pluginDirectories: pluginFolders,
}: ProcessErrorHandlersDeps): ProcessErrorHandlers {
  const storage = new AsyncLocalStorage<string>()
  const roots = pluginFolders.map(resolveRealPath)
  const logged = createLruCache<true>(maxRemembered)
  const buffered: ((log: Logger) => void)[] = []
  let log: Logger | undefined

  function logError(error: unknown, plugin: string | undefined, what: string): void {
    const sentence = `${what}: ${messageOf(error)}`
    const level = logged.has(sentence) ? 'debug' : 'error'
    logged.set(sentence, true)
    const line = (to: Logger) => to[level]({ plugin, err: error }, sentence)
    if (log !== undefined) line(log)
    else if (buffered.length < maxBuffered) buffered.push(line)
  }

  const onRejection = (reason: unknown) => {
    const plugin = attributePlugin(codeOwnersIn(reason, roots)[0], storage.getStore())
    logError(reason, plugin, `a fault that nobody handled${pluginSuffix(plugin)}`)
  }
  const onException = (error: unknown) => {
    // The outermost: it is what the runtime has called, so no other code was in the middle of anything.
    const plugin = attributePlugin(codeOwnersIn(error, roots).at(-1), storage.getStore())
    if (plugin !== undefined) return logError(error, plugin, `a fault that nobody caught${pluginSuffix(plugin)}`)
    const sentence = 'a fault that nobody caught; the process ends'
    if (log === undefined) errors.write(`${sentence}: ${messageOf(error)}\n`)
    else logError(error, undefined, sentence)
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

function pluginSuffix(plugin: string | undefined): string {
  return plugin === undefined ? '' : ` in the plugin ${plugin}, which goes on`
}

interface CodeOwner {
  /** Undefined for code of the gateway. */
  readonly plugin: string | undefined
}

/** Where the stack shows nobody's code, as that of a socket does, it is the one that opened it. */
function attributePlugin(code: CodeOwner | undefined, opener: string | undefined): string | undefined {
  return code === undefined ? opener : code.plugin
}

/** Whose code the stack shows, the innermost first; packages are code of whoever calls them. */
function codeOwnersIn(error: unknown, roots: readonly string[]): CodeOwner[] {
  return filesIn(stackOf(error)).flatMap((file) => {
    const plugin = pluginOf(file, roots)
    return plugin === undefined && isPackage(file) ? [] : [{ plugin }]
  })
}

function isPackage(file: string): boolean {
  return file.includes(`${sep}node_modules${sep}`)
}

/** Of each frame; those of the runtime itself are in no file. */
function filesIn(stack: string): string[] {
  const frames = stack.matchAll(/^ {4}at (?:[^\n]* \()?(?:async )?(?<file>(?:file:\/\/)?\/[^\n]*?):\d+:\d+\)?$/gm)
  return [...frames].map(({ groups = {} }) => plainPath(groups['file'] ?? ''))
}

function plainPath(file: string): string {
  const [path = ''] = file.split('?', 1)
  try {
    return path.startsWith('file:') ? fileURLToPath(path) : path
  } catch {
    // A stack is a text that anybody may write.
    return path
  }
}

/** By its folder, with its category. */
function pluginOf(file: string, roots: readonly string[]): string | undefined {
  for (const root of roots) {
    const [first = '', second = ''] = relative(root, file).split(sep)
    if (first === '..' || first === '' || second === '') continue
    const isPlugin = ['plugin.yaml', 'plugin.yml'].some((name) => existsSync(join(root, first, name)))
    return isPlugin ? first : `${first}/${second}`
  }
  return undefined
}

/** Code knows its files by where they really lie. */
function resolveRealPath(folder: string): string {
  try {
    return realpathSync(folder)
  } catch {
    // Not there yet.
    return folder
  }
}
