/**
 * Promises about what is sent: it is seen, it fits, it grows, it can be taken back, and files come along.
 */
import assert from 'node:assert/strict'
import type { OutboundAttachment } from '../../../../src/message/outbound.ts'
import type { Target } from '../../../../src/message/source.ts'
import type { MessageLimits, PlatformAdapter } from '../../../../src/platforms/adapter.ts'
import { messageTo, never, type PlatformPromise, promise } from '../platform-promise.ts'
import { only } from './incoming.ts'

export const outgoingPromises: readonly PlatformPromise[] = [
  promise({
    name: 'what is sent is seen',
    async check({ adapter, target, seen }) {
      const arrived = seen('The answer.')
      const result = await adapter.send(messageTo(target, 'The answer.'), never)
      assert.equal(result.success, true)
      await arrived
    },
  }),

  promise({
    name: 'a message as long as the limit arrives whole',
    async check({ adapter, target, seen }) {
      for (const sign of ['x', '😀']) {
        const text = asLongAs(adapter.limits, sign)
        const arrived = seen(text)
        const result = await adapter.send(messageTo(target, text, `delivery-${sign}`), never)
        assert.equal(result.success, true, JSON.stringify(result))
        await arrived
      }
    },
  }),

  promise({
    name: 'signs that mean something to the platform are shown as they are, and change nothing about the limit',
    async check({ adapter, target, seen }) {
      const signs = 'a < b && c > d; '
      const text = asLongAs(adapter.limits, signs).trimEnd()
      const arrived = seen(text)
      const result = await adapter.send(messageTo(target, text), never)
      assert.equal(result.success, true, JSON.stringify(result))
      await arrived
    },
  }),

  promise({
    name: 'an answer to a message that was taken back still arrives',
    needs: ['remove'],
    async check({ adapter, gateway, target, say, seen, remove }) {
      await say('what is the time?', 'one')
      const { messageId } = only(gateway).event
      await remove('one')
      const arrived = seen('Ten.')
      const answer = { ...messageTo(target, 'Ten.'), ...(messageId === undefined ? {} : { replyTo: messageId }) }
      const result = await adapter.send(answer, never)
      assert.equal(result.success, true, JSON.stringify(result))
      await arrived
    },
  }),

  promise({
    name: 'a send that is called off is answered, not thrown',
    async check({ adapter, target }) {
      const result = await adapter.send(messageTo(target, 'never mind'), AbortSignal.abort())
      assert.equal(typeof result.success, 'boolean')
    },
  }),

  promise({
    name: 'a send after the disconnect is answered, not thrown',
    async check({ adapter, target }) {
      await adapter.disconnect()
      const result = await adapter.send(messageTo(target, 'too late'), never)
      assert.equal(typeof result.success, 'boolean')
    },
  }),

  promise({
    name: 'a growing reply ends as the final text, and an edit may be repeated',
    abilities: ['edit'],
    async check({ adapter, target, seen }) {
      const draft = { ...messageTo(target, 'The ans'), kind: 'draft' as const }
      const sent = await adapter.send(draft, never)
      assert.ok(sent.success && sent.messageId !== undefined, 'a draft needs an address')
      for (const text of ['The answ', 'The answ']) {
        assert.equal((await adapter.edit(sent.messageId, { ...draft, text }, false, never)).success, true)
      }
      const arrived = seen('The answer.')
      for (const _ of ['first', 'again']) {
        const final = await adapter.edit(sent.messageId, messageTo(target, 'The answer.'), true, never)
        assert.equal(final.success, true, JSON.stringify(final))
      }
      await arrived
    },
  }),

  promise({
    name: 'an edit that changes nothing has succeeded',
    needs: ['notModified'],
    abilities: ['edit'],
    async check({ adapter, target, notModified }) {
      const messageId = await sendOne(adapter, target)
      notModified()
      const result = await adapter.edit(messageId, messageTo(target, 'One.'), true, never)
      assert.equal(result.success, true, JSON.stringify(result))
    },
  }),

  promise({
    name: 'an edit of a message that never was is answered, not thrown',
    abilities: ['edit'],
    async check({ adapter, target }) {
      const result = await adapter.edit('gone', messageTo(target, 'text'), true, never)
      assert.ok(result.success || result.problem === 'rejected', JSON.stringify(result))
    },
  }),

  promise({
    name: 'an edit of a message that somebody removed is rejected, so that the answer is sent anew',
    needs: ['deleteOurs'],
    abilities: ['edit'],
    async check({ adapter, target, deleteOurs }) {
      const messageId = await sendOne(adapter, target)
      await deleteOurs(messageId)
      const result = await adapter.edit(messageId, messageTo(target, 'Two.'), true, never)
      assert.ok(!result.success && result.problem === 'rejected', JSON.stringify(result))
    },
  }),

  promise({
    name: 'a message of ours can be taken back, and is gone then',
    needs: ['deleteOurs'],
    abilities: ['remove', 'edit'],
    async check({ adapter, target }) {
      const messageId = await sendOne(adapter, target)
      const removed = await adapter.remove(target, messageId, never)
      assert.equal(removed.success, true, JSON.stringify(removed))
      const result = await adapter.edit(messageId, messageTo(target, 'Two.'), true, never)
      assert.ok(!result.success && result.problem === 'rejected', JSON.stringify(result))
      const again = await adapter.remove(target, messageId, never)
      assert.equal(typeof again.success, 'boolean')
    },
  }),

  promise({
    name: 'showing what the agent does never fails',
    async check({ adapter, target, loseChat }) {
      const tool = { turnId: 't', callId: 'c', tool: 'terminal' }
      adapter.activity?.(target, { kind: 'turn-started', turnId: 't' })
      adapter.activity?.(target, { kind: 'tool-started', ...tool, label: 'ls' })
      adapter.activity?.(target, { kind: 'tool-ended', ...tool, ok: true, summary: '3 lines' })
      adapter.activity?.(target, { kind: 'turn-ended', turnId: 't', status: 'done' })
      await adapter.typing?.(target, never)
      loseChat?.()
      await adapter.typing?.(target, never)
      await adapter.typing?.(target, AbortSignal.abort())
    },
  }),

  promise({
    name: 'a file arrives with its bytes and its caption',
    needs: ['fileSeen'],
    abilities: ['sendsAttachments'],
    async check({ adapter, target, seen, fileSeen }) {
      const bytes = Buffer.from('Buy milk. ü\n')
      const attachment = document('notes.txt', async () => new Blob([bytes], { type: 'text/plain' }), bytes.length)
      const arrived = Promise.all([fileSeen('notes.txt'), seen('Your notes.')])
      const result = await adapter.send({ ...messageTo(target, 'Your notes.'), attachment }, never)
      assert.equal(result.success, true, JSON.stringify(result))
      const [file] = await arrived
      assert.ok(typeof file !== 'string')
      assert.deepEqual(Buffer.from(file), bytes)
    },
  }),

  promise({
    name: 'a picture from the web arrives',
    needs: ['fileSeen'],
    abilities: ['sendsAttachments'],
    async check({ adapter, target, fileSeen }) {
      const url = 'https://files.example/dot.png'
      const attachment: OutboundAttachment = {
        kind: 'image',
        fileName: 'dot.png',
        mimeType: 'image/png',
        source: { kind: 'url', url },
      }
      const arrived = fileSeen('dot.png')
      const result = await adapter.send({ ...messageTo(target, ''), attachment }, never)
      assert.equal(result.success, true, JSON.stringify(result))
      assert.match(String(await arrived), /https:\/\/files\.example\/dot\.png/)
    },
  }),

  promise({
    name: 'a file that has gone meanwhile is a failed send, not a crash',
    abilities: ['sendsAttachments'],
    async check({ adapter, target }) {
      const attachment = document('gone.txt', () => Promise.reject(new Error('the file is gone')), 10)
      const result = await adapter.send({ ...messageTo(target, 'Here.'), attachment }, never)
      assert.ok(!result.success && result.maybeSent !== true, JSON.stringify(result))
    },
  }),
]

/** Sends `One.`; returns the platform's id of it. */
async function sendOne(adapter: PlatformAdapter, target: Target): Promise<string> {
  const result = await adapter.send(messageTo(target, 'One.'), never)
  assert.ok(result.success && result.messageId !== undefined, JSON.stringify(result))
  return result.messageId
}

function document(fileName: string, open: () => Promise<Blob>, bytes: number): OutboundAttachment {
  return { kind: 'document', fileName, mimeType: 'text/plain', source: { kind: 'file', bytes, open } }
}

/** The sign again and again, as far as the limit goes. */
function asLongAs({ maxChars, unit }: MessageLimits = { maxChars: 4_000, unit: 'utf16' }, sign: string): string {
  assert.ok(maxChars > 0)
  const size = { utf16: sign.length, codepoints: [...sign].length, bytes: Buffer.byteLength(sign) }[unit]
  return sign.repeat(Math.floor(maxChars / size))
}
