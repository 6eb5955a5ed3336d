/**
 * Two processes change auth.json at the same time, as the daemon and `hermes chat` or Hermes itself do.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { withCredential } from '../../../../src/agent/models/credentials/state.ts'
import { tempHome } from '../../../kit/temp-home.ts'
import { openPool } from './support.ts'

const rounds = 8

/** Uses a key in each of its turns, and stores each turn. */
const user = `
  const { openPool } = await import(${JSON.stringify(new URL('./support.ts', import.meta.url).href)})
  const { pool, state } = openPool(process.argv[1], () => Date.now())
  process.stdout.write('ready')
  for (let turn = 0; turn < ${rounds}; turn++) {
    pool.lease('openai').succeeded()
    await state.flush()
  }
  pool.lease('openai').failed({ kind: 'billing', status: 402, message: 'no credit' })
  await state.flush()`

test('two processes that write at the same time lose and repeat nothing', async (t) => {
  const path = join(tempHome(t), 'auth.json')
  const entry = { id: 'a', source: 'manual', access_token: 'secret-of-a', priority: 0, extra: { kept: true } }
  // For the turns of this process once the first key rests.
  const spare = { ...entry, id: 'spare', access_token: 'secret-of-spare', priority: 1 }
  writeFileSync(path, JSON.stringify({ version: 1, credential_pool: { openai: [entry, spare] } }), { mode: 0o600 })
  const child = spawn(process.execPath, ['--input-type=module', '--eval', user, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  await once(child.stdout, 'data')
  const { pool, state, update } = openPool(path, Date.now)
  for (let turn = 0; turn < rounds; turn++) {
    pool.lease('openai')?.succeeded()
    await state.flush()
    const [a] = state.list('openai')
    assert.ok(a !== undefined)
    const added = { ...a, id: `b${turn}`, secret: `secret-of-b${turn}`, priority: 10, requestCount: 0 }
    await update((file) => withCredential(file, 'openai', added))
  }
  assert.deepEqual(await ended, [0, null])
  const { credential_pool: stored }: { credential_pool: { openai: { id: string; [field: string]: unknown }[] } } =
    JSON.parse(readFileSync(path, 'utf8'))
  assert.deepEqual(
    stored.openai.map(({ id }) => id),
    ['a', 'spare', ...Array.from({ length: rounds }, (_, turn) => `b${turn}`)],
  )
  const [a] = stored.openai
  const uses = stored.openai.map((one) => Number(one['request_count'] ?? 0))
  assert.equal(
    uses.reduce((sum, count) => sum + count, 0),
    2 * rounds + 1,
  )
  assert.equal(a?.['last_error_code'], 402)
  assert.deepEqual(a?.['extra'], { kept: true })
})
