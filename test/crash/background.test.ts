/**
 * Kills the gateway while a background task runs. Its reply arrives, and no duplicate is sent without a label.
 */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { startChatServer } from './chat-server.ts'
import { prepareHome, runUntilKilled, start, stop, waitForReady } from './scenario.ts'

/** The task is stored, but its hook has no response yet; the task has ended, but its reply was not sent. More: `scenario.ts`. */
const points = ['inbox:committed', 'turn:finished']

describe('a background task survives a crash', { concurrency: 2 }, () => {
  for (const name of points) test(`killed at ${name}`, (t) => testKill(t, name))
})

async function testKill(t: TestContext, point: string): Promise<void> {
  const children = new Set<ChildProcess>()
  const home = await mkdtemp(join(tmpdir(), 'hermes-crash-'))
  const chat = await startChatServer()
  const model = await startOpenAiServer({
    defaultReply: () => ({ text: 'All is well.', delayMs: 1 }),
    record: false,
  })
  t.after(async () => {
    for (const child of children) child.kill('SIGKILL')
    await chat.close()
    await model.stop()
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  })
  await prepareHome(home, chat.url, model.baseUrl)
  await writeFile(join(home, 'BOOT.md'), 'Check everything.')
  await runUntilKilled(home, { killAt: point, killHit: 1 }, children)
  // Without BOOT.md the next start creates no task, so the reply belongs to the first one.
  await rm(join(home, 'BOOT.md'))
  const restarted = start(home, {}, children)
  await waitForReady(restarted)
  await chat.until((messages) => messages.some(({ chat: name }) => name === 'home'), 30_000)
  await stop(restarted)
  assert.ok(chat.messages.every(({ text }) => text.endsWith('All is well.')))
  const unlabelled = chat.messages.filter(({ text }) => !text.includes('May be a duplicate'))
  assert.ok(unlabelled.length <= 1, JSON.stringify(chat.messages))
}
