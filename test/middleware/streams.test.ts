import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'node:test'
import { isHermesError } from '../../src/lib/errors.ts'
import type { Intercepts } from '../../src/middleware/contract.ts'
import { modelCall, recordEvents, rejection, setUp } from './support.ts'

type StreamIntercept = Intercepts['model_stream']

const shout: StreamIntercept = async function* (_call, next) {
  for await (const chunk of await next()) yield String(chunk).toUpperCase()
}

test('without stream intercepts the response of the stream is used, and no collector is created', async () => {
  const { middleware } = setUp()
  middleware.registerMiddleware('llm_execution', ({ next_call }) => next_call())
  const seen: string[] = []
  const call = modelCall(['Hel', 'lo'], { onChunk: (chunk) => void seen.push(chunk) })
  assert.equal(await middleware.model(call), 'Hello')
  assert.deepEqual(seen, ['Hel', 'lo'])
  assert.equal(call.collectors.length, 0)
})

test('changed chunks are observed and collected once each', async () => {
  const { middleware } = setUp()
  middleware.registerIntercept('shout', 'model_stream', shout)
  const seen: string[] = []
  const call = modelCall(['Hel', 'lo'], { onChunk: (chunk) => void seen.push(chunk) })
  assert.equal(await middleware.model(call), 'HELLO')
  assert.deepEqual(seen, ['HEL', 'LO'])
  assert.deepEqual(
    call.collectors.map(({ chunks, finished }) => [chunks, finished]),
    [[['HEL', 'LO'], 1]],
  )
})

test('stream intercepts nest by priority, the lower one outside', async () => {
  const { middleware } = setUp()
  const mark = (sign: string): StreamIntercept =>
    async function* (_call, next) {
      for await (const chunk of await next()) yield `${sign}${chunk}`
    }
  middleware.registerIntercept('inner', 'model_stream', mark('i'), { priority: 1 })
  middleware.registerIntercept('outer', 'model_stream', mark('o'), { priority: 0 })
  assert.equal(await middleware.model(modelCall(['1', '2'])), 'oi1oi2')
})

test('nothing is read ahead: a chunk is requested after the previous one was consumed', async () => {
  const { middleware } = setUp()
  middleware.registerIntercept('shout', 'model_stream', shout)
  const order: string[] = []
  const call = modelCall([], {
    async *stream() {
      for (const chunk of ['a', 'b', 'c']) {
        order.push(`gives ${chunk}`)
        yield chunk
      }
      return ''
    },
    onChunk: (chunk) => void order.push(`took ${chunk}`),
  })
  await middleware.model(call)
  assert.deepEqual(order, ['gives a', 'took A', 'gives b', 'took B', 'gives c', 'took C'])
})

test('an intercept may change the request, stop early or yield its own chunks; the provider is released', async () => {
  const { middleware } = setUp()
  const order: string[] = []
  middleware.registerIntercept('short', 'model_stream', async function* ({ request }, next) {
    yield 'first '
    for await (const chunk of await next({ ...request, temperature: 0 })) {
      yield chunk
      break
    }
    yield ' last'
  })
  const call = modelCall([], {
    async *stream(request) {
      try {
        order.push(`asked with ${request['temperature']}`)
        yield 'one'
        yield 'two'
        return ''
      } finally {
        order.push('released')
      }
    },
  })
  assert.equal(await middleware.model(call), 'first one last')
  assert.deepEqual(order, ['asked with 0', 'released'])
})

test('an intercept that never calls next replaces the stream', async () => {
  const { middleware } = setUp()
  let asked = false
  middleware.registerIntercept('cache', 'model_stream', async function* () {
    yield 'from the cache'
  })
  const call = modelCall([], {
    // biome-ignore lint/correctness/useYield: it must never be asked.
    async *stream() {
      asked = true
      return ''
    },
  })
  assert.equal(await middleware.model(call), 'from the cache')
  assert.equal(asked, false)
})

test('streams that an intercept leaves open are closed when its own stream ends', async () => {
  const { middleware } = setUp()
  let released = 0
  let signal: AbortSignal | undefined
  middleware.registerIntercept('careless', 'model_stream', async function* (_call, next) {
    const iterator = (await next())[Symbol.asyncIterator]()
    const { value } = await iterator.next()
    yield value
  })
  const call = modelCall([], {
    async *stream(_request, given) {
      signal = given
      try {
        yield 'one'
        yield 'two'
        return ''
      } finally {
        released += 1
      }
    },
  })
  assert.equal(await middleware.model(call), 'one')
  assert.equal(released, 1)
  assert.equal(signal?.aborted, true)
})

