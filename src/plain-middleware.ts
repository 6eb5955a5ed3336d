/**
 * A managed call around which nothing can be put; stands in until the room of the middleware is built.
 */
import type { ManagedModelCall, ManagedToolCall, Middleware, Scope } from './middleware/contract.ts'

export function createPlainMiddleware(): Middleware {
  const refuse = () => {
    throw new Error('nothing can be registered yet')
  }
  const registrar = {
    registerGuardrail: refuse,
    registerIntercept: refuse,
    registerSanitizer: refuse,
    registerSubscriber: refuse,
    registerMiddleware: refuse,
  }
  const root: Scope = {
    ...registrar,
    uuid: '',
    name: 'root',
    type: 'agent',
    parent: undefined,
    closed: false,
    mark: () => undefined,
  }
  const never = new AbortController().signal
  return {
    ...registrar,
    forPlugin: () => registrar,
    async tool<Args extends Readonly<Record<string, unknown>>, Result>(call: ManagedToolCall<Args, Result>) {
      const args = (await call.policy?.(call.args, [])) ?? call.args
      return call.handler(args, call.signal ?? never)
    },
    async model<Request extends Readonly<Record<string, unknown>>, Chunk, Response>(
      call: ManagedModelCall<Request, Chunk, Response>,
    ) {
      const request = (await call.rewrite?.(call.request, [])) ?? call.request
      call.announce?.(request, [])
      const chunks = call.stream(request, call.signal ?? never)
      let ended = false
      try {
        for (;;) {
          const next = await chunks.next()
          if (next.done) {
            ended = true
            return next.value
          }
          call.onChunk?.(next.value)
        }
      } finally {
        if (!ended) await chunks.throw(new Error('nobody listens any more')).catch(() => undefined)
      }
    },
    scope: (_spec, work) => work(root),
    currentScope: () => root,
    within: (_scope, work) => work(),
    changesAnswers: () => false,
    flush: async () => undefined,
    events: () => ({ waiting: 0, delivered: 0, dropped: 0 }),
  }
}
