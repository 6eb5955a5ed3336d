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
import { createErrorOrigins } from './error-origin.ts'
import { createEventIdGenerator } from './event-ids.ts'
import { createEventPublisher } from './event-publisher.ts'
import { createEventQueue } from './event-queue.ts'
import { createFailureReporter } from './failure-reporter.ts'
import { createMicroClock, type MicroClock } from './micro-clock.ts'
import { runManagedModel } from './model-call.ts'
import type { PipelineContext } from './pipeline-context.ts'
import type { AnyModelCall } from './pull-stream.ts'
import { createRegistrar } from './registrar.ts'
import { createRegistrationScope, type RegistrationScope } from './registration-scope.ts'
import { runScope } from './run-scope.ts'
import { type ScopeContext, ScopeNode, toScopeNode } from './scope.ts'
import { emptySnapshot, mergeRegistrations, type Snapshot } from './snapshot.ts'
import { type AnyToolCall, runManagedTool, runUnmanagedTool } from './tool-call.ts'

export interface MiddlewareDeps {
  readonly log: Logger
  /** µs since 1970. */
  readonly now?: MicroClock
  /** A new uuid, version 7, for something that began at this time, µs since 1970. */
  readonly newId?: (us: number) => string
  /** Events beyond this wait in no queue: they are dropped and counted. 32,768 if left out. */
  readonly maxQueuedEvents?: number
  /** How long something that was called off may take to end; 5 s if left out. */
  readonly graceMs?: number
  /** How long a subscriber may take for one event before the next ones go on without it; 30 s if left out. */
  readonly subscriberTimeoutMs?: number
}

export function createMiddleware(deps: MiddlewareDeps): Middleware {
  const { log, now = createMicroClock(), newId = createEventIdGenerator() } = deps
  const { maxQueuedEvents = 32_768, graceMs = 5_000, subscriberTimeoutMs = 30_000 } = deps
  const scopeStorage = new AsyncLocalStorage<ScopeNode>()
  const failures = createFailureReporter(log)
  const errorOrigins = createErrorOrigins()
  const queue = createEventQueue({ log, failures, maxQueued: maxQueuedEvents, subscriberTimeoutMs })
  const publisher = createEventPublisher({ queue, failures, now, newId })

  /** Registrations at all levels; the free path asks nothing else. */
  let registered = 0
  const registrationScopes: RegistrationScope[] = []
  const plugins = new Map<string, MiddlewareRegistrar>()
  let cachedSnapshot: Snapshot | undefined = emptySnapshot
  const baseSnapshot = () => {
    cachedSnapshot ??= mergeRegistrations(emptySnapshot, registrationScopes)
    return cachedSnapshot
  }
  const addRegistrationScope = (plugin: string | undefined) => {
    const registrations = createRegistrationScope()
    registrationScopes.push(registrations)
    const onChange = (by: number) => {
      registered += by
      cachedSnapshot = undefined
    }
    return createRegistrar({ registrations, plugin, onChange, isActive: () => true })
  }
  const globalRegistrar = addRegistrationScope(undefined)

  const scopeContext: ScopeContext = {
    baseSnapshot,
    newId,
    onRegistrationsChanged(by) {
      registered += by
    },
    publishMark(scope, name, data, metadata) {
      const audience = scope.snapshot
      if (audience.subscribers.length === 0) return
      publisher.mark(audience, scope, { name, category: scope.type, profile: null, data, metadata: metadata ?? null })
    },
  }
  const root = new ScopeNode(scopeContext, 'root', 'agent', undefined, now(), false)
  const context: PipelineContext = {
    scopeStorage,
    scopeContext,
    failures,
    errorOrigins,
    publisher,
    now,
    log,
    neverSignal: createNeverSignal(),
    graceMs,
  }
  const current = () => scopeStorage.getStore() ?? root

  function tool<Args extends Fields, Result>(call: ManagedToolCall<Args, Result>): Promise<Result>
  function tool(call: AnyToolCall): Promise<unknown> {
    if (registered === 0) return runUnmanagedTool(call, call.signal ?? context.neverSignal)
    const scope = current()
    return scope.snapshot.tools
      ? runManagedTool(context, call, scope)
      : runUnmanagedTool(call, call.signal ?? context.neverSignal)
  }

  function model<Request extends Fields, Chunk, Response>(
    call: ManagedModelCall<Request, Chunk, Response>,
  ): Promise<Response>
  function model(call: AnyModelCall): Promise<unknown> {
    return runManagedModel(context, call, current())
  }

  return {
    ...globalRegistrar,
    forPlugin(plugin) {
      const registrar = plugins.get(plugin) ?? addRegistrationScope(plugin)
      plugins.set(plugin, registrar)
      return registrar
    },
    tool,
    model,
    scope: <Value>(spec: ScopeSpec, work: (scope: Scope) => Promise<Value>) =>
      runScope(context, spec, spec.parent === undefined ? current() : spec.parent, work),
    currentScope: current,
    runInScope: (scope, work) => scopeStorage.run(toScopeNode(scope), work),
    canChangeModelOutput() {
      const { intercepts, hermes } = current().snapshot
      return intercepts.model_execution.length + hermes.llm_execution.length > 0
    },
    errorOrigin: errorOrigins.describe,
    flush: () => queue.flush(),
    eventCounts: () => queue.counts(),
  }
}

/** A signal for callers who gave none. It is shared, so it must not collect listeners that nobody ever calls. */
function createNeverSignal(): AbortSignal {
  return Object.assign(new AbortController().signal, { addEventListener: () => undefined })
}
