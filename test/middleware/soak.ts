/**
 * A soak of many concurrent managed calls in many scopes, of which some fail. Counts calls that see a foreign scope, events
 * without a counterpart, and scopes that stay in memory.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { silentLog } from '../../src/lib/log.ts'
import type { ManagedEvent, Scope } from '../../src/middleware/contract.ts'
import type { Middleware } from '../../src/middleware/managed-call.ts'
import { createMiddleware } from '../../src/middleware/middleware.ts'
import { modelCall, toolCall } from './support.ts'

export interface CallSoakOptions {
  /** Number of concurrent scopes. */
  readonly scopes: number
  /** Number of concurrent calls in each scope. */
  readonly callsPerScope: number
  /** Rounds run in sequence. */
  readonly rounds: number
}

export interface CallSoakResult {
  readonly calls: number
  /** Calls that saw a foreign scope or failed with an unexpected error. */
  readonly failedCalls: number
  readonly starts: number
  /** Starts without an end, ends without a start, and events with the wrong parent. */
  readonly mismatchedEvents: number
  readonly dropped: number
  /** Scopes that are still in memory after the last round. */
  readonly leakedScopes: number
  /** Growth between the end of the first round and the end, MB. */
  readonly heapGrowthMb: number
  readonly seconds: number
}

export function passesSoak({ failedCalls, mismatchedEvents, dropped, leakedScopes }: CallSoakResult): boolean {
  return failedCalls + mismatchedEvents + dropped + leakedScopes === 0
}

export async function soakCalls({ scopes, callsPerScope, rounds }: CallSoakOptions): Promise<CallSoakResult> {
  const collect = createGarbageCollector()
  const began = performance.now()
  const middleware = createMiddleware({ log: silentLog, maxQueuedEvents: 1_000_000 })
  const remembered: WeakRef<Scope>[] = []
  const checker = createEventChecker()
  middleware.registerSubscriber('checker', checker.onEvent)
  registerCallbacks(middleware)
  let failedCalls = 0
  let heapBefore = 0
  for (let round = 0; round < rounds; round++) {
    const found = await Promise.all(
      Array.from({ length: scopes }, (_, number) => runScope(middleware, number, callsPerScope, remembered)),
    )
    failedCalls += found.reduce((sum, each) => sum + each, 0)
    await middleware.flush()
    // A new weak reference keeps its target alive until the end of the turn.
    await nextTurn()
    collect()
    if (round === 0) heapBefore = process.memoryUsage().heapUsed
  }
  await nextTurn()
  collect()
  return {
    calls: scopes * callsPerScope * rounds,
    failedCalls,
    starts: checker.starts(),
    mismatchedEvents: checker.mismatched(),
    dropped: middleware.eventCounts().dropped,
    leakedScopes: remembered.filter((scope) => scope.deref() !== undefined).length,
    heapGrowthMb: (process.memoryUsage().heapUsed - heapBefore) / 2 ** 20,
    seconds: (performance.now() - began) / 1_000,
  }
}

/** Registers callbacks of both families, some of which fail. */
function registerCallbacks(middleware: Middleware): void {
  const plugin = middleware.forPlugin('crowd')
  plugin.registerIntercept('passes', 'tool_execution', (_call, next) => next())
  plugin.registerMiddleware('tool_execution', async ({ next_call, args }) => {
    if (args['call'] === 1) throw new Error('before')
    const result = await next_call()
    if (args['call'] === 2) throw new Error('after')
    return result
  })
  plugin.registerIntercept('passes', 'model_stream', (_call, next) => next())
}

async function runScope(
  middleware: Middleware,
  number: number,
  callsPerScope: number,
  remembered: WeakRef<Scope>[],
): Promise<number> {
  return middleware.scope({ name: `scope ${number}`, parent: null }, async (scope) => {
    remembered.push(new WeakRef(scope))
    scope.registerMiddleware('tool_request', ({ args }) => ({ args: { ...args, scope: number } }))
    const results = await Promise.all(
      Array.from({ length: callsPerScope }, (_, call) => runCall(middleware, scope, number, call)),
    )
    return results.filter((right) => !right).length
  })
}

async function runCall(middleware: Middleware, scope: Scope, number: number, call: number): Promise<boolean> {
  const failure = new Error('the tool failed')
  try {
    const result = await middleware.tool(
      toolCall({
        args: { call },
        async handler(args) {
          await nextTurn()
          const response = await middleware.model(modelCall(['a', 'b']))
          if (call === 3) throw failure
          const inside = middleware.currentScope()
          return args['scope'] === number && response === 'ab' && inside.parent === scope
        },
      }),
    )
    return result === true
  } catch (error) {
    return error === failure
  }
}

/** Matches each start event with its end event. */
function createEventChecker() {
  const open = new Map<string, ManagedEvent>()
  let starts = 0
  let mismatched = 0
  return {
    onEvent(event: ManagedEvent) {
      if (event.scope_category === 'start') {
        starts += 1
        open.set(event.uuid, event)
        // Model calls are made by tools and tool calls by scopes.
        const parent = event.parent_uuid === null ? undefined : open.get(event.parent_uuid)
        const expected = { llm: 'tool', tool: 'function' }[event.category === 'llm' ? 'llm' : 'tool']
        if (event.category !== 'function' && parent?.category !== expected) mismatched += 1
        return
      }
      const start = open.get(event.uuid)
      if (start === undefined || start.parent_uuid !== event.parent_uuid || start.timestampUs >= event.timestampUs)
        mismatched += 1
      open.delete(event.uuid)
    },
    starts: () => starts,
    mismatched: () => mismatched + open.size,
  }
}

/** Runs a full garbage collection synchronously. */
function createGarbageCollector(): () => void {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  return () => {
    if (typeof collect === 'function') collect()
  }
}
