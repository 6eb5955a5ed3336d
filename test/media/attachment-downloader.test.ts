import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createLog } from '../../src/lib/log-writer.ts'
import {
  type AttachmentDownloaderDeps,
  createAttachmentDownloader,
  needsDownload,
} from '../../src/media/attachment-downloader.ts'
import type { Attachment, MessageEvent } from '../../src/message/event.ts'
import type { PlatformAdapter } from '../../src/platforms/adapter.ts'
import { createRecordingLog } from '../hosts/support.ts'
import { createManualClock } from '../kit/manual-clock.ts'
import { createPng } from '../kit/pictures.ts'
import { tempHome } from '../kit/temp-home.ts'
import { type FileServer, startFileServer } from './file-server.ts'

const png = '\x89PNG\r\n\x1a\n and so on'
const neverAborted = new AbortController().signal

function message(...attachments: Attachment[]): MessageEvent {
  const source = { platform: 'chat', account: 'bot', chatId: 'c', chatType: 'dm', userId: 'u' } as const
  return { source, text: '', messageType: 'photo', timestamp: 1, attachments }
}

function createTestDownloader(t: TestContext, overrides: Partial<AttachmentDownloaderDeps> = {}) {
  const folder = join(tempHome(t), 'media')
  const clock = createManualClock(Date.UTC(2026, 0, 2))
  let suffixes = 0
  const log = createRecordingLog()
  const media = createAttachmentDownloader({
    folder,
    pictures: join(folder, 'pictures'),
    clock: clock.now,
    sleep: clock.sleep,
    log,
    maxBytes: () => 1_000_000,
    adapter: () => undefined,
    fileHosts: () => [],
    randomSuffix: () => `m${suffixes++}`,
    redact: (text) => text.replaceAll('secret', '[redacted]'),
    ...overrides,
  })
  const fetched = async (...attachments: Attachment[]) =>
    await media.fetchAttachments(message(...attachments), '12', neverAborted)
  const files = () => {
    const all = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()
    return all.filter((name) => statSync(join(folder, name)).isFile())
  }
  /** The codes of the failed downloads, in the order of the attachments. */
  const failures = () =>
    log.records
      .filter(({ fields }) => fields['event'] === 'media.download_failed')
      .sort((one, other) => String(one.fields['file']).localeCompare(String(other.fields['file'])))
      .map(({ fields }) => fields['code'])
  return { folder, clock, media, fetched, files, failures }
}

/** An adapter that finds every file on one server. */
function createLocator({ origin }: FileServer, more: { refusedType?: string } = {}): Pick<PlatformAdapter, 'locate'> {
  return { locate: async ({ ref }) => ({ url: `${origin}/${ref}`, trusted: origin, ...more }) }
}

function startServerWith(t: TestContext, body: string | Buffer, type = 'application/octet-stream') {
  return startFileServer(t, (response) => {
    response.setHeader('content-type', type).end(typeof body === 'string' ? Buffer.from(body, 'latin1') : body)
  })
}

test('a private host is used only when file_hosts of the account allows it', async (t) => {
  const server = await startServerWith(t, png)
  const adapter = () => ({ locate: async () => ({ url: `${server.origin}/f1`, trusted: 'https://api.example' }) })
  const refused = createTestDownloader(t, { adapter })
  await refused.fetched({ kind: 'photo', ref: 'f1' })
  assert.deepEqual(refused.failures(), ['url-not-allowed'])
  const fileHosts = ({ account }: { readonly account: string }) => (account === 'bot' ? [server.origin] : [])
  const [photo] = await createTestDownloader(t, { adapter, fileHosts }).fetched({ kind: 'photo', ref: 'f1' })
  assert.equal(photo?.mimeType, 'image/png')
})

test('a file is stored in the folder of its day under a generated name, readable only by the owner', async (t) => {
  const server = await startServerWith(t, png, 'text/plain')
  const { folder, fetched, files } = createTestDownloader(t, { adapter: () => createLocator(server) })
  const [photo] = await fetched({ kind: 'photo', ref: 'f1', fileName: '../../../etc/cron.d/evil.sh', mimeType: 'x/y' })
  assert.deepEqual(files(), ['2026-01-02/12-1-m0.png'])
  const path = join(folder, '2026-01-02', '12-1-m0.png')
  assert.deepEqual(photo, {
    kind: 'photo',
    ref: 'f1',
    fileName: '../../../etc/cron.d/evil.sh',
    path,
    mimeType: 'image/png',
    bytes: png.length,
    hidden: photo?.hidden,
  })
  assert.match(photo?.hidden ?? '', /damaged/)
  assert.equal(readFileSync(path, 'latin1'), png)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(statSync(folder).mode & 0o777, 0o700)
})

