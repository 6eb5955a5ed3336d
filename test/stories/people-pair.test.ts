import assert from 'node:assert/strict'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { rowsIn, runCommand } from './support.ts'

const friendsOnly = { platforms: { fake: { allow_from: ['friend'] } } }
const codePattern = /`(?<code>[A-HJ-NP-Z2-9]{8})`/

/** Waits for the pairing code of a chat. */
async function codeFor(gateway: TestGateway, chat: string): Promise<string> {
  const { text } = await gateway.waitForReply(codePattern, chat)
  const code = codePattern.exec(text)?.groups?.['code']
  assert.ok(code)
  return code
}

const approve = (gateway: TestGateway, code: string) => gateway.post('/api/pairing/approve', { platform: 'fake', code })

test('a stranger gets a code, and is served after an owner has approved it', async (t) => {
  const gateway = await startTestGateway(t, { config: friendsOnly })
  await gateway.say('let me in', { user: 'stranger', chat: 'his' })
  const code = await codeFor(gateway, 'his')
  assert.equal(gateway.model.requestCount, 0)

  // Asked again, the gateway says nothing, and no list shows the code.
  await gateway.say('hello?', { user: 'stranger', chat: 'his' })
  assert.equal(gateway.replies('his').length, 1)
  const list = await (await gateway.http('/api/pairing')).text()
  assert.ok(list.includes('stranger') && !list.includes(code))

  const approved = await approve(gateway, code.toLowerCase())
  assert.deepEqual(await approved.json(), {
    platform: 'fake',
    user_id: 'stranger',
    user_name: 'stranger',
    role: 'member',
    owners_named: ['fake:friend'],
  })
  await gateway.say('now?', { user: 'stranger', chat: 'his' })
  await gateway.waitForReply('You said: now?', 'his')

  // The allow list made its people owners; a person who was approved is none, although the list has the id now.
  assert.match(readFileSync(gateway.home.configFile, 'utf8'), /stranger/)
  await gateway.say('/whoami', { user: 'stranger', chat: 'his' })
  await gateway.waitForReply(/member/, 'his')
  assert.ok(!gateway.log.some((line) => line.includes(code)))

  await gateway.stop()
  await gateway.start()
  await gateway.say('after a restart', { user: 'stranger', chat: 'his' })
  await gateway.waitForReply('You said: after a restart', 'his')
  await gateway.say('/whoami', { user: 'stranger', chat: 'new' })
  await gateway.waitForReply(/member/, 'new')

  const revoked = await gateway.post('/api/pairing/revoke', { platform: 'fake', user_id: 'stranger' })
  assert.equal(revoked.status, 200)
  assert.doesNotMatch(readFileSync(gateway.home.configFile, 'utf8'), /stranger/)
  const requests = gateway.model.requestCount
  await gateway.say('and now?', { user: 'stranger', chat: 'his' })
  assert.equal(gateway.model.requestCount, requests)
})

test('a person who is approved as an owner is one, and those who were owners stay it', async (t) => {
  const gateway = await startTestGateway(t, { config: friendsOnly })
  await gateway.say('let me in', { user: 'boss', chat: 'his' })
  const approved = await gateway.post('/api/pairing/approve', {
    platform: 'fake',
    code: await codeFor(gateway, 'his'),
    role: 'owner',
  })
  assert.deepEqual(await approved.json(), {
    platform: 'fake',
    user_id: 'boss',
    user_name: 'boss',
    role: 'owner',
    owners_named: ['fake:friend'],
  })
  for (const user of ['boss', 'friend']) {
    await gateway.say('/whoami', { user, chat: user })
    await gateway.waitForReply(/owner/, user)
  }
  assert.equal((await gateway.post('/api/pairing/approve', { platform: 'fake', code: 'x', role: 'god' })).status, 400)
})

