/**
 * The managed call: the one place through which every model and tool call passes, so that others can see it, change it,
 * wrap it and refuse it. With nobody listening the handler is called with the very same arguments: nothing is copied,
 * nothing is wrapped, nothing is timed.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Logger } from '../lib/log.ts'
import type {
  Fields,
  ManagedModelCall,
  ManagedToolCall,
  Middleware,
  MiddlewareRegistrar,
  Scope,
  ScopeSpec,
} from './contract.ts'
import { createCulprits } from './culprits.ts'
import { createEventIds } from './event-ids.ts'
import { createEventQueue } from './event-queue.ts'
import { createFailures } from './failures.ts'
import { createLevel, type Level } from './level.ts'
import { runModel } from './model-call.ts'
import { createRegistrar } from './registrar.ts'
import type { Room } from './room.ts'
import { runScope } from './run-scope.ts'
import { nodeOf, type ScopeGround, ScopeNode } from './scope.ts'
import { emptySnapshot, mergeInto, type Snapshot } from './snapshot.ts'
import type { AnyModelCall } from './stream-terminal.ts'
import { createTeller } from './teller.ts'
import { createMicroClock, type MicroClock } from './time.ts'
import { type AnyToolCall, bareTool, runTool } from './tool-call.ts'

export interface MiddlewareDeps {
  readonly log: Logger
  /** µs since 1970. */
  readonly now?: MicroClock
  /** A new uuid, version 7, for something that began at this time, µs since 1970. */
  readonly newId?: (us: number) => string
  /** Events beyond this wait in no queue: they are dropped and counted. 32,768 if left out. */
  readonly queueLimit?: number
  /** How long something that was called off may take to end; 5 s if left out. */
  readonly graceMs?: number
  /** How long a subscriber may take for one event before the next ones go on without it; 30 s if left out. */
  readonly stuckMs?: number
}

export function createMiddleware(deps: MiddlewareDeps): Middleware {
  const { log, now = createMicroClock(), newId = createEventIds() } = deps
  const { queueLimit = 32_768, graceMs = 5_000, stuckMs = 30_000 } = deps
  const storage = new AsyncLocalStorage<ScopeNode>()
  const failures = createFailures(log)
  const culprits = createCulprits()
  const queue = createEventQueue({ log, failures, limit: queueLimit, stuckMs })
  const teller = createTeller({ queue, failures, now, newId })

  /** Registrations at all levels; the free path asks nothing else. */
  let registered = 0
  const levels: Level[] = []
  const plugins = new Map<string, MiddlewareRegistrar>()
  let base: Snapshot | undefined = emptySnapshot
  const baseSnapshot = () => {
    base ??= mergeInto(emptySnapshot, levels)
    return base
  }
  const addLevel = (plugin: string | undefined) => {
    const level = createLevel()
    levels.push(level)
    const changed = (by: number) => {
      registered += by
      base = undefined
    }
    return createRegistrar({ level, plugin, changed, lives: () => true })
  }
  const everything = addLevel(undefined)

  const ground: ScopeGround = {
    base: baseSnapshot,
    newId,
    counted(by) {
      registered += by
    },
    mark(scope, name, data, metadata) {
      const audience = scope.snapshot
      if (audience.subscribers.length === 0) return
      teller.mark(audience, scope, { name, category: scope.type, profile: null, data, metadata: metadata ?? null })
    },
  }
  const root = new ScopeNode(ground, 'root', 'agent', undefined, now(), false)
  const room: Room = { storage, ground, failures, culprits, teller, now, log, never: neverAborts(), graceMs }
  const current = () => storage.getStore() ?? root

  function tool<Args extends Fields, Result>(call: ManagedToolCall<Args, Result>): Promise<Result>
  function tool(call: AnyToolCall): Promise<unknown> {
    if (registered === 0) return bareTool(call, call.signal ?? room.never)
    const scope = current()
    return scope.snapshot.tools ? runTool(room, call, scope) : bareTool(call, call.signal ?? room.never)
  }

  function model<Request extends Fields, Chunk, Response>(
    call: ManagedModelCall<Request, Chunk, Response>,
  ): Promise<Response>
  function model(call: AnyModelCall): Promise<unknown> {
    return runModel(room, call, current())
  }

  return {
    ...everything,
    forPlugin(plugin) {
      const registrar = plugins.get(plugin) ?? addLevel(plugin)
      plugins.set(plugin, registrar)
      return registrar
    },
    tool,
    model,
    scope: <Value>(spec: ScopeSpec, work: (scope: Scope) => Promise<Value>) =>
      runScope(room, spec, spec.parent === undefined ? current() : spec.parent, work),
    currentScope: current,
    within: (scope, work) => storage.run(nodeOf(scope), work),
    changesAnswers() {
      const { intercepts, hermes } = current().snapshot
      return intercepts.model_execution.length + hermes.llm_execution.length > 0
    },
    culprit: culprits.nameOf,
    flush: () => queue.flush(),
    events: () => queue.counts(),
  }
}

/** A signal for callers who gave none. It is shared, so it must not collect listeners that nobody ever calls. */
function neverAborts(): AbortSignal {
  return Object.assign(new AbortController().signal, { addEventListener: () => undefined })
}
