import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createSseReader } from '../../../src/agent/models/sse-reader.ts'

const limits = { maxEventChars: 1000, maxStreamChars: 10_000 }

function bodyOf(...parts: (string | Uint8Array)[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return ReadableStream.from(parts.map((part) => (typeof part === 'string' ? encoder.encode(part) : part)))
}

async function eventsOf(body: ReadableStream<Uint8Array>): Promise<string[]> {
  const reader = createSseReader(body, limits)
  const events: string[] = []
  for (;;) {
    const batch = await reader.read()
    if (batch === null) return events
    events.push(...batch)
  }
}

test('events are read whatever line ends, comments and field names surround them', async () => {
  const text =
    ': hello\r\nevent: a\r\nid: 7\r\ndata: one\r\n\r\nretry: 5\ndata:two\ndata: three\n\n\n\ndata\n\ndata: \n\n'
  assert.deepEqual(await eventsOf(bodyOf(text)), ['one', 'two\nthree', ''])
})

test('a last event without its blank line still counts', async () => {
  assert.deepEqual(await eventsOf(bodyOf('data: one\n\ndata: two')), ['one', 'two'])
  assert.deepEqual(await eventsOf(bodyOf('data: one\n\ndata: two\r\n')), ['one', 'two'])
})

test('events do not depend on where the network cuts them, not even inside a character', async () => {
  const bytes = new TextEncoder().encode('data: {"a":"ä€😀"}\r\n\r\n: ping\n\ndata: zwei\n\n')
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 8 }), async (cuts) => {
      const edges = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
      const parts = edges.slice(1).map((end, at) => bytes.slice(edges[at], end))
      assert.deepEqual(await eventsOf(bodyOf(...parts)), ['{"a":"ä€😀"}', 'zwei'])
    }),
    { numRuns: 100, seed: 7 },
  )
})

test('an event, a line and a stream that are too long are refused', async () => {
  await assert.rejects(eventsOf(bodyOf(`data: ${'x'.repeat(1001)}`)), /more than 1000 characters/)
  await assert.rejects(
    eventsOf(bodyOf(...Array(30).fill('data: 0123456789012345678901234567890123456789\n'))),
    /more than 1000/,
  )
  await assert.rejects(eventsOf(bodyOf(...Array(2000).fill(': ping\n\n'))), /more than 10000/)
})

test('a line without an end is refused while it still comes', async () => {
  const endless = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(`data: ${'x'.repeat(1001)}`)),
  })
  await assert.rejects(eventsOf(endless), /more than 1000/)
})

test('text that is no event stream is remembered for the error message', async () => {
  const reader = createSseReader(bodyOf('<html>\n<title>Log in</title>\n'), limits)
  await reader.read()
  assert.match(reader.nonEventText, /Log in/)
})
