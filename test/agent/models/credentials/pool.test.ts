/**
 * Several keys of one provider: which one a turn uses, and what happens when the provider refuses it.
 */
import assert from 'node:assert/strict'
import { chmodSync, lstatSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { replaceStoredValues } from '../../../../src/agent/models/credentials/shared-auth-file.ts'
import { strategies } from '../../../../src/agent/models/credentials/strategy.ts'
import { asArray, asRecord } from '../../../../src/lib/json.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { keys, limited, minute, refused, startPool, unpaid } from './support.ts'

test('a turn uses the first key as long as the provider accepts it', (t) => {
  const { pool } = startPool(t, { stored: keys('a', 'b') })
  for (let turn = 0; turn < 5; turn++) {
    const lease = pool.lease('openai')
    assert.equal(lease?.credential.id, 'a')
    lease?.succeeded()
  }
})

test('a refused key is replaced at once and comes back after five minutes', (t) => {
  const { pool, time } = startPool(t, { stored: keys('a', 'b') })
  const lease = pool.lease('openai')
  assert.equal(lease?.failed(refused), 'rotated')
  assert.equal(lease?.credential.id, 'b')
  assert.equal(pool.lease('openai')?.credential.id, 'b')
  time.now += 5 * minute - 1
  assert.equal(pool.lease('openai')?.credential.id, 'b')
  time.now += 1
  assert.equal(pool.lease('openai')?.credential.id, 'a')
})

test('a rate limit tries the same key once more, then rests it for an hour', (t) => {
  const { pool, time } = startPool(t, { stored: keys('a', 'b') })
  const lease = pool.lease('openai')
  assert.equal(lease?.failed(limited), 'same')
  assert.equal(lease?.credential.id, 'a')
  assert.equal(lease?.failed(limited), 'rotated')
  time.now += 60 * minute - 1
  assert.equal(pool.lease('openai')?.credential.id, 'b')
  time.now += 1
  assert.equal(pool.lease('openai')?.credential.id, 'a')
})

test('a rate limit of an hour is no reason to try the same key again', (t) => {
  const { pool } = startPool(t, { stored: keys('a', 'b') })
  assert.equal(pool.lease('openai')?.failed({ ...limited, retryAfterMs: 60 * minute }), 'rotated')
})

test('an answer between two rate limits starts the count again', (t) => {
  const { pool } = startPool(t, { stored: keys('a', 'b') })
  const lease = pool.lease('openai')
  assert.equal(lease?.failed(limited), 'same')
  lease?.succeeded()
  assert.equal(lease?.failed(limited), 'same')
})

test('the time that the provider sends counts instead of the usual one', (t) => {
  const { pool, time } = startPool(t, { stored: keys('a', 'b') })
  const lease = pool.lease('openai')
  assert.equal(lease?.failed({ ...unpaid, retryAfterMs: 2_000 }), 'rotated')
  time.now += 2_000
  assert.equal(pool.lease('openai')?.credential.id, 'a')
})

test('a reset time in ten years rests a key for a week, and one in the past has no effect', (t) => {
  const { pool, time } = startPool(t, { stored: keys('a', 'b') })
  const lease = pool.lease('openai')
  lease?.failed({ ...unpaid, retryAfterMs: 10 * 365 * 24 * 60 * minute })
  time.now += 7 * 24 * 60 * minute
  assert.equal(pool.lease('openai')?.credential.id, 'a')
  pool.lease('openai')?.failed({ ...refused, retryAfterMs: -5_000 })
  time.now += 5 * minute
  assert.equal(pool.lease('openai')?.credential.id, 'a')
})

test('a sole key that is limited rests for a minute, and one without credit for an hour', (t) => {
  const { pool, time, state } = startPool(t, { stored: keys('a') })
  const lease = pool.lease('openai')
  lease?.failed(limited)
  assert.equal(lease?.failed(limited), 'exhausted')
  assert.equal(state.list('openai')[0]?.health.cooldownUntil, time.now + minute)
  assert.equal(pool.lease('openai')?.failed(unpaid), 'exhausted')
  assert.equal(state.list('openai')[0]?.health.cooldownUntil, time.now + 60 * minute)
})

test('failures that have nothing to do with the key change nothing', (t) => {
  const { pool, state } = startPool(t, { stored: keys('a', 'b') })
  const lease = pool.lease('openai')
  for (const kind of ['overloaded', 'network', 'timeout', 'context', 'invalid-request', 'bad-response'] as const)
    assert.equal(lease?.failed({ kind, message: '' }), 'same')
  assert.deepEqual(
    state.list('openai').map(({ health }) => health.status),
    ['ok', 'ok'],
  )
})

test('when every key rests, the one that is usable soonest is leased', (t) => {
  const { pool, time } = startPool(t, { stored: keys('a', 'b', 'c') })
  const lease = pool.lease('openai')
  lease?.failed(unpaid)
  lease?.failed(refused)
  assert.equal(lease?.failed(unpaid), 'exhausted')
  time.now += minute
  assert.equal(pool.lease('openai')?.credential.id, 'b')
})

test('each strategy uses only keys that are not resting, and round robin and least used share the work', (t) => {
  fc.assert(
    fc.property(
      fc.constantFrom(...strategies),
      fc.integer({ min: 1, max: 6 }),
      fc.array(
        fc.record({
          fails: fc.boolean(),
          wait: fc.integer({ min: 0, max: 10 * minute }),
          random: fc.double({ min: 0, max: 1, noNaN: true }),
        }),
        { maxLength: 40 },
      ),
      (strategy, count, turns) => {
        const random = { value: 0 }
        const { pool, time, state } = startPool(t, {
          stored: keys(...Array.from({ length: count }, (_, index) => `k${index}`)),
          strategy,
          random: () => random.value,
        })
        for (const { fails, wait, random: value } of turns) {
          random.value = value
          const usable = state.list('openai').filter(({ health }) => health.cooldownUntil <= time.now)
          const lease = pool.lease('openai')
          assert.ok(lease !== undefined)
          assert.ok(usable.length === 0 || usable.some(({ id }) => id === lease.credential.id))
          if (fails) lease.failed(refused)
          else lease.succeeded()
          time.now += wait
        }
        const isFair = strategy === 'round_robin' || strategy === 'least_used'
        if (!isFair || turns.some(({ fails }) => fails)) return
        const uses = state.list('openai').map(({ requestCount }) => requestCount)
        assert.ok(Math.max(...uses) - Math.min(...uses) <= 1, `${strategy}: ${uses.join(' ')}`)
      },
    ),
    { numRuns: 100 },
  )
})

test('calls that run at the same time use different keys with least_used', (t) => {
  const { pool } = startPool(t, { stored: keys('a', 'b', 'c'), strategy: 'least_used' })
  const used = [1, 2, 3].map(() => {
    const lease = pool.lease('openai')
    lease?.begin()
    return lease?.credential.id
  })
  assert.deepEqual(used.sort(), ['a', 'b', 'c'])
})

test('a restart and another process know which keys rest', async (t) => {
  const { pool, state, open, time } = startPool(t, { stored: keys('a', 'b') })
  const other = open()
  assert.equal(other.pool.lease('openai')?.credential.id, 'a')
  pool.lease('openai')?.failed(unpaid)
  await state.flush()
  assert.equal(other.pool.lease('openai')?.credential.id, 'b')
  assert.equal(open().pool.lease('openai')?.credential.id, 'b')
  time.now += 60 * minute
  assert.equal(open().pool.lease('openai')?.credential.id, 'a')
})

test('a key of the environment is stored as a reference, never with its value', async (t) => {
  const referenced = [{ source: 'env:OPENAI_API_KEY', secret: 'sk-very-secret' }] as const
  const { pool, state, text, read } = startPool(t, { referenced, stored: keys('a') })
  assert.equal(pool.lease('openai')?.credential.secret, 'sk-very-secret')
  pool.lease('openai')?.failed(refused)
  await state.flush()
  assert.ok(!text().includes('sk-very-secret'))
  assert.match(text(), /"source": "env:OPENAI_API_KEY"/)
  assert.equal(read()['version'], 1)
})

test('a key that was replaced in the environment has no past', async (t) => {
  const { pool, state, setReferenced, open } = startPool(t, {
    referenced: [{ source: 'env:OPENAI_API_KEY', secret: 'sk-old-key' }],
    stored: keys('a'),
  })
  pool.lease('openai')?.failed(unpaid)
  await state.flush()
  assert.equal(open().pool.lease('openai')?.credential.id, 'a')
  setReferenced([{ source: 'env:OPENAI_API_KEY', secret: 'sk-new-key' }])
  assert.equal(open().pool.lease('openai')?.credential.secret, 'sk-new-key')
})

test('a key that left the environment is not used, and the same key in both places counts once', async (t) => {
  const { pool, state, setReferenced, open } = startPool(t, {
    referenced: [{ source: 'env:OPENAI_API_KEY', secret: 'secret-of-a' }],
    stored: keys('a', 'b'),
  })
  assert.deepEqual(
    state.list('openai').map(({ secret }) => secret),
    ['secret-of-a', 'secret-of-b'],
  )
  pool.lease('openai')?.failed(refused)
  await state.flush()
  setReferenced([])
  assert.deepEqual(
    open()
      .state.list('openai')
      .map(({ source }) => source),
    ['manual', 'manual'],
  )
})

test('a refused key that is in the environment and in the file goes on resting after that was stored', async (t) => {
  const { pool, state, open } = startPool(t, {
    referenced: [{ source: 'env:OPENAI_API_KEY', secret: 'secret-of-a' }],
    stored: keys('a', 'b'),
  })
  assert.equal(pool.lease('openai')?.failed(unpaid), 'rotated')
  await state.flush()
  for (const process of [{ pool, state }, open()]) {
    assert.equal(process.pool.lease('openai')?.credential.secret, 'secret-of-b')
    const [first] = process.state.list('openai')
    assert.deepEqual([first?.secret, first?.health.status], ['secret-of-a', 'exhausted'])
  }
})

test('one key in two entries rests in both, and recovers in both', async (t) => {
  const twins = keys('a', 'b', 'c').map((key) => ({ ...key, access_token: key.id === 'c' ? 'other' : 'shared' }))
  const { pool, state, read, open, write, time } = startPool(t, { stored: twins })
  const entries = () => asArray(asRecord(read()['credential_pool'])['openai']).map(asRecord)
  const statesOf = () => entries().map(({ last_status }) => last_status ?? 'ok')
  assert.equal(pool.lease('openai')?.failed(unpaid), 'rotated')
  await state.flush()
  assert.deepEqual(statesOf(), ['exhausted', 'exhausted', 'ok'])
  // Someone removes the first entry: the key is still unpaid.
  const [first, ...others] = entries()
  write(others.map((entry) => ({ ...entry, id: String(entry['id']) })))
  assert.equal(open().pool.lease('openai')?.credential.secret, 'other')
  write([first, ...others].map((entry) => ({ ...entry, id: String(entry?.['id']) })))
  time.now += 60 * minute
  const later = open()
  later.pool.lease('openai')?.succeeded()
  await later.state.flush()
  assert.deepEqual(statesOf(), ['ok', 'ok', 'ok'])
})

test('a key of a variable and of an entry rests in the entry when the variable goes', async (t) => {
  const { pool, state, setReferenced, open } = startPool(t, {
    referenced: [{ source: 'env:OPENAI_API_KEY', secret: 'secret-of-a' }],
    stored: keys('a', 'b'),
  })
  assert.equal(pool.lease('openai')?.failed(unpaid), 'rotated')
  await state.flush()
  setReferenced([])
  assert.equal(open().pool.lease('openai')?.credential.id, 'b')
})

test('a rest that only the second entry of a key has counts for the key', (t) => {
  const [a, b] = keys('a', 'b')
  const resting = { last_status: 'exhausted', last_error_code: 402, cooldown_until: 1_000 + 600 }
  const twin = { ...a, id: 'twin', priority: 1, ...resting }
  const { pool } = startPool(t, { stored: [a, twin, b].flatMap((key) => (key === undefined ? [] : [key])) })
  assert.equal(pool.lease('openai')?.credential.id, 'b')
})

test('an old file loses the values of variables at once, and their state stays', async (t) => {
  const resting = { last_status: 'exhausted', last_error_code: 402, cooldown_until: 1_000 + 600 }
  const old = {
    id: 'old',
    source: 'env:OPENAI_API_KEY',
    access_token: 'sk-in-the-open',
    copy: 'sk-in-the-open',
    note: 'kept',
    ...resting,
  }
  const referenced = [{ source: 'env:OPENAI_API_KEY', secret: 'sk-in-the-open' }] as const
  const { pool, path, text, open } = startPool(t, { stored: [old, ...keys('a')], referenced })
  assert.equal(pool.lease('openai')?.credential.id, 'a', 'its rest is known')
  await replaceStoredValues(path, silentLog)
  assert.doesNotMatch(text(), /sk-in-the-open/)
  assert.match(text(), /"secret_fingerprint"[\s\S]*"note": "kept"/)
  assert.equal(open().pool.lease('openai')?.credential.id, 'a')
  assert.match(text(), /secret-of-a/)
})

test('a stored key that rests goes on resting when a variable names it, too', (t) => {
  const [a, b] = keys('a', 'b')
  const resting = { ...a, id: 'a', last_status: 'exhausted', last_error_code: 402, cooldown_until: 1_000 + 600 }
  const { pool, setReferenced } = startPool(t, { stored: [resting, ...(b === undefined ? [] : [b])] })
  assert.equal(pool.lease('openai')?.credential.id, 'b')
  setReferenced([{ source: 'env:OPENAI_API_KEY', secret: 'secret-of-a' }])
  assert.equal(pool.lease('openai')?.credential.id, 'b')
})

test('keys that rest for a moment only are tried once each before the turn waits or ends', (t) => {
  const { pool, time } = startPool(t, { stored: keys('a', 'b', 'c') })
  const lease = pool.lease('openai')
  const rotations = () =>
    Array.from({ length: 3 }, () => {
      const rotation = lease?.failed({ ...unpaid, retryAfterMs: 20 })
      time.now += 50
      return rotation
    })
  assert.deepEqual(rotations(), ['rotated', 'rotated', 'exhausted'])
  // The next try comes after a wait.
  assert.deepEqual(rotations(), ['rotated', 'rotated', 'exhausted'])
  lease?.succeeded()
  assert.equal(lease?.failed({ ...unpaid, retryAfterMs: 20 }), 'rotated')
})

test('a provider without any key gives no lease', (t) => {
  const { pool } = startPool(t, {})
  assert.equal(pool.lease('openai'), undefined)
})

test('a torn file is left as it is, and the keys of the environment are used', async (t) => {
  const referenced = [{ source: 'env:OPENAI_API_KEY', secret: 'sk-of-environment' }] as const
  const { pool, state, path, text } = startPool(t, { referenced })
  writeFileSync(path, '{"credential_pool": {"openai": [{"id": "a", "acc')
  const lease = pool.lease('openai')
  assert.equal(lease?.credential.secret, 'sk-of-environment')
  lease?.failed(refused)
  await state.flush()
  assert.equal(text(), '{"credential_pool": {"openai": [{"id": "a", "acc')
})

test('a file that others can read becomes private', (t) => {
  const { pool, path } = startPool(t, { stored: keys('a') })
  chmodSync(path, 0o644)
  pool.lease('openai')
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test('what this gateway does not know in the file stays in it', async (t) => {
  const { pool, state, path, read } = startPool(t, {})
  const unknown = { id: 'x', source: 'manual', access_token: 'secret-x', tls: { insecure: false }, refresh_token: 'r' }
  const file = {
    version: 1,
    active_provider: 'nous',
    providers: { nous: { tokens: 1 } },
    credential_pool: { openai: [unknown, { label: 'no id' }, 7], nous: 'odd' },
  }
  writeFileSync(path, JSON.stringify(file), { mode: 0o600 })
  pool.lease('openai')?.failed(unpaid)
  await state.flush()
  const stored = read()
  assert.equal(stored['active_provider'], 'nous')
  assert.deepEqual(stored['providers'], { nous: { tokens: 1 } })
  const text = JSON.stringify(stored)
  for (const part of ['"insecure":false', '"refresh_token":"r"', '"label":"no id"', '"nous":"odd"', 'secret-x'])
    assert.ok(text.includes(part), part)
})

test('a key that was removed meanwhile is not stored again, and one that was added stays', async (t) => {
  const { pool, state, write, read } = startPool(t, { stored: keys('a', 'b') })
  pool.lease('openai')?.failed(refused)
  write(keys('b', 'c'))
  await state.flush()
  const stored = JSON.stringify(read())
  assert.ok(!stored.includes('secret-of-a'))
  assert.ok(stored.includes('secret-of-c'))
})

test('the uses that two processes count add up, and neither undoes the rest that the other has stored', async (t) => {
  const { pool, state, open } = startPool(t, { stored: keys('a', 'b') })
  const other = open()
  pool.lease('openai')?.succeeded()
  other.pool.lease('openai')?.succeeded()
  other.pool.lease('openai')?.failed(unpaid)
  await other.state.flush()
  await state.flush()
  const [a] = open().state.list('openai')
  assert.equal(a?.requestCount, 3)
  assert.equal(a?.health.status, 'exhausted')
})

test('the reference to a variable is removed when the variable has gone', async (t) => {
  const { pool, state, setReferenced, text } = startPool(t, {
    referenced: [{ source: 'env:OPENAI_API_KEY', secret: 'sk-of-environment' }],
    stored: keys('a'),
  })
  pool.lease('openai')?.failed(refused)
  await state.flush()
  assert.match(text(), /env:OPENAI_API_KEY/)
  setReferenced([])
  pool.lease('openai')?.failed(refused)
  await state.flush()
  assert.doesNotMatch(text(), /env:OPENAI_API_KEY/)
  assert.match(text(), /secret-of-a/)
})

test('a stored rest that ends in ten years has no effect', (t) => {
  const { pool, time } = startPool(t, {
    stored: keys('a', 'b').map((key) => ({
      ...key,
      last_status: 'exhausted',
      cooldown_until: key.id === 'a' ? 4_000_000_000 : 1_300,
    })),
  })
  assert.equal(pool.lease('openai')?.credential.id, 'a')
  time.now = 4_000_000_000_000 - minute
  assert.equal(pool.lease('openai')?.credential.id, 'b')
})

test('a rest that Hermes has stored without its end lasts as long as one of this gateway', (t) => {
  const failed = { last_status: 'exhausted', last_status_at: 1_700_000_000, last_error_reset_at: null }
  const { pool, time } = startPool(t, {
    stored: keys('a', 'b').map((key, index) =>
      index === 0 ? { ...key, ...failed, last_error_code: 401 } : { ...key, ...failed, last_error_code: 429 },
    ),
  })
  time.now = 1_700_000_000_000 + minute
  assert.equal(pool.restsUntil('openai'), 1_700_000_000_000 + 5 * minute)
  time.now += 4 * minute
  assert.equal(pool.restsUntil('openai'), 0)
  assert.equal(pool.lease('openai')?.credential.id, 'a')
})

test('round robin goes on after a key that rests', (t) => {
  const { pool } = startPool(t, { stored: keys('a', 'b', 'c'), strategy: 'round_robin' })
  pool.lease('openai')
  const second = pool.lease('openai')
  assert.equal(second?.credential.id, 'b')
  assert.equal(second?.failed(refused), 'rotated')
  assert.equal(second?.credential.id, 'c')
  assert.equal(pool.lease('openai')?.credential.id, 'a')
  assert.equal(pool.lease('openai')?.credential.id, 'c')
})

test('two calls at once that send the same refused key rest only that key', (t) => {
  const { pool, state } = startPool(t, { stored: keys('a', 'b') })
  const lease = pool.lease('openai')
  const used = lease?.credential
  assert.equal(lease?.failed(refused, used), 'rotated')
  assert.equal(lease?.failed(refused, used), 'rotated')
  assert.equal(lease?.credential.id, 'b')
  assert.deepEqual(
    state.list('openai').map(({ health }) => health.status),
    ['exhausted', 'ok'],
  )
})

test('what Hermes knows about the source of a key stays when its state changes', async (t) => {
  const { pool, state, read } = startPool(t, {
    stored: [{ id: 'a', label: 'sign-in', auth_type: 'oauth', source: 'device_code', access_token: 'secret-of-a' }],
  })
  pool.lease('openai')?.failed(refused)
  await state.flush()
  assert.match(JSON.stringify(read()), /"source":"device_code".*"last_status":"exhausted"/)
})

test('an unusable file is reported once for each of its states, and what happened is stored after its repair', async (t) => {
  const events: unknown[] = []
  const log = { ...silentLog, error: ({ event }: { event: string }) => void events.push(event) }
  const referenced = [{ source: 'env:OPENAI_API_KEY', secret: 'sk-of-environment' }] as const
  const { pool, state, path, text } = startPool(t, { referenced, log })
  writeFileSync(path, '{"credential_pool": {')
  for (let turn = 0; turn < 3; turn++) {
    pool.lease('openai')?.failed(refused)
    await state.flush()
  }
  assert.deepEqual(events, ['credentials.unreadable'])
  writeFileSync(path, '[]')
  pool.lease('openai')
  assert.deepEqual(events, ['credentials.unreadable', 'credentials.unreadable'])
  rmSync(path)
  await state.flush()
  assert.match(text(), /"last_status": "exhausted"/)
  assert.equal(events.length, 2)
})

test('a symbolic link to the file stays one', async (t) => {
  const { pool, state, path } = startPool(t, { stored: keys('a') })
  renameSync(path, `${path}.target`)
  symlinkSync(`${path}.target`, path)
  pool.lease('openai')?.failed(refused)
  await state.flush()
  assert.ok(lstatSync(path).isSymbolicLink())
  assert.match(readFileSync(`${path}.target`, 'utf8'), /exhausted/)
})

test('keys that Hermes has stored under its own name of a provider are used, and stay there', async (t) => {
  const { pool, state, path, read } = startPool(t, {})
  const file = { version: 1, credential_pool: { 'kimi-coding': keys('a', 'b'), 'openai-codex': keys('c') } }
  writeFileSync(path, JSON.stringify(file), { mode: 0o600 })
  assert.equal(pool.lease('kimi')?.failed(refused), 'rotated')
  assert.equal(pool.lease('openai-responses'), undefined)
  await state.flush()
  const stored: unknown = read()['credential_pool']
  assert.deepEqual(Object.keys(asRecord(stored)), ['kimi-coding', 'openai-codex'])
  assert.match(JSON.stringify(stored), /"id":"a".*"last_status":"exhausted"/)
})

test('keys of a provider are all used when the file has them under two of its names, and each stays in its list', async (t) => {
  const { pool, state, path, read } = startPool(t, {})
  const own = { ...keys('a')[0], access_token: 'sk-own' }
  const file = { version: 1, credential_pool: { 'kimi-coding': [own], openai: keys('c'), kimi: keys('a', 'b') } }
  writeFileSync(path, JSON.stringify(file), { mode: 0o600 })
  assert.deepEqual(
    new Set(state.list('kimi').map(({ secret }) => secret)),
    new Set([...keys('a', 'b').map(({ access_token }) => access_token), 'sk-own']),
  )
  const lease = pool.lease('kimi')
  assert.deepEqual([lease?.failed(refused), lease?.failed(refused)], ['rotated', 'rotated'])
  lease?.succeeded()
  await state.flush()
  const stored = asRecord(read()['credential_pool'])
  const keysOf = (name: string) => asArray(stored[name]).map((entry) => asRecord(entry)['access_token'])
  assert.deepEqual(
    Object.keys(stored).map((name) => [name, keysOf(name).length]),
    [
      ['kimi-coding', 1],
      ['openai', 1],
      ['kimi', 2],
    ],
  )
  assert.deepEqual(keysOf('kimi-coding'), ['sk-own'])
})
