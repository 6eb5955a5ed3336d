/**
 * Promises about what people do beside writing: they edit, take back, react, send files and press buttons.
 */
import assert from 'node:assert/strict'
import type { Attachment } from '../../../../src/message/event.ts'
import type { Target } from '../../../../src/message/source.ts'
import type { PlatformAdapter } from '../../../../src/platforms/adapter.ts'
import { messageTo, neverAborted, type PlatformRequirement, requirement } from '../platform-requirement.ts'
import { singleEvent } from './inbound.ts'

const notes = {
  kind: 'document' as const,
  fileName: 'notes.txt',
  mimeType: 'text/plain',
  bytes: new TextEncoder().encode('Buy milk. ü\n'),
}
/** One grey dot. */
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
    name: 'an edit is a change of the message that was edited, by who wrote it',
    needs: ['edit'],
    async check({ gateway, say, edit }) {
      await say('Helo', 'one')
      await say('something else', 'two')
      assert.equal(await edit('one', 'Hello'), true)
      const [change] = gateway.changes
      assert.equal(gateway.changes.length, 1)
      assert.equal(gateway.ingestedEvents.length, 2, 'the edit was handed in as a message, too')
      assert.ok(change?.kind === 'edited', JSON.stringify(change))
      const [original] = gateway.ingestedEvents
      assert.ok(original)
      assert.ok(original.keys.includes(change.of), `${change.of} is no name of the message`)
      assert.equal(change.event.text, 'Hello')
      assert.equal(change.event.messageId, original.event.messageId)
      assert.equal(change.event.source.userId, original.event.source.userId)
      assert.equal(change.event.source.chatId, original.event.source.chatId)
    },
  }),

  requirement({
    name: 'two edits of one message are two changes, each as it then read',
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
    name: 'a message that is taken back is a change of that message',
    needs: ['remove'],
    async check({ gateway, say, remove }) {
      await say('something else', 'one')
      await say('never mind', 'two')
      assert.equal(await remove('two'), true)
      const [change] = gateway.changes
      assert.ok(change?.kind === 'deleted', JSON.stringify(change))
      const [, original] = gateway.ingestedEvents
      assert.ok(original)
      assert.ok(original.keys.includes(change.of), `${change.of} is no name of the message`)
      assert.equal(change.source.chatId, original.event.source.chatId)
      assert.equal(gateway.ingestedEvents.length, 2)
    },
  }),

  requirement({
    name: 'a reaction tells its emoji, who gave it and to which message',
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
    name: 'a document arrives with its name, and its bytes can be fetched',
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
    name: 'a picture arrives as a picture, once',
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
    name: 'buttons are shown, and a press tells which one and who pressed it',
    needs: ['press', 'buttonsSeen'],
    adapterNeeds: ['showsButtons'],
    async check({ adapter, gateway, target, say, press, buttonsSeen }) {
      await say('may I?', 'one')
      const messageId = await ask(adapter, target)
      assert.deepEqual(buttonsSeen(messageId), ['Allow', 'No <way> & never'])
      const told = await press('ask:1:deny', messageId)
      const [pressed] = gateway.presses
      assert.ok(pressed)
      assert.deepEqual([pressed.buttonId, pressed.messageId], ['ask:1:deny', messageId])
      const { source } = singleEvent(gateway).event
      assert.deepEqual([pressed.source.userId, pressed.source.chatId], [source.userId, source.chatId])
      assert.match(told, /Noted\./)
    },
  }),

  requirement({
    name: 'who presses a button too late is told so',
    needs: ['press'],
    adapterNeeds: ['showsButtons'],
    async check({ adapter, gateway, target, press }) {
      const messageId = await ask(adapter, target)
      gateway.answerPresses({ status: 'stale', text: 'That was answered before.' })
      assert.match(await press('ask:1:allow', messageId), /That was answered before\./)
    },
  }),

  requirement({
    name: 'buttons are taken away by an edit without them',
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

/** Asks with two buttons; returns the platform's id of the question. */
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

/** As the gateway fetches them: from the address of the file, or where the adapter says that it lies. */
async function bytesOf(adapter: PlatformAdapter, file: Attachment): Promise<Buffer> {
  const address = file.ref === undefined ? undefined : await adapter.locate?.(file, neverAborted)
  const { url, headers = {} } = address ?? { url: file.url }
  assert.ok(url, `neither an address nor a name that the adapter can locate: ${JSON.stringify(file)}`)
  const response = await fetch(url, { headers })
  assert.equal(response.status, 200)
  return Buffer.from(await response.arrayBuffer())
}
