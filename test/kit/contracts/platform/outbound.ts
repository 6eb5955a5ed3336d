/**
 * Promises about outbound messages: limits, edits, removal and attachments.
 */
import assert from 'node:assert/strict'
import type { OutboundAttachment } from '../../../../src/message/outbound.ts'
import type { Target } from '../../../../src/message/source.ts'
import type { MessageLimits, PlatformAdapter } from '../../../../src/platforms/adapter.ts'
import { messageTo, neverAborted, type PlatformRequirement, requirement } from '../platform-requirement.ts'
import { singleEvent } from './inbound.ts'

export const outboundRequirements: readonly PlatformRequirement[] = [
  requirement({
    name: 'a sent message is shown',
    async check({ adapter, target, seen }) {
      const arrived = seen('The answer.')
      const result = await adapter.send(messageTo(target, 'The answer.'), neverAborted)
      assert.equal(result.success, true)
      await arrived
    },
  }),

  requirement({
    name: 'a message of the maximum length arrives complete',
    async check({ adapter, target, seen }) {
      for (const character of ['x', '😀']) {
        const text = textOfLength(adapter.limits, character)
        const arrived = seen(text)
        const result = await adapter.send(messageTo(target, text, `delivery-${character}`), neverAborted)
        assert.equal(result.success, true, JSON.stringify(result))
        await arrived
      }
    },
  }),

  requirement({
    name: 'special characters of the platform are shown literally and do not reduce the limit',
    async check({ adapter, target, seen }) {
      const special = 'a < b && c > d; '
      const text = textOfLength(adapter.limits, special).trimEnd()
      const arrived = seen(text)
      const result = await adapter.send(messageTo(target, text), neverAborted)
      assert.equal(result.success, true, JSON.stringify(result))
      await arrived
    },
  }),

  requirement({
    name: 'a reply to a deleted message still arrives',
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
    name: 'an aborted send resolves with a result',
    async check({ adapter, target }) {
      const result = await adapter.send(messageTo(target, 'never mind'), AbortSignal.abort())
      assert.equal(typeof result.success, 'boolean')
    },
  }),

  requirement({
    name: 'a send after disconnect resolves with a result',
    async check({ adapter, target }) {
      await adapter.disconnect()
      const result = await adapter.send(messageTo(target, 'too late'), neverAborted)
      assert.equal(typeof result.success, 'boolean')
    },
  }),

  requirement({
    name: 'a draft ends as the final text, and an edit may be repeated',
    adapterNeeds: ['edit'],
    async check({ adapter, target, seen }) {
      const draft = { ...messageTo(target, 'The ans'), kind: 'draft' as const }
      const sent = await adapter.send(draft, neverAborted)
      assert.ok(sent.success && sent.messageId !== undefined, 'a draft needs a message id')
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
    name: 'an edit without changes succeeds',
    needs: ['answerNotModified'],
    adapterNeeds: ['edit'],
    async check({ adapter, target, answerNotModified }) {
      const messageId = await sendOne(adapter, target)
      answerNotModified()
      const result = await adapter.edit(messageId, messageTo(target, 'One.'), true, neverAborted)
      assert.equal(result.success, true, JSON.stringify(result))
    },
  }),

  requirement({
    name: 'an edit of an unknown message resolves with a result',
    adapterNeeds: ['edit'],
    async check({ adapter, target }) {
      const result = await adapter.edit('gone', messageTo(target, 'text'), true, neverAborted)
      assert.ok(result.success || result.problem === 'rejected', JSON.stringify(result))
    },
  }),

  requirement({
    name: 'an edit of a removed message fails with `rejected`, so that the reply is sent again',
    needs: ['deleteOwnMessage'],
    adapterNeeds: ['edit'],
    async check({ adapter, target, deleteOwnMessage }) {
      const messageId = await sendOne(adapter, target)
      await deleteOwnMessage(messageId)
      const result = await adapter.edit(messageId, messageTo(target, 'Two.'), true, neverAborted)
      assert.ok(!result.success && result.problem === 'rejected', JSON.stringify(result))
    },
  }),

  requirement({
    name: 'a message of the bot can be removed',
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
    name: 'typing and activity notifications never fail',
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
    name: 'an image given by its URL arrives',
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
    name: 'a file that cannot be read fails the send',
    adapterNeeds: ['sendsAttachments'],
    async check({ adapter, target }) {
      const attachment = document('gone.txt', () => Promise.reject(new Error('the file is gone')), 10)
      const result = await adapter.send({ ...messageTo(target, 'Here.'), attachment }, neverAborted)
      assert.ok(!result.success && result.maybeSent !== true, JSON.stringify(result))
    },
  }),
]

/** Sends `One.` and returns its message id. */
async function sendOne(adapter: PlatformAdapter, target: Target): Promise<string> {
  const result = await adapter.send(messageTo(target, 'One.'), neverAborted)
  assert.ok(result.success && result.messageId !== undefined, JSON.stringify(result))
  return result.messageId
}

function document(fileName: string, open: () => Promise<Blob>, bytes: number): OutboundAttachment {
  return { kind: 'document', fileName, mimeType: 'text/plain', source: { kind: 'file', bytes, open } }
}

/**
 * The longest text that is tested. The limit of an API can be 50 million characters to bound memory; copying such a text
 * through the adapter takes longer than the time limit of a promise when the machine is busy.
 */
const maxTestChars = 1_000_000

/** Repeats the pattern up to the limit. */
function textOfLength({ maxChars, unit }: MessageLimits = { maxChars: 4_000, unit: 'utf16' }, pattern: string): string {
  assert.ok(maxChars > 0)
  const size = { utf16: pattern.length, codepoints: [...pattern].length, bytes: Buffer.byteLength(pattern) }[unit]
  return pattern.repeat(Math.floor(Math.min(maxChars, maxTestChars) / size))
}