for (const [mistake, text] of Object.entries({
  'no YAML': '\nplatforms: [\n',
  'a key that exists twice': '\nmodel: other\nmodel: other\n',
}))
  test(`with ${mistake} in config.yaml, a revocation is refused and makes no one an owner`, async (t) => {
    const gateway = await startTestGateway(t, { config: friendsOnly })
    await gateway.say('let me in', { user: 'stranger', chat: 'his' })
    await approve(gateway, await codeFor(gateway, 'his'))
    appendFileSync(gateway.home.configFile, text)
    const refused = await gateway.post('/api/pairing/revoke', { platform: 'fake', user_id: 'stranger' })
    assert.notEqual(refused.status, 200)
    await gateway.say('/whoami', { user: 'stranger', chat: 'new' })
    await gateway.waitForReply(/member/, 'new')
  })

test('a person who is approved never becomes an owner by a loss of files', async (t) => {
  const gateway = await startTestGateway(t, { config: friendsOnly })
  await gateway.say('let me in', { user: 'stranger', chat: 'his' })
  await approve(gateway, await codeFor(gateway, 'his'))
  await gateway.stop()
  rmSync(gateway.home.pairing, { recursive: true })
  await gateway.start()
  await gateway.say('/whoami', { user: 'stranger', chat: 'his' })
  await gateway.waitForReply(/member/, 'his')
  await gateway.say('/whoami', { user: 'friend', chat: 'hers' })
  await gateway.waitForReply(/owner/, 'hers')
})

test('a revocation that a list in effect would undo is refused', async (t) => {
  const gateway = await startTestGateway(t, { config: friendsOnly })
  await gateway.say('let me in', { user: 'stranger', chat: 'his' })
  await approve(gateway, await codeFor(gateway, 'his'))
  // The gateway keeps the configuration that it has.
  const text = readFileSync(gateway.home.configFile, 'utf8')
  rmSync(gateway.home.configFile)
  const revoke = () => gateway.post('/api/pairing/revoke', { platform: 'fake', user_id: 'stranger' })
  assert.equal((await revoke()).status, 409)
  await gateway.say('/whoami', { user: 'stranger', chat: 'new' })
  await gateway.waitForReply(/member/, 'new')
  writeFileSync(gateway.home.configFile, text)
  assert.equal((await revoke()).status, 200)
  // Nor by the copy that a start with a mistake in config.yaml uses.
  await gateway.stop()
  const { lastGoodConfigFile: copy } = gateway.home
  assert.ok(!existsSync(copy) || !readFileSync(copy, 'utf8').includes('stranger'))
})

test('a person who lost the code gets a new one after ten minutes, and the old one is worthless', async (t) => {
  let now = Date.now()
  const gateway = await startTestGateway(t, { config: friendsOnly, gateway: { clock: () => now } })
  await gateway.say('let me in', { user: 'stranger', chat: 'his' })
  const lost = await codeFor(gateway, 'his')
  now += 11 * 60_000
  await gateway.say('again', { user: 'stranger', chat: 'his' })
  const { text } = await gateway.until(({ text }) => codePattern.test(text) && !text.includes(lost))
  assert.match(text, /49 minutes/)
  assert.equal((await approve(gateway, lost)).status, 404)
  assert.equal((await approve(gateway, codePattern.exec(text)?.groups?.['code'] ?? '')).status, 200)
})

test('an id that an allow list would read as other people is approved without being listed', async (t) => {
  const ids = ['*', 'one,two', `\${GATEWAY_TOKEN}`]
  const gateway = await startTestGateway(t, {
    config: { platforms: { fake: { allow_from: undefined } } },
    prepare: ({ envFile }) => writeFileSync(envFile, 'FAKE_ALLOWED_USERS=friend\n', { mode: 0o600 }),
  })
  for (const id of ids) {
    await gateway.say('let me in', { user: id, chat: id })
    const approved: unknown = await (await approve(gateway, await codeFor(gateway, id))).json()
    assert.match(JSON.stringify(approved), /"problem"/)
    await gateway.say('now?', { user: id, chat: id })
    await gateway.waitForReply('You said: now?', id)
  }
  assert.equal(readFileSync(gateway.home.envFile, 'utf8'), 'FAKE_ALLOWED_USERS=friend\n')
  const requests = gateway.model.requestCount
  await gateway.say('and me?', { user: 'two', chat: 'stranger' })
  await codeFor(gateway, 'stranger')
  assert.equal(gateway.model.requestCount, requests)
  assert.equal((await gateway.post('/api/pairing/revoke', { platform: 'fake', user_id: '*' })).status, 200)
})

