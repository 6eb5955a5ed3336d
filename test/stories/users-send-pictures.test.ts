import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { removeUnusedPictures } from '../../src/flows/lifecycle/unused-pictures.ts'
import { createSqliteStore } from '../../src/store/sqlite/store.ts'
import { createPng } from '../kit/pictures.ts'
import type { RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'
import { rowsIn, runCommand } from './support.ts'

const picture = createPng({ width: 20, height: 10 })
const photo = { kind: 'photo', fileName: 'cat.jpg', mimeType: 'image/jpeg', bytes: picture } as const

function startSeeing(t: TestContext, options: TestGatewayOptions = {}): Promise<TestGateway> {
  return startTestGateway(t, { ...options, config: { model: 'gpt-5.2', ...options.config } })
}

/** The content of the pictures in a request, in order. */
function picturesIn(request: RecordedRequest | undefined): string[] {
  const found = JSON.stringify(request?.body).matchAll(/data:image\/[a-z]+;base64,(?<content>[\w+/=]+)/g)
  return [...found].map(({ groups }) => groups?.['content'] ?? '')
}

const content = picture.toString('base64')

function pathOf({ home }: TestGateway, bytes: Buffer = picture): string {
  return join(home.pictures, `${createHash('sha256').update(bytes).digest('hex')}.png`)
}

/** Nothing but the file of a picture and the request that is sent holds its content. */
function assertStoredOnce(gateway: TestGateway): void {
  const rows = ['select payload from inbox', 'select * from messages', 'select * from texts', 'select * from outbox']
  const stored = JSON.stringify(rows.map((query) => rowsIn(gateway.home, query)))
  assert.ok(!stored.includes(content.slice(0, 60)) && !gateway.log.join('').includes(content.slice(0, 60)))
}

test('a model that sees is shown a picture, and sees it again in later turns', async (t) => {
  const gateway = await startSeeing(t, { replies: [{ text: 'a cat' }, { text: 'still a cat' }] })
  await gateway.platform.attach(photo)
  await gateway.waitForReply('a cat')
  await gateway.say('are you sure?')
  await gateway.waitForReply('still a cat')
  assert.deepEqual(gateway.model.requests.map(picturesIn), [[content], [content]])
  assert.match(JSON.stringify(gateway.model.requests[0]?.body), new RegExp(`Attached photo: ${pathOf(gateway)}`))
  assertStoredOnce(gateway)
})

test('a model that does not see gets the path, and a model that sees is shown the picture later', async (t) => {
  const gateway = await startTestGateway(t, { replies: [{ text: 'I only see a path' }, { text: 'a cat' }] })
  await gateway.platform.attach(photo)
  await gateway.waitForReply('I only see a path')
  await gateway.stop()
  gateway.configure({ model: 'gpt-5.2' })
  await gateway.start()
  await gateway.say('and now?')
  await gateway.waitForReply('a cat')
  assert.deepEqual(gateway.model.requests.map(picturesIn), [[], [content]])
  assert.match(JSON.stringify(gateway.model.requests[0]?.body), new RegExp(`Attached photo: ${pathOf(gateway)}`))
})

test('/branch and /retry keep the picture, and /undo takes it out', async (t) => {
  const gateway = await startSeeing(t)
  await gateway.platform.attach(photo)
  await gateway.modelRequest(0)
  await gateway.waitForLog({ event: 'turn.ended' })
  await runCommand(gateway, '/branch')
  await gateway.say('/retry')
  await gateway.modelRequest(1)
  await gateway.waitForLogLine(2, { event: 'turn.ended', state: 'done', iterations: 1 })
  await runCommand(gateway, '/undo')
  await gateway.say('next')
  await gateway.modelRequest(2)
  assert.deepEqual(gateway.model.requests.map(picturesIn), [[content], [content], []])
})

test('a turn goes on when the file of a picture was deleted by hand', async (t) => {
  const gateway = await startSeeing(t, { replies: [{ text: 'a cat' }, { text: 'it is gone' }] })
  await gateway.platform.attach(photo)
  await gateway.waitForReply('a cat')
  rmSync(pathOf(gateway))
  await gateway.say('look again')
  await gateway.waitForReply('it is gone')
  const second = gateway.model.requests[1]
  assert.deepEqual(picturesIn(second), [])
  assert.match(JSON.stringify(second?.body), /its file is missing/)
})

test('a picture of an interrupted turn is shown again after the restart', async (t) => {
  const gateway = await startSeeing(t, { replies: [{ hang: 'headers' }, { text: 'a cat' }] })
  await gateway.platform.attach(photo)
  await gateway.modelRequest(0)
  await gateway.stop(AbortSignal.abort())
  await gateway.start()
  await gateway.waitForReply('a cat')
  assert.deepEqual(gateway.model.requests.map(picturesIn), [[content], [content]])
})

test('pictures of a conversation stay, and those that no message names are removed after a day', async (t) => {
  const gateway = await startSeeing(t)
  await gateway.platform.attach(photo)
  await gateway.modelRequest(0)
  await gateway.waitForLog({ event: 'turn.ended' })
  const [old, young] = [join(gateway.home.pictures, 'old.png'), join(gateway.home.pictures, 'young.png')]
  for (const path of [old, young]) writeFileSync(path, '')
  for (const path of [old, pathOf(gateway)]) utimesSync(path, 1, 1)
  const store = createSqliteStore({ path: gateway.home.databaseFile })
  t.after(() => store.close())
  const { pictures } = gateway.home
  // The picture is sent again while the database is read.
  const busy: typeof store = {
    ...store,
    run(work) {
      utimesSync(old, new Date(), new Date())
      return store.run(work)
    },
  }
  assert.equal(await removeUnusedPictures(busy, pictures, Date.now() - 86_400_000), 0)
  utimesSync(old, 1, 1)
  assert.equal(await removeUnusedPictures(store, pictures, Date.now() - 86_400_000), 1)
  assert.deepEqual([old, young, pathOf(gateway)].map(existsSync), [false, true, true])
})

test('the agent asks the model of auxiliary.vision about a file', async (t) => {
  const call = (args: Record<string, string>) => ({ toolCalls: [{ name: 'vision_analyze', arguments: args }] })
  const question = 'What does the sign say?'
  const gateway = await startTestGateway(t, {
    config: { auxiliary: { vision: { model: 'eyes-1' } } },
    model: ({ body }) => (body['model'] === 'eyes-1' ? { text: 'It says STOP.' } : { text: 'done' }),
  })
  writeFileSync(join(gateway.home.root, 'sign.bin'), picture)
  gateway.model.enqueue(call({ path: 'sign.bin', question, region: 'the top' }), { text: 'It says STOP.' })
  await gateway.say('read the sign')
  await gateway.waitForReply('done')
  const [, asked, after] = gateway.model.requests
  assert.deepEqual([asked?.body['model'], picturesIn(asked)], ['eyes-1', [content]])
  assert.match(JSON.stringify(asked?.body), /What does the sign say\?.*the top/)
  assert.match(JSON.stringify(after?.body), /It says STOP\./)
  assert.deepEqual(picturesIn(after), [])
})

test('a model that sees looks at a file itself, and still sees it after a restart', async (t) => {
  const call = { name: 'vision_analyze', arguments: { path: 'sign.png', question: 'What does it say?' } }
  const gateway = await startSeeing(t, {
    replies: [{ toolCalls: [call] }, { text: 'It says STOP.' }, { text: 'It still does.' }],
  })
  writeFileSync(join(gateway.home.root, 'sign.png'), picture)
  await gateway.say('read the sign')
  await gateway.waitForReply('It says STOP.')
  await gateway.stop()
  await gateway.start()
  await gateway.say('sure?')
  await gateway.waitForReply('It still does.')
  assert.deepEqual(gateway.model.requests.map(picturesIn), [[], [content], [content]])
  assertStoredOnce(gateway)
})

test('who may read no files learns nothing of the pictures of the machine', async (t) => {
  const gateway = await startTestGateway(t, {
    config: {
      auxiliary: { vision: { model: 'eyes-1' } },
      roles: { guest: { tools: ['*', '-terminal', '-file', '-effect'] } },
    },
    model: ({ body }) => (body['model'] === 'eyes-1' ? { text: 'I see a passport.' } : { text: 'done' }),
  })
  writeFileSync(join(gateway.home.root, 'passport.png'), picture)
  const question = 'Whose is it?'
  const toolCalls = ['passport.png', 'missing.png', '/etc/hostname'].map((path) => ({
    name: 'vision_analyze',
    arguments: { path, question },
  }))
  gateway.model.enqueue({ toolCalls }, { text: 'done' })
  await gateway.say('look')
  await gateway.waitForReply('done')
  const results = rowsIn(gateway.home, "select content from messages where role = 'tool'").map(({ content }) => content)
  assert.deepEqual([...new Set(results)].length, 1)
  assert.match(String(results[0]), /not_allowed_for_role/)
})

test('a conversation without the tools for files shows no picture of the machine', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { auxiliary: { vision: { model: 'eyes-1' } }, toolsets: ['safe'], roles: { owners: ['fake:user'] } },
  })
  writeFileSync(join(gateway.home.root, 'sign.png'), picture)
  const args = { path: 'sign.png', question: 'What does it say?' }
  gateway.model.enqueue({ toolCalls: [{ name: 'vision_analyze', arguments: args }] }, { text: 'done' })
  await gateway.say('look')
  await gateway.waitForReply('done')
  const [result] = rowsIn(gateway.home, "select content from messages where role = 'tool'")
  assert.match(String(result?.['content']), /not_allowed_for_role/)
})

