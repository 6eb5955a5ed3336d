/**
 * `hermes pairing` without a daemon. With one, test/stories/people-pair.test.ts uses the same routes.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { openPairing } from '../../src/flows/access/pairing-admin.ts'
import type { HomeLayout } from '../../src/lib/home.ts'
import { silentLog } from '../../src/lib/log.ts'
import { createPairing } from '../../src/pairing/pairing.ts'
import { createPairingFiles } from '../../src/pairing/pairing-files.ts'
import { lockHome } from '../../src/store/sqlite/lock.ts'
import { assertFailed, homeWith, quietConfig, runInProcess } from './support.ts'

function codeFor(home: HomeLayout, userId: string, userName = ''): string {
  const result = openPairing({ home, clock: Date.now, log: silentLog }).request({
    platform: 'telegram',
    userId,
    userName,
  })
  assert.equal(result.status, 'created')
  return result.status === 'created' ? result.code : ''
}

const listOf = (home: HomeLayout) => createPairing(createPairingFiles(home), Date.now, randomBytes).list()

test('an owner lists, approves, revokes and ends requests without a daemon', async (t) => {
  const home = homeWith(t)
  const code = codeFor(home, '42', `Ada${'\u202e'.repeat(10_000)}`)
  codeFor(home, '43')
  const listed = await runInProcess(home.root, ['pairing', 'list'])
  assert.match(listed.stdout, /^waits {2}telegram {2}42 {2}Ada/)
  assert.ok(!listed.stdout.includes('\u202e') && listed.stdout.length < 1_000 && !listed.stdout.includes(code))
  const status = await runInProcess(home.root, ['status'])
  assert.match(status.stdout, /Needs you.*2 people ask for access/)

  assert.equal((await runInProcess(home.root, ['pairing', 'approve', 'Telegram', code.toLowerCase()])).code, 0)
  assert.deepEqual(
    listOf(home).approved.map(({ userId }) => userId),
    ['42'],
  )
  codeFor(home, '44')
  assert.equal((await runInProcess(home.root, ['pairing', 'deny', 'telegram', '44'])).code, 0)
  assert.deepEqual(
    listOf(home).pending.map(({ userId }) => userId),
    ['43'],
  )
  assertFailed(await runInProcess(home.root, ['pairing', 'deny', 'telegram', '44']), 'pairing/not-paired')
  const cleared = await runInProcess(home.root, ['pairing', 'clear-pending', '--json'])
  assert.deepEqual(JSON.parse(cleared.stdout), { cleared: 1 })
  assert.equal((await runInProcess(home.root, ['pairing', 'revoke', 'telegram', '42'])).code, 0)
  assert.deepEqual(listOf(home), { pending: [], approved: [], locked: [], damaged: [] })
})

test('a wrong code, an unknown person and a path as a platform are refused', async (t) => {
  const home = homeWith(t)
  codeFor(home, '42')
  const before = readdirSync(home.pairing)
  assertFailed(await runInProcess(home.root, ['pairing', 'approve', 'telegram', 'AAAAAAAA']), 'pairing/rejected')
  for (const words of [
    ['approve', '../../x', 'AAAAAAAA'],
    ['approve', '..', 'AAAAAAAA'],
    ['revoke', 'telegram', '42'],
    ['clear-pending', 'a/b'],
  ])
    assertFailed(await runInProcess(home.root, ['pairing', ...words]), 'pairing/not-paired')
  assertFailed(await runInProcess(home.root, ['pairing', 'approve', 'telegram', '']), 'cli/usage')
  assert.deepEqual(readdirSync(home.pairing), before)
})

test('nothing is changed while another process holds the home', async (t) => {
  const home = homeWith(t)
  const code = codeFor(home, '42')
  const lock = lockHome(home.lockFile)
  t.after(lock.release)
  assertFailed(await runInProcess(home.root, ['pairing', 'approve', 'telegram', code]), 'home/locked')
  assert.deepEqual(listOf(home).approved, [])
})

const lists: Readonly<Record<string, string>> = {
  'a list': "platforms:\n  telegram:\n    allow_from: ['1'] # me\n",
  'numbers at the top level': 'telegram:\n  allow_from: [1, 2]\n',
  'one text with commas': 'platforms: { telegram: { allow_from: "1, 2" } }\n',
}

for (const [name, config] of Object.entries(lists)) {
  test(`an approval is added to an allow list of config.yaml, and a revocation removes it: ${name}`, async (t) => {
    const home = homeWith(t, quietConfig + config)
    const code = codeFor(home, '42')
    assert.equal((await runInProcess(home.root, ['pairing', 'approve', 'telegram', code])).code, 0)
    const shown = await runInProcess(home.root, ['config', 'show', '--json'])
    assert.match(shown.stdout, /\\"1\\",.*\\"42\\"/)
    assert.equal((await runInProcess(home.root, ['pairing', 'revoke', 'telegram', '42'])).code, 0)
    assert.doesNotMatch(readFileSync(home.configFile, 'utf8'), /42/)
    const after = await runInProcess(home.root, ['config', 'show', '--json'])
    assert.match(after.stdout, /\\"1\\"/)
  })
}

test('an approval is added to the variable of .env that is the allow list, and to no list that does not exist', async (t) => {
  const home = homeWith(t)
  assert.equal((await runInProcess(home.root, ['pairing', 'approve', 'telegram', codeFor(home, '41')])).code, 0)
  assert.equal(readFileSync(home.configFile, 'utf8'), quietConfig)

  writeFileSync(home.envFile, '# people\nexport TELEGRAM_ALLOWED_USERS="1, 2" # family\nOTHER=x\n', { mode: 0o600 })
  assert.equal((await runInProcess(home.root, ['pairing', 'approve', 'telegram', codeFor(home, '42')])).code, 0)
  assert.match(readFileSync(home.envFile, 'utf8'), /^# people\nexport TELEGRAM_ALLOWED_USERS=1,2,42\nOTHER=x\n$/)
  assert.equal((await runInProcess(home.root, ['pairing', 'revoke', 'telegram', '42'])).code, 0)
  assert.match(readFileSync(home.envFile, 'utf8'), /USERS=1,2\n/)
})

test('a person whom a variable of the process names is not revoked by half', async (t) => {
  const home = homeWith(t)
  await runInProcess(home.root, ['pairing', 'approve', 'telegram', codeFor(home, '42')])
  const environment = { TELEGRAM_ALLOWED_USERS: '1,42' }
  assertFailed(
    await runInProcess(home.root, ['pairing', 'revoke', 'telegram', '42'], { environment }),
    'pairing/listed',
    'TELEGRAM_ALLOWED_USERS',
  )
  assert.equal(listOf(home).approved.length, 1)
})

test('a person whom a list of every platform names is not revoked by half', async (t) => {
  const home = homeWith(t, `${quietConfig}gateway: { allowed_users: ['42'] }\ntelegram: { allow_from: [1] }\n`)
  await runInProcess(home.root, ['pairing', 'approve', 'telegram', codeFor(home, '42')])
  const before = readFileSync(home.configFile, 'utf8')
  const revoked = await runInProcess(home.root, ['pairing', 'revoke', 'telegram', '42'])
  assertFailed(revoked, 'pairing/listed', 'gateway.allowed_users')
  assert.equal(listOf(home).approved.length, 1)
  assert.equal(readFileSync(home.configFile, 'utf8'), before)
})

test('a revocation removes the person from the lists for groups and of all accounts', async (t) => {
  const accounts = "platforms: { telegram: { group_allow_from: ['42'], accounts: { two: { allow_from: [42, 5] } } } }\n"
  const home = homeWith(t, quietConfig + accounts)
  writeFileSync(home.envFile, 'TELEGRAM_GROUP_ALLOWED_USERS=42,6\n')
  await runInProcess(home.root, ['pairing', 'approve', 'telegram', codeFor(home, '42')])
  assert.equal((await runInProcess(home.root, ['pairing', 'revoke', 'telegram', '42'])).code, 0)
  const after = readFileSync(home.configFile, 'utf8') + readFileSync(home.envFile, 'utf8')
  assert.ok(!after.includes('42') && after.includes('5') && after.includes('=6'), after)
})

test('doctor reports a damaged file until it is deleted', async (t) => {
  const home = homeWith(t)
  const code = codeFor(home, '42')
  writeFileSync(`${home.pairing}/telegram-approved.json`, '{')
  const approved = await runInProcess(home.root, ['pairing', 'approve', 'telegram', code])
  assert.match(approved.stderr, /damaged-1/)
  const { stdout } = await runInProcess(home.root, ['doctor', '--offline', '--json'])
  assert.match(stdout, /telegram-approved\.json\.damaged-1/)
})
