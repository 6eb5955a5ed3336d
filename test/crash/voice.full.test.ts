/**
 * Kills the gateway while it listens to a voice message, and while it speaks its answer. The message is not lost, its answer is sent
 * once, and its voice at most once.
 */
import assert from 'node:assert/strict'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startMediaServer } from '../kit/servers/media-server.ts'
import { testChatGateway } from './chat-gateway.ts'

/** The request to the vendor that kills the gateway, or a failpoint. */
const kills = ['/v1/audio/transcriptions', 'turn:speaking', '/v1/audio/speech'] as const

test('a voice message survives a crash', { timeout: 120_000 }, async (t) => {
  const asked: string[] = []
  let heard = ''
  const { home, chat, gateway, untilSent } = await testChatGateway(t, ({ lastUserText: text }) => {
    asked.push(text)
    return { text: text.includes('still there') ? `Yes, ${text}` : heard, delayMs: 1 }
  })
  let killAt: string | undefined
  const vendor = await startMediaServer(t, ({ path }) => {
    if (path !== killAt) return undefined
    killAt = undefined
    void gateway.kill()
    return undefined
  })
  const server = `{ base_url: "${vendor.baseUrl}", api_key: none }`
  await appendFile(join(home, 'config.yaml'), `stt: ${server}\ntts: ${server}\nvoice: { auto_tts: true }\n`)
  await gateway.restart()

  for (const point of kills) {
    await t.test(`killed at ${point}`, async () => {
      const [before, askedBefore] = [chat.messages.length, asked.length]
      // The speech of a text that was spoken before is not asked for again.
      heard = `I heard you before ${point.replaceAll('/', ' ')}.`
      if (point === 'turn:speaking') await gateway.arm(point)
      else killAt = point
      chat.say('ada', 'voice')
      await gateway.killed()
      await gateway.restart()
      await untilSent('the answer', (messages) => messages.some(({ text }) => text.includes(heard)))
      // What the next start still had to send was sent before the answer to a later message.
      const question = `still there after ${point}?`
      chat.say('ada', question)
      await untilSent('the later answer', (messages) => messages.some(({ text }) => text.includes(`Yes, ${question}`)))
      const sent = chat.messages.slice(before).map(({ text }) => text)
      // A message that may have arrived before the crash is sent again with a label.
      const unlabelled = sent.filter((text) => text.includes(heard) && !text.includes('May be a duplicate'))
      assert.ok(unlabelled.length <= 1, JSON.stringify(sent))
      assert.ok(sent.filter((text) => text.startsWith('[voice]')).length <= 1, JSON.stringify(sent))
      const transcripts = asked.slice(askedBefore).filter((text) => !text.includes('still there'))
      assert.ok(transcripts.length > 0 && transcripts.every((text) => text.includes('hello from the recording')))
    })
  }
  await gateway.stop()
})
