/**
 * Names that senders choose never become paths.
 */
import assert from 'node:assert/strict'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { silentLog } from '../../src/lib/log.ts'
import { createAttachmentDownloader } from '../../src/media/attachment-downloader.ts'
import { tempHome } from '../kit/temp-home.ts'
import { startFileServer } from './file-server.ts'
import { hostileNames } from './hostile-names.ts'

test('a file is stored under a generated name in the folder of its day, whatever its sender calls it', async (t) => {
  const home = tempHome(t)
  const server = await startFileServer(t, (response) => response.setHeader('content-type', 'text/plain').end('text'))
  let count = 0
  const media = createAttachmentDownloader({
    folder: join(home, 'media'),
    pictures: join(home, 'media', 'pictures'),
    clock: () => Date.UTC(2026, 0, 2),
    sleep: async () => undefined,
    log: silentLog,
    maxBytes: () => 1_000,
    adapter: () => ({ locate: async ({ ref }) => ({ url: `${server.origin}/${ref}`, trusted: server.origin }) }),
    fileHosts: () => [],
    randomSuffix: () => `m${count++}`,
    redact: (text) => text,
  })
  const source = { platform: 'chat', account: 'bot', chatId: 'c', chatType: 'dm', userId: 'u' } as const
  const attachments = hostileNames.map((fileName) => ({ kind: 'document' as const, ref: 'f', fileName }))
  const stored = await media.fetchAttachments(
    { source, text: '', messageType: 'document', timestamp: 1, attachments },
    '12',
    new AbortController().signal,
  )
  for (const [index, { path = '' }] of stored.entries()) {
    assert.match(path.slice(home.length), /^\/media\/2026-01-02\/12-\d+-m\d+\.\w{1,5}$/, hostileNames[index])
    assert.equal(statSync(path).mode & 0o777, 0o600)
  }
  assert.equal(new Set(stored.map(({ path }) => path)).size, hostileNames.length)
  const found = readdirSync(home, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(home, name)).isFile(),
  )
  assert.equal(found.length, hostileNames.length)
})
