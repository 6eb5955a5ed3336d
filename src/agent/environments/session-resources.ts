/**
 * The resources of a session between its turns: its environment, its background commands and its list of steps. They are
 * held in memory only; the list of steps is restored from the transcript.
 */
import { join } from 'node:path'
import type { Clock } from '../../lib/ids.ts'
import type { ChatMessage } from '../../message/transcript.ts'
import type { TodoItem, TodoStore } from '../support/todo-list.ts'
import type { Environment, ProcessEntry, ProcessTable, ShellState, SpawnOptions } from './environment.ts'
import type { EnvironmentFiles } from './files.ts'

export interface SessionResources {
  readonly environment: Environment
  readonly processes: ProcessTable
  readonly todos: TodoStore
  readonly shell: ShellState
}

export interface SessionResourcesDeps {
  /** `workspace`: the folder in which it begins, in place of `terminal.cwd`. */
  createEnvironment(sessionId: string, workspace?: string): Environment
  createProcessTable(): ProcessTable
  /**
   * The list that a `todo` call wrote, which may change the `earlier` one; null when it wrote none. Takes the arguments or the
   * result of the call.
   */
  readTodos(json: string, earlier: readonly TodoItem[]): readonly TodoItem[] | null
}

export interface SessionResourcePool {
  /**
   * `directory`: where the commands of a session that has no resources yet begin. Default: where the environment begins. Another
   * `workspace` than before is another environment; commands in the background go on in the old one.
   */
  getOrCreate(
    sessionId: string,
    transcript: () => readonly ChatMessage[],
    directory?: string,
    workspace?: string,
  ): SessionResources
  /** Where the next command of the session begins; undefined: where its environment begins. */
  directoryOf(sessionId: string): string | undefined
  /** Whether a command of the session runs in the background. */
  hasRunningCommand(sessionId: string): boolean
  /** The session goes on under another id. */
  rename(from: string, to: string): void
  /** Kills the commands of a session that has ended. */
  dispose(sessionId: string): Promise<void>
  /** Kills all running commands. May be called twice. */
  close(): Promise<void>
}

/** Limit of retained sessions. A session with a running command is always retained. */
const maxIdleSessions = 256

interface CachedResources extends SessionResources {
  readonly workspace: string | undefined
  /** Whether a command is running, in a turn or in the background. */
  isActive(): boolean
}

export function createSessionResourcePool(deps: SessionResourcesDeps): SessionResourcePool {
  const pool = new Map<string, CachedResources>()

  /** Drops the least recently used idle sessions, except the newest one, which is about to be used. */
  function evict(newest: string): void {
    for (const [id, { isActive, environment }] of pool) {
      if (pool.size <= maxIdleSessions) return
      if (isActive() || id === newest) continue
      pool.delete(id)
      void environment.cleanup()
    }
  }

  return {
    getOrCreate(sessionId, transcript, directory, workspace) {
      const existing = pool.get(sessionId)
      if (existing?.workspace === workspace && existing !== undefined) {
        pool.delete(sessionId)
        pool.set(sessionId, existing)
        return existing
      }
      let todos: readonly TodoItem[] | undefined
      const shell: ShellState = { directory, exports: new Map() }
      const { environment, executing } = trackExecutions(deps.createEnvironment(sessionId, workspace), shell)
      const processes = existing?.processes ?? deps.createProcessTable()
      const resources: CachedResources = {
        environment,
        processes,
        shell,
        workspace,
        isActive: () => executing() || processes.list().some((entry) => entry.exit() === undefined),
        todos: existing?.todos ?? {
          read() {
            todos ??= lastTodos(transcript(), deps.readTodos)
            return todos
          },
          write: (items) => {
            todos = items
          },
        },
      }
      pool.set(sessionId, resources)
      evict(sessionId)
      return resources
    },
    directoryOf: (sessionId) => pool.get(sessionId)?.shell.directory,
    hasRunningCommand: (sessionId) =>
      pool
        .get(sessionId)
        ?.processes.list()
        .some((entry) => entry.exit() === undefined) === true,
    rename(from, to) {
      const resources = pool.get(from)
      if (resources === undefined) return
      pool.delete(from)
      pool.set(to, resources)
    },
    async dispose(sessionId) {
      const resources = pool.get(sessionId)
      pool.delete(sessionId)
      resources?.processes.killAll()
      await resources?.environment.cleanup()
    },
    async close() {
      const all = [...pool.values()]
      pool.clear()
      for (const { processes } of all) processes.killAll()
      await Promise.all(all.map(({ environment }) => environment.cleanup()))
    },
  }
}

/** Wraps an environment to track whether a command is running in it. Its directory is that of the shell. */
function trackExecutions(
  environment: Environment,
  shell: ShellState,
): { environment: Environment; executing(): boolean } {
  let running = 0
  const { spawn, isSandboxed } = environment
  const execute: Environment['execute'] = async (command, options) => {
    running += 1
    try {
      return await environment.execute(command, options)
    } finally {
      running -= 1
    }
  }
  return {
    environment: {
      ...sharedParts(environment),
      get cwd() {
        return shell.directory ?? environment.cwd
      },
      files: filesFrom(environment.files, shell),
      execute,
      cleanup: () => environment.cleanup(),
      ...(spawn === undefined ? {} : { spawn: spawn.bind(environment) }),
      ...(isSandboxed === undefined ? {} : { isSandboxed: isSandboxed.bind(environment) }),
    },
    executing: () => running > 0,
  }
}

