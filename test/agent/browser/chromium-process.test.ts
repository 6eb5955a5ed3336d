import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createPipeTransport, maxMessageBytes, startChromium } from '../../../src/agent/browser/chromium-process.ts'
import { tempHome } from '../../kit/temp-home.ts'

function openPipe() {
  const input = new PassThrough()
  const output = new PassThrough()
  const received: unknown[] = []
  const events: string[] = []
  const transport = createPipeTransport(input, output, () => void events.push('flood'))
  transport.onmessage = (message) => void received.push(message)
  transport.onclose = () => void events.push('closed')
  return { input, output, transport, received, events }
}

test('messages of the browser are read whole, however the pipe cuts them', async () => {
  const { output, received } = openPipe()
  const bytes = Buffer.from('{"id":1,"text":"ä"}\0{"id":2}\0{"id":3}\0')
  for (const byte of bytes) output.write(Buffer.of(byte))
  output.write('{"id":4}\0{"id":5}\0{"id"')
  while (received.length < 5) await nextTurn()
  assert.deepEqual(received, [{ id: 1, text: 'ä' }, ...[2, 3, 4, 5].map((id) => ({ id }))])
})

test('a message that is too long ends the connection before it fills the memory', async () => {
  const { input, output, transport, received, events } = openPipe()
  output.write(`{"text":"${'x'.repeat(maxMessageBytes - 11)}"}\0`)
  while (received.length < 1) await nextTurn()
  const megabyte = Buffer.alloc(1_048_576, 'x')
  for (let written = 0; written <= maxMessageBytes && !output.destroyed; written += megabyte.length)
    if (!output.write(megabyte)) await Promise.race([once(output, 'drain'), once(output, 'close')])
  while (events.length < 2) await nextTurn()
  assert.deepEqual([events, output.destroyed, input.writableEnded], [['closed', 'flood'], true, true])
  assert.throws(() => transport.send({}))
})

test('the end of the browser closes the connection once', async () => {
  const { output, transport, events } = openPipe()
  output.destroy()
  await once(output, 'close')
  transport.close()
  assert.deepEqual(events, ['closed'])
})

test('a browser gets a folder for temporary files in which its socket has a path that is short enough', async (t) => {
  const profile = tempHome(t)
  const executablePath = join(profile, 'browser')
  writeFileSync(executablePath, '#!/bin/sh\nprintf %s "$TMPDIR" >used\n', { mode: 0o700 })
  const usedFor = async (folder: string) => {
    const env = { PATH: '/usr/bin:/bin', TMPDIR: folder }
    await startChromium({ executablePath, profile, args: [], env, onFlood: () => undefined }).exited
    return readFileSync(join(profile, 'used'), 'utf8')
  }
  assert.equal(await usedFor('/var/tmp'), '/var/tmp')
  assert.equal(await usedFor(`/var/tmp/${'long-'.repeat(20)}`), '/tmp')
})