test('the agent learns why a picture cannot be seen', async (t) => {
  const question = 'What is it?'
  const gateway = await startTestGateway(t, { config: { auxiliary: { vision: { model: 'eyes-1' } } } })
  writeFileSync(join(gateway.home.root, 'notes.txt'), 'no picture')
  writeFileSync(join(gateway.home.root, 'huge.png'), createPng({ width: 30_000, height: 30_000 }))
  const cases = [
    [{ question }, 'no_picture'],
    [{ question, path: 'missing.png' }, 'not_found'],
    [{ question, path: 'notes.txt' }, 'not_a_picture'],
    [{ question, path: 'huge.png' }, 'too_many_pixels'],
    [{ question, image_url: 'http://127.0.0.1:1/x.png' }, 'url_not_allowed'],
    [{ question, image_url: 'file:///etc/passwd' }, 'url_not_allowed'],
    [{ question, path: gateway.home.databaseFile }, 'secret'],
  ] as const
  const toolCalls = cases.map(([args]) => ({ name: 'vision_analyze', arguments: args }))
  gateway.model.enqueue({ toolCalls }, { text: 'done' })
  await gateway.say('look')
  await gateway.waitForReply('done')
  const results = rowsIn(gateway.home, "select content from messages where role = 'tool' order by ord")
  const codes = results.map(({ content: text }) => /"code":"(?<code>\w+)"/.exec(String(text))?.groups?.['code'])
  assert.deepEqual(
    codes,
    cases.map(([, code]) => code),
  )
  assert.deepEqual(existsSync(gateway.home.pictures) ? readdirSync(gateway.home.pictures) : [], [])
})
