/**
 * Attacks on pairing: brute force, replay, clocks, restarts and damaged files.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmodSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { isHermesError } from '../../src/lib/errors.ts'
import { createCode, hashCode, matchesCode } from '../../src/pairing/codes.ts'
import { platform, startStore } from './support.ts'

test('a code has eight characters without look-alikes, each equally likely', () => {
  const counts = new Map<string, number>()
  for (let byte = 0; byte < 256; byte++) {
    const code = createCode((count) => new Uint8Array(count).fill(byte))
    assert.match(code, /^[A-HJ-NP-Z2-9]{8}$/)
    counts.set(code.charAt(0), (counts.get(code.charAt(0)) ?? 0) + 1)
  }
  assert.deepEqual(
    [...counts.values()],
    Array.from({ length: 32 }, () => 8),
  )
})

test('a code matches its own hash only', () => {
  const salt = (count: number) => new Uint8Array(count).fill(7)
  const hashed = hashCode('ABCDEFGH', salt)
  assert.equal(hashed.hash, createHash('sha256').update(Buffer.alloc(16, 7)).update('ABCDEFGH').digest('hex'))
  assert.ok(matchesCode('ABCDEFGH', hashed))
  for (const code of ['ABCDEFGJ', 'ABCDEFG', '', 'ABCDEFGHA', hashed.hash]) assert.ok(!matchesCode(code, hashed), code)
})

test('the files hold a salted hash in the form of Hermes, and no code', (t) => {
  const store = startStore(t)
  const code = store.codeFor('u1')
  const [entry] = Object.entries(store.read('telegram-pending.json'))
  assert.match(entry?.[0] ?? '', /^[0-9a-f]{16}$/)
  assert.deepEqual(Object.keys(entry?.[1] ?? {}).sort(), ['created_at', 'hash', 'salt', 'user_id', 'user_name'])
  assert.equal(store.approve(` ${code.slice(0, 4).toLowerCase()}-${code.slice(4)} `).status, 'approved')
  assert.deepEqual(store.read('telegram-approved.json'), { u1: { user_name: 'u1', approved_at: store.now() / 1_000 } })
  for (const name of store.files()) {
    const path = join(store.home.pairing, name)
    assert.equal(statSync(path).mode & 0o777, 0o600, name)
    assert.ok(!readFileSync(path, 'utf8').includes(code), name)
  }
})

test('a code works once', (t) => {
  const store = startStore(t)
  const code = store.codeFor('u1')
  assert.equal(store.approve(code).status, 'approved')
  assert.ok(store.pairing().revoke(platform, 'u1'))
  assert.equal(store.approve(code).status, 'unknown')
  assert.ok(!store.isPaired('u1'))
})

test('a code of one platform is worthless on another', (t) => {
  const store = startStore(t)
  const code = store.codeFor('u1')
  assert.equal(store.pairing().approve('discord', code).status, 'unknown')
})

test('a code ends after one hour', (t) => {
  const store = startStore(t)
  const code = store.codeFor('u1')
  store.moveClock(3_601)
  assert.equal(store.approve(code).status, 'unknown')
  assert.deepEqual(store.pairing().list().pending, [])
})

test('a code ends when the clock is set back, instead of living longer', (t) => {
  const store = startStore(t)
  const code = store.codeFor('u1')
  store.moveClock(-7_200)
  assert.equal(store.approve(code).status, 'unknown')
  store.moveClock(-86_400 * 365)
  assert.equal(store.request('u1').status, 'created', 'the limit of the person is not for ever')
})

test('a small correction of the clock keeps a request', (t) => {
  const store = startStore(t)
  const code = store.codeFor('u1')
  store.moveClock(-30)
  assert.equal(store.approve(code).status, 'approved')
})

test('a person gets one code in ten minutes, also over a restart', (t) => {
  const store = startStore(t)
  store.codeFor('u1')
  store.restart()
  assert.equal(store.request('u1').status, 'limited')
  store.moveClock(599)
  assert.equal(store.request('u1').status, 'limited')
  store.moveClock(2)
  store.codeFor('u1')
})

test('three people wait on a platform at most, and the fourth leaves no trace in the files', (t) => {
  const store = startStore(t)
  for (const user of ['u1', 'u2', 'u3']) store.codeFor(user)
  for (let number = 0; number < 100; number++) assert.equal(store.request(`crowd${number}`).status, 'full')
  assert.equal(store.pairing().list().pending.length, 3)
  assert.equal(Object.keys(store.read('_rate_limits.json')).length, 3)
  assert.equal(store.pairing().clearPending(platform), 3)
  store.codeFor('u4')
})

test('the limits of people are forgotten when they end', (t) => {
  const store = startStore(t)
  for (let round = 0; round < 5; round++) {
    store.codeFor(`u${round}`)
    store.pairing().clearPending()
    store.moveClock(601)
  }
  assert.equal(Object.keys(store.read('_rate_limits.json')).length, 1)
})

test('five wrong codes lock the right one too, for one hour, over a restart', (t) => {
  const store = startStore(t)
  const code = store.codeFor('u1')
  for (let left = 4; left > 0; left--)
    assert.deepEqual(store.approve('AAAAAAAA'), { status: 'unknown', attemptsLeft: left })
  assert.equal(store.approve('AAAAAAAA').status, 'locked')
  store.restart()
  assert.equal(store.approve(code).status, 'locked')
  assert.equal(store.request('u2').status, 'locked')
  store.moveClock(3_500)
  assert.equal(store.approve(code).status, 'locked')
  store.moveClock(101)
  store.pairing().clearPending()
  assert.equal(store.approve(store.codeFor('u2')).status, 'approved')
})

test('an approval ends the count of wrong codes', (t) => {
  const store = startStore(t)
  for (let round = 0; round < 3; round++) {
    for (let count = 0; count < 4; count++) assert.equal(store.approve('AAAAAAAA').status, 'unknown')
    assert.equal(store.approve(store.codeFor(`u${round}`)).status, 'approved')
  }
})

test('a lock is kept when the clock is set back, and still ends within an hour', (t) => {
  const store = startStore(t)
  const code = store.codeFor('u1')
  for (let count = 0; count < 5; count++) store.approve('AAAAAAAA')
  store.moveClock(-86_400)
  assert.equal(store.approve(code).status, 'locked')
  store.moveClock(3_601)
  assert.equal(store.approve('AAAAAAAA').status, 'unknown')
})

test('an owner approves by the id of a request, also while codes are locked', (t) => {
  const store = startStore(t)
  store.codeFor('u1')
  for (let count = 0; count < 5; count++) store.approve('AAAAAAAA')
  const [request] = store.pairing().list().pending
  assert.equal(store.approve(request?.requestId ?? '').status, 'approved')
  assert.ok(store.isPaired('u1'))
})

const damage: Readonly<Record<string, string>> = {
  'half of a file': '{"u1": {"approved_at": 1',
  'an empty file': '',
  'a list': '["u1"]',
  'a text': '"u1"',
  'another encoding': '\ud800{"u1":{}}',
  'deep JSON': '{"a":'.repeat(100_000),
}

for (const [name, text] of Object.entries(damage)) {
  test(`a damaged file admits no one and is kept: ${name}`, (t) => {
    const store = startStore(t)
    for (const file of ['telegram-approved.json', 'telegram-pending.json']) store.write(file, text)
    assert.ok(!store.isPaired('u1'))
    assert.deepEqual(store.pairing().list().pending, [])
    assert.ok(store.pairing().people().damaged !== 'all')
    assert.deepEqual([...new Set(store.pairing().people().damaged)], [platform])
    assert.ok(store.files().includes('telegram-approved.json.damaged-1'), store.files().join())
    assert.equal(store.approve(store.codeFor('u1')).status, 'approved')
  })
}

test('entries of another shape admit no one', (t) => {
  const store = startStore(t)
  store.write('telegram-approved.json', { u1: true, u2: null, u3: 'yes', '': {}, u4: {} })
  assert.deepEqual(
    store
      .pairing()
      .list()
      .approved.map(({ userId }) => userId),
    ['u4'],
  )
  const hash = createHash('sha256').update('').digest('hex')
  const created_at = store.now() / 1_000
  store.write('telegram-pending.json', {
    ABCDEFGH: { user_id: 'u5', created_at },
    a: { hash, salt: '', user_id: 'u5', created_at },
    b: { hash: '', salt: 'aa', user_id: 'u5', created_at },
    c: { hash, salt: 'aa', user_id: 5, created_at },
    d: { hash, salt: 'aa', user_id: 'u5', created_at: 1e300 },
    e: { hash, salt: 'aa', user_id: 'u5', created_at: 'now' },
    f: { hash, salt: 'aa', user_id: 'u5', created_at: created_at + 86_400 },
  })
  assert.deepEqual(store.pairing().list().pending, [])
  for (const code of ['', 'ABCDEFGH']) assert.equal(store.approve(code).status, 'unknown')
})

test('a lost file of limits locks the codes, because it may have held a lock', (t) => {
  const store = startStore(t)
  const code = store.codeFor('u1')
  store.write('_rate_limits.json', '{')
  assert.equal(store.approve(code).status, 'locked')
  store.restart()
  assert.equal(store.approve(code).status, 'locked')
  store.moveClock(3_601)
  store.pairing().clearPending()
  assert.equal(store.approve(store.codeFor('u1')).status, 'approved')
})

test('a file that cannot be read is an error and admits no one', { skip: process.getuid?.() === 0 }, (t) => {
  const store = startStore(t)
  store.write('telegram-approved.json', { u1: {} })
  chmodSync(join(store.home.pairing, 'telegram-approved.json'), 0)
  assert.throws(
    () => store.isPaired('u1'),
    (error) => isHermesError(error, 'pairing/files-unusable'),
  )
})

test('the older directory of Hermes is read and written, and a person is revoked in both', (t) => {
  const store = startStore(t)
  store.write('telegram-approved.json', { old: { user_name: 'Old', approved_at: 1 } }, store.home.formerPairing)
  store.write('telegram-approved.json', { new: { user_name: 'New', approved_at: 2 } })
  assert.ok(store.isPaired('old') && store.isPaired('new'))
  store.codeFor('u1')
  assert.ok(!store.files().includes('telegram-pending.json'))
  assert.ok(store.pairing().revoke(platform, 'old'))
  store.restart()
  assert.ok(!store.isPaired('old') && store.isPaired('new'))
})

test('a user id is only a key, whatever it contains', (t) => {
  const store = startStore(t)
  for (const user of ['__proto__', 'constructor', '../../x']) {
    assert.ok(!store.isPaired(user))
    assert.equal(store.approve(store.codeFor(user)).status, 'approved')
    assert.ok(store.isPaired(user))
    assert.ok(store.pairing().revoke(platform, user))
    assert.ok(!store.isPaired(user))
  }
})

test('a renewed code replaces the one that was lost', (t) => {
  const store = startStore(t)
  const lost = store.codeFor('u1')
  const { requestId = '' } = store.pairing().pendingOf(platform, 'u1') ?? {}
  const code = store.pairing().renew(platform, requestId) ?? ''
  assert.equal(store.approve(lost).status, 'unknown')
  assert.equal(store.approve(code).status, 'approved')
  assert.equal(store.pairing().renew(platform, requestId), undefined)
})

test('a code is replaced once in ten minutes, and ends with its request', (t) => {
  const store = startStore(t)
  const lost = store.codeFor('u1')
  const { requestId = '' } = store.pairing().pendingOf(platform, 'u1') ?? {}
  const replace = () => store.pairing().replaceCode(platform, requestId)
  assert.equal(replace(), undefined)
  store.moveClock(601)
  const code = replace() ?? ''
  assert.equal(replace(), undefined)
  assert.equal(store.approve(lost).status, 'unknown')
  store.moveClock(3_600 - 601 - 1)
  assert.equal(store.approve(code).status, 'approved')
  store.moveClock(2)
  assert.equal(replace(), undefined)
})

test('a reader sees the requests, and leaves a damaged file where it is', (t) => {
  const store = startStore(t)
  store.codeFor('u1')
  store.write('telegram-approved.json', '{')
  assert.equal(store.reader().list().pending.length, 1)
  assert.ok(store.files().includes('telegram-approved.json'))
})
