import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { deferred, modelCall, rejection, setUp, toolCall } from './support.ts'

test('a stream below one that fails open and has failed is opened once, even if it fails as well', async () => {
  const { middleware } = setUp()
  middleware.registerIntercept(
    'open',
    'model_stream',
    () => {
      throw new Error('before next')
    },
    { fails: 'open' },
  )
  const fault = new Error('the provider failed')
  let opened = 0
  const call = modelCall([], {
    // biome-ignore lint/correctness/useYield: it fails before its first chunk
    async *stream() {
      opened += 1
      if (opened < 10) throw fault
      return 'it would never have ended'
    },
  })
  assert.equal(await rejection(middleware.model(call)), fault)
  assert.equal(opened, 1)
})

test('a tool does not start on an aborted branch, although a callback on the branch fails open', async () => {
  const { middleware } = setUp()
  const late = deferred()
  middleware.registerIntercept('hasty', 'tool_execution', async (_call, next) => {
    void next()
    return 'own'
  })
  middleware.registerMiddleware('tool_execution', async ({ next_call }) => {
    await late.promise
    return next_call()
  })
  let runs = 0
  const call = toolCall({
    async handler() {
      runs += 1
      return 'tool'
    },
  })
  assert.equal(await middleware.tool(call), 'own')
  late.resolve()
  await nextTurn()
  assert.equal(runs, 0)
})

test('a callback that calls next after an abort cannot turn the rejection into a result', async () => {
  for (const family of ['nemo', 'hermes'] as const) {
    const { middleware } = setUp()
    const stop = new AbortController()
    const reason = new Error('stopped')
    const answer = async (next: () => Promise<unknown>) => {
      stop.abort(reason)
      return next().catch(() => 'all is well')
    }
    if (family === 'nemo') middleware.registerIntercept('calm', 'tool_execution', (_call, next) => answer(next))
    else middleware.registerMiddleware('tool_execution', ({ next_call }) => answer(next_call))
    assert.equal(await rejection(middleware.tool(toolCall({ signal: stop.signal }))), reason, family)
  }
})
