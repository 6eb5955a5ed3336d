/**
 * The page answers a question with a button, as the chat platforms do, and takes back what is remembered.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { createLineReader, type LineReader } from '../platforms/web/support.ts'
import { at, hasResult, terminalCall } from './support.ts'

type Event = Record<string, unknown>

async function openPage(t: TestContext, gateway: TestGateway): Promise<LineReader> {
  const lines = createLineReader(await gateway.http('/web/stream?chat=main'))
  t.after(() => lines.close().catch(() => undefined))
  return lines
}

/** The next question with this state. */
async function question(page: LineReader, state: string): Promise<Event> {
  for (;;) {
    const event = await page.until('entry')
    if (at(event, 'entry', 'question', 'state') === state) return event
  }
}

async function reply(page: LineReader, text: string): Promise<void> {
  for (;;) if (at(await page.until('entry'), 'entry', 'text') === text) return
}

const labelsOf = (asked: Event) => {
  const buttons = at(asked, 'entry', 'question', 'buttons')
  return Array.isArray(buttons) ? buttons.map(({ label }) => String(label)) : []
}

async function press(gateway: TestGateway, asked: Event, label: string): Promise<unknown> {
  const button = at(asked, 'entry', 'question', 'buttons', labelsOf(asked).indexOf(label), 'id')
  const response = await gateway.post('/web/press', { chat: 'main', button, entry: at(asked, 'entry', 'id') })
  assert.equal(response.status, 200)
  return at(await response.json(), 'status')
}

const say = (gateway: TestGateway, id: string, text: string) =>
  gateway.post('/web/messages', { chat: 'main', id: `message-${id}`, text })

async function withFolder(t: TestContext) {
  let folder = ''
  const gateway = await startTestGateway(t, {
    model: (request) => (hasResult(request) ? { text: 'Done.' } : terminalCall(`rm -r '${folder}'`)),
    config: { platforms: { web: { enabled: true } } },
    prepare(home) {
      folder = join(home.root, 'work', 'a')
      mkdirSync(folder, { recursive: true })
    },
  })
  return { gateway, folder }
}

test('of two presses on two pages the first counts, both pages show the result, and "always" can be taken back', async (t) => {
  const { gateway, folder } = await withFolder(t)
  const [page, other] = [await openPage(t, gateway), await openPage(t, gateway)]
  await say(gateway, 'one', 'clean up')
  const asked = await question(page, 'open')
  assert.deepEqual(labelsOf(asked), ['Allow once', 'This session', 'Always', 'Deny'])
  assert.doesNotMatch(String(at(asked, 'entry', 'text')), /approve/)
  assert.deepEqual([await press(gateway, asked, 'Always'), await press(gateway, asked, 'Deny')], ['taken', 'stale'])
  for (const shown of [page, other]) {
    const result = await question(shown, 'accepted')
    assert.equal(at(result, 'entry', 'question', 'id'), at(asked, 'entry', 'question', 'id'))
    assert.match(String(at(result, 'entry', 'text')), /\*\*Always\*\*/)
    assert.deepEqual(labelsOf(result), [])
  }
  await reply(page, 'Done.')
  assert.ok(!existsSync(folder))

  const remembered = async () => Object(await (await gateway.http('/api/approvals')).json())
  const ids: string[] = (await remembered()).map(({ id }: { id: string }) => id)
  assert.deepEqual(ids, [`rm -r '${folder}'`])
  assert.equal((await gateway.http('/api/approvals', { headers: { authorization: 'Bearer wrong' } })).status, 401)
  for (const id of ids) assert.equal((await gateway.post('/api/approvals/revoke', { id })).status, 200)
  assert.equal((await gateway.post('/api/approvals/revoke', { id: 'g1' })).status, 404)
  assert.equal((await gateway.post('/api/approvals/revoke', {})).status, 400)
  assert.deepEqual(await remembered(), [])
  assert.doesNotMatch(readFileSync(gateway.home.configFile, 'utf8'), /rm -r/)
  mkdirSync(folder)
  await say(gateway, 'two', 'clean up again')
  await question(page, 'open')
})

test('after a restart an open question can be answered; after /stop its button is stale', async (t) => {
  const { gateway, folder } = await withFolder(t)
  const before = await openPage(t, gateway)
  await say(gateway, 'one', 'clean up')
  const asked = await question(before, 'open')
  await gateway.stop()
  await (await gateway.start()).initialConnectsDone()
  const page = await openPage(t, gateway)
  const again = await question(page, 'open')
  assert.deepEqual(at(again, 'entry'), at(asked, 'entry'))
  assert.equal(await press(gateway, again, 'Deny'), 'taken')
  await question(page, 'refused')
  await reply(page, 'Done.')
  assert.ok(existsSync(folder))

  await say(gateway, 'two', 'clean up')
  const second = await question(page, 'open')
  await say(gateway, 'three', '/stop')
  await question(page, 'unanswered')
  assert.equal(await press(gateway, second, 'Allow once'), 'stale')
  assert.ok(existsSync(folder))
})

test('a press needs the token, the id of a button and the chat of its question', async (t) => {
  const { gateway, folder } = await withFolder(t)
  const page = await openPage(t, gateway)
  await say(gateway, 'one', 'clean up')
  const asked = await question(page, 'open')
  const button = at(asked, 'entry', 'question', 'buttons', 0, 'id')
  const entry = at(asked, 'entry', 'id')
  const pressing = async (body: unknown, headers = {}) => (await gateway.post('/web/press', body, headers)).status
  assert.equal(await pressing({ chat: 'main', button, entry }, { authorization: 'Bearer wrong' }), 401)
  for (const body of [{ chat: 'main', entry }, { chat: 'main', button: 'a b', entry }, { chat: 'main', button }, 'no'])
    assert.equal(await pressing(body), 400)
  const elsewhere = await gateway.post('/web/press', { chat: 'other', button, entry })
  assert.equal(at(await elsewhere.json(), 'status'), 'stale')
  assert.ok(existsSync(folder))
})

test('a question of the agent and the confirmation of a command have buttons, too', async (t) => {
  const asking = { question: 'Which colour?', choices: ['Red', 'Blue'] }
  const gateway = await startTestGateway(t, {
    model: (request) =>
      hasResult(request) ? { text: 'Done.' } : { toolCalls: [{ name: 'clarify', arguments: asking }] },
    config: { platforms: { web: { enabled: true } }, approvals: { destructive_slash_confirm: true } },
  })
  const page = await openPage(t, gateway)
  await say(gateway, 'one', 'paint it')
  const asked = await question(page, 'open')
  assert.deepEqual(labelsOf(asked), ['Red', 'Blue', 'Other'])
  assert.equal(at(asked, 'entry', 'question', 'buttons', 2, 'isText'), true)
  assert.equal(await press(gateway, asked, 'Other'), 'taken')
  assert.equal(await press(gateway, asked, 'Blue'), 'taken', 'the question was still open')
  await question(page, 'accepted')
  await reply(page, 'Done.')

  await say(gateway, 'two', '/new')
  const confirmation = await question(page, 'open')
  assert.deepEqual(labelsOf(confirmation), ['Approve once', 'Always approve', 'Cancel'])
  assert.equal(await press(gateway, confirmation, 'Cancel'), 'taken')
  await question(page, 'refused')
})
