import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ModelError, type ModelErrorKind, type Provider } from '../../../src/agent/models/provider.ts'
import { type RequestModelDeps, requestModel } from '../../../src/agent/models/request-model.ts'
import { type ScriptStep, scriptedProvider } from '../../kit/scripted-provider.ts'
import { agentDeps, question, turnInfo } from '../run-test-agent.ts'

const yes: ScriptStep = { chunks: ['y', 'es'] }

interface Setting extends Partial<RequestModelDeps> {
  readonly played?: Provider
}

function modelCall(script: readonly ScriptStep[], setting: Setting = {}, stop = new AbortController()) {
  const { played, ...more } = setting
  const provider = scriptedProvider(script)
  const texts: string[] = []
  const { pauses, ...plain } = agentDeps()
  const input = { model: 'm', system: '', messages: [question], tools: [] }
  const reply = requestModel(
    { ...plain, maxRetries: () => 4, ...more },
    {
      provider: played ?? provider,
      turn: turnInfo,
      iteration: 1,
      previousCalls: 0,
      input,
      signal: stop.signal,
      onText: (text) => texts.push(text),
    },
  )
  return { answer: reply.then(({ output }) => output), provider, pauses, texts, stop }
}

test('people see the text grow while the model writes it', async () => {
  const { answer, texts } = modelCall([yes])
  assert.equal((await answer).text, 'yes')
  assert.deepEqual(texts, ['y', 'yes'])
})

for (const problem of ['rate-limit', 'overloaded', 'network', 'timeout'] satisfies ModelErrorKind[]) {
  test(`${problem}: the call is tried again after growing pauses`, async () => {
    const fault = new ModelError(problem, 'not now')
    const { answer, pauses, provider } = modelCall([fault, fault, fault, yes])
    assert.equal((await answer).text, 'yes')
    assert.deepEqual(pauses, [1_000, 2_000, 4_000])
    assert.equal(provider.calls(), 4)
  })
}

for (const problem of ['auth', 'billing', 'context', 'invalid-request', 'bad-response'] satisfies ModelErrorKind[]) {
  test(`${problem}: trying again would not help, so the person is told at once`, async () => {
    const fault = new ModelError(problem, 'no')
    const { answer, pauses, provider } = modelCall([fault, yes])
    await assert.rejects(answer, (error) => error === fault)
    assert.deepEqual(pauses, [])
    assert.equal(provider.calls(), 1)
  })
}

test('a vendor that names its pause is not asked earlier', async () => {
  const fault = new ModelError('rate-limit', 'later', { retryAfterMs: 17_000 })
  const { answer, pauses } = modelCall([fault, yes])
  await answer
  assert.deepEqual(pauses, [17_000])
})

test('a pause of many minutes is not waited for: the person is told', async () => {
  const fault = new ModelError('rate-limit', 'in an hour', { retryAfterMs: 3_600_000 })
  const { answer, pauses } = modelCall([fault, yes])
  await assert.rejects(answer, (error) => error === fault)
  assert.deepEqual(pauses, [])
})

test('after the allowed number of tries the last problem is told', async () => {
  const faults = [1, 2, 3].map((number) => new ModelError('overloaded', `fault ${number}`))
  const { answer, provider } = modelCall(faults, { maxRetries: () => 2 })
  await assert.rejects(answer, (error) => error === faults[2])
  assert.equal(provider.calls(), 3)
  const once = modelCall(faults, { maxRetries: () => 0 })
  await assert.rejects(once.answer, (error) => error === faults[0])
})

test('an error that is none of the known ones is not hidden by tries', async () => {
  const fault = new TypeError('a defect')
  const { answer, provider } = modelCall([fault, yes])
  await assert.rejects(answer, (error) => error === fault)
  assert.equal(provider.calls(), 1)
})

test('what a broken attempt had shown is taken back before the next one', async () => {
  const provider = scriptedProvider([{ chunks: ['half an ans'], hang: true }, yes])
  let attempt = 0
  const { answer, texts } = modelCall([], {
    played: {
      ...provider,
      async *stream(request, signal) {
        attempt += 1
        if (attempt > 1) return yield* provider.stream(request, signal)
        const chunks = provider.stream(request, signal)
        const first = await chunks.next()
        if (first.done !== true) yield first.value
        throw new ModelError('network', 'the line broke')
      },
    },
  })
  assert.equal((await answer).text, 'yes')
  assert.deepEqual(texts, ['half an ans', '', 'y', 'yes'])
})

test('a stop in the middle of a stream ends the call with the reason of the stop', async () => {
  const { answer, provider, stop, texts } = modelCall([{ chunks: ['half'], hang: true }])
  await provider.hanging
  const reason = new Error('stop')
  stop.abort(reason)
  await assert.rejects(answer, (error) => error === reason)
  assert.deepEqual(texts, ['half'])
})

test('a stop wins over whatever error the broken stream brings', async () => {
  const stop = new AbortController()
  const reason = new Error('stop')
  const provider = scriptedProvider([])
  const played: Provider = {
    ...provider,
    // biome-ignore lint/correctness/useYield: the stream breaks before its first chunk.
    async *stream() {
      stop.abort(reason)
      throw new ModelError('network', 'the line broke')
    },
  }
  await assert.rejects(modelCall([yes], { played }, stop).answer, (error) => error === reason)
})

test('a stop during the pause before the next try ends it without another call', async () => {
  const stop = new AbortController()
  const reason = new Error('stop')
  const sleep = async () => stop.abort(reason)
  const { answer, provider } = modelCall([new ModelError('overloaded', 'no'), yes], { sleep }, stop)
  await assert.rejects(answer, (error) => error === reason)
  assert.equal(provider.calls(), 1)
})

test('a call for a turn that is already stopped is not made', async () => {
  const stop = new AbortController()
  stop.abort(new Error('stop'))
  const { answer, provider } = modelCall([yes], {}, stop)
  await assert.rejects(answer, /stop/)
  assert.equal(provider.calls(), 0)
})
