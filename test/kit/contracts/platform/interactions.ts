/**
 * Promises about edits, deletions, reactions, attachments and buttons.
 */
import assert from 'node:assert/strict'
import type { Attachment } from '../../../../src/message/event.ts'
import type { Target } from '../../../../src/message/source.ts'
import type { PlatformAdapter } from '../../../../src/platforms/adapter.ts'
import { messageTo, neverAborted, type PlatformRequirement, requirement } from '../platform-requirement.ts'
import { distinctEvents, singleEvent } from './inbound.ts'

const notes = {
  kind: 'document' as const,
  fileName: 'notes.txt',
  mimeType: 'text/plain',
  bytes: new TextEncoder().encode('Buy milk. ü\n'),
}
/** An image of one grey pixel. */
const picture = {
  kind: 'photo' as const,
  fileName: 'dot.png',
  mimeType: 'image/png',
  bytes: Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==',
    'base64',
  ),
}

export const interactionRequirements: readonly PlatformRequirement[] = [
  requirement({
    name: 'an edit is a change of the edited message by its author',
    needs: ['edit'],
    async check({ gateway, say, edit }) {
      await say('Helo', 'one')
      await say('something else', 'two')
      assert.equal(await edit('one', 'Hello'), true)
      const [change] = gateway.changes
      assert.equal(gateway.changes.length, 1)
      assert.equal(distinctEvents(gateway).length, 2, 'the edit was also ingested as a message')
      assert.ok(change?.kind === 'edited', JSON.stringify(change))
      const [original] = gateway.ingestedEvents
      assert.ok(original)
      assert.ok(original.keys.includes(change.of), `${change.of} is not a key of the message`)
      assert.equal(change.event.text, 'Hello')
      assert.equal(change.event.messageId, original.event.messageId)
      assert.equal(change.event.source.userId, original.event.source.userId)
      assert.equal(change.event.source.chatId, original.event.source.chatId)
    },
  }),

  requirement({
    name: 'two edits of a message are two changes with their own texts',
    needs: ['edit'],
    async check({ gateway, say, edit }) {
      await say('one', 'one')
      await edit('one', 'two')
      await edit('one', 'three')
      assert.deepEqual(
        gateway.changes.map((change) => change.kind === 'edited' && change.event.text),
        ['two', 'three'],
      )
    },
  }),

  requirement({
    name: 'a deleted message is a change of that message',
    needs: ['remove'],
    async check({ gateway, say, remove }) {
      await say('something else', 'one')
      await say('never mind', 'two')
      assert.equal(await remove('two'), true)
      const [change] = gateway.changes
      assert.ok(change?.kind === 'deleted', JSON.stringify(change))
      const [, original] = distinctEvents(gateway)
      assert.ok(original)
      assert.ok(original.keys.includes(change.of), `${change.of} is not a key of the message`)
      assert.equal(change.source.chatId, original.event.source.chatId)
      assert.equal(distinctEvents(gateway).length, 2)
    },
  }),

  requirement({
    name: 'a reaction has its emoji, its user and its message',
    needs: ['react'],
    async check({ gateway, say, react }) {
      await say('I passed!', 'one')
      assert.equal(await react('one', '👍'), true)
      const [change] = gateway.changes
      assert.ok(change?.kind === 'reaction', JSON.stringify(change))
      const { event } = singleEvent(gateway)
      assert.equal(change.messageId, event.messageId)
      assert.equal(change.added, true)
      assert.match(change.reaction, /^(👍|\+1|thumbs_?up)$/)
      assert.deepEqual([change.source.userId, change.source.chatId], [event.source.userId, event.source.chatId])
    },
  }),

  requirement({
    name: 'a document arrives with its name, and its bytes can be downloaded',
    needs: ['attach'],
    async check({ adapter, gateway, attach }) {
      assert.equal(await attach(notes, 'one'), true)
      const { messageType, attachments = [] } = singleEvent(gateway).event
      const [file] = attachments
      assert.deepEqual([messageType, attachments.length], ['document', 1])
      assert.ok(file)
      assert.deepEqual([file.kind, file.fileName], ['document', 'notes.txt'])
      assert.deepEqual(await bytesOf(adapter, file), Buffer.from(notes.bytes))
    },
  }),

  requirement({
    name: 'a photo arrives as one attachment of kind `photo`',
    needs: ['attach'],
    async check({ adapter, gateway, attach }) {
      assert.equal(await attach(picture, 'one'), true)
      const { messageType, attachments = [] } = singleEvent(gateway).event
      const [file] = attachments
      assert.deepEqual([messageType, attachments.length, file?.kind], ['photo', 1, 'photo'])
      assert.ok(file)
      assert.deepEqual(await bytesOf(adapter, file), Buffer.from(picture.bytes))
    },
  }),

  requirement({
    name: 'buttons are shown, and a press has its button and its user',
    needs: ['press', 'buttonsSeen'],
    adapterNeeds: ['showsButtons'],
    async check({ adapter, gateway, target, say, press, buttonsSeen }) {
      await say('may I?', 'one')
      const messageId = await ask(adapter, target)
      assert.deepEqual(buttonsSeen(messageId), ['Allow', 'No <way> & never'])
      const notification = await press('ask:1:deny', messageId)
      const [pressed] = gateway.presses
      assert.ok(pressed)
      assert.deepEqual([pressed.buttonId, pressed.messageId], ['ask:1:deny', messageId])
      const { source } = singleEvent(gateway).event
      assert.deepEqual([pressed.source.userId, pressed.source.chatId], [source.userId, source.chatId])
      assert.match(notification, /Noted\./)
    },
  }),

  requirement({
    name: 'a user who presses a stale button is notified',
    needs: ['press'],
    adapterNeeds: ['showsButtons'],
    async check({ adapter, gateway, target, press }) {
      const messageId = await ask(adapter, target)
      gateway.answerPresses({ status: 'stale', text: 'That was answered before.' })
      assert.match(await press('ask:1:allow', messageId), /That was answered before\./)
    },
  }),

  requirement({
    name: 'an edit without buttons removes them',
    needs: ['buttonsSeen'],
    adapterNeeds: ['showsButtons', 'edit'],
    async check({ adapter, target, seen, buttonsSeen }) {
      const messageId = await ask(adapter, target)
      const arrived = seen('Allowed.')
      assert.equal((await adapter.edit(messageId, messageTo(target, 'Allowed.'), true, neverAborted)).success, true)
      await arrived
      assert.deepEqual(buttonsSeen(messageId), [])
    },
  }),
]

/** Sends a question with two buttons. Returns its message id. */
async function ask(adapter: PlatformAdapter, target: Target): Promise<string> {
  const question = {
    ...messageTo(target, 'May I delete it?'),
    buttons: [
      { id: 'ask:1:allow', label: 'Allow', style: 'primary' as const },
      { id: 'ask:1:deny', label: 'No <way> & never', style: 'danger' as const },
    ],
  }
  const result = await adapter.send(question, neverAborted)
  assert.ok(result.success && result.messageId !== undefined, JSON.stringify(result))
  return result.messageId
}

/** Downloads an attachment as the gateway does: from its URL, or from the URL that the adapter returns. */
async function bytesOf(adapter: PlatformAdapter, file: Attachment): Promise<Buffer> {
  const address = file.ref === undefined ? undefined : await adapter.locate?.(file, neverAborted)
  const { url, headers = {} } = address ?? { url: file.url }
  assert.ok(url, `the attachment has no URL, and the adapter cannot locate it: ${JSON.stringify(file)}`)
  const response = await fetch(url, { headers })
  assert.equal(response.status, 200)
  return Buffer.from(await response.arrayBuffer())
}
