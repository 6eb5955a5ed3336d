/**
 * Kills the gateway around the message about the end of a background command. The message comes once; when it was not stored,
 * it says that the command was lost.
 */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { startChatServer } from './chat-server.ts'
import { arm, prepareHome, runUntilKilled, start, stop, untilKilled, waitForReady } from './scenario.ts'

test('the end of a background command is reported once after a crash', { timeout: 120_000 }, async (t) => {
  const children = new Set<ChildProcess>()
  const home = await mkdtemp(join(tmpdir(), 'hermes-crash-'))
  const chat = await startChatServer()
  const model = await startOpenAiServer({
    defaultReply: ({ body, lastUserText }) => {
      const messages = Array.isArray(body['messages']) ? body['messages'] : []
      const [, status] = /^\[Background command \w+, status: (\w+)/.exec(lastUserText) ?? []
      if (status !== undefined) return { text: `It is ${status}.`, delayMs: 1 }
      if (messages.at(-1)?.role === 'tool') return { text: 'It runs.', delayMs: 1 }
      const command = { command: 'true', background: true, notify_on_complete: true }
      return { toolCalls: [{ name: 'terminal', arguments: command }], delayMs: 1 }
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
  const toldTo = (user: string) =>
    chat.messages.filter(({ chat, text, draft }) => chat === user && !draft && text.includes('It is '))
  async function checkTold(user: string, status: string): Promise<void> {
    await chat.until(() => toldTo(user).length > 0, 30_000)
    const unlabelled = toldTo(user).filter(({ text }) => !text.includes('May be a duplicate'))
    assert.ok(unlabelled.length <= 1 && toldTo(user).every(({ text }) => text.includes(`It is ${status}.`)))
  }

  chat.say('ada', 'run it')
  await runUntilKilled(home, { killAt: 'command-report:before-store', killHit: 1 }, children)
  let restarted = start(home, {}, children)
  await waitForReady(restarted)
  await checkTold('ada', 'lost')

  const kill = { killAt: 'command-report:stored', killHit: 1 }
  await arm(restarted, kill)
  const killed = untilKilled(restarted, kill)
  chat.say('bob', 'run it')
  await killed
  restarted = start(home, {}, children)
  await waitForReady(restarted)
  await checkTold('bob', 'ended')
  await checkTold('ada', 'lost')
  await stop(restarted)
})
