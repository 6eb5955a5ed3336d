/**
 * Builds the middleware: every model and tool call passes through it, so that registrations can observe, change, wrap and
 * reject calls. This file only connects the parts; `calls.ts` is where a call enters.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Logger } from '../lib/log.ts'
import { createCalls } from './calls.ts'
import type { MiddlewareRegistrar } from './contract.ts'
import { createEventPublisher } from './event-publisher.ts'
import { createEventQueue } from './event-queue.ts'
import { createEventIdGenerator } from './events.ts'
import { createErrorOrigins, createFailureReporter, failureMetadata, successMetadata } from './failures.ts'
import type { Middleware } from './managed-call.ts'
import { runManagedModel } from './model-call.ts'
import type { PipelineContext } from './pipeline-context.ts'
import { createRegistrar, createRegistrationScope, type RegistrationScope } from './registry.ts'
import { createMicroClock, createScopes, type MicroClock, type ScopeContext, type ScopeNode } from './scope.ts'
import { emptySnapshot, mergeRegistrations, type Snapshot } from './snapshot.ts'
import { runAllowedTool, runManagedTool } from './tool-call.ts'

export interface MiddlewareDeps {
  readonly log: Logger
  /** µs since 1970. */
  readonly now?: MicroClock
  /** Generates a uuid of version 7 for a time, µs since 1970. */
  readonly newId?: (us: number) => string
  /** Events beyond this number are dropped and counted. Default: 32,768. */
  readonly maxQueuedEvents?: number
  /** How long an aborted call may take to settle. Default: 5 s. */
  readonly graceMs?: number
  /** How long a subscriber may take for one event before the queue moves on. Default: 30 s. */
  readonly subscriberTimeoutMs?: number
}

export function createMiddleware(deps: MiddlewareDeps): Middleware {
  const { log, now = createMicroClock(), newId = createEventIdGenerator() } = deps
  const { maxQueuedEvents = 32_768, graceMs = 5_000, subscriberTimeoutMs = 30_000 } = deps
  const failures = createFailureReporter(log)
  const errorOrigins = createErrorOrigins()
  const queue = createEventQueue(log, failures, maxQueuedEvents, subscriberTimeoutMs)
  const publisher = createEventPublisher(queue, failures, now, newId)
  const neverSignal = createNeverSignal()
  const levels: RegistrationScope[] = []
  const plugins = new Map<string, MiddlewareRegistrar>()
  let cachedSnapshot: Snapshot | undefined = emptySnapshot

  const scopes: ScopeContext = {
    storage: new AsyncLocalStorage<ScopeNode>(),
    root: undefined,
    registered: 0,
    now,
    newId,
    baseSnapshot() {
      cachedSnapshot ??= mergeRegistrations(emptySnapshot, levels)
      return cachedSnapshot
    },
    publishStart(scope, input, metadata) {
      const { snapshot } = scope
      if (snapshot.subscribers.length > 0)
        publisher.start(snapshot, scope, [], { profile: null, data: input, metadata })
    },
    publishEnd(scope, metadata, failure) {
      const { snapshot } = scope
      if (snapshot.subscribers.length === 0) return
      const status = failure === undefined ? successMetadata : failureMetadata(failure.error, neverSignal)
      publisher.end(snapshot, scope, [], { profile: null, data: null, metadata: { ...metadata, ...status } })
    },
    publishMark(scope, name, data, metadata) {
      const { snapshot } = scope
      if (snapshot.subscribers.length > 0)
        publisher.mark(snapshot, scope, { name, category: scope.type, profile: null, data, metadata: metadata ?? null })
    },
  }
  const addLevel = (plugin: string | undefined) => {
    const registrations = createRegistrationScope()
    levels.push(registrations)
    const onChange = (by: number) => {
      scopes.registered += by
      cachedSnapshot = undefined
    }
    return createRegistrar(registrations, plugin, onChange)
  }
  const context: PipelineContext = { scopes, failures, errorOrigins, publisher, log, neverSignal, graceMs }

  const calls = createCalls({
    scopes,
    errorOrigins,
    log,
    neverSignal,
    graceMs,
    runManagedTool: (call, scope) => runManagedTool(context, call, scope),
    runAllowedTool: (call, scope) => runAllowedTool(context, call, scope),
    runManagedModel: (call, scope) => runManagedModel(context, call, scope),
  })
  const scopeFunctions = createScopes(scopes)
  const eventCounts = () => queue.counts()
  return {
    ...addLevel(undefined),
    forPlugin(plugin) {
      const registrar = plugins.get(plugin) ?? addLevel(plugin)
      plugins.set(plugin, registrar)
      return registrar
    },
    ...calls,
    ...scopeFunctions,
    errorOrigin: errorOrigins.describe,
    flush: () => queue.flush(),
    eventCounts,
    // The names of version 0.1.
    within: scopeFunctions.runInScope,
    changesAnswers: calls.canChangeModelOutput,
    culprit: errorOrigins.describe,
    events: eventCounts,
  }
}

/** A signal for callers without one. All of them share it, so it keeps no listeners. */
function createNeverSignal(): AbortSignal {
  return Object.assign(new AbortController().signal, { addEventListener: () => undefined })
}
