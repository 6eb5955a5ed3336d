/**
 * Two processes change the same memory file, as the daemon and another program with the same home do.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { createTestMemory } from './support.ts'

const sourceUrl = (path: string) => JSON.stringify(new URL(`../../../src/${path}`, import.meta.url).href)

/** Adds entries one after another, and prints the codes of the failures. */
const writer = `
  const { createMemoryStore } = await import(${sourceUrl('agent/memory/memory-store.ts')})
  const { memoryConfig } = await import(${sourceUrl('agent/memory/config.ts')})
  const { silentLog } = await import(${sourceUrl('lib/log.ts')})
  const settings = memoryConfig.memory.parse({})
  const store = createMemoryStore({ directory: process.argv[1], settings: () => ({ memory: settings }), holdsSecret: () => false,
    clock: Date.now, log: silentLog, failpoint: () => undefined })
  process.stdout.write('ready')
  for (let at = 0; at < 15; at++) {
    const operations = [{ action: 'add', content: 'other ' + at }]
    const result = await store.write({ target: 'memory', operations }, new AbortController().signal)
    if (!result.ok) process.stdout.write(result.failure.code)
  }`

test('two processes that write at the same time lose no entry', async (t) => {
  const memory = await createTestMemory(t)
  const child = spawn(process.execPath, ['--input-type=module', '--eval', writer, memory.directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  let output = ''
  child.stdout.on('data', (piece) => {
    output += piece
  })
  await once(child.stdout, 'data')
  for (let at = 0; at < 15; at++) {
    const { success } = await memory.call({ action: 'add', target: 'memory', content: `own ${at}` })
    assert.equal(success, true)
  }
  await ended
  assert.equal(output, 'ready')
  const expected = Array.from({ length: 15 }, (_, at) => [`own ${at}`, `other ${at}`]).flat()
  assert.deepEqual(memory.text().split('\n§\n').sort(), expected.sort())
})
