/**
 * Pictures of people in each chat reach a model that sees: photos with a caption, albums, pictures sent as files, and those of a
 * message that is replied to.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPng } from '../kit/pictures.ts'
import { startDiscordServer } from '../kit/servers/discord/server.ts'
import type { RecordedRequest } from '../kit/servers/model-script.ts'
import { defaultUser, startTelegramServer } from '../kit/servers/telegram-server.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { optionsFor } from './discord/support.ts'
import { mention, startSlackGateway } from './slack/gateway-support.ts'
import { ada, channel, direct } from './slack/support.ts'

const [cat, dog, bird] = [createPng({ seed: 1 }), createPng({ seed: 2 }), createPng({ seed: 3 })]
const seeing = { model: 'gpt-5.2' }

/** The newest message of a request: its pictures in order, and whether its text contains the words. */
function shownIn({ body }: RecordedRequest, words: string) {
  const messages: unknown[] = Object(body)['messages'] ?? Object(body)['input'] ?? []
  const last = JSON.stringify(messages.at(-1))
  const pictures = [...last.matchAll(/data:image\/png;base64,(?<content>[\w+/=]+)/g)].map(
    ({ groups }) => groups?.['content'],
  )
  return { pictures, hasWords: last.includes(words) }
}

async function assertShown(gateway: TestGateway, call: number, pictures: readonly Buffer[], words: string) {
  const expected = { pictures: pictures.map((picture) => picture.toString('base64')), hasWords: true }
  assert.deepEqual(shownIn(await gateway.modelRequest(call), words), expected)
}

test('Telegram: a photo with a caption, an album, a file, and the photo of a quoted message', async (t) => {
  const server = await startTelegramServer()
  const telegram = { token: server.bot.token, api_root: server.url, allow_from: [String(defaultUser.id)] }
  const gateway = await startTestGateway(t, {
    config: { ...seeing, platforms: { fake: { enabled: false }, telegram } },
  })
  t.after(server.close)
  const { bot } = server
  const photo = (picture: Buffer) => {
    const size = { file_unique_id: 'u', width: 4, height: 3, file_size: picture.length }
    return [{ ...size, file_id: bot.files.add(picture, '.png') }]
  }
  await bot.say('', { fields: { photo: photo(cat), caption: 'what is this?' } }).confirmed
  await assertShown(gateway, 0, [cat], 'what is this?')
  const parts = [
    bot.say('', { fields: { photo: photo(cat), media_group_id: '7', caption: 'compare these' } }).confirmed,
    bot.say('', { fields: { photo: photo(dog), media_group_id: '7' } }).confirmed,
  ]
  await Promise.all(parts)
  await assertShown(gateway, 1, [cat, dog], 'compare these')
  const document = { file_id: bot.files.add(bird, '.png'), file_unique_id: 'd', file_name: 'bird.png' }
  await bot.say('', { fields: { document: { ...document, mime_type: 'image/png' }, caption: 'in full' } }).confirmed
  await assertShown(gateway, 2, [bird], 'in full')
  const quoted = { message_id: 1, date: 1, chat: { id: defaultUser.id, type: 'private' }, photo: photo(dog) }
  await bot.say('and that one?', { fields: { reply_to_message: quoted } }).confirmed
  await assertShown(gateway, 3, [dog], 'and that one?')
  const large = createPng({ width: 9_000, height: 10 })
  await bot.say('', { fields: { photo: photo(large), caption: 'too wide' } }).confirmed
  await bot.chats.until(({ text }) => text.includes('9,000 × 10'))
  await assertShown(gateway, 4, [], 'too wide')
})

test('Discord: files with and without words, and the picture of a quoted message', async (t) => {
  const discord = await startDiscordServer({})
  const person = discord.person('Ada')
  const gateway = await startTestGateway(t, {
    config: {
      ...seeing,
      platforms: {
        fake: { enabled: false },
        discord: { ...optionsFor(discord, discord.bot), allow_from: [person.id] },
      },
    },
  })
  t.after(discord.close)
  const dm = discord.dm(person)
  const file = (name: string, picture: Buffer) => discord.file(name, 'image/png', picture)
  discord.say(person, dm, 'compare these', { attachments: [file('cat.png', cat), file('dog.png', dog)] })
  await assertShown(gateway, 0, [cat, dog], 'compare these')
  const alone = discord.say(person, dm, '', { attachments: [file('bird.png', bird)] })
  await assertShown(gateway, 1, [bird], 'bird.png')
  const reference = { message_id: alone.id, channel_id: dm.id }
  discord.say(person, dm, 'and that one?', {
    type: 19,
    message_reference: reference,
    extra: { referenced_message: { ...alone, author: person, mentions: [] } },
  })
  await assertShown(gateway, 2, [bird], 'and that one?')
})

test('Slack: files with words in a direct chat, and with a mention in a channel', async (t) => {
  const { server, gateway } = await startSlackGateway(t, { config: seeing })
  const file = (name: string, picture: Buffer) => server.addFile(name, 'image/png', picture)
  await server.say(direct, ada, 'compare these', {
    subtype: 'file_share',
    files: [file('cat.png', cat), file('dog.png', dog)],
  })
  await assertShown(gateway, 0, [cat, dog], 'compare these')
  await server.say(channel, ada, `${mention} what is it?`, { subtype: 'file_share', files: [file('bird.png', bird)] })
  await assertShown(gateway, 1, [bird], 'what is it?')
})
