/**
 * Many managed calls at once in many scopes, of which some fail: every call sees what belongs to its scope and nothing
 * else, every start has its end under the right parent, and nothing of it stays in memory.
 */
import { setImmediate as breath } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { silentLog } from '../../src/lib/log.ts'
import type { ManagedEvent, Middleware, Scope } from '../../src/middleware/contract.ts'
import { createMiddleware } from '../../src/middleware/middleware.ts'
import { modelCall, toolCall } from './support.ts'

export interface CallSoakOptions {
  /** Open at the same time. */
  readonly scopes: number
  /** In each scope, at the same time. */
  readonly callsPerScope: number
  /** One after another. */
  readonly rounds: number
}

export interface CallSoakResult {
  readonly calls: number
  /** Of calls that saw what belongs to another scope, or failed otherwise than they should. */
  readonly failedCalls: number
  readonly starts: number
  /** Starts without an end, ends without a start, or under another parent than they should be. */
  readonly mismatchedEvents: number
  readonly dropped: number
  /** Scopes that are still in memory when all is over. */
  readonly leakedScopes: number
  /** Of this process between the end of the first round and the end, MB. */
  readonly heapGrowthMb: number
  readonly seconds: number
}

export function passesSoak({
  failedCalls: wrong,
  mismatchedEvents: astray,
  dropped,
  leakedScopes: scopesKept,
}: CallSoakResult): boolean {
  return wrong + astray + dropped + scopesKept === 0
}

export async function soakCalls({
  scopes,
  callsPerScope: callsEach,
  rounds,
}: CallSoakOptions): Promise<CallSoakResult> {
  const collect = createGarbageCollector()
  const began = performance.now()
  const middleware = createMiddleware({ log: silentLog, maxQueuedEvents: 1_000_000 })
  const remembered: WeakRef<Scope>[] = []
  const watch = createEventChecker()
  middleware.registerSubscriber('watch', watch.hear)
  registerCallbacks(middleware)
  let failedCalls = 0
  let heapBefore = 0
  for (let round = 0; round < rounds; round++) {
    const found = await Promise.all(
      Array.from({ length: scopes }, (_, number) => runScope(middleware, number, callsEach, remembered)),
    )
    failedCalls += found.reduce((sum, each) => sum + each, 0)
    await middleware.flush()
    // A weak reference holds on until the turn in which it was made is over.
    await breath()
    collect()
    if (round === 0) heapBefore = process.memoryUsage().heapUsed
  }
  await breath()
  collect()
  return {
    calls: scopes * callsEach * rounds,
    failedCalls,
    starts: watch.starts(),
    mismatchedEvents: watch.astray(),
    dropped: middleware.eventCounts().dropped,
    leakedScopes: remembered.filter((scope) => scope.deref() !== undefined).length,
    heapGrowthMb: (process.memoryUsage().heapUsed - heapBefore) / 2 ** 20,
    seconds: (performance.now() - began) / 1_000,
  }
}

/** Both families at two levels, some of which fail. */
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
  callsEach: number,
  remembered: WeakRef<Scope>[],
): Promise<number> {
  return middleware.scope({ name: `scope ${number}`, parent: null }, async (scope) => {
    remembered.push(new WeakRef(scope))
    scope.registerMiddleware('tool_request', ({ args }) => ({ args: { ...args, scope: number } }))
    const results = await Promise.all(
      Array.from({ length: callsEach }, (_, call) => runCall(middleware, scope, number, call)),
    )
    return results.filter((right) => !right).length
  })
}

async function runCall(middleware: Middleware, scope: Scope, number: number, call: number): Promise<boolean> {
  const fault = new Error('the tool failed')
  try {
    const result = await middleware.tool(
      toolCall({
        args: { call },
        async handler(args) {
          await breath()
          const answer = await middleware.model(modelCall(['a', 'b']))
          if (call === 3) throw fault
          const inside = middleware.currentScope()
          return args['scope'] === number && answer === 'ab' && inside.parent === scope
        },
      }),
    )
    return result === true
  } catch (error) {
    return error === fault
  }
}

/** Holds every start against its end. */
function createEventChecker() {
  const open = new Map<string, ManagedEvent>()
  let starts = 0
  let strange = 0
  return {
    hear(event: ManagedEvent) {
      if (event.scope_category === 'start') {
        starts += 1
        open.set(event.uuid, event)
        // Calls of models are made by tools, tools by scopes, and scopes by nobody.
        const parent = event.parent_uuid === null ? undefined : open.get(event.parent_uuid)
        const expected = { llm: 'tool', tool: 'function' }[event.category === 'llm' ? 'llm' : 'tool']
        if (event.category !== 'function' && parent?.category !== expected) strange += 1
        return
      }
      const start = open.get(event.uuid)
      if (start === undefined || start.parent_uuid !== event.parent_uuid || start.timestampUs >= event.timestampUs)
        strange += 1
      open.delete(event.uuid)
    },
    starts: () => starts,
    astray: () => strange + open.size,
  }
}

/** Collects what nobody holds, at once. */
function createGarbageCollector(): () => void {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  return () => {
    if (typeof collect === 'function') collect()
  }
}