test('a picture is stored once under its hash, however often and by whatever name it is sent', async (t) => {
  const content = createPng({ width: 30, height: 20 })
  const server = await startServerWith(t, content)
  const { folder, fetched, files } = createTestDownloader(t, { adapter: () => createLocator(server) })
  const file = `${createHash('sha256').update(content).digest('hex')}.png`
  const image = { type: 'image', file, mimeType: 'image/png', bytes: content.length, width: 30, height: 20 }
  const found = [
    ...(await fetched({ kind: 'photo', ref: 'f1' }, { kind: 'document', ref: 'f2', mimeType: 'image/webp' })),
    ...(await fetched({ kind: 'photo', ref: 'f3', quoted: true })),
  ]
  assert.deepEqual(
    found.map(({ path, image: part, mimeType }) => ({ path, part, mimeType })),
    found.map(() => ({ path: join(folder, 'pictures', file), part: image, mimeType: 'image/png' })),
  )
  assert.deepEqual(files(), [`pictures/${file}`])
  assert.equal(statSync(join(folder, 'pictures', file)).mode & 0o777, 0o600)
})

test('no file replaces another', async (t) => {
  const server = await startServerWith(t, png)
  const { fetched, files } = createTestDownloader(t, { adapter: () => createLocator(server) })
  await fetched({ kind: 'photo', ref: 'f1' }, { kind: 'photo', ref: 'f2' })
  await fetched({ kind: 'photo', ref: 'f3' })
  assert.deepEqual(files(), ['2026-01-02/12-1-m0.png', '2026-01-02/12-1-m2.png', '2026-01-02/12-2-m1.png'])
})

test('only remote files without an earlier attempt are downloaded, and the order is kept', async (t) => {
  const server = await startServerWith(t, png)
  const { fetched } = createTestDownloader(t, { adapter: () => createLocator(server) })
  const here = { kind: 'photo', ref: 'f1', path: '/media/1.png' } as const
  const lost = { kind: 'photo', ref: 'f2', problem: 'too large' } as const
  const nowhere = { kind: 'sticker' } as const
  assert.deepEqual([here, lost, nowhere].map(needsDownload), [false, false, false])
  const found = await fetched(here, lost, { kind: 'photo', ref: 'f3' }, nowhere)
  assert.deepEqual([found[0], found[1], found[3]], [here, lost, nowhere])
  assert.match(found[2]?.path ?? '', /12-1-m0\.png$/)
  assert.equal(server.requests.length, 1)
})

test('at most four files are downloaded concurrently, each once', async (t) => {
  let open = 0
  let most = 0
  const held: (() => void)[] = []
  const server = await startFileServer(t, (response) => {
    open += 1
    most = Math.max(most, open)
    held.push(() => {
      open -= 1
      response.end(png)
    })
    // The first four are answered when all of them are there, the others at once.
    if (held.length >= 4) for (const answer of held.splice(0)) answer()
    if (server.requests.length > 4) for (const answer of held.splice(0)) answer()
  })
  const { fetched } = createTestDownloader(t, { adapter: () => createLocator(server) })
  const all = await fetched(...Array.from({ length: 9 }, (_, index) => ({ kind: 'photo', ref: `f${index}` }) as const))
  assert.equal(most, 4)
  assert.equal(server.requests.length, 9)
  assert.ok(all.every(({ path }) => path !== undefined))
})

test('the detected type decides the extension and the kind of a file', async (t) => {
  const bodies: Readonly<Record<string, string>> = {
    voice: `OggS\0\x02${'\0'.repeat(22)}OpusHead`,
    pdf: '%PDF-1.7',
    text: 'hello',
    png,
  }
  const server = await startFileServer(t, (response, { url = '' }) => {
    response.end(Buffer.from(bodies[url.slice(1)] ?? '', 'latin1'))
  })
  const { fetched } = createTestDownloader(t, { adapter: () => createLocator(server) })
  const all = await fetched(
    { kind: 'voice', ref: 'voice' },
    { kind: 'photo', ref: 'pdf', fileName: 'photo.jpg' },
    { kind: 'document', ref: 'text', fileName: 'notes.md' },
    { kind: 'document', ref: 'png' },
  )
  assert.deepEqual(
    all.map(({ kind, mimeType, path = '' }) => `${kind} ${mimeType} ${path.slice(path.lastIndexOf('.'))}`),
    ['voice audio/ogg .ogg', 'document application/pdf .pdf', 'document text/markdown .md', 'photo image/png .png'],
  )
})

