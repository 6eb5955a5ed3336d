import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { createLineTransport } from '../../../src/clients/mcp-server/line-transport.ts'

interface Spoken {
  readonly received: unknown[]
  readonly answers: unknown[]
  readonly invalid: string[]
}

/** What a transport does with this input. */
async function speak(...chunks: readonly Buffer[]): Promise<Spoken> {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const received: unknown[] = []
  const invalid: string[] = []
  const options = { input, output, maxLineBytes: 1_000, onInvalidLine: (reason: string) => void invalid.push(reason) }
  const transport = createLineTransport(options)
  transport.onmessage = (message) => void received.push(message)
  const closed = new Promise<void>((resolve) => {
    transport.onclose = resolve
  })
  await transport.start()
  for (const chunk of chunks) input.write(chunk)
  input.end()
  await closed
  output.end()
  const lines = (await text(output)).split('\n').filter((line) => line !== '')
  return { received, answers: lines.map((line) => JSON.parse(line)), invalid }
}

const ping = (id: number) => Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })}\n`)

test('messages arrive whole, however they are cut', async () => {
  const bytes = Buffer.concat([ping(1), Buffer.from('\r\n\n'), ping(2)])
  const { received } = await speak(...Array.from(bytes, (byte) => Buffer.from([byte])))
  assert.deepEqual(
    received.map((message) => (message instanceof Object && 'id' in message ? message.id : undefined)),
    [1, 2],
  )
})

test('lines that are no messages are answered with an error, and the next message is read', async () => {
  const garbage = ['{', 'hello', '[]', '{"jsonrpc":"1.0"}', '\u0000\u0001', 'null'].map((line) =>
    Buffer.from(`${line}\n`),
  )
  const { received, answers, invalid } = await speak(...garbage, ping(7))
  assert.equal(received.length, 1)
  assert.equal(invalid.length, garbage.length)
  assert.equal(answers.length, garbage.length)
  for (const answer of answers) assert.equal(Object(answer).error.code, -32_700)
})

test('a message that is too long is skipped without being kept, and the next one is read', async () => {
  const long = Buffer.concat([Buffer.alloc(600, 'x'), Buffer.alloc(600, 'y'), Buffer.from('\n')])
  const { received, answers } = await speak(
    Buffer.alloc(900, 'z'),
    Buffer.alloc(900, 'z'),
    long,
    ping(3),
    long,
    ping(4),
  )
  assert.equal(received.length, 2)
  assert.deepEqual(
    answers.map((answer) => Object(answer).error.code),
    [-32_600, -32_600],
  )
})
