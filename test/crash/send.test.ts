/**
 * Kills the gateway around a message that the agent sends to another chat: it is never lost, and never sent twice without a
 * label, because it is stored together with the result of its tool call.
 */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { hasResult } from '../stories/support.ts'
import { startChatServer } from './chat-server.ts'
import { prepareHome, runUntilKilled, start, stop, waitForReady } from './scenario.ts'

/** The tool begins; it has returned, but nothing is stored; its result and the message are stored. */
const points = ['tool:started', 'tool:effect-done', 'tool:recorded']
const news = 'The build is green.'

describe('a message to another chat is stored with the result of its tool call', { concurrency: 2 }, () => {
  for (const name of points) test(`killed at ${name}`, (t) => testKill(t, name))
})

async function testKill(t: TestContext, point: string): Promise<void> {
  const children = new Set<ChildProcess>()
  const home = await mkdtemp(join(tmpdir(), 'hermes-crash-'))
  const chat = await startChatServer()
  const model = await startOpenAiServer({
    defaultReply: (request) =>
      hasResult(request)
        ? { text: 'Sent.' }
        : { toolCalls: [{ name: 'send_message', arguments: { target: 'wire:ops', message: news } }] },
    record: false,
  })
  t.after(async () => {
    for (const child of children) child.kill('SIGKILL')
    await chat.close()
    await model.stop()
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  })
  await prepareHome(home, chat.url, model.baseUrl)
  await writeFile(join(home, 'BOOT.md'), 'Send the news to the chat ops.')
  await runUntilKilled(home, { killAt: point, killHit: 1 }, children)
  await rm(join(home, 'BOOT.md'))
  const restarted = start(home, {}, children)
  await waitForReady(restarted)
  await chat.until((messages) => ['ops', 'home'].every((name) => messages.some(({ chat }) => chat === name)), 30_000)
  await stop(restarted)
  const sent = chat.messages.filter(({ chat: name }) => name === 'ops').map(({ text }) => text)
  assert.ok(sent.length >= 1 && sent.every((text) => text.endsWith(news)), JSON.stringify(sent))
  const unlabelled = sent.filter((text) => !text.includes('May be a duplicate'))
  assert.ok(unlabelled.length <= 1, JSON.stringify(sent))
}
