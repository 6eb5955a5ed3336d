import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { createPolling } from '../../../../platforms/telegram/connection/polling.ts'
import { ApiError } from '../../../../platforms/telegram/errors.ts'
import type { JsonRecord } from '../../../../platforms/telegram/inbound/payload.ts'
import { HermesError } from '../../../../src/lib/errors.ts'
import { createRecordingContext } from '../../../kit/recording-context.ts'
import { createVirtualTime } from '../../virtual-time.ts'
import { signal } from '../support.ts'

type PollResponse =
  | readonly unknown[]
  | Error
  | 'hang'
  | { readonly afterMs: number; readonly updates: readonly unknown[] }

/** Telegram sends the given responses, then empty ones. */
function setUp(t: TestContext, answers: PollResponse[], store?: (updates: readonly unknown[]) => Promise<void>) {
  const time = createVirtualTime()
  const questions: { offset: number; timeout: number; at: number }[] = []
  const ingested: (readonly unknown[])[] = []
  const healths: string[] = []
  const refusals: string[] = []
  const { context } = createRecordingContext()
  const connection = {
    ...context.connection,
    health: (state: string, reason?: string) => void healths.push(reason === undefined ? state : `${state}: ${reason}`),
    refused: (reason: string) => void refusals.push(reason),
  }
  const api = {
    async call(_method: string, payload: JsonRecord, over: AbortSignal) {
      const question = { offset: Number(payload['offset']), timeout: Number(payload['timeout']) }
      questions.push({ ...question, at: time.clock() })
      const answer = answers.shift() ?? { afterMs: question.timeout * 1_000, updates: [] }
      if (answer instanceof Error) throw answer
      if (answer === 'hang') await time.sleep(Number.MAX_SAFE_INTEGER, over)
      else if ('afterMs' in answer) await time.sleep(answer.afterMs, over)
      if (over.aborted) throw new ApiError('aborted', { notExecuted: false })
      if (answer === 'hang') return []
      return 'afterMs' in answer ? answer.updates : answer
    },
  }
  const poll = createPolling(
    { api, context: { ...context, connection } },
    store ?? (async (updates) => void ingested.push(updates)),
    { sleep: time.sleep, now: time.clock, random: () => 1 },
  )
  t.after(() => poll.stop())
  return { poll, time, questions, ingested, healths, refusals }
}

const update = (id: number, message: Readonly<Record<string, unknown>> = {}) => ({ update_id: id, message })
const refusal = (code: number, text: string, retryAfterMs?: number) =>
  new ApiError(`Telegram answered ${code}: ${text}`, {
    code,
    retryAfterMs,
    notExecuted: true,
  })
const quiet = { afterMs: 7_000, updates: [] }
const connectionLost = () => new ApiError('Telegram could not be reached: read ECONNRESET', { notExecuted: false })

test('the first request returns at once, the following ones wait for updates', async (t) => {
  const { poll, time, questions, ingested } = setUp(t, [[update(5)], [update(6), update(7)]])
  await poll.start(signal)
  await time.flush()
  assert.deepEqual(
    questions.map(({ offset, timeout }) => [offset, timeout]),
    [
      [0, 0],
      [6, 7],
      [8, 7],
    ],
  )
  assert.deepEqual(ingested, [[update(5)], [update(6), update(7)]])
})

test('updates that could not be stored are not confirmed', async (t) => {
  let full = true
  const { poll, time, questions, healths } = setUp(t, [[update(5)], [update(5)], [update(5)]], async () => {
    if (full) throw new HermesError('store/full')
  })
  await poll.start(signal)
  await time.advance(5_000)
  assert.deepEqual([...new Set(questions.map(({ offset }) => offset))], [0])
  assert.equal(healths.length > 0 && healths.every((line) => line.includes('messages cannot be stored')), true)
  full = false
  await time.advance(60_000)
  assert.equal(questions.at(-1)?.offset, 0, 'no update was received, so there is none to confirm')
})

test('updates are confirmed once they are stored, and the health recovers', async (t) => {
  const failures = [new HermesError('store/full'), new HermesError('store/full')]
  const { poll, time, questions, healths } = setUp(t, [[update(5)], [update(5)], [update(5)]], async () => {
    const failure = failures.shift()
    if (failure !== undefined) throw failure
  })
  await poll.start(signal)
  await time.advance(20_000)
  assert.deepEqual(
    questions.slice(0, 4).map(({ offset }) => offset),
    [0, 0, 0, 6],
  )
  assert.equal(healths.at(-1), 'connected')
})

test('two lost connections in a row are reported, one is not, and retries stay within ten seconds', async (t) => {
  const { poll, time, questions, healths } = setUp(t, [
    [],
    connectionLost(),
    quiet,
    ...Array.from({ length: 9 }, connectionLost),
    [],
  ])
  await poll.start(signal)
  await time.advance(1_000)
  assert.deepEqual(healths, [])
  await time.advance(60_000)
  assert.match(healths[0] ?? '', /^degraded: .*ECONNRESET/)
  assert.equal(healths.at(-1), 'connected')
  const gaps = questions.slice(1).map(({ at }, index) => at - (questions[index]?.at ?? 0))
  assert.deepEqual(gaps.slice(3, 12), [300, 600, 1_200, 2_400, 4_800, 8_000, 8_000, 8_000, 8_000])
})

test('an unreachable network is reported with one text, although the errors differ', async (t) => {
  const unmade = () => new ApiError('Telegram could not be reached: connect ECONNREFUSED', { notExecuted: true })
  const { poll, time, healths } = setUp(t, [
    [],
    connectionLost(),
    connectionLost(),
    unmade(),
    connectionLost(),
    unmade(),
    [],
  ])
  await poll.start(signal)
  await time.advance(60_000)
  assert.deepEqual([...new Set(healths)], ['degraded: Telegram could not be reached: read ECONNRESET', 'connected'])
})

