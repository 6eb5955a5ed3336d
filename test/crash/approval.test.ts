/**
 * Kills the gateway in each state of an approval. The question is asked once, its answer counts after the restart, and the
 * tool runs at most once.
 */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { startChatServer } from './chat-server.ts'
import { arm, prepareHome, runUntilKilled, start, stop, untilKilled, waitForReady } from './scenario.ts'

test('a pending approval survives a crash', { timeout: 120_000 }, async (t) => {
  const children = new Set<ChildProcess>()
  const home = await mkdtemp(join(tmpdir(), 'hermes-crash-'))
  const effects = join(home, 'effects.log')
  const chat = await startChatServer()
  const model = await startOpenAiServer({
    defaultReply: ({ body, lastUserText }) => {
      const messages = Array.isArray(body['messages']) ? body['messages'] : []
      if (messages.at(-1)?.role === 'tool') return { text: `It was done: ${lastUserText.trim()}.`, delayMs: 1 }
      const command = `echo ${lastUserText.trim()} >> ${effects}`
      return { toolCalls: [{ name: 'terminal', arguments: { command } }], delayMs: 1 }
    },
    record: false,
  })
  t.after(async () => {
    for (const child of children) child.kill('SIGKILL')
    await chat.close()
    await model.stop()
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  })
  await prepareHome(home, chat.url, model.baseUrl)
  await installPlugin(home)
  const questionsIn = (user: string) =>
    chat.messages.filter(({ chat, text }) => chat === user && text.includes('May I run `terminal`?'))
  const asked = (user: string) => chat.until(() => questionsIn(user).length > 0, 30_000)
  async function checkDone(user: string, text: string): Promise<void> {
    await chat.until((messages) => messages.some((sent) => sent.text.includes(`It was done: ${text}.`)), 30_000)
    const lines = (await readFile(effects, 'utf8')).split('\n')
    assert.deepEqual(
      lines.filter((line) => line === text),
      [text],
    )
    const unlabelled = questionsIn(user).filter(({ text }) => !text.includes('May be a duplicate'))
    assert.ok(unlabelled.length <= 1, JSON.stringify(chat.messages))
  }
  let restarted: ChildProcess | undefined

  await t.test('killed at approval:waiting', async () => {
    // The turn waits for the answer.
    chat.say('ada', 'one')
    await runUntilKilled(home, { killAt: 'approval:waiting', killHit: 1 }, children)
    restarted = start(home, {}, children)
    await waitForReady(restarted)
    await asked('ada')
    chat.say('ada', '/approve')
    await checkDone('ada', 'one')
  })

  await t.test('killed at question:answered', async () => {
    // The answer is stored, but the turn has not received it.
    assert.ok(restarted)
    const kill = { killAt: 'question:answered', killHit: 1 }
    await arm(restarted, kill)
    const killed = untilKilled(restarted, kill)
    chat.say('bob', 'two')
    await asked('bob')
    chat.say('bob', '/approve')
    await killed
    restarted = start(home, {}, children)
    await waitForReady(restarted)
    await checkDone('bob', 'two')
  })

  for (const [killAt, user, word, times] of [
    ['tool:started', 'cleo', 'three', 0],
    ['tool:effect-done', 'dora', 'four', 1],
  ] as const) {
    await t.test(`killed at ${killAt}`, async () => {
      // The allowed command has begun, or it has ended and its result is not stored. It never runs a second time.
      assert.ok(restarted)
      const kill = { killAt, killHit: 1 }
      await arm(restarted, kill)
      const killed = untilKilled(restarted, kill)
      chat.say(user, word)
      await asked(user)
      chat.say(user, '/approve')
      await killed
      restarted = start(home, {}, children)
      await waitForReady(restarted)
      await chat.until((messages) => messages.some((sent) => sent.text.includes(`It was done: ${word}.`)), 30_000)
      const lines = (await readFile(effects, 'utf8')).split('\n')
      assert.equal(lines.filter((line) => line === word).length, times)
      assert.equal(questionsIn(user).length, 1)
    })
  }

  assert.ok(restarted)
  await stop(restarted)
})

async function installPlugin(home: string): Promise<void> {
  const folder = join(home, 'plugins', 'guard')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(join(folder, 'plugin.yaml'), 'name: guard\n')
  await writeFile(
    join(folder, 'index.js'),
    `export function register(ctx) { ctx.registerHook('pre_tool_call', () => ({ action: 'approve' })) }\n`,
  )
  await appendFile(join(home, 'config.yaml'), 'plugins: { enabled: [guard] }\n')
}
