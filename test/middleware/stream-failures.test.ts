import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isHermesError } from '../../src/lib/errors.ts'
import type { Intercepts } from '../../src/middleware/contract.ts'
import { deferred, modelCall, recordEvents, rejection, setUp, warnings } from './support.ts'

type StreamIntercept = Intercepts['model_stream']

const fault = new TypeError('it broke')
const pass: StreamIntercept = (_call, next) => next()

/** A stream that tells whether it was released. */
function watched(chunks: readonly string[], broken?: Error) {
  const state = { opened: 0, released: 0 }
  return {
    state,
    async *stream() {
      state.opened += 1
      try {
        for (const chunk of chunks) yield chunk
        if (broken !== undefined) throw broken
        return chunks.join('')
      } finally {
        state.released += 1
      }
    },
  }
}

for (const intercepted of [false, true]) {
  const where = intercepted ? 'with a stream intercept' : 'without stream intercepts'

  test(`a chunk listener that throws fails the call with its own error and releases the provider (${where})`, async () => {
    const { middleware } = setUp()
    if (intercepted) middleware.registerIntercept('pass', 'model_stream', pass)
    const { state, stream } = watched(['a', 'b'])
    const onChunk = () => {
      throw fault
    }
    assert.equal(await rejection(middleware.model(modelCall([], { stream, onChunk }))), fault)
    assert.deepEqual(state, { opened: 1, released: 1 })
  })

  test(`a provider stream that fails midway fails the call with its own error (${where})`, async () => {
    const { middleware } = setUp()
    if (intercepted) middleware.registerIntercept('pass', 'model_stream', pass)
    const { state, stream } = watched(['a'], fault)
    assert.equal(await rejection(middleware.model(modelCall([], { stream }))), fault)
    assert.deepEqual(state, { opened: 1, released: 1 })
  })

  test(`a provider that ignores its signal does not delay a cancelled call (${where})`, async () => {
    const { middleware, log } = setUp()
    if (intercepted) middleware.registerIntercept('pass', 'model_stream', pass)
    const events = recordEvents(middleware)
    const controller = new AbortController()
    const reason = new Error('the user left')
    const call = modelCall([], {
      signal: controller.signal,
      async *stream() {
        yield 'a'
        controller.abort(reason)
        await new Promise(() => undefined)
        return ''
      },
    })
    assert.equal(await rejection(middleware.model(call)), reason)
    assert.equal(warnings(log).length, 1)
    await middleware.flush()
    const end = events[1]
    assert.equal(end?.metadata?.['otel.status_code'], 'ERROR')
    assert.equal(end?.metadata?.['error.type'], 'cancelled')
  })
}

test('a provider that ignores its close is abandoned with one log line', async () => {
  const { middleware, log } = setUp()
  const call = modelCall([], {
    async *stream() {
      try {
        yield 'a'
        return ''
      } finally {
        await new Promise(() => undefined)
      }
    },
    onChunk() {
      throw fault
    },
  })
  assert.equal(await rejection(middleware.model(call)), fault)
  assert.deepEqual(warnings(log), ['middleware.stream_abandoned'])
})

test('a provider that fails while it is closed is logged and causes no other error', async () => {
  const { middleware, log } = setUp()
  const call = modelCall([], {
    async *stream() {
      try {
        yield 'a'
        return ''
      } finally {
        // biome-ignore lint/correctness/noUnsafeFinally: this is what is tried.
        throw new Error('could not close')
      }
    },
    onChunk() {
      throw fault
    },
  })
  assert.equal(await rejection(middleware.model(call)), fault)
  assert.deepEqual(warnings(log), ['middleware.stream_close_failed'])
})

test('a collector that throws fails the call and is finished once', async () => {
  const { middleware } = setUp()
  middleware.registerIntercept('pass', 'model_stream', pass)
  const { state, stream } = watched(['a', 'b'])
  let finished = 0
  const collector = () => ({
    add() {
      throw fault
    },
    finish() {
      finished += 1
      return ''
    },
  })
  assert.equal(await rejection(middleware.model(modelCall([], { stream, collector }))), fault)
  assert.equal(finished, 1)
  assert.deepEqual(state, { opened: 1, released: 1 })
})

test('a collector that cannot finish a whole stream fails the call with its own error', async () => {
  const { middleware } = setUp()
  middleware.registerIntercept('pass', 'model_stream', pass)
  let finished = 0
  const collector = () => ({
    add: () => undefined,
    finish() {
      finished += 1
      throw fault
    },
  })
  assert.equal(await rejection(middleware.model(modelCall(['a'], { collector }))), fault)
  assert.equal(finished, 1)
})

test('the end event of a stream that fails midway carries the chunks received before', async () => {
  const { middleware } = setUp()
  const events = recordEvents(middleware)
  middleware.registerIntercept('pass', 'model_stream', pass)
  const call = modelCall([], watched(['Hel'], fault))
  await rejection(middleware.model(call))
  await middleware.flush()
  assert.equal(events[1]?.data, 'Hel')
  assert.equal(events[1]?.metadata?.['exception.type'], 'TypeError')
  assert.equal(call.collectors[0]?.finished, 1)
})

