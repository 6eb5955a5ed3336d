import assert from 'node:assert/strict'
import { realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { AttachmentPolicy } from '../../src/outbox/prepare-attachment.ts'
import { tempHome } from '../kit/temp-home.ts'
import { type Call, lost, type OutboxFixture, type OutboxFixtureOptions, openOutbox, temporary } from './support.ts'

const label = '♻️ May be a duplicate:'
const refused = { success: false, problem: 'rejected', error: 'one file is not a photo' } as const

/** An outbox of a platform with albums, and a directory for files. */
function withAlbums(t: TestContext, options: OutboxFixtureOptions = {}) {
  const folder = realpathSync(tempHome(t))
  const attachmentPolicy: AttachmentPolicy = {
    userHome: folder,
    locate: async (path) => path,
    denialReason: async () => undefined,
  }
  const openOptions = { attachments: true, albums: { maxFiles: 10 }, attachmentPolicy, ...options }
  const bench = openOutbox(t, openOptions)
  const tag = (name: string) => {
    writeFileSync(join(folder, name), `content of ${name}`)
    return `MEDIA:${join(folder, name)}`
  }
  return {
    bench,
    folder,
    openOptions,
    tags: (...names: readonly string[]) => names.map(tag).join('\n'),
  }
}

const shortOf = ({ op, text, attachment, files }: Call) => [op, files?.join(' ') ?? attachment?.fileName ?? text]
const shortCalls = ({ sender }: OutboxFixture) => sender.calls.map(shortOf)

/** Crashes at the nth occurrence of a failpoint. */
function crashAt(bench: OutboxFixture, point: string, occurrence: number): Promise<void> {
  let seen = 0
  return new Promise((resolve) => {
    bench.onFailpoint = (reached) => {
      if (reached !== point) return
      seen += 1
      if (seen !== occurrence) return
      bench.crash()
      resolve()
    }
  })
}

test('several pictures of an answer arrive as one album, after the text', async (t) => {
  const { bench, tags } = withAlbums(t)
  await bench.say(`Here.\n${tags('a.png', 'b.mp4', 'c.jpg')}`, { replyTo: 'question' })
  await bench.say('next')
  await bench.outbox.whenIdle()
  assert.deepEqual(shortCalls(bench), [
    ['send', 'Here.'],
    ['album', 'a.png b.mp4 c.jpg'],
    ['send', 'next'],
  ])
  assert.deepEqual(
    (await bench.rows()).map(({ state, platform_id }) => [state, platform_id]),
    [
      ['sent', 'm1'],
      ['sent', 'm2'],
      ['sent', 'm3'],
      ['sent', 'm4'],
      ['sent', 'm5'],
    ],
  )
})

test('an answer of files only is an album that refers to the question', async (t) => {
  const { bench, tags } = withAlbums(t)
  await bench.say(tags('a.png', 'b.png'), { replyTo: 'question' })
  await bench.outbox.whenIdle()
  assert.deepEqual(
    bench.sender.calls.map(({ op, replyTo }) => [op, replyTo]),
    [['album', 'question']],
  )
})

test('where one message contains all files, each row has its id', async (t) => {
  const { bench, tags } = withAlbums(t, { albums: { maxFiles: 10, oneMessage: true } })
  await bench.say(tags('a.png', 'b.png'))
  await bench.outbox.whenIdle()
  assert.deepEqual(
    (await bench.rows()).map(({ platform_id }) => platform_id),
    ['m1', 'm1'],
  )
})

test('only consecutive files of the same group form an album, and the order stays', async (t) => {
  const { bench, tags } = withAlbums(t)
  await bench.say(tags('a.png', 'b.pdf', 'c.pdf', 'd.gif', 'e.png', 'f.png'))
  await bench.outbox.whenIdle()
  assert.deepEqual(shortCalls(bench), [
    ['send', 'a.png'],
    ['album', 'b.pdf c.pdf'],
    ['send', 'd.gif'],
    ['album', 'e.png f.png'],
  ])
})

test('more files than an album can hold follow in the next one', async (t) => {
  const { bench, tags } = withAlbums(t, { albums: { maxFiles: 2 } })
  await bench.say(tags('a.png', 'b.png', 'c.png', 'd.png', 'e.png'))
  await bench.outbox.whenIdle()
  assert.deepEqual(shortCalls(bench), [
    ['album', 'a.png b.png'],
    ['album', 'c.png d.png'],
    ['send', 'e.png'],
  ])
})

test('files of two answers are never in one album', async (t) => {
  const { bench, tags } = withAlbums(t)
  bench.connected = false
  await bench.say(tags('a.png'))
  await bench.say(tags('b.png', 'c.png'))
  bench.connected = true
  bench.outbox.platformConnected('fake', 'default')
  await bench.outbox.whenIdle()
  assert.deepEqual(shortCalls(bench), [
    ['send', 'a.png'],
    ['album', 'b.png c.png'],
  ])
})

test('a platform without albums gets each file as a message', async (t) => {
  const { bench, tags } = withAlbums(t)
  const plain = openOutbox(t, {
    attachments: true,
    attachmentPolicy: { userHome: '/', locate: async (path) => path, denialReason: async () => undefined },
  })
  await plain.say(tags('a.png', 'b.png'))
  await plain.outbox.whenIdle()
  assert.deepEqual(shortCalls(plain), [
    ['send', 'a.png'],
    ['send', 'b.png'],
  ])
  assert.deepEqual(shortCalls(bench), [])
})

test('a refused album is sent file by file, and only the bad file is replaced by a line', async (t) => {
  const { bench, tags } = withAlbums(t)
  bench.sender.albumScript.push(refused)
  bench.sender.script.push({ success: true }, refused)
  await bench.say(tags('a.png', 'b.png', 'c.png'))
  await bench.outbox.whenIdle()
  assert.deepEqual(shortCalls(bench), [
    ['album', 'a.png b.png c.png'],
    ['send', 'a.png'],
    ['send', 'b.png'],
    ['send', '📎 File not sent: b.png (the platform refused it)'],
    ['send', 'c.png'],
  ])
})

test('a file that is missing does not prevent the others, and its reason is shown', async (t) => {
  const { bench, folder, tags } = withAlbums(t)
  const text = tags('a.png', 'b.png', 'c.png')
  rmSync(join(folder, 'b.png'))
  await bench.say(text)
  await bench.outbox.whenIdle()
  assert.deepEqual(shortCalls(bench), [
    ['send', 'a.png'],
    ['send', '📎 File not sent: b.png (there is no such file)'],
    ['send', 'c.png'],
  ])
})

test('an album waits for the end of a rate limit and keeps its files', async (t) => {
  const { bench, tags } = withAlbums(t)
  bench.sender.albumScript.push({ success: false, problem: 'rate-limited', error: 'slow down', retryAfterMs: 1_000 })
  await bench.say(tags('a.png', 'b.png'))
  await bench.outbox.whenIdle()
  bench.time.advance(1_001)
  await bench.outbox.whenIdle()
  assert.deepEqual(shortCalls(bench), [
    ['album', 'a.png b.png'],
    ['album', 'a.png b.png'],
  ])
  assert.equal(new Set(bench.sender.calls.map(({ deliveryId }) => deliveryId)).size, 1)
  assert.deepEqual(await bench.states(), ['sent', 'sent'])
})

test('an album that may have arrived is sent again with one label', async (t) => {
  const { bench, tags } = withAlbums(t)
  bench.sender.albumScript.push({ success: false, problem: 'temporary', error: 'no answer', maybeSent: true })
  await bench.say(tags('a.png', 'b.png'))
  await bench.outbox.whenIdle()
  assert.deepEqual(await bench.states(), ['unknown', 'unknown'])
  bench.time.advance(1_000)
  await bench.outbox.whenIdle()
  assert.deepEqual(
    bench.sender.calls.map(({ text }) => text),
    ['|', `${label}|`],
  )
  assert.deepEqual(await bench.states(), ['sent', 'sent'])
})

test('a platform that knows the album does not get it again', async (t) => {
  const { bench, tags } = withAlbums(t, { albums: { maxFiles: 10, resolve: true } })
  bench.sender.albumScript.push(new Error('socket hang up'))
  bench.sender.foundAlbum = { sent: true, messageIds: ['m7', 'm8'] }
  await bench.say(tags('a.png', 'b.png'))
  await bench.outbox.whenIdle()
  bench.time.advance(1_000)
  await bench.outbox.whenIdle()
  assert.deepEqual(shortCalls(bench), [
    ['album', 'a.png b.png'],
    ['resolve-album', 'a.png b.png'],
  ])
  assert.equal(new Set(bench.sender.calls.map(({ deliveryId }) => deliveryId)).size, 1)
  assert.deepEqual(
    (await bench.rows()).map(({ state, platform_id }) => [state, platform_id]),
    [
      ['sent', 'm7'],
      ['sent', 'm8'],
    ],
  )
})

test('a platform that certainly does not have the album gets it without a label', async (t) => {
  const { bench, tags } = withAlbums(t, { albums: { maxFiles: 10, resolve: true } })
  bench.sender.albumScript.push(new Error('socket hang up'))
  bench.sender.foundAlbum = { sent: false }
  await bench.say(tags('a.png', 'b.png'))
  await bench.outbox.whenIdle()
  bench.time.advance(1_000)
  await bench.outbox.whenIdle()
  assert.deepEqual(
    bench.sender.calls.map(({ op, text }) => [op, text]),
    [
      ['album', '|'],
      ['resolve-album', ''],
      ['album', '|'],
    ],
  )
})

test('files of an album that may have arrived keep the label when they are sent one by one', async (t) => {
  const { bench, tags } = withAlbums(t, { resolve: true })
  bench.sender.found = { sent: false }
  bench.sender.albumScript.push(new Error('socket hang up'), refused)
  await bench.say(tags('a.png', 'b.png'))
  await bench.outbox.whenIdle()
  bench.time.advance(1_000)
  await bench.outbox.whenIdle()
  assert.deepEqual(
    bench.sender.calls.map(({ op, text }) => [op, text]),
    [
      ['album', '|'],
      ['album', `${label}|`],
      ['send', label],
      ['send', label],
    ],
  )
})

test('after the last try of an album each file gets a try of its own', async (t) => {
  const { bench, tags } = withAlbums(t, { settings: { outbox: { max_tries: 2 } } })
  const failed = { success: false, problem: 'temporary', error: 'bad gateway' } as const
  bench.sender.albumScript.push(failed, failed)
  bench.sender.script.push(temporary)
  await bench.say(tags('a.png', 'b.png'))
  await bench.outbox.whenIdle()
  bench.time.advance(1_000)
  await bench.outbox.whenIdle()
  assert.deepEqual(shortCalls(bench), [
    ['album', 'a.png b.png'],
    ['album', 'a.png b.png'],
    ['send', 'a.png'],
    ['send', 'b.png'],
  ])
  assert.deepEqual(await bench.states(), ['dead', 'sent'])
})

test('after a crash while an album was sent, its files are sent again as that album', async (t) => {
  const { bench, openOptions, tags } = withAlbums(t)
  const died = crashAt(bench, 'outbox:accepted', 2)
  await bench.say(`Here.\n${tags('a.png', 'b.png')}\n${tags('c.pdf')}`)
  await died
  const next = openOutbox(t, { ...openOptions, path: bench.path, sender: bench.sender })
  await next.outbox.recover()
  await next.outbox.whenIdle()
  assert.deepEqual(
    bench.sender.calls.map(({ op, text, files }) => [op, text, files?.join(' ')]),
    [
      ['send', 'Here.', undefined],
      ['album', '|', 'a.png b.png'],
      ['album', `${label}|`, 'a.png b.png'],
      ['send', '', undefined],
    ],
  )
})

test('after a crash before an album was sent, the platform is asked, and gets it once', async (t) => {
  const { bench, openOptions, tags } = withAlbums(t, { albums: { maxFiles: 10, resolve: true } })
  bench.sender.foundAlbum = { sent: false }
  const died = crashAt(bench, 'outbox:claimed', 2)
  await bench.say(`Here.\n${tags('a.png', 'b.png')}`)
  await died
  const next = openOutbox(t, { ...openOptions, path: bench.path, sender: bench.sender })
  await next.outbox.recover()
  await next.outbox.whenIdle()
  assert.deepEqual(shortCalls(bench), [
    ['send', 'Here.'],
    ['resolve-album', 'a.png b.png'],
    ['album', 'a.png b.png'],
  ])
})

test('after a crash once an album is stored as sent, nothing is sent again', async (t) => {
  const { bench, openOptions, tags } = withAlbums(t)
  const died = crashAt(bench, 'outbox:settled', 2)
  await bench.say(`Here.\n${tags('a.png', 'b.png')}`)
  await died
  const next = openOutbox(t, { ...openOptions, path: bench.path, sender: bench.sender })
  await next.outbox.recover()
  await next.outbox.whenIdle()
  assert.deepEqual(shortCalls(bench), [
    ['send', 'Here.'],
    ['album', 'a.png b.png'],
  ])
})

test('a dead letter of an album can be delivered again without the others', async (t) => {
  const { bench, tags } = withAlbums(t, {
    albums: { maxFiles: 10, resolve: true },
    settings: { outbox: { max_tries: 1 } },
  })
  bench.sender.albumScript.push({ success: false, problem: 'temporary', error: 'no answer', maybeSent: true })
  bench.sender.script.push(lost, lost)
  await bench.say(tags('a.png', 'b.png'))
  await bench.outbox.whenIdle()
  assert.deepEqual(await bench.states(), ['dead', 'dead'])
  const [, first] = await bench.outbox.list()
  assert.ok(first !== undefined)
  assert.equal(await bench.outbox.retry(first.id), true)
  await bench.outbox.whenIdle()
  assert.deepEqual(await bench.states(), ['sent', 'dead'])
  assert.equal(bench.sender.texts().at(-1), label)
})

test('a text costs no more transactions than before, and a group of files costs one', async (t) => {
  const { bench, tags } = withAlbums(t)
  await bench.say('hello')
  await bench.outbox.whenIdle()
  const forText = bench.transactions()
  assert.equal(forText, 2)
  await bench.say(tags('a.png', 'b.png', 'c.png'))
  await bench.outbox.whenIdle()
  assert.equal(bench.transactions() - forText, 3)
})

test('a group function that throws costs the album, not the files', async (t) => {
  const { bench, tags } = withAlbums(t)
  const { albums } = bench.sender
  assert.ok(albums !== undefined)
  Object.assign(albums, {
    groupOf() {
      throw new Error('broken adapter')
    },
  })
  await bench.say(tags('a.png', 'b.png'))
  await bench.outbox.whenIdle()
  assert.deepEqual(shortCalls(bench), [
    ['send', 'a.png'],
    ['send', 'b.png'],
  ])
})
