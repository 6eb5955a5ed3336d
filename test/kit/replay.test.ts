import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MessageEvent } from '../../src/message/event.ts'
import { mutatedPayloads } from './mutations.ts'
import { type ReplayCase, type ReplaySubject, tryPayloads, valueAt } from './replay.ts'

const payload = {
  id: 7,
  from: { id: 42, name: 'Ada', bot: false },
  reply: { from: { id: 42 }, text: 'earlier' },
  chat: { id: -100, type: 'group' },
  text: 'hello',
  entities: [{ type: 'mention', offset: 0 }],
}
const fromEve = { ...payload, from: { id: 6, name: 'Eve', bot: false } }
const cases: ReplayCase[] = [payload, fromEve].map((one, index) => ({
  name: `case ${index}`,
  file: `${index}.json`,
  payload: one,
  expected: [],
}))

const correct: ReplaySubject = {
  platform: 'made-up',
  allowed: '42',
  authors: (from) => [valueAt(from, 'from', 'id')],
  normalize(from) {
    const id = valueAt(from, 'from', 'id')
    if (typeof id !== 'number' && typeof id !== 'string') return []
    return [eventFrom(String(id), valueAt(from, 'text'))]
  },
}

function eventFrom(userId: string, text: unknown): MessageEvent {
  const source = { platform: 'made-up', account: 'default', chatId: 'chat', chatType: 'group' as const, userId }
  return { source, text: typeof text === 'string' ? text : '', messageType: 'text', timestamp: 0 }
}

const run = (subject: ReplaySubject) => tryPayloads(subject, cases, { seed: 1, count: 400 })

test('a correct platform accepts every payload and admits allowed users', () => {
  const { count, failures, admitted, refused } = run(correct)
  assert.deepEqual(failures, [])
  assert.equal(count, 400)
  assert.ok(admitted > 50 && refused > 50, `${admitted} let in, ${refused} refused`)
})

test('a platform that relies on the shape of a payload fails', () => {
  const { failures } = run({
    ...correct,
    normalize: (from) => [eventFrom(String(Object(from).from.id), Object(from).text.trim())],
  })
  assert.ok(failures.some((failure) => failure.includes('threw TypeError')))
})

test('a platform that admits a user who is not the author fails', () => {
  const { failures } = run({
    ...correct,
    normalize: (from) => [eventFrom(String(valueAt(from, 'from', 'id') ?? valueAt(from, 'reply', 'from', 'id')), '')],
  })
  assert.ok(failures.some((failure) => failure.includes('admitted a user who is not an author')))
})

test('a platform that marks a payload as internal fails', () => {
  const { failures } = run({ ...correct, normalize: () => [{ ...eventFrom('6', ''), internal: true }] })
  assert.ok(failures.length > 0)
})

test('the slowest payload is reported', () => {
  const { slowest } = run({
    ...correct,
    normalize(from) {
      const text = String(valueAt(from, 'text'))
      for (let pass = 0; pass < 20 && text.length > 100_000; pass += 1) JSON.stringify([text, text])
      return []
    },
  })
  assert.match(slowest.what, /\d\.json: .* at payload/)
  assert.ok(slowest.cpuMs > 0)
})

test('mutated payloads depend only on the seed, differ from each other and contain names of prototypes', () => {
  const shape = (seed: number) =>
    [...mutatedPayloads([payload], seed, 300)].map(({ mutations, payload: made }) => ({
      deeds: mutations,
      names: namesIn(made),
    }))
  const first = shape(5)
  assert.deepEqual(first, shape(5))
  assert.notDeepEqual(first, shape(6))
  assert.ok(new Set(first.map(({ deeds }) => deeds.join())).size > 200)
  assert.ok(first.some(({ names }) => names.includes('__proto__')))
  assert.equal(Object.hasOwn(Object.prototype, 'isAdmin'), false)
})

test('valueAt reads no inherited properties', () => {
  assert.equal(valueAt(payload, 'from', 'name'), 'Ada')
  assert.equal(valueAt(payload, 'entities', '0', 'type'), 'mention')
  assert.equal(valueAt(payload, 'from', 'constructor', 'name'), undefined)
  assert.equal(valueAt(null, 'from'), undefined)
  assert.equal(valueAt(JSON.parse('{"__proto__": {"id": 1}}'), 'id'), undefined)
})

function namesIn(value: unknown): string[] {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : []
}
