/**
 * A draft whose address was lost is found again, and its reply replaces it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replaceLostDraft } from '../../src/outbox/lost-drafts.ts'

const target = { platform: 'fake', account: 'default', chatId: 'chat' }
const lost = {
  draftId: 'draft',
  reply: { deliveryId: 'reply', target, text: 'Hello', kind: 'reply' as const },
  tries: 0,
}

for (const edited of [{}, { messageId: undefined }])
  test(`an edit that reports ${'messageId' in edited ? 'no address' : 'nothing'} keeps the address of the draft`, async () => {
    const sender = {
      send: () => assert.fail('the draft is replaced'),
      resolveUnknown: async () => ({ sent: true as const, messageId: 'm1' }),
      edit: async () => ({ success: true as const, ...edited }),
    }
    const result = await replaceLostDraft(sender, lost.draftId, lost.reply, lost.tries, new AbortController().signal)
    assert.deepEqual(result, { success: true, messageId: 'm1' })
  })
