import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ModelError } from '../../../src/agent/models/provider.ts'
import { createSseReader } from '../../../src/agent/models/sse-reader.ts'

const badResponse = (error: unknown) => error instanceof ModelError && error.kind === 'bad-response'
const limits = [1000, 10_000] as const

function bodyOf(...parts: (string | Uint8Array)[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return ReadableStream.from(parts.map((part) => (typeof part === 'string' ? encoder.encode(part) : part)))
}

async function eventsOf(body: ReadableStream<Uint8Array>): Promise<string[]> {
  const reader = createSseReader(body.getReader(), ...limits)
  const events: string[] = []
  for (;;) {
    const batch = await reader.read()
    if (batch === null) return events
    events.push(...batch)
  }
}

test('events are read with any line ends, and comments and other fields are ignored', async () => {
  const text =
    ': hello\r\nevent: a\r\nid: 7\r\ndata: one\r\n\r\nretry: 5\ndata:two\ndata: three\n\n\n\ndata\n\ndata: \n\n'
  assert.deepEqual(await eventsOf(bodyOf(text)), ['one', 'two\nthree'])
})

test('a last event without its blank line is read', async () => {
  assert.deepEqual(await eventsOf(bodyOf('data: one\n\ndata: two')), ['one', 'two'])
  assert.deepEqual(await eventsOf(bodyOf('data: one\n\ndata: two\r\n')), ['one', 'two'])
})

test('events do not depend on the borders of network chunks, not even inside a character', async () => {
  const bytes = new TextEncoder().encode('data: {"a":"ä€😀"}\r\n\r\n: ping\n\ndata: two\n\n')
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 8 }), async (cuts) => {
      const edges = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
      const parts = edges.slice(1).map((end, at) => bytes.slice(edges[at], end))
      assert.deepEqual(await eventsOf(bodyOf(...parts)), ['{"a":"ä€😀"}', 'two'])
    }),
    { numRuns: 100, seed: 7 },
  )
})

test('an event, a line and a stream that are too long are rejected', async () => {
  await assert.rejects(eventsOf(bodyOf(`data: ${'x'.repeat(1001)}`)), badResponse)
  await assert.rejects(
    eventsOf(bodyOf(...Array(30).fill('data: 0123456789012345678901234567890123456789\n'))),
    badResponse,
  )
  await assert.rejects(eventsOf(bodyOf(...Array(2000).fill(': ping\n\n'))), badResponse)
})

test('an endless line is rejected while it is received', async () => {
  const endless = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(`data: ${'x'.repeat(1001)}`)),
  })
  await assert.rejects(eventsOf(endless), badResponse)
})

async function nonEventTextOf(...parts: string[]): Promise<string> {
  const reader = createSseReader(bodyOf(...parts).getReader(), ...limits)
  while ((await reader.read()) !== null);
  return reader.nonEventText
}

test('text that is not an event stream is kept for the error message', async () => {
  assert.match(await nonEventTextOf('<html>\n<title>Log in</title>\n'), /Log in/)
  assert.match(await nonEventTextOf('{"detail":', '"Log in"}'), /Log in/)
  assert.match(await nonEventTextOf('data: one\n\n', 'Internal error\n'), /Internal error/)
  for (const text of ['', ': ping\n\n', 'data: one\n\n', '\n\nevent: a', 'retry: 5'])
    assert.equal(await nonEventTextOf(text), '', text)
})
