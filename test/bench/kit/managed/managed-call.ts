/**
 * The managed call in the variants that are measured.
 */
import { silentLog } from '../../../../src/lib/log.ts'
import type { Middleware } from '../../../../src/middleware/managed-call.ts'
import { createMiddleware } from '../../../../src/middleware/middleware.ts'
import {
  argsOf,
  type CreateVariant,
  createObserver,
  rewritten,
  times,
  tool,
  type Variant,
  type Workload,
} from './workload.ts'

function createWithObserver({ observed }: Workload): Middleware {
  const middleware = createMiddleware({ log: silentLog })
  if (observed) middleware.registerSubscriber('observer', createObserver())
  return middleware
}

/** The families of NeMo, or no registration. */
export const managed: CreateVariant = (workload) => toolVariant(workload, false)

/** The call of the agent, with a separate signal for each call and a policy that allows the arguments. */
export const withAgentCallOptions: CreateVariant = (workload) => toolVariant(workload, true)

function toolVariant(workload: Workload, withAgentOptions: boolean): Variant {
  const middleware = createWithObserver(workload)
  times(workload.rewrites, (step) =>
    middleware.registerIntercept(`r${step}`, 'tool_request', ({ args }) => rewritten(args, step)),
  )
  times(workload.wrappers, (step) =>
    middleware.registerIntercept(`w${step}`, 'tool_execution', async (_call, next) => await next()),
  )
  const args = argsOf(workload)
  const policy = (allowed: typeof args) => allowed
  const call = withAgentOptions
    ? () => {
        const { signal } = new AbortController()
        return middleware.tool({ toolName: 'read_file', toolCallId: 'call-1', args, signal, policy, handler: tool })
      }
    : () => middleware.tool({ toolName: 'read_file', toolCallId: 'call-1', args, handler: tool })
  return { call, flushed: () => middleware.flush() }
}

/** The kinds of Hermes, which fail open and whose `next_call` works once. */
export const hermesKinds: CreateVariant = (workload) => {
  const middleware = createWithObserver(workload)
  times(workload.rewrites, (step) =>
    middleware.registerMiddleware('tool_request', ({ args }) => ({ args: rewritten(args, step) })),
  )
  times(workload.wrappers, () =>
    middleware.registerMiddleware('tool_execution', async (call) => await call.next_call()),
  )
  const args = argsOf(workload)
  return {
    call: () => middleware.tool({ toolName: 'read_file', toolCallId: 'call-1', args, handler: tool }),
    flushed: () => middleware.flush(),
  }
}

export const chunks = 10

/** Wrappers around the complete response. */
export const model: CreateVariant = (workload) => modelVariant(workload, 'model_execution')

/** Wrappers around the chunks. */
export const stream: CreateVariant = (workload) => modelVariant(workload, 'model_stream')

function modelVariant(workload: Workload, around: 'model_execution' | 'model_stream'): Variant {
  const middleware = createWithObserver(workload)
  times(workload.rewrites, (step) =>
    middleware.registerIntercept(`r${step}`, 'model_request', ({ request }) => ({ request: rewritten(request, step) })),
  )
  times(workload.wrappers, (step) =>
    around === 'model_execution'
      ? middleware.registerIntercept(`w${step}`, around, async (_call, next) => await next())
      : middleware.registerIntercept(`w${step}`, around, (_call, next) => forwardStream(next)),
  )
  const request = argsOf(workload)
  return {
    call: () =>
      middleware.model({ provider: 'openai', model: 'gpt', request, stream: provider, collector: createCollector }),
    flushed: () => middleware.flush(),
  }
}

async function* forwardStream(next: () => Promise<AsyncIterable<unknown>>): AsyncGenerator<unknown> {
  yield* await next()
}

/** The stream of the provider in all variants. */
export async function* provider(): AsyncGenerator<string, string, void> {
  for (let index = 0; index < chunks; index++) yield 'word '
  return 'word '.repeat(chunks)
}

function createCollector() {
  let text = ''
  return {
    add(chunk: string) {
      text += chunk
    },
    finish: () => text,
  }
}