/** Relative paths begin where the next command begins. */
function filesFrom(files: EnvironmentFiles, shell: ShellState): EnvironmentFiles {
  const from = (path: string) =>
    shell.directory === undefined || /^(?:\/|~(?:\/|$))/.test(path) ? path : join(shell.directory, path)
  return {
    resolve: (path) => files.resolve(from(path)),
    check: (path, ...access) => files.check(from(path), ...access),
    stat: (path, access) => files.stat(from(path), access),
    read: (path, options) => files.read(from(path), options),
    writeAtomic: (path, ...content) => files.writeAtomic(from(path), ...content),
    remove: (path, access) => files.remove(from(path), access),
    list: (path, options) => files.list(from(path), options),
    search: (request, access) => files.search({ ...request, path: from(request.path) }, access),
  }
}

/** What stays the same when the commands of an environment are wrapped. */
function sharedParts({ kind, cwd, files, isContainer, start }: Environment) {
  return { kind, cwd, files, ...(isContainer && { isContainer }), ...(start && { start }) }
}

/** The environment whose commands get these variables in addition: those in the sandbox, or with `outsideSandbox` all. */
export function withVariables(
  environment: Environment,
  variables: () => Promise<Readonly<Record<string, string>>>,
  { outsideSandbox = false }: { readonly outsideSandbox?: boolean } = {},
): Environment {
  const { spawn, isSandboxed } = environment
  const extend = async <Options extends SpawnOptions>(options: Options): Promise<Options> =>
    options.outsideSandbox === true && !outsideSandbox
      ? options
      : { ...options, variables: { ...options.variables, ...(await variables()) } }
  return {
    ...sharedParts(environment),
    execute: async (command, options) => environment.execute(command, await extend(options)),
    cleanup: () => environment.cleanup(),
    ...(spawn && { spawn: async (command, options) => spawn.call(environment, command, await extend(options)) }),
    ...(isSandboxed && { isSandboxed: isSandboxed.bind(environment) }),
  }
}

function lastTodos(transcript: readonly ChatMessage[], read: SessionResourcesDeps['readTodos']): readonly TodoItem[] {
  let items: readonly TodoItem[] = []
  for (const message of transcript) {
    // A result contains the whole list, also where a summary has replaced the calls before it.
    if (message.role === 'tool' && message.name === 'todo') items = read(message.content, items) ?? items
    if (message.role !== 'assistant') continue
    for (const { name, arguments: call } of message.toolCalls ?? [])
      if (name === 'todo') items = read(call, items) ?? items
  }
  return items
}

interface ProcessTableOptions {
  readonly now: Clock
  /** Characters of output retained per command; the oldest are dropped first. */
  readonly maxLogChars?: number
  /** Exited commands retained; the oldest are dropped first. Running commands are always retained. */
  readonly maxExited?: number
}

export function createProcessTable(options: ProcessTableOptions): ProcessTable {
  const { now, maxLogChars = 100_000, maxExited = 32 } = options
  const entries = new Map<string, ProcessEntry>()
  let lastNumber = 0

  const dropOldestExited = () => {
    const exited = [...entries.values()].filter((entry) => entry.exit() !== undefined)
    for (const entry of exited.slice(0, Math.max(0, exited.length - maxExited))) entries.delete(entry.id)
  }

  return {
    add(command, process, { outsideSandbox } = {}) {
      lastNumber += 1
      const log = createTextTail(maxLogChars)
      const unread = createTextTail(maxLogChars)
      let exit: { exitCode: number | null; at: number } | undefined
      const entry: ProcessEntry = {
        id: `proc_${lastNumber}`,
        command,
        startedAt: now(),
        process,
        ...(outsideSandbox && { outsideSandbox }),
        takeOutput: () => unread.take(),
        log: () => log.text(),
        exit: () => exit,
      }
      process.onOutput((text) => {
        log.add(text)
        unread.add(text)
      })
      void process.exited.then(({ exitCode }) => {
        exit = { exitCode, at: now() }
        dropOldestExited()
      })
      entries.set(entry.id, entry)
      return entry
    },
    get: (id) => entries.get(id),
    list: () => [...entries.values()],
    killAll() {
      for (const entry of entries.values()) if (entry.exit() === undefined) entry.process.kill()
    },
  }
}

/** Keeps the last `maxChars` characters of a growing text. Trims in steps, so that adding stays cheap. */
function createTextTail(maxChars: number) {
  let oldest = ''
  let dropped = false
  const trim = (limit: number) => {
    if (oldest.length <= limit) return
    const cut = oldest.slice(-maxChars)
    // The text must not start with the second half of a surrogate pair.
    oldest = /^[\uDC00-\uDFFF]/.test(cut) ? cut.slice(1) : cut
    dropped = true
  }
  const text = () => {
    trim(maxChars)
    return dropped ? `[… earlier output left out …]\n${oldest}` : oldest
  }
  return {
    add(more: string) {
      oldest += more
      trim(maxChars * 2)
    },
    text,
    take() {
      const output = text()
      oldest = ''
      dropped = false
      return output
    },
  }
}
