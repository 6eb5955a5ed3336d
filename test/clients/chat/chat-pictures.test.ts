/**
 * Pictures of the terminal chat, through the real HTTP server.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { createChatPictures } from '../../../src/clients/chat/chat-pictures.ts'
import { runInteractive, runQuery } from '../../../src/clients/chat/chat-screen.ts'
import { isHermesError } from '../../../src/lib/errors.ts'
import { createPng } from '../../kit/pictures.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { openTerminal } from '../../platforms/console/terminal.ts'

const { signal } = new AbortController()

async function setUp(t: TestContext) {
  const userHome = tempHome(t)
  const terminal = await openTerminal({ mediaFolder: join(userHome, 'media') })
  t.after(terminal.close)
  await terminal.adapter.connect(signal)
  const { client, gateway } = terminal
  const pictures = createChatPictures({ client, userHome, signal })
  const file = (name: string, content: string | Buffer = createPng()) => {
    writeFileSync(join(userHome, name), content)
    return join(userHome, name)
  }
  /** What the gateway receives with the next message, whose turn then ends. */
  const received = async () => {
    const { event, accepted } = await gateway.nextEvent()
    if (accepted.status === 'accepted') gateway.completeTurn(accepted.seq, { text: 'ok' })
    return { text: event.text, files: (event.attachments ?? []).map(({ fileName }) => fileName) }
  }
  return { client, pictures, file, received }
}

test('a question has the pictures of --image', async (t) => {
  const { client, pictures, file, received } = await setUp(t)
  await pictures.attach(file('one.png'))
  await pictures.attach(file('two.png', createPng({ fill: 2_500_000 })))
  const sent = received()
  const output = new PassThrough()
  const done = runQuery({ client, query: 'Same?', files: pictures.take(), signal, output, errors: output })
  assert.deepEqual(await sent, { text: 'Same?', files: ['one.png', 'two.png'] })
  assert.equal(await done, 0)
})

test('the line after /image has the picture, and so has a line that begins with a path', async (t) => {
  const { client, pictures, file, received } = await setUp(t)
  const input = new PassThrough()
  const output = new PassThrough()
  const done = runInteractive({ client, pictures, input, output, signal })
  const first = received()
  input.write(`/image ${file('my photo.png')}\nWhat is this?\n`)
  assert.deepEqual(await first, { text: 'What is this?', files: ['my photo.png'] })
  const second = received()
  input.write(`'${file('dropped.png')}' And this?\n`)
  assert.deepEqual(await second, { text: 'And this?', files: ['dropped.png'] })
  const third = received()
  input.end('/tmp/no-such-picture.png is missing\n')
  assert.deepEqual(await third, { text: '/tmp/no-such-picture.png is missing', files: [] })
  assert.equal(await done, 0)
})

test('paths are understood as terminals and people write them', async (t) => {
  const { pictures, file } = await setUp(t)
  const path = file('a b.png')
  for (const line of [path.replaceAll(' ', '\\ '), `"${path}"`, `'${path}'`, pathToFileURL(path).href, "'~/a b.png'"]) {
    assert.ok(pictures.isNamedIn(line), line)
    assert.equal((await pictures.read(line)).text, '', line)
    assert.equal(pictures.take().length, 1, line)
  }
  for (const line of ['/status', '/image-tools', 'see ./a.png', './script.sh'])
    assert.ok(!pictures.isNamedIn(line), line)
})

test('what cannot be shown is refused with the reason, before anything is sent', async (t) => {
  const { pictures, file } = await setUp(t)
  const refused = async (path: string) => {
    const error: unknown = await pictures.attach(path).catch((thrown: unknown) => thrown)
    return isHermesError(error) ? error.code : undefined
  }
  assert.equal(await refused('/no/such/picture.png'), 'cli/usage')
  assert.equal(await refused('/tmp'), 'cli/usage')
  assert.equal(await refused(file('empty.png', '')), 'cli/usage')
  assert.equal(await refused(file('words.png', 'not a picture')), 'cli/usage')
  assert.equal(await refused(file('map.png', createPng({ width: 30_000, height: 30_000 }))), 'media/picture-refused')
  assert.equal(await refused(file('huge.png', Buffer.alloc(21_500_000))), 'media/too-large')
  assert.deepEqual(pictures.take(), [])
})
