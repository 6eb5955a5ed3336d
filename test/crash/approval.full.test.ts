/**
 * Kills the gateway in each state of an approval. The question is asked once, its answer counts after the restart, and the
 * tool runs at most once.
 */
import assert from 'node:assert/strict'
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { testChatGateway } from './chat-gateway.ts'

test('a pending approval survives a crash', { timeout: 120_000 }, async (t) => {
  const { home, chat, gateway, untilSent } = await testChatGateway(t, ({ body, lastUserText }, { home }) => {
    const messages = Array.isArray(body['messages']) ? body['messages'] : []
    if (messages.at(-1)?.role === 'tool') return { text: `It was done: ${lastUserText.trim()}.`, delayMs: 1 }
    const command = `echo ${lastUserText.trim()} >> '${join(home, 'effects.log')}'`
    return { toolCalls: [{ name: 'terminal', arguments: { command } }], delayMs: 1 }
  })
  const effects = join(home, 'effects.log')
  await installPlugin(home)
  const questionsIn = (user: string) =>
    chat.messages.filter(({ chat, text }) => chat === user && text.includes('May I run `terminal`?'))
  const asked = (user: string) => untilSent(`the question to ${user}`, () => questionsIn(user).length > 0)
  async function checkDone(user: string, text: string): Promise<void> {
    await untilSent('the answer', (messages) => messages.some((sent) => sent.text.includes(`It was done: ${text}.`)))
    const lines = (await readFile(effects, 'utf8')).split('\n')
    assert.deepEqual(
      lines.filter((line) => line === text),
      [text],
    )
    const unlabelled = questionsIn(user).filter(({ text }) => !text.includes('May be a duplicate'))
    assert.ok(unlabelled.length <= 1, JSON.stringify(chat.messages))
  }

  await t.test('killed at approval:waiting', async () => {
    // The turn waits for the answer.
    chat.say('ada', 'one')
    gateway.start('approval:waiting')
    await gateway.killed()
    await gateway.restart()
    await asked('ada')
    chat.say('ada', '/approve')
    await checkDone('ada', 'one')
  })

  await t.test('killed at question:answered', async () => {
    // The answer is stored, but the turn has not received it.
    await gateway.arm('question:answered')
    chat.say('bob', 'two')
    await asked('bob')
    chat.say('bob', '/approve')
    await gateway.killed()
    await gateway.restart()
    await checkDone('bob', 'two')
  })

  for (const [killAt, user, word, times] of [
    ['tool:started', 'cleo', 'three', 0],
    ['tool:effect-done', 'dora', 'four', 1],
  ] as const) {
    await t.test(`killed at ${killAt}`, async () => {
      // The allowed command has begun, or it has ended and its result is not stored. It never runs a second time.
      await gateway.arm(killAt)
      chat.say(user, word)
      await asked(user)
      chat.say(user, '/approve')
      await gateway.killed()
      await gateway.restart()
      await untilSent('the answer', (messages) => messages.some((sent) => sent.text.includes(`It was done: ${word}.`)))
      const lines = (await readFile(effects, 'utf8')).split('\n')
      assert.equal(lines.filter((line) => line === word).length, times)
      assert.equal(questionsIn(user).length, 1)
    })
  }

  await gateway.stop()
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
