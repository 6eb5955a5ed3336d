import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createLog } from '../../src/lib/log-writer.ts'
import { createRedactor } from '../../src/lib/redact.ts'
import type { AttachmentPolicy } from '../../src/outbox/prepare-attachment.ts'
import { tempHome } from '../kit/temp-home.ts'
import { type Call, flushEventLoop, limited, lost, type OutboxFixtureOptions, openOutbox, rejected } from './support.ts'

const label = '♻️ May be a duplicate:'

/** An outbox of a platform that accepts files, and a directory with some files. */
function withFiles(t: TestContext, options: OutboxFixtureOptions = {}) {
  const folder = realpathSync(tempHome(t))
  const asked: string[] = []
  const lines: string[] = []
  const attachmentPolicy: { -readonly [Key in keyof AttachmentPolicy]: AttachmentPolicy[Key] } = {
    userHome: folder,
    locate: async (path) => realpathSync(path),
    async denialReason(path) {
      asked.push(path)
      return path.includes('secret') ? 'it may hold secrets' : undefined
    },
  }
  const log = createLog({
    level: 'warn',
    pretty: false,
    stream: { write: (text) => lines.push(text) },
    redactor: createRedactor({ secrets: () => [] }),
  })
  const bench = openOutbox(t, { attachments: true, attachmentPolicy, log, ...options })
  const write = (name: string, content = `content of ${name}`) => {
    const path = join(folder, name)
    writeFileSync(path, content)
    return path
  }
  return { bench, folder, asked, lines, write, files: attachmentPolicy }
}

/** The contents of the files that are sent from now on. */
function recordContents({ sender }: Pick<ReturnType<typeof openOutbox>, 'sender'>): string[] {
  const contents: string[] = []
  const { send } = sender
  sender.send = async (message, signal) => {
    const source = message.attachment?.source
    if (source?.kind === 'file') contents.push(await (await source.open()).text())
    return await send(message, signal)
  }
  return contents
}

const shortOf = ({ text, attachment }: Call) => [text, attachment?.kind, attachment?.fileName]

test('files follow the text that names them, in order, each as a separate message', async (t) => {
  const { bench, write } = withFiles(t)
  const { outbox, sender, say } = bench
  const contents = recordContents(bench)
  await say(
    `Here.\nMEDIA:"${write('a.png')}"\n![sea](https://example.org/b.jpg)\n[[audio_as_voice]]MEDIA:"${write('c.ogg')}"`,
  )
  await say('next')
  await outbox.whenIdle()
  assert.deepEqual(sender.calls.map(shortOf), [
    ['Here.', undefined, undefined],
    ['', 'image', 'a.png'],
    ['sea', 'image', 'b.jpg'],
    ['', 'voice', 'c.ogg'],
    ['next', undefined, undefined],
  ])
  const [, picture, link] = sender.calls
  assert.deepEqual(contents, ['content of a.png', 'content of c.ogg'])
  assert.deepEqual(picture?.attachment?.source.kind === 'file' && picture.attachment.source.bytes, 16)
  assert.deepEqual(link?.attachment?.source, { kind: 'url', url: 'https://example.org/b.jpg' })
  assert.deepEqual(await bench.states(), ['sent', 'sent', 'sent', 'sent', 'sent'])
})

test('a platform without files gets a line that names each file', async (t) => {
  const { bench, write } = withFiles(t, { attachments: false })
  const paths = ['a.png', 'b.mp3', 'c.mp4', 'd.pdf'].map((name) => `MEDIA:${write(name)}`)
  await bench.say(`All:\n${paths.join('\n')}\n![The sea](https://example.org/sea.png)`)
  await bench.outbox.whenIdle()
  assert.deepEqual(bench.sender.texts(), [
    'All:',
    '🖼️ Image: a.png',
    '🔊 Audio: b.mp3',
    '🎬 Video: c.mp4',
    '📎 File: d.pdf',
    'The sea\n🖼️ Image: https://example.org/sea.png',
  ])
})

