/**
 * What a session holds between its turns: the place where its commands run, its background commands, its list of steps.
 * Lives in memory only; the list of steps is found again in the transcript.
 */
import type { ChatMessage } from '../../message/transcript.ts'
import type { TodoItem, TodoStore } from '../tools/tool.ts'
import type { Environment } from './environment.ts'
import type { ProcessTable } from './process-table.ts'

export interface SessionResources {
  readonly environment: Environment
  readonly processes: ProcessTable
  readonly todos: TodoStore
}

export interface SessionResourcesDeps {
  createEnvironment(): Environment
  createProcessTable(): ProcessTable
  /** Reads the arguments of a `todo` call; null when they are not a list. */
  readTodos(argumentsJson: string): readonly TodoItem[] | null
}

export interface SessionResourcePool {
  getOrCreate(sessionId: string, transcript: () => readonly ChatMessage[]): SessionResources
  /** Ends what still runs in a session that is over. */
  dispose(sessionId: string): Promise<void>
  /** Ends everything that still runs. May be called twice. */
  close(): Promise<void>
}

/** So many quiet sessions are kept; one with a running command is kept in any case. */
const maxIdleSessions = 256

interface CachedResources extends SessionResources {
  /** Whether a command runs, in the turn or in the background. */
  isActive(): boolean
}

export function createSessionResourcePool(deps: SessionResourcesDeps): SessionResourcePool {
  const pool = new Map<string, CachedResources>()

  /** Lets go of the sessions that were quiet longest, but not of the newest: it is about to be used. */
  function evict(newest: string): void {
    for (const [id, { isActive, environment }] of pool) {
      if (pool.size <= maxIdleSessions) return
      if (isActive() || id === newest) continue
      pool.delete(id)
      void environment.cleanup()
    }
  }

  return {
    getOrCreate(sessionId, transcript) {
      const known = pool.get(sessionId)
      if (known !== undefined) {
        pool.delete(sessionId)
        pool.set(sessionId, known)
        return known
      }
      let todos: readonly TodoItem[] | undefined
      const { environment, executing } = trackExecutions(deps.createEnvironment())
      const processes = deps.createProcessTable()
      const made: CachedResources = {
        environment,
        processes,
        isActive: () => executing() || processes.list().some((entry) => entry.exit() === undefined),
        todos: {
          read() {
            todos ??= lastTodos(transcript(), deps.readTodos)
            return todos
          },
          write: (items) => {
            todos = items
          },
        },
      }
      pool.set(sessionId, made)
      evict(sessionId)
      return made
    },
    async dispose(sessionId) {
      const ended = pool.get(sessionId)
      pool.delete(sessionId)
      ended?.processes.killAll()
      await ended?.environment.cleanup()
    },
    async close() {
      const all = [...pool.values()]
      pool.clear()
      for (const { processes } of all) processes.killAll()
      await Promise.all(all.map(({ environment }) => environment.cleanup()))
    },
  }
}

/** The same environment, which also tells whether a command runs in it. */
function trackExecutions(environment: Environment): { environment: Environment; executing(): boolean } {
  let running = 0
  const { kind, cwd, spawn } = environment
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
      kind,
      cwd,
      execute,
      cleanup: () => environment.cleanup(),
      ...(spawn === undefined ? {} : { spawn: spawn.bind(environment) }),
    },
    executing: () => running > 0,
  }
}

function lastTodos(
  transcript: readonly ChatMessage[],
  read: (argumentsJson: string) => readonly TodoItem[] | null,
): readonly TodoItem[] {
  for (const message of transcript.toReversed()) {
    if (message.role !== 'assistant') continue
    const call = message.toolCalls?.findLast(({ name }) => name === 'todo')
    const items = call === undefined ? null : read(call.arguments)
    if (items !== null) return items
  }
  return []
}
