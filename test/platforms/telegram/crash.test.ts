/**
 * The process is killed with SIGKILL between two steps of a message from Telegram; the next life must lose nothing and
 * double nothing without saying so.
 */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { start } from '../../crash/scenario.ts'
import { startOpenAiServer } from '../../kit/servers/openai-server.ts'
import { defaultUser, startTelegramServer } from '../../kit/servers/telegram-server.ts'
import { tempHome } from '../../kit/temp-home.ts'

const repositoryPath = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url))

/** Telegram as a platform of the home, so that this gateway speaks nothing else. */
function prepare(home: string, config: Readonly<Record<string, unknown>>): void {
  const platform = join(home, 'platforms', 'telegram')
  mkdirSync(platform, { recursive: true, mode: 0o700 })
  cpSync(repositoryPath('platforms/telegram/plugin.yaml'), join(platform, 'plugin.yaml'))
  const adapter = new URL('../../../platforms/telegram/adapter.ts', import.meta.url).href
  writeFileSync(join(platform, 'adapter.ts'), `export { default } from '${adapter}'\n`)
  writeFileSync(join(home, 'config.yaml'), JSON.stringify(config), { mode: 0o600 })
}

function runGateway(children: Set<ChildProcess>, home: string, killAt?: string): ChildProcess {
  return start(home, killAt === undefined ? {} : { killAt, killHit: 1 }, children)
}

function exitOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)))
}

/** @param replyTo the reply of the model to a text */
async function setUp(t: TestContext, replyTo: (text: string) => string) {
  const children = new Set<ChildProcess>()
  // Before the home is made: one that is in use must not be removed.
  t.after(() => {
    for (const child of children) child.kill('SIGKILL')
  })
  const home = tempHome(t)
  const server = await startTelegramServer()
  const model = await startOpenAiServer({ defaultReply: ({ lastUserText }) => ({ text: replyTo(lastUserText) }) })
  t.after(async () => {
    await server.close()
    await model.stop()
  })
  const { bot } = server
  prepare(home, {
    model: 'test',
    provider: 'openai',
    base_url: model.baseUrl,
    api_key: 'none',
    http: { port: 0 },
    platforms: { telegram: { token: bot.token, api_root: server.url, allow_from: [String(defaultUser.id)] } },
  })
  return { children, home, bot }
}

const failpoints = [
  { at: 'inbox:committed', what: 'after a message was stored, before Telegram heard so' },
  { at: 'outbox:accepted', what: 'after an answer was sent, before that was stored' },
]

describe('killed between two steps, the gateway answers once, or says that it may be twice', { concurrency: 2 }, () => {
  for (const { at, what } of failpoints) {
    test(`killed ${what}`, { timeout: 60_000 }, async (t) => {
      const { children, home, bot } = await setUp(t, (text) => `You said: ${text}`)
      const said = bot.say('Hello')
      assert.equal(await exitOf(runGateway(children, home, at)), 'SIGKILL')
      const survivor = runGateway(children, home)
      await said.confirmed
      await bot.say('Still there?').confirmed
      await bot.chats.until(({ text }) => text.includes('Still there?'))
      const answers = bot.chats.shown.filter(({ text }) => text.includes('You said: Hello'))
      assert.ok(answers.length > 0, 'it was never answered')
      assert.ok(answers.filter(({ text }) => !text.includes('May be a duplicate')).length <= 1, JSON.stringify(answers))
      const stopped = exitOf(survivor)
      survivor.kill('SIGTERM')
      assert.equal(await stopped, 0)
    })
  }
})

describe('killed while an album is sent, the gateway sends it once more as an album, with a label', {
  concurrency: 2,
}, () => {
  for (const { at, albums } of [
    { at: 'outbox:claimed', albums: 1 },
    { at: 'outbox:accepted', albums: 2 },
  ]) {
    test(`killed at ${at}`, { timeout: 60_000 }, async (t) => {
      const files = tempHome(t)
      for (const name of ['one.png', 'two.png']) writeFileSync(join(files, name), name)
      const album = `MEDIA:${join(files, 'one.png')}\nMEDIA:${join(files, 'two.png')}`
      const { children, home, bot } = await setUp(t, (text) => (text === 'Draw' ? album : `You said: ${text}`))
      const said = bot.say('Draw')
      assert.equal(await exitOf(runGateway(children, home, at)), 'SIGKILL')
      const survivor = runGateway(children, home)
      await said.confirmed
      await bot.say('Still there?').confirmed
      await bot.chats.until(({ text }) => text.includes('Still there?'))
      const sent = bot.chats.shown.filter(({ file }) => file !== undefined)
      const unlabelled = [
        ['one.png', false],
        ['two.png', false],
      ]
      assert.deepEqual(
        sent.map(({ file, text }) => [file?.name, text.includes('May be a duplicate')]),
        [...(albums === 2 ? unlabelled : []), ['one.png', true], ['two.png', false]],
      )
      assert.equal(new Set(sent.map(({ album: id }) => id)).size, albums)
      const stopped = exitOf(survivor)
      survivor.kill('SIGTERM')
      assert.equal(await stopped, 0)
    })
  }
})