test('a file that cannot be sent is replaced with a line that contains the reason, is logged once, and delays nothing', async (t) => {
  const { bench, folder, lines, write } = withFiles(t, { settings: { outbox: { max_attachment_mb: 1 } } })
  mkdirSync(join(folder, 'folder.zip'))
  truncateSync(write('large.mp4'), 1_024 * 1_024 + 1)
  write('secret.txt')
  write('empty.txt', '')
  symlinkSync(join(folder, 'secret.txt'), join(folder, 'harmless.txt'))
  const names = ['gone.png', 'folder.zip', 'large.mp4', 'secret.txt', 'harmless.txt', 'empty.txt']
  await bench.say(`Files:\n${names.map((name) => `MEDIA:${join(folder, name)}`).join('\n')}`)
  await bench.say('next')
  await bench.outbox.whenIdle()
  assert.deepEqual(bench.sender.texts(), [
    'Files:',
    '📎 File not sent: gone.png (there is no such file)',
    '📎 File not sent: folder.zip (it is a folder)',
    '📎 File not sent: large.mp4 (it is larger than 1 MB)',
    '📎 File not sent: secret.txt (it may hold secrets)',
    '📎 File not sent: harmless.txt (it may hold secrets)',
    '📎 File not sent: empty.txt (it is empty)',
    'next',
  ])
  assert.ok(bench.sender.calls.every(({ attachment }) => attachment === undefined))
  assert.equal(lines.filter((line) => line.includes('"event":"outbox.attachment_rejected"')).length, names.length)
  assert.deepEqual(new Set(await bench.states()), new Set(['sent']))
})

test('without an attachment policy no file is sent', async (t) => {
  const { write } = withFiles(t)
  const bench = openOutbox(t, { attachments: true })
  await bench.say(`MEDIA:${write('a.png')}`)
  await bench.outbox.whenIdle()
  assert.deepEqual(bench.sender.texts(), ['📎 File not sent: a.png (this gateway sends no files)'])
})

test('the attachment policy checks the real file, not the link to it', async (t) => {
  const { bench, folder, asked, write } = withFiles(t)
  const path = write('real.png')
  symlinkSync(folder, join(folder, 'link'))
  await bench.say(`MEDIA:${join(folder, 'link', 'real.png')}\nMEDIA:~/link/real.png`)
  await bench.outbox.whenIdle()
  assert.deepEqual(asked, [path, path])
})

test('a file is checked when it is sent: one written after the reply is sent', async (t) => {
  const { bench, folder, write } = withFiles(t)
  const contents = recordContents(bench)
  bench.connected = false
  await bench.say(`MEDIA:${join(folder, 'late.png')}`)
  write('late.png')
  bench.connected = true
  bench.outbox.platformConnected('fake', 'default')
  await bench.outbox.whenIdle()
  assert.deepEqual(contents, ['content of late.png'])
})

