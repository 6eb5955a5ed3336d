/**
 * Promises about what is sent: it is seen, it fits, it grows, it can be taken back, and files come along.
 */
import assert from 'node:assert/strict'
import type { OutboundAttachment } from '../../../../src/message/outbound.ts'
import type { Target } from '../../../../src/message/source.ts'
import type { MessageLimits, PlatformAdapter } from '../../../../src/platforms/adapter.ts'
import { messageTo, neverAborted, type PlatformRequirement, requirement } from '../platform-requirement.ts'
import { singleEvent } from './inbound.ts'

export const outboundRequirements: readonly PlatformRequirement[] = [
  requirement({
    name: 'what is sent is seen',
    async check({ adapter, target, seen }) {
      const arrived = seen('The answer.')
      const result = await adapter.send(messageTo(target, 'The answer.'), neverAborted)
      assert.equal(result.success, true)
      await arrived
    },
  }),

  requirement({
    name: 'a message as long as the limit arrives whole',
    async check({ adapter, target, seen }) {
      for (const sign of ['x', '😀']) {
        const text = textOfLength(adapter.limits, sign)
        const arrived = seen(text)
        const result = await adapter.send(messageTo(target, text, `delivery-${sign}`), neverAborted)
        assert.equal(result.success, true, JSON.stringify(result))
        await arrived
      }
    },
  }),

  requirement({
    name: 'signs that mean something to the platform are shown as they are, and change nothing about the limit',
    async check({ adapter, target, seen }) {
      const signs = 'a < b && c > d; '
      const text = textOfLength(adapter.limits, signs).trimEnd()
      const arrived = seen(text)
      const result = await adapter.send(messageTo(target, text), neverAborted)
      assert.equal(result.success, true, JSON.stringify(result))
      await arrived
    },
  }),

  requirement({
    name: 'an answer to a message that was taken back still arrives',
    needs: ['remove'],
    async check({ adapter, gateway, target, say, seen, remove }) {
      await say('what is the time?', 'one')
      const { messageId } = singleEvent(gateway).event
      await remove('one')
      const arrived = seen('Ten.')
      const answer = { ...messageTo(target, 'Ten.'), ...(messageId === undefined ? {} : { replyTo: messageId }) }
      const result = await adapter.send(answer, neverAborted)
      assert.equal(result.success, true, JSON.stringify(result))
      await arrived
    },
  }),

  requirement({
    name: 'a send that is called off is answered, not thrown',
    async check({ adapter, target }) {
      const result = await adapter.send(messageTo(target, 'never mind'), AbortSignal.abort())
      assert.equal(typeof result.success, 'boolean')
    },
  }),

  requirement({
    name: 'a send after the disconnect is answered, not thrown',
    async check({ adapter, target }) {
      await adapter.disconnect()
      const result = await adapter.send(messageTo(target, 'too late'), neverAborted)
      assert.equal(typeof result.success, 'boolean')
    },
  }),

  requirement({
    name: 'a growing reply ends as the final text, and an edit may be repeated',
    adapterNeeds: ['edit'],
    async check({ adapter, target, seen }) {
      const draft = { ...messageTo(target, 'The ans'), kind: 'draft' as const }
      const sent = await adapter.send(draft, neverAborted)
      assert.ok(sent.success && sent.messageId !== undefined, 'a draft needs an address')
      for (const text of ['The answ', 'The answ']) {
        assert.equal((await adapter.edit(sent.messageId, { ...draft, text }, false, neverAborted)).success, true)
      }
      const arrived = seen('The answer.')
      for (const _ of ['first', 'again']) {
        const final = await adapter.edit(sent.messageId, messageTo(target, 'The answer.'), true, neverAborted)
        assert.equal(final.success, true, JSON.stringify(final))
      }
      await arrived
    },
  }),

  requirement({
    name: 'an edit that changes nothing has succeeded',
    needs: ['answerNotModified'],
    adapterNeeds: ['edit'],
    async check({ adapter, target, answerNotModified: notModified }) {
      const messageId = await sendOne(adapter, target)
      notModified()
      const result = await adapter.edit(messageId, messageTo(target, 'One.'), true, neverAborted)
      assert.equal(result.success, true, JSON.stringify(result))
    },
  }),

  requirement({
    name: 'an edit of a message that never was is answered, not thrown',
    adapterNeeds: ['edit'],
    async check({ adapter, target }) {
      const result = await adapter.edit('gone', messageTo(target, 'text'), true, neverAborted)
      assert.ok(result.success || result.problem === 'rejected', JSON.stringify(result))
    },
  }),

  requirement({
    name: 'an edit of a message that somebody removed is rejected, so that the answer is sent anew',
    needs: ['deleteOwnMessage'],
    adapterNeeds: ['edit'],
    async check({ adapter, target, deleteOwnMessage: deleteOurs }) {
      const messageId = await sendOne(adapter, target)
      await deleteOurs(messageId)
      const result = await adapter.edit(messageId, messageTo(target, 'Two.'), true, neverAborted)
      assert.ok(!result.success && result.problem === 'rejected', JSON.stringify(result))
    },
  }),

  requirement({
    name: 'a message of ours can be taken back, and is gone then',
    needs: ['deleteOwnMessage'],
    adapterNeeds: ['remove', 'edit'],
    async check({ adapter, target }) {
      const messageId = await sendOne(adapter, target)
      const removed = await adapter.remove(target, messageId, neverAborted)
      assert.equal(removed.success, true, JSON.stringify(removed))
      const result = await adapter.edit(messageId, messageTo(target, 'Two.'), true, neverAborted)
      assert.ok(!result.success && result.problem === 'rejected', JSON.stringify(result))
      const again = await adapter.remove(target, messageId, neverAborted)
      assert.equal(typeof again.success, 'boolean')
    },
  }),

  requirement({
    name: 'showing what the agent does never fails',
    async check({ adapter, target, loseChat }) {
      const tool = { turnId: 't', callId: 'c', tool: 'terminal' }
      adapter.activity?.(target, { kind: 'turn-started', turnId: 't' })
      adapter.activity?.(target, { kind: 'tool-started', ...tool, label: 'ls' })
      adapter.activity?.(target, { kind: 'tool-ended', ...tool, ok: true, summary: '3 lines' })
      adapter.activity?.(target, { kind: 'turn-ended', turnId: 't', status: 'done' })
      await adapter.typing?.(target, neverAborted)
      loseChat?.()
      await adapter.typing?.(target, neverAborted)
      await adapter.typing?.(target, AbortSignal.abort())
    },
  }),

  requirement({
    name: 'a file arrives with its bytes and its caption',
    needs: ['fileSeen'],
    adapterNeeds: ['sendsAttachments'],
    async check({ adapter, target, seen, fileSeen }) {
      const bytes = Buffer.from('Buy milk. ü\n')
      const attachment = document('notes.txt', async () => new Blob([bytes], { type: 'text/plain' }), bytes.length)
      const arrived = Promise.all([fileSeen('notes.txt'), seen('Your notes.')])
      const result = await adapter.send({ ...messageTo(target, 'Your notes.'), attachment }, neverAborted)
      assert.equal(result.success, true, JSON.stringify(result))
      const [file] = await arrived
      assert.ok(typeof file !== 'string')
      assert.deepEqual(Buffer.from(file), bytes)
    },
  }),

  requirement({
    name: 'a picture from the web arrives',
    needs: ['fileSeen'],
    adapterNeeds: ['sendsAttachments'],
    async check({ adapter, target, fileSeen }) {
      const url = 'https://files.example/dot.png'
      const attachment: OutboundAttachment = {
        kind: 'image',
        fileName: 'dot.png',
        mimeType: 'image/png',
        source: { kind: 'url', url },
      }
      const arrived = fileSeen('dot.png')
      const result = await adapter.send({ ...messageTo(target, ''), attachment }, neverAborted)
      assert.equal(result.success, true, JSON.stringify(result))
      assert.match(String(await arrived), /https:\/\/files\.example\/dot\.png/)
    },
  }),

  requirement({
    name: 'a file that has gone meanwhile is a failed send, not a crash',
    adapterNeeds: ['sendsAttachments'],
    async check({ adapter, target }) {
      const attachment = document('gone.txt', () => Promise.reject(new Error('the file is gone')), 10)
      const result = await adapter.send({ ...messageTo(target, 'Here.'), attachment }, neverAborted)
      assert.ok(!result.success && result.maybeSent !== true, JSON.stringify(result))
    },
  }),
]

/** Sends `One.`; returns the platform's id of it. */
async function sendOne(adapter: PlatformAdapter, target: Target): Promise<string> {
  const result = await adapter.send(messageTo(target, 'One.'), neverAborted)
  assert.ok(result.success && result.messageId !== undefined, JSON.stringify(result))
  return result.messageId
}

function document(fileName: string, open: () => Promise<Blob>, bytes: number): OutboundAttachment {
  return { kind: 'document', fileName, mimeType: 'text/plain', source: { kind: 'file', bytes, open } }
}

/** The sign again and again, as far as the limit goes. */
function textOfLength({ maxChars, unit }: MessageLimits = { maxChars: 4_000, unit: 'utf16' }, sign: string): string {
  assert.ok(maxChars > 0)
  const size = { utf16: sign.length, codepoints: [...sign].length, bytes: Buffer.byteLength(sign) }[unit]
  return sign.repeat(Math.floor(maxChars / size))
}