test('a stream intercept that throws fails the call and releases the provider, wherever it throws', async () => {
  for (const at of ['before next', 'before a chunk', 'after a chunk']) {
    const { middleware } = setUp()
    middleware.registerIntercept('breaks', 'model_stream', async function* (_call, next) {
      if (at === 'before next') throw fault
      for await (const chunk of await next()) {
        if (at === 'before a chunk') throw fault
        yield chunk
        throw fault
      }
    })
    const { state, stream } = watched(['a', 'b'])
    assert.equal(await rejection(middleware.model(modelCall([], { stream }))), fault, at)
    assert.equal(state.released, state.opened, at)
  }
})

test('a stream intercept that returns nothing to iterate over is named', async () => {
  const { middleware } = setUp()
  const wrong = () => JSON.parse('{}')
  middleware.forPlugin('broken').registerIntercept('empty', 'model_stream', wrong)
  const error = await rejection(middleware.model(modelCall()))
  assert.ok(isHermesError(error, 'middleware/bad-return'))
  assert.match(error.message, /"empty".*"broken"/)
})

for (const at of ['before next', 'at once', 'before its first chunk'] as const) {
  test(`failing open, a stream intercept that throws ${at} is skipped, and the provider is called once`, async () => {
    const { middleware, log } = setUp()
    const breaks: StreamIntercept =
      at === 'at once'
        ? () => {
            throw fault
          }
        : async function* (_call, next) {
            if (at === 'before next') throw fault
            let taken = 0
            for await (const chunk of await next()) {
              taken += 1
              if (taken === 2) throw fault
              if (taken > 2) yield chunk
            }
          }
    middleware.registerIntercept('open', 'model_stream', breaks, { fails: 'open' })
    const { state, stream } = watched(['a', 'b', 'c'])
    assert.equal(await middleware.model(modelCall([], { stream })), 'abc')
    assert.deepEqual(state, { opened: 1, released: 1 })
    assert.deepEqual(warnings(log), ['middleware.callback_failed'])
  })
}

test('failing open, a stream intercept that throws after its first chunk fails the call, because chunks were already passed on', async () => {
  const { middleware } = setUp()
  const breaks: StreamIntercept = async function* (_call, next) {
    for await (const chunk of await next()) {
      yield chunk
      throw fault
    }
  }
  middleware.registerIntercept('open', 'model_stream', breaks, { fails: 'open' })
  const { state, stream } = watched(['a', 'b'])
  assert.equal(await rejection(middleware.model(modelCall([], { stream }))), fault)
  assert.deepEqual(state, { opened: 1, released: 1 })
})

test('failing open does not hide a failure of the provider', async () => {
  const { middleware } = setUp()
  middleware.registerIntercept('open', 'model_stream', pass, { fails: 'open' })
  assert.equal(await rejection(middleware.model(modelCall([], watched([], fault)))), fault)
})

test('a stream intercept that catches an abort cannot turn it into a response', async () => {
  const { middleware, log } = setUp({ graceMs: 10_000 })
  const controller = new AbortController()
  const reason = new Error('stop')
  middleware.registerIntercept('swallows', 'model_stream', async function* (_call, next) {
    try {
      yield* await next()
    } catch {
      yield 'never mind'
    }
  })
  const begun = deferred()
  const call = modelCall([], {
    signal: controller.signal,
    async *stream(_request, signal) {
      begun.resolve()
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      return ''
    },
  })
  const work = rejection(middleware.model(call))
  await begun.promise
  controller.abort(reason)
  assert.equal(await work, reason)
  assert.deepEqual(warnings(log), [], 'the signal informs the provider')
})

test('an intercept can clean up when its stream is closed early', async () => {
  const { middleware } = setUp()
  const order: string[] = []
  middleware.registerIntercept('tidy', 'model_stream', async function* (_call, next) {
    try {
      yield* await next()
    } finally {
      order.push('intercept')
    }
  })
  const { state, stream } = watched(['a', 'b'])
  const onChunk = () => {
    throw fault
  }
  assert.equal(await rejection(middleware.model(modelCall([], { stream, onChunk }))), fault)
  assert.deepEqual(order, ['intercept'])
  assert.deepEqual(state, { opened: 1, released: 1 })
})

test('after an abort, a stream intercept that fails open is not skipped and the call rejects with the abort reason', async () => {
  const { middleware, log } = setUp()
  const controller = new AbortController()
  const reason = new Error('stop')
  middleware.registerIntercept(
    'open',
    'model_stream',
    () => {
      controller.abort(reason)
      throw fault
    },
    { fails: 'open' },
  )
  const { state, stream } = watched(['a'])
  assert.equal(await rejection(middleware.model(modelCall([], { stream, signal: controller.signal }))), reason)
  assert.equal(state.opened, 0)
  assert.deepEqual(warnings(log), [])
})

test('a stream that opens after the intercept that asked for it has ended is closed at once', async () => {
  const { middleware } = setUp()
  const opening = deferred()
  const closed = deferred()
  middleware.registerIntercept('a: does not wait', 'model_stream', async function* (_call, next) {
    void next()
    yield 'mine'
  })
  middleware.registerIntercept('b: slow to open', 'model_stream', async () => {
    await opening.promise
    return {
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ done: false, value: 'late' }),
        async return() {
          closed.resolve()
          return { done: true, value: undefined }
        },
      }),
    }
  })
  assert.equal(await middleware.model(modelCall()), 'mine')
  opening.resolve()
  await closed.promise
})