test('a failed download is explained, leaves no file behind and does not affect others', async (t) => {
  const server = await startFileServer(t, (response, { url }) => {
    if (url === '/gone') response.writeHead(404).end()
    else if (url === '/big') response.end(Buffer.alloc(1_000_001))
    else response.end(png, 'latin1')
  })
  const { fetched, files, failures } = createTestDownloader(t, {
    adapter: () => ({
      locate: async ({ ref = '' }) => {
        if (ref === 'unknown') throw new Error('no such file (token secret)')
        return { url: ref.startsWith('http') ? ref : `${server.origin}/${ref}`, trusted: server.origin }
      },
    }),
  })
  const all = await fetched(
    { kind: 'photo', ref: 'fine' },
    { kind: 'photo', ref: 'gone' },
    { kind: 'video', ref: 'big' },
    { kind: 'video', ref: 'announced', bytes: 2_000_000 },
    { kind: 'photo', ref: 'unknown' },
    { kind: 'photo', ref: 'http://169.254.169.254/' },
    { kind: 'photo', url: 'http://localhost:1/' },
  )
  assert.deepEqual(failures(), [
    'http-status',
    'too-large',
    'too-large',
    'address-failed',
    'url-not-allowed',
    'url-not-allowed',
  ])
  const [fine, ...failed] = all.map(({ problem }) => problem)
  assert.equal(fine, undefined)
  for (const [index, part] of ['404', '1 MB', '1 MB', 'no such file (token [redacted])', '', ''].entries()) {
    const problem = failed[index]
    assert.ok(problem !== undefined && problem !== '' && problem.includes(part), problem)
  }
  assert.deepEqual(files(), ['2026-01-02/12-1-m0.png'])
})

test('a sign-in page is not stored as a file; a web page that a user sent is', async (t) => {
  const server = await startServerWith(t, '<!DOCTYPE html><title>Sign in</title>', 'application/octet-stream')
  const { fetched, files, failures } = createTestDownloader(t, {
    adapter: () => createLocator(server, { refusedType: 'text/html' }),
  })
  const [lost, page] = await fetched(
    { kind: 'document', ref: 'f1', mimeType: 'application/pdf' },
    { kind: 'document', ref: 'f2', mimeType: 'text/html' },
  )
  assert.deepEqual(failures(), ['credentials-rejected'])
  assert.equal(lost?.path, undefined)
  assert.equal(page?.mimeType, 'text/html')
  assert.deepEqual(files(), ['2026-01-02/12-2-m1.html'])
})

test('a download waits a limited time for its platform to connect', async (t) => {
  const server = await startServerWith(t, png)
  let looks = 0
  const connecting = createTestDownloader(t, { adapter: () => (++looks < 5 ? undefined : createLocator(server)) })
  assert.equal((await connecting.fetched({ kind: 'photo', ref: 'f1' }))[0]?.mimeType, 'image/png')
  const disconnected = createTestDownloader(t)
  await disconnected.fetched({ kind: 'photo', ref: 'f1' })
  assert.deepEqual(disconnected.failures(), ['not-connected'])
  assert.equal(
    disconnected.clock.pendingSleeps.reduce((sum, ms) => sum + ms, 0),
    10_000,
  )
  const withoutFiles = createTestDownloader(t, { adapter: () => ({}) })
  await withoutFiles.fetched({ kind: 'photo', ref: 'f1' })
  assert.deepEqual(withoutFiles.failures(), ['not-offered'])
})

test('an aborted download leaves no file behind and can be repeated', async (t) => {
  const stop = new AbortController()
  const reason = new Error('stopping')
  const server = await startFileServer(t, (response) => {
    response.write('x', () => stop.abort(reason))
  })
  const { media, files } = createTestDownloader(t, { adapter: () => createLocator(server) })
  await assert.rejects(
    media.fetchAttachments(message({ kind: 'photo', ref: 'f1' }), '12', stop.signal),
    (error) => error === reason,
  )
  assert.deepEqual(files(), [])
})

test('a write error fails the file, not the message', async (t) => {
  const server = await startServerWith(t, png)
  const { folder, fetched, failures } = createTestDownloader(t, { adapter: () => createLocator(server) })
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, '2026-01-02'), 'in the way')
  const [file] = await fetched({ kind: 'photo', ref: 'f1' })
  assert.deepEqual(failures(), ['not-stored'])
  assert.match(file?.problem ?? '', /\(E[A-Z]+\)$/)
})

test('the log contains the reason of a failed download once, with its cause', async (t) => {
  const lines: string[] = []
  const stream = { write: (line: string) => lines.push(line) }
  const log = createLog({ level: 'warn', pretty: false, stream, redactor: (line) => line })
  const failing = async (error: Error) => {
    const { fetched } = createTestDownloader(t, { log, adapter: () => ({ locate: () => Promise.reject(error) }) })
    const [file] = await fetched({ kind: 'photo', ref: 'f1' })
    assert.equal(file?.problem, 'the platform has lost [redacted] files')
    const line = lines.pop() ?? ''
    assert.equal(lines.length, 0)
    assert.equal(line.split('the platform has lost').length - 1, 1, line)
    return line
  }
  await failing(new Error('the platform has lost secret files'))

  const server = await startFileServer(t, (response) => response.destroy())
  const { fetched } = createTestDownloader(t, { log, adapter: () => createLocator(server) })
  await fetched({ kind: 'photo', ref: 'f1' })
  assert.match(lines[0] ?? '', /"message":"socket hang up"/)
  assert.match(lines[0] ?? '', /"code":"unreachable"/)
})