test('next after the stream has ended rejects', async () => {
  const { middleware } = setUp()
  let kept: (() => Promise<unknown>) | undefined
  middleware.registerIntercept('keeper', 'model_stream', async function* (_call, next) {
    kept = next
    yield 'mine'
  })
  await middleware.model(modelCall())
  const error = await rejection(kept?.() ?? Promise.resolve())
  assert.ok(isHermesError(error, 'middleware/next-revoked'))
  assert.match(error.message, /"keeper"/)
})

test('the provider always runs in the context of the call', async () => {
  const { middleware } = setUp()
  const around = new AsyncLocalStorage<string>()
  const seen: unknown[] = []
  // Pulls from a place of its own, as something that buffers would.
  middleware.registerIntercept('elsewhere', 'model_stream', async (_call, next) => {
    const iterator = (await next())[Symbol.asyncIterator]()
    return {
      [Symbol.asyncIterator]: () => ({
        next: () => around.run('elsewhere', () => middleware.runInScope(outside, () => iterator.next())),
      }),
    }
  })
  const outside = middleware.currentScope()
  await around.run('the caller', () =>
    middleware.scope({ name: 'turn' }, () =>
      middleware.model(
        modelCall([], {
          async *stream() {
            seen.push(around.getStore(), middleware.currentScope().name)
            yield 'one'
            seen.push(around.getStore(), middleware.currentScope().name)
            return ''
          },
        }),
      ),
    ),
  )
  assert.deepEqual(seen, ['the caller', 'openai', 'the caller', 'openai'])
})

test('a call made while a stream runs is a child of the model call', async () => {
  const { middleware } = setUp()
  const events = recordEvents(middleware)
  middleware.registerIntercept('looks up', 'model_stream', async function* (_call, next) {
    for await (const chunk of await next())
      yield await middleware.tool({ toolName: 'look_up', toolCallId: 'x', args: {}, handler: async () => chunk })
  })
  assert.equal(await middleware.model(modelCall(['a'])), 'a')
  await middleware.flush()
  const model = events.find(({ category }) => category === 'llm')
  assert.equal(events.find(({ name }) => name === 'look_up')?.parent_uuid, model?.uuid)
})

test('the end event carries the collected response and the time to the first chunk', async () => {
  let us = 1_000_000
  const { middleware } = setUp({ now: () => us })
  const events = recordEvents(middleware)
  middleware.registerIntercept('shout', 'model_stream', shout)
  await middleware.model(
    modelCall([], {
      async *stream() {
        us += 250_000
        yield 'hello'
        us += 250_000
        return ''
      },
    }),
  )
  await middleware.flush()
  const end = events[1]
  assert.equal(end?.data, 'HELLO')
  assert.deepEqual(end?.category_profile, { model_name: 'gpt', time_to_first_chunk: 0.25 })
  assert.deepEqual(end?.attributes, ['streaming'])
  assert.equal((end?.timestampUs ?? 0) - (events[0]?.timestampUs ?? 0), 500_000)
})

test('a scope that an intercept opens around next contains the stream of the provider', async () => {
  const { middleware } = setUp()
  const names: string[] = []
  middleware.registerIntercept('outer', 'model_stream', (_call, next) =>
    middleware.scope({ name: 'attempt' }, () => next()),
  )
  const inner: StreamIntercept = async function* (_call, next) {
    names.push(middleware.currentScope().name)
    yield* await next()
  }
  middleware.registerIntercept('inner', 'model_stream', inner, { priority: 1 })
  const call = modelCall([], {
    async *stream() {
      names.push(middleware.currentScope().name)
      yield 'a'
      names.push(middleware.currentScope().name)
      return ''
    },
  })
  assert.equal(await middleware.model(call), 'a')
  assert.deepEqual(names, ['attempt', 'attempt', 'attempt'])
})

test('a subscriber that asks for chunks receives start, chunks and end, with and without stream intercepts', async () => {
  for (const intercepted of [false, true]) {
    const { middleware } = setUp()
    const plain = recordEvents(middleware)
    const events: unknown[][] = []
    const parents = new Set<unknown>()
    let call: string | undefined
    middleware.registerSubscriber(
      'chunks',
      (event) => {
        events.push([event.name, event.scope_category ?? event.data])
        if (event.scope_category === 'start') call = event.uuid
        if (event.kind === 'mark') parents.add(event.parent_uuid)
      },
      { chunks: true },
    )
    if (intercepted) middleware.registerIntercept('shout', 'model_stream', shout)
    await middleware.model(modelCall(['Hel', 'lo']))
    await middleware.flush()
    assert.deepEqual(events, [
      ['openai', 'start'],
      ['llm.chunk', { chunk_index: 0 }],
      ['llm.chunk', { chunk_index: 1 }],
      ['openai', 'end'],
    ])
    assert.deepEqual([...parents], [call])
    assert.equal(plain.length, 2, 'others receive no chunks')
  }
})
