/**
 * A background task that has its id survives a kill: its answer arrives, and nothing comes twice without a label.
 */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { startChatServer } from './chat-server.ts'
import { liveUntilKilled, prepareHome, readyOf, start, stop } from './life.ts'

/** The task is on disk and its hook does not know yet; it has ended and nothing is sent. Others: `life.ts`. */
const points = ['inbox:committed', 'turn:finished']

describe('a task in the background is answered whenever the gateway is killed', { concurrency: 2 }, () => {
  for (const name of points) test(`killed at ${name}`, (t) => liveThrough(t, name))
})

async function liveThrough(t: TestContext, point: string): Promise<void> {
  const children = new Set<ChildProcess>()
  const home = await mkdtemp(join(tmpdir(), 'hermes-crash-'))
  const chat = await startChatServer()
  const model = await startOpenAiServer({
    defaultReply: () => ({ text: 'Looked after it.', delayMs: 1 }),
    record: false,
  })
  t.after(async () => {
    for (const child of children) child.kill('SIGKILL')
    await chat.close()
    await model.stop()
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  })
  await prepareHome(home, chat.url, model.baseUrl)
  await writeFile(join(home, 'BOOT.md'), 'Look after it.')
  await liveUntilKilled(home, { name: point, hit: 1 }, children)
  // The next start has nothing to ask for: what is answered then was asked for before.
  await rm(join(home, 'BOOT.md'))
  const survivor = start(home, {}, children)
  await readyOf(survivor)
  await chat.until((messages) => messages.some(({ chat: where }) => where === 'home'), 30_000)
  await stop(survivor)
  assert.ok(chat.messages.every(({ text }) => text.endsWith('Looked after it.')))
  const unlabelled = chat.messages.filter(({ text }) => !text.includes('May be a duplicate'))
  assert.ok(unlabelled.length <= 1, JSON.stringify(chat.messages))
}