test('a revocation reads lists that were changed a moment ago', async (t) => {
  const gateway = await startTestGateway(t, { config: friendsOnly })
  await gateway.say('let me in', { user: 'stranger', chat: 'his' })
  await approve(gateway, await codeFor(gateway, 'his'))
  writeFileSync(gateway.home.envFile, 'FAKE_ALLOWED_USERS=friend,stranger\n', { mode: 0o600 })
  await gateway.post('/api/pairing/revoke', { platform: 'fake', user_id: 'stranger' })
  assert.equal(readFileSync(gateway.home.envFile, 'utf8'), 'FAKE_ALLOWED_USERS=friend\n')
})

test('a revocation ends what waits and runs for the person, without an answer', async (t) => {
  const isHeld = ({ lastUserText }: RecordedRequest) => /one|three/.test(lastUserText)
  const gateway = await startTestGateway(t, {
    config: { ...friendsOnly, display: { busy_input_mode: 'queue' } },
    model: (request) => (isHeld(request) ? { hang: 'headers' } : { text: 'an answer' }),
  })
  await gateway.say('let me in', { user: 'stranger', chat: 'his' })
  await approve(gateway, await codeFor(gateway, 'his'))
  await gateway.say('one', { user: 'stranger', chat: 'his' })
  await gateway.modelRequest(0)
  await gateway.say('two', { user: 'stranger', chat: 'his' })
  await runCommand(gateway, '/bg three', { user: 'stranger', chat: 'other' })
  await gateway.modelRequest(1)
  const revoked = await gateway.post('/api/pairing/revoke', { platform: 'fake', user_id: 'stranger' })
  assert.equal(revoked.status, 200)
  await gateway.waitForLogLine(3, { event: 'access.message_ended' })
  await gateway.waitForLog({ event: 'task.ended' })
  await gateway.waitForEvent('agent:end')
  await gateway.say('hello', { user: 'friend', chat: 'hers' })
  await gateway.waitForReply('an answer', 'hers')
  assert.deepEqual(rowsIn(gateway.home, "select seq from inbox where state in ('queued', 'claimed')"), [])
  assert.equal(gateway.model.requestCount, 3)
  assert.ok(![...gateway.replies('his'), ...gateway.replies('other')].includes('an answer'))
  assert.equal(rowsIn(gateway.home, "select id from trace where event = 'access:revoked'").length, 3)
})

test('a command and a background task of a person who has lost the access over a restart are not run', async (t) => {
  const config = { platforms: { fake: { allow_from: ['friend', 'former'] } }, agent: { drain_timeout: 60 } }
  const gateway = await startTestGateway(t, { config, model: () => ({ hang: 'headers' }) })
  await runCommand(gateway, '/bg one', { user: 'former', chat: 'his' })
  await gateway.modelRequest(0)
  const force = new AbortController()
  const stopped = gateway.stop(force.signal)
  await gateway.waitForLog({ event: 'gateway.stopping' })
  await gateway.say('/title a new title', { user: 'former', chat: 'his' })
  force.abort()
  await stopped
  const shown = gateway.replies('his')
  gateway.configure(friendsOnly)
  await gateway.start()
  await gateway.say('/whoami', { user: 'friend', chat: 'his' })
  await gateway.waitForReply(/friend/, 'his')
  assert.deepEqual(gateway.replies('his').slice(shown.length, -1), [])
  const ended = rowsIn(gateway.home, "select lane, state, outcome ->> 'status' as status from inbox order by seq")
  assert.deepEqual(
    ended.slice(1).map(({ lane, state, status }) => [lane, state, status]),
    [
      ['turn', 'done', 'stopped'],
      ['control', 'done', 'stopped'],
      ['control', 'done', 'done'],
    ],
  )
  assert.equal(rowsIn(gateway.home, "select id from trace where event = 'access:revoked'").length, 2)
  assert.equal(gateway.model.requestCount, 1)
})