test('a dead connection is detected and replaced', async (t) => {
  const { poll, time, ingested, healths } = setUp(t, [[], 'hang', [update(1)]])
  await poll.start(signal)
  // The wait, the margin of a fast connection, and the pause.
  await time.advance(9_799)
  assert.deepEqual(ingested, [])
  await time.advance(1)
  assert.deepEqual([ingested, healths], [[[update(1)]], []])
})

test('the time limit adapts to a slow connection', async (t) => {
  const slow = (afterMs: number, updates: readonly unknown[] = []) => ({ afterMs, updates })
  const known = setUp(t, [slow(2_000), slow(11_000), slow(14_000, [update(1)])])
  const starting = known.poll.start(signal)
  await known.time.advance(27_000)
  await starting
  assert.deepEqual(known.ingested, [[update(1)]])

  const late = Array.from({ length: 5 }, () => slow(20_000, [update(2)]))
  const learning = setUp(t, [[], ...late])
  await learning.poll.start(signal)
  await learning.time.advance(100_000)
  assert.deepEqual(learning.ingested[0], [update(2)])
})

test('a conflict with another program is reported and retried', async (t) => {
  const conflict = () => refusal(409, 'Conflict: terminated by other getUpdates request')
  const { poll, time, healths, ingested } = setUp(t, [conflict(), conflict(), conflict(), conflict(), [update(1)]])
  await poll.start(signal)
  await time.advance(30_000)
  assert.match(healths[0] ?? '', /^degraded: /)
  assert.equal(healths.at(-1), 'connected')
  assert.deepEqual(ingested, [[update(1)]])
})

test('a conflict with a webhook is reported as such', async (t) => {
  const { poll, time, healths } = setUp(t, [
    refusal(409, "Conflict: can't use getUpdates method while webhook is active"),
    refusal(409, "Conflict: can't use getUpdates method while webhook is active"),
  ])
  await poll.start(signal)
  await time.flush()
  assert.match(healths[0] ?? '', /mode: webhook/)
})

test('a token that is revoked ends polling', async (t) => {
  const { poll, time, questions, refusals } = setUp(t, [[], refusal(401, 'Unauthorized'), refusal(401, 'Unauthorized')])
  await poll.start(signal)
  await time.advance(60_000)
  assert.equal(refusals.length, 1)
  assert.match(refusals[0] ?? '', /@BotFather/)
  assert.equal(questions.length, 2)
})

test('a rate limit is respected', async (t) => {
  const { poll, time, questions } = setUp(t, [[], refusal(429, 'Too Many Requests: retry after 12', 12_000)])
  await poll.start(signal)
  await time.advance(11_999)
  assert.equal(questions.length, 2)
  await time.advance(1)
  assert.equal(questions.length, 3)
})

test('a first request that fails fails the start', async (t) => {
  const { poll, time, questions } = setUp(t, [connectionLost()])
  await assert.rejects(poll.start(signal), /ECONNRESET/)
  await time.advance(60_000)
  assert.equal(questions.length, 1)
})

test('the parts of an album that arrive a little later are accepted with the first', async (t) => {
  const part = (id: number) => update(id, { media_group_id: '7', chat: { id: 1 } })
  const { poll, time, ingested } = setUp(t, [[part(1)], [part(1), part(2)]])
  const starting = poll.start(signal)
  await time.flush()
  assert.deepEqual(ingested, [])
  await time.advance(400)
  await starting
  assert.deepEqual(ingested, [[part(1), part(2)]])
})

test('a response without updates is a failure that is retried', async (t) => {
  const nonsense: PollResponse[] = [[], [{ no: 'number' }], [update(3)]]
  const { poll, time, ingested, questions } = setUp(t, nonsense)
  await poll.start(signal)
  await time.advance(1_000)
  assert.deepEqual(ingested.at(-1), [update(3)])
  assert.equal(questions.at(-1)?.offset, 4)
})

test('an update that takes long to store delays neither later updates nor loses its confirmation', async (t) => {
  const slow = Promise.withResolvers<void>()
  const stored: number[] = []
  const answers = [[update(5)], [update(5), update(6)], [update(5), update(6)]]
  const { poll, time, questions } = setUp(t, answers, async (updates) => {
    if (isDeepStrictEqual(updates, [update(5)])) await slow.promise
    stored.push(...updates.map((each) => (isDeepStrictEqual(each, update(5)) ? 5 : 6)))
  })
  await poll.start(signal)
  await time.advance(1_100)
  assert.deepEqual(stored, [6], 'the later update is stored once')
  assert.deepEqual([...new Set(questions.map(({ offset }) => offset))], [0], 'nothing is confirmed')
  slow.resolve()
  await time.advance(500)
  assert.deepEqual(stored, [6, 5])
  assert.equal(questions.at(-1)?.offset, 7)
  assert.equal(questions.at(-1)?.timeout, 7)
})

test('update ids that restart at a lower number are accepted', async (t) => {
  const { poll, time, questions } = setUp(t, [[update(900)], [update(17)]])
  await poll.start(signal)
  await time.flush()
  assert.equal(questions.at(-1)?.offset, 18)
})

test('stop ends polling at once', async (t) => {
  for (const answers of [['hang'], [connectionLost(), connectionLost()], [refusal(429, 'wait', 3_600_000)]] as const) {
    const { poll, time, questions } = setUp(t, [[], ...answers])
    await poll.start(signal)
    await time.flush()
    await poll.stop()
    await poll.stop()
    const asked = questions.length
    await time.advance(100_000)
    assert.equal(questions.length, asked)
  }
})
