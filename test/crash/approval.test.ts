/**
 * Kills the gateway while a tool waits for approval. The question is asked once, its answer counts after the restart, and
 * the tool runs once.
 */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { startChatServer } from './chat-server.ts'
import { prepareHome, runUntilKilled, start, stop, waitForReady } from './scenario.ts'

/** The turn waits for the answer; the answer is stored, but the turn has not received it. */
const points = ['approval:waiting', 'question:answered']

describe('a pending approval survives a crash', { concurrency: 2 }, () => {
  for (const point of points) test(`killed at ${point}`, (t) => testKill(t, point))
})

async function testKill(t: TestContext, point: string): Promise<void> {
  const children = new Set<ChildProcess>()
  const home = await mkdtemp(join(tmpdir(), 'hermes-crash-'))
  const effects = join(home, 'effects.log')
  const chat = await startChatServer()
  const model = await startOpenAiServer({
    defaultReply: ({ body }) => {
      const messages = Array.isArray(body['messages']) ? body['messages'] : []
      if (messages.at(-1)?.role === 'tool') return { text: 'It was done.', delayMs: 1 }
      return { toolCalls: [{ name: 'terminal', arguments: { command: `echo done >> ${effects}` } }], delayMs: 1 }
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
  const asked = () => chat.messages.filter(({ text }) => text.includes('May I run `terminal`?'))
  chat.say('ada', 'do it')
  if (point === 'question:answered') {
    const answered = chat.until(() => asked().length > 0, 30_000).then(() => chat.say('ada', '/approve'))
    await Promise.all([runUntilKilled(home, { killAt: point, killHit: 1 }, children), answered])
  } else await runUntilKilled(home, { killAt: point, killHit: 1 }, children)

  const restarted = start(home, {}, children)
  await waitForReady(restarted)
  if (point === 'approval:waiting') {
    await chat.until(() => asked().length > 0, 30_000)
    chat.say('ada', '/approve')
  }
  await chat.until((messages) => messages.some(({ text }) => text.includes('It was done.')), 30_000)
  await stop(restarted)
  assert.equal(await readFile(effects, 'utf8'), 'done\n')
  const unlabelled = asked().filter(({ text }) => !text.includes('May be a duplicate'))
  assert.ok(unlabelled.length <= 1, JSON.stringify(chat.messages))
}

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
