/**
 * Kills the gateway while it listens to a voice message, and while it speaks its answer. The message is not lost, its answer is sent
 * once, and its voice at most once.
 */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { appendFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { startMediaServer } from '../kit/servers/media-server.ts'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { startChatServer } from './chat-server.ts'
import { exitOf } from './killed-gateway.ts'
import { prepareHome, start, stop, waitForReady } from './scenario.ts'

/** The request to the vendor that kills the gateway, or a failpoint. */
const kills = ['/v1/audio/transcriptions', 'turn:speaking', '/v1/audio/speech'] as const

describe('a voice message survives a crash', { concurrency: 2 }, () => {
  for (const killAt of kills) {
    test(`killed at ${killAt}`, { timeout: 120_000 }, async (t) => {
      const { texts, voices, transcripts } = await runKilled(t, killAt)
      assert.ok(texts.length > 0, 'it was never answered')
      // A message that may have arrived before the crash is sent again with a label.
      assert.ok(texts.filter((text) => !text.includes('May be a duplicate')).length <= 1, JSON.stringify(texts))
      assert.ok(voices.length <= 1, JSON.stringify(voices))
      assert.ok(transcripts.every((text) => text.includes('hello from the recording')))
    })
  }
})

async function runKilled(t: TestContext, killAt: (typeof kills)[number]) {
  const children = new Set<ChildProcess>()
  const transcripts: string[] = []
  const home = await mkdtemp(join(tmpdir(), 'hermes-crash-'))
  const chat = await startChatServer()
  const model = await startOpenAiServer({
    defaultReply({ lastUserText }) {
      transcripts.push(lastUserText)
      return { text: lastUserText.includes('still there') ? 'Yes.' : 'I heard you.', delayMs: 1 }
    },
    record: false,
  })
  t.after(async () => {
    for (const child of children) child.kill('SIGKILL')
    await chat.close()
    await model.stop()
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  })
  let isKilled = false
  const vendor = await startMediaServer(t, ({ path }) => {
    if (path !== killAt || isKilled) return undefined
    isKilled = true
    first.kill('SIGKILL')
    return undefined
  })
  await prepareHome(home, chat.url, model.baseUrl)
  const server = `{ base_url: "${vendor.baseUrl}", api_key: none }`
  await appendFile(join(home, 'config.yaml'), `stt: ${server}\ntts: ${server}\nvoice: { auto_tts: true }\n`)
  chat.say('ada', 'voice')
  const first = start(home, killAt === 'turn:speaking' ? { killAt, killHit: 1 } : {}, children)
  assert.equal(await exitOf(first), 'SIGKILL')
  const second = start(home, {}, children)
  await waitForReady(second)
  await chat.until((messages) => messages.some(({ text }) => text.includes('I heard you.')), 30_000)
  // What the next start still had to send was sent before the answer to a later message.
  chat.say('ada', 'still there?')
  await chat.until((messages) => messages.some(({ text }) => text.includes('Yes.')), 30_000)
  await stop(second)
  const sent = chat.messages.filter(({ chat: name }) => name === 'ada').map(({ text }) => text)
  return {
    texts: sent.filter((text) => text.includes('I heard you.')),
    voices: sent.filter((text) => text.startsWith('[voice]')),
    transcripts: transcripts.filter((text) => !text.includes('still there')),
  }
}