test('a message that waits over a restart is not answered when its sender has lost the access meanwhile', async (t) => {
  const config = { platforms: { fake: { allow_from: ['friend', 'former'] } } }
  const gateway = await startTestGateway(t, { config, model: () => ({ hang: 'headers' }) })
  await gateway.say('one', { user: 'former', chat: 'his' })
  await gateway.modelRequest(0)
  await gateway.stop(AbortSignal.abort())
  gateway.configure(friendsOnly)
  await gateway.start()
  assert.deepEqual(rowsIn(gateway.home, "select seq from inbox where state = 'queued'"), [])
  assert.equal(rowsIn(gateway.home, "select id from trace where event = 'access:revoked'").length, 1)
  assert.equal(gateway.model.requestCount, 1)
})

test('a person whose request an owner refuses gets no answer and no access, and the trace says who refused', async (t) => {
  const gateway = await startTestGateway(t, { config: friendsOnly })
  await gateway.say('let me in', { user: 'stranger', chat: 'his' })
  const code = await codeFor(gateway, 'his')
  await gateway.say('me too', { user: 'other', chat: 'hers' })
  await codeFor(gateway, 'hers')
  const deny = (person: string) => gateway.post('/api/pairing/deny', { platform: 'fake', person, via: 'web' })
  assert.equal((await deny('stranger')).status, 200)
  assert.equal((await deny('stranger')).status, 404)
  const { pending } = Object(await (await gateway.http('/api/pairing')).json())
  assert.deepEqual(
    pending.map(({ userId }: { readonly userId: string }) => userId),
    ['other'],
  )
  assert.equal((await deny(pending[0].requestId)).status, 200)

  await gateway.say('and now?', { user: 'stranger', chat: 'his' })
  assert.notEqual((await approve(gateway, code)).status, 200)
  assert.equal(gateway.replies('his').length, 1)
  assert.equal(gateway.model.requestCount, 0)
  const entries = rowsIn(gateway.home, "select detail from trace where event = 'access:denied' order by id")
  assert.equal(entries.length, 2)
  assert.match(String(entries[0]?.['detail']), /stranger.*web/)
})

test('a group and a bot get no code, and every stranger leaves one entry in the trace', async (t) => {
  const gateway = await startTestGateway(t, { config: friendsOnly })
  for (let count = 0; count < 3; count++) {
    await gateway.say('let me in', { user: 'stranger', chat: 'room', chatType: 'group' })
    await gateway.say('beep', { user: 'machine', chat: 'machine', isBot: true })
  }
  for (let number = 0; number < 60; number++)
    await gateway.say('hi', { user: `crowd-${number}`, chat: 'room', chatType: 'group' })
  await gateway.stop()
  assert.deepEqual(gateway.platform.shown(), [])
  const kept = rowsIn(gateway.home, "select detail from trace where event = 'access:refused'").map(({ detail }) =>
    String(detail),
  )
  assert.equal(kept.filter((detail) => detail.includes('stranger')).length, 1)
  assert.ok(kept.length <= 20, `${kept.length} entries`)
  assert.deepEqual(rowsIn(gateway.home, 'select seq from inbox'), [])
})