describe('the file that was checked is the one that is sent', () => {
  /** Puts a link to a secret in the place of the file at one moment. */
  function withSwap(t: TestContext, when: 'located' | 'checked' | 'opened') {
    const setup = withFiles(t)
    const { bench, folder, files, write } = setup
    const path = write('a.txt')
    write('secret.txt')
    const swap = () => {
      rmSync(path)
      symlinkSync(join(folder, 'secret.txt'), path)
    }
    const { locate, denialReason } = files
    const contents = recordContents(bench)
    const { send } = bench.sender
    if (when === 'opened')
      bench.sender.send = async (message, signal) => {
        if (message.attachment !== undefined) swap()
        return await send(message, signal)
      }
    files.locate = async (asked) => {
      const real = await locate(asked)
      if (when === 'located') swap()
      return real
    }
    files.denialReason = async (real, content) => {
      const reason = await denialReason(real)
      assert.equal(readFileSync(content ?? real, 'utf8'), 'content of a.txt')
      if (when === 'checked') swap()
      return reason
    }
    return { ...setup, path, contents }
  }

  for (const when of ['checked', 'opened'] as const) {
    test(`when a link to a secret replaces it after it was ${when}`, {
      skip: process.platform !== 'linux',
    }, async (t) => {
      const { bench, path, contents } = withSwap(t, when)
      await bench.say(`MEDIA:${path}`)
      await bench.outbox.whenIdle()
      assert.deepEqual(contents, ['content of a.txt'])
    })
  }

  test('when a link to a secret replaces it before it was opened: it is not sent', async (t) => {
    const { bench, path, contents } = withSwap(t, 'located')
    await bench.say(`MEDIA:${path}`)
    await bench.outbox.whenIdle()
    assert.deepEqual(contents, [])
    assert.deepEqual(bench.sender.texts(), ['📎 File not sent: a.txt (it was replaced meanwhile)'])
  })

  test('when its content changes during sending: it is sent again after another check', async (t) => {
    const { bench, asked, write } = withFiles(t)
    const path = write('a.txt')
    const { send } = bench.sender
    const failures: unknown[] = []
    bench.sender.send = async (message, signal) => {
      if (failures.length === 0) write('a.txt', 'another content')
      const source = message.attachment?.source
      assert.ok(source?.kind === 'file')
      try {
        await (await source.open()).text()
      } catch (error) {
        failures.push(error)
        throw error
      }
      return await send(message, signal)
    }
    await bench.say(`MEDIA:${path}`)
    await bench.outbox.whenIdle()
    bench.time.advance(1_000)
    await bench.outbox.whenIdle()
    assert.equal(failures.length, 1)
    assert.deepEqual(asked, [path, path])
    assert.deepEqual(await bench.states(), ['sent'])
  })
})

test('a file that the platform refuses is replaced with a line', async (t) => {
  const { bench, write } = withFiles(t)
  bench.sender.script.push(rejected)
  await bench.say(`![A map](<${write('map.tiff')}>)`)
  await bench.outbox.whenIdle()
  assert.deepEqual(bench.sender.texts(), ['A map', 'A map\n📎 File not sent: map.tiff (the platform refused it)'])
  assert.deepEqual(
    (await bench.rows()).map(({ state, text }) => [state, text]),
    [['sent', 'A map\n📎 File not sent: map.tiff (the platform refused it)']],
  )
})

test('a file that may have arrived is sent again with a label', async (t) => {
  const { bench, write } = withFiles(t)
  bench.sender.script.push(lost, lost)
  await bench.say(`MEDIA:${write('a.png')}`)
  await bench.outbox.whenIdle()
  for (const ms of [1_000, 2_000]) {
    bench.time.advance(ms)
    await bench.outbox.whenIdle()
  }
  assert.deepEqual(bench.sender.calls.map(shortOf), [
    ['', 'image', 'a.png'],
    [label, 'image', 'a.png'],
    [label, 'image', 'a.png'],
  ])
  assert.deepEqual(await bench.states(), ['sent'])
})

test('a file that may have arrived and was deleted meanwhile is reported as missing, with the label', async (t) => {
  const { bench, write } = withFiles(t)
  const path = write('a.png')
  bench.sender.script.push(lost)
  await bench.say(`MEDIA:${path}`)
  await bench.outbox.whenIdle()
  rmSync(path)
  bench.time.advance(1_000)
  await bench.outbox.whenIdle()
  assert.equal(bench.sender.texts().at(-1), `${label}\n\n📎 File not sent: a.png (there is no such file)`)
})

test('a file in flight at a crash is sent once more with the label', async (t) => {
  const { bench, write, files: attachmentPolicy } = withFiles(t)
  const died = new Promise<void>((resolve) => {
    bench.onFailpoint = (point) => {
      if (point !== 'outbox:accepted' || bench.sender.calls.length < 2) return
      bench.crash()
      resolve()
    }
  })
  await bench.say(`Here.\nMEDIA:${write('a.png')}\nMEDIA:${write('b.png')}`)
  await died
  const next = openOutbox(t, { path: bench.path, sender: bench.sender, attachments: true, attachmentPolicy })
  await next.outbox.recover()
  await next.outbox.whenIdle()
  assert.deepEqual(bench.sender.calls.map(shortOf), [
    ['Here.', undefined, undefined],
    ['', 'image', 'a.png'],
    [label, 'image', 'a.png'],
    ['', 'image', 'b.png'],
  ])
})