test('a crowd of strangers gets three codes and a few notices, and the rest nothing', async (t) => {
  const gateway = await startTestGateway(t, { config: friendsOnly })
  await Promise.all(
    Array.from({ length: 40 }, (_, number) => gateway.say('hi', { user: `u${number}`, chat: `c${number}` })),
  )
  await gateway.say('hello', { user: 'friend', chat: 'hers' })
  await gateway.waitForReply('You said: hello', 'hers')
  await gateway.stop()
  const notices = rowsIn(gateway.home, "select text from outbox where kind = 'notice'").map(({ text }) => String(text))
  assert.equal(notices.filter((text) => text.includes('pairing')).length <= 3, true)
  assert.ok(notices.length <= 8, `${notices.length} notices`)
})

test('five wrong codes lock the approval, also over a restart and for the right code', async (t) => {
  const gateway = await startTestGateway(t, { config: friendsOnly })
  await gateway.say('let me in', { user: 'stranger', chat: 'his' })
  const code = await codeFor(gateway, 'his')
  for (let count = 0; count < 5; count++) assert.equal((await approve(gateway, 'AAAAAAAA')).status, 404)
  assert.equal((await approve(gateway, code)).status, 404)
  await gateway.stop()
  await gateway.start()
  const refused = await approve(gateway, code)
  assert.equal(refused.status, 404)
  assert.ok(!(await refused.text()).includes(code))
})

test('a damaged list of approved people admits no one and makes no one an owner', async (t) => {
  const gateway = await startTestGateway(t, {
    config: friendsOnly,
    prepare: (home) => writeApproved(home.formerPairing, '{"stranger": {"approved_at": 1}'),
  })
  await gateway.say('let me in', { user: 'stranger', chat: 'his' })
  await codeFor(gateway, 'his')
  await gateway.say('/whoami', { user: 'friend', chat: 'hers' })
  await gateway.waitForReply(/member/, 'hers')
  const files = readdirSync(gateway.home.formerPairing)
  assert.ok(files.includes('fake-approved.json.damaged-1'))
  for (const file of files) assert.equal(statSync(join(gateway.home.formerPairing, file)).mode & 0o077, 0)
  await gateway.waitForLog({ event: 'pairing.file_damaged' })
  assert.ok(
    gateway
      .current()
      .status()
      .degraded.some((reason) => reason.includes('damaged-1')),
  )
})

for (const [where, config] of Object.entries({
  'the platform': { platforms: { fake: { allow_from: ['friend'], unauthorized_dm_behavior: 'ignore' } } },
  'the gateway': { ...friendsOnly, gateway: { unauthorized_dm_behavior: 'ignore' } },
  'the top level': { ...friendsOnly, unauthorized_dm_behavior: 'ignore' },
}))
  test(`with unauthorized_dm_behavior: ignore of ${where}, a stranger gets no answer`, async (t) => {
    const gateway = await startTestGateway(t, { config })
    await gateway.say('let me in', { user: 'stranger', chat: 'his' })
    await gateway.say('hello', { user: 'friend', chat: 'hers' })
    await gateway.waitForReply('You said: hello', 'hers')
    assert.deepEqual(gateway.replies('his'), [])
    assert.deepEqual(gateway.current().config.state().degraded, [])
  })

test('the code of a person is no longer in the database when another person asks', async (t) => {
  const gateway = await startTestGateway(t, { config: friendsOnly })
  await gateway.say('let me in', { user: 'stranger', chat: 'his' })
  const code = await codeFor(gateway, 'his')
  await gateway.waitForEvent('message:sent')
  await gateway.say('me too', { user: 'other', chat: 'theirs' })
  await codeFor(gateway, 'theirs')
  await gateway.stop()
  const texts = rowsIn(gateway.home, 'select text from outbox').map(({ text }) => String(text))
  assert.ok(!texts.some((text) => text.includes(code)))
})

function writeApproved(directory: string, text: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  writeFileSync(join(directory, 'fake-approved.json'), text, { mode: 0o600 })
}