test('after a crash a refused file is not sent again', async (t) => {
  const { bench, folder, files: attachmentPolicy } = withFiles(t)
  const died = new Promise<void>((resolve) => {
    bench.onFailpoint = (point) => {
      if (point !== 'outbox:settled') return
      bench.crash()
      resolve()
    }
  })
  await bench.say(`MEDIA:${join(folder, 'gone.png')}`)
  await died
  const next = openOutbox(t, { path: bench.path, sender: bench.sender, attachments: true, attachmentPolicy })
  await next.outbox.recover()
  await next.outbox.whenIdle()
  assert.deepEqual(bench.sender.texts(), [`${label}\n\n📎 File not sent: gone.png (there is no such file)`])
})

test('a file waits for the end of a rate limit like any message', async (t) => {
  const { bench, write } = withFiles(t)
  bench.sender.script.push(limited(1_000))
  await bench.say(`MEDIA:${write('a.png')}`)
  await bench.outbox.whenIdle()
  bench.time.advance(1_001)
  await bench.outbox.whenIdle()
  assert.deepEqual(bench.sender.calls.map(shortOf), [
    ['', 'image', 'a.png'],
    ['', 'image', 'a.png'],
  ])
})

test('media tags in notices of the gateway are not evaluated', async (t) => {
  const { bench, write } = withFiles(t)
  const text = `The model said MEDIA:${write('a.png')}`
  await bench.say(text, { kind: 'notice' })
  await bench.outbox.whenIdle()
  assert.deepEqual(bench.sender.texts(), [text])
})

test('a draft shows no media tag, and the final reply replaces it, followed by the file', async (t) => {
  const { bench, write } = withFiles(t, { draftIntervalMs: 0 })
  const { outbox, sender, say } = bench
  const sentence = 'A sentence that is long enough to be shown.'
  const text = `${sentence}\nMEDIA:${write('a.png')}\nThat was it.`
  const draft = outbox.openDraft({ target: { platform: 'fake', account: 'default', chatId: 'chat' }, turnId: 'turn' })
  assert.ok(draft !== null)
  for (let end = 1; end <= text.length; end += 1) {
    draft.update(text.slice(0, end))
    await flushEventLoop()
  }
  const address = await draft.close()
  assert.ok(address !== null)
  await say(text, { turnId: 'turn', draft: address })
  await outbox.whenIdle()
  const drafts = sender.calls.filter(({ kind }) => kind === 'draft').map((call) => call.text.replace(' ▉', ''))
  assert.ok(drafts.length > 10 && drafts.every((shown) => `${sentence}\nThat was it.`.startsWith(shown)))
  assert.deepEqual(sender.calls.slice(-2).map(shortOf), [
    [`${sentence}\nThat was it.`, undefined, undefined],
    ['', 'image', 'a.png'],
  ])
})

test('a reply that consists of a file only removes its draft', async (t) => {
  const { bench, write } = withFiles(t, { remove: true })
  const draft = { platformId: 'm9', shownText: 'thinking' }
  bench.sender.shown.set('m9', 'thinking')
  await bench.say(`MEDIA:${write('a.png')}`, { turnId: 'turn', draft })
  await bench.outbox.whenIdle()
  await flushEventLoop()
  assert.deepEqual([...bench.sender.shown.keys()], ['m1'])
})

test('a dead letter names the file that did not arrive', async (t) => {
  const { bench, write } = withFiles(t, { settings: { outbox: { max_tries: 1 } } })
  bench.sender.script.push({ success: false, problem: 'temporary', error: 'bad gateway' })
  await bench.say(`MEDIA:${write('a.png')}`)
  await bench.outbox.whenIdle()
  const [letter] = await bench.outbox.list()
  assert.equal(letter?.text, '🖼️ Image: a.png')
  assert.equal(await bench.outbox.retry(letter.id), true)
  await bench.outbox.whenIdle()
  assert.deepEqual(bench.sender.calls.map(shortOf).at(-1), ['', 'image', 'a.png'])
})
