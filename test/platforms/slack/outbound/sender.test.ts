/**
 * Messages of ours: where they go, how long they may be, how an edit ends, and how a lost one is found.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { resolveAttachmentUrl } from '../../../../platforms/slack/inbound/attachment-url.ts'
import { parseOptions } from '../../../../platforms/slack/options.ts'
import { displayed } from '../../../kit/servers/slack/slack-server.ts'
import { startFileServer } from '../../../media/file-server.ts'
import { ada, bob, channel, direct, neverAborted, reply, startSlackTest } from '../support.ts'

test('a message to a user id opens the direct chat once', async (t) => {
  const { server, adapter } = await startSlackTest(t)
  for (const text of ['one', 'two']) {
    assert.equal((await adapter.send(reply(text, bob, { deliveryId: text }), neverAborted)).success, true)
  }
  assert.deepEqual(server.posts('D0BOB00001').map(displayed), ['one', 'two'])
  assert.equal(server.faults.calls('conversations.open'), 1)
})

test('notices have no link previews', async (t) => {
  const { server, adapter } = await startSlackTest(t)
  await adapter.send(reply('see https://example.org', direct, { kind: 'notice' }), neverAborted)
  assert.equal(displayed(server.posts(direct)[0] ?? { text: '' }), 'see <https://example.org>')
})

test('a reply is posted to the channel when its thread was deleted', async (t) => {
  const { server, adapter } = await startSlackTest(t)
  const { ts } = await server.say(channel, ada, '<@U0BOT0001> hello')
  server.workspace.remove(channel, ts)
  assert.equal((await adapter.send(reply('Here I am.', channel, { thread: ts }), neverAborted)).success, true)
  const [post] = server.posts(channel)
  assert.deepEqual([post?.text, post?.thread_ts], ['Here I am.', undefined])
})

test('a text that is too long is sent as several messages, and a retry repeats none', async (t) => {
  const { server, adapter } = await startSlackTest(t)
  const line = 'if (a < b && c > d) {}\n'
  const message = reply(line.repeat(1_600))
  // The second post is lost on its way there.
  let posts = 0
  server.faults.reset((call) => call.method === 'chat.postMessage' && ++posts === 2)
  const first = await adapter.send(message, neverAborted)
  assert.ok(!first.success && first.maybeSent === true)
  assert.deepEqual(await adapter.resolveUnknown?.(message, neverAborted), { sent: false })
  assert.equal((await adapter.send(message, neverAborted)).success, true)
  const seen = server.posts(direct).map(displayed).join('\n')
  assert.equal(seen.split('if (a < b && c > d) {}').length - 1, 1_600)
  const found = await adapter.resolveUnknown?.(message, neverAborted)
  assert.ok(found !== undefined && found !== 'unknown' && found.sent)
})

describe('an edit takes less than a post', () => {
  test('a long final text becomes blocks in the same message', async (t) => {
    const { server, adapter } = await startSlackTest(t)
    const sent = await adapter.send(reply('The', channel, { kind: 'draft' }), neverAborted)
    assert.ok(sent.success && sent.messageId !== undefined)
    const text = 'word '.repeat(1_400).trim()
    const result = await adapter.edit?.(sent.messageId, reply(text, channel), true, neverAborted)
    assert.equal(result?.success, true, JSON.stringify(result))
    const [post, ...others] = server.posts(channel)
    assert.deepEqual(others, [])
    const shown = (post?.blocks ?? []).map((block) => JSON.parse(JSON.stringify(block)).text.text).join(' ')
    assert.equal(shown, text)
    // It is known from here on: the next one is not tried as text.
    const calls = server.faults.calls('chat.update')
    await adapter.edit?.(sent.messageId, reply(`${text}.`, channel), true, neverAborted)
    assert.equal(server.faults.calls('chat.update') - calls, 1)
  })

  test('a final text that is too long for blocks replaces the draft by a new message', async (t) => {
    const { server, adapter } = await startSlackTest(t)
    const sent = await adapter.send(reply('The', channel, { kind: 'draft' }), neverAborted)
    assert.ok(sent.success && sent.messageId !== undefined)
    const result = await adapter.edit?.(sent.messageId, reply('word '.repeat(6_000), channel), true, neverAborted)
    assert.ok(result !== undefined && !result.success && result.problem === 'rejected')
    assert.deepEqual(server.posts(channel), [])
  })

  test('a draft that is too long shows its start', async (t) => {
    const { server, adapter } = await startSlackTest(t)
    const draft = reply('The', channel, { kind: 'draft' })
    const sent = await adapter.send(draft, neverAborted)
    assert.ok(sent.success && sent.messageId !== undefined)
    const result = await adapter.edit?.(sent.messageId, { ...draft, text: 'ü'.repeat(4_000) }, false, neverAborted)
    assert.equal(result?.success, true)
    assert.match(server.posts(channel)[0]?.text ?? '', /^ü+ …$/)
  })
})

describe('files', () => {
  const picture = (url: string) => ({
    kind: 'image' as const,
    fileName: 'cat.png',
    mimeType: 'image/png',
    source: { kind: 'url' as const, url },
  })

  test('an image that Slack cannot download is posted once as a link', async (t) => {
    const { server, adapter } = await startSlackTest(t)
    const attachment = picture('https://example.org/broken.png')
    assert.equal((await adapter.send(reply('Look', direct, { attachment }), neverAborted)).success, true)
    assert.deepEqual(server.posts(direct).map(displayed), ['Look\n<https://example.org/broken.png|cat.png>'])
  })

  test('an upload with an unknown result is found by its file', async (t) => {
    const { server, adapter } = await startSlackTest(t)
    const bytes = new Blob(['hello'])
    const attachment = {
      kind: 'document' as const,
      fileName: 'a.txt',
      mimeType: 'text/plain',
      source: { kind: 'file' as const, bytes: 5, open: async () => bytes },
    }
    const message = reply('', direct, { attachment })
    server.faults.dropResponse('files.completeUploadExternal')
    const lost = await adapter.send(message, neverAborted)
    assert.ok(!lost.success && lost.maybeSent === true)
    const found = await adapter.resolveUnknown?.(message, neverAborted)
    assert.ok(found !== undefined && found !== 'unknown' && found.sent)
    assert.equal(server.posts(direct).length, 1)
  })

  test('an upload that fails early can be retried', async (t) => {
    const { server, adapter } = await startSlackTest(t)
    const attachment = {
      kind: 'document' as const,
      fileName: 'a.txt',
      mimeType: 'text/plain',
      source: { kind: 'file' as const, bytes: 5, open: async () => new Blob(['hello']) },
    }
    server.faults.dropResponse('files.getUploadURLExternal')
    const result = await adapter.send(reply('', direct, { attachment }), neverAborted)
    assert.ok(!result.success && result.problem === 'temporary' && result.maybeSent !== true)
  })

  test('an upload address that is not https is rejected unless file_hosts allows its host', async (t) => {
    const attachment = {
      kind: 'document' as const,
      fileName: 'a.txt',
      mimeType: 'text/plain',
      source: { kind: 'file' as const, bytes: 5, open: async () => new Blob(['hello']) },
    }
    const host = await startFileServer(t, (response) => response.end())
    for (const [options, problem] of [
      [{}, 'rejected'],
      [{ file_hosts: [host.origin] }, undefined],
    ] as const) {
      const { server, adapter } = await startSlackTest(t, { options })
      const body = { ok: true, upload_url: `${host.origin}/upload/F1`, file_id: 'F1' }
      server.faults.respond('files.getUploadURLExternal', { status: 200, body })
      server.faults.respond('files.completeUploadExternal', { status: 200, body: { ok: true } })
      const result = await adapter.send(reply('', direct, { attachment }), neverAborted)
      assert.equal(result.success ? undefined : result.problem, problem)
    }
    assert.equal(host.requests.length, 1)
  })

  test('file_hosts receive the token only beside api_url, over https or on this machine', async () => {
    const file_hosts = [
      'https://files.example.org',
      'http://files.example.org',
      'http://10.0.0.5:9000',
      'http://127.0.0.1:9000',
      'http://127.example.org',
    ]
    const tokens = { bot_token: 'xoxb-1', app_token: 'xapp-1', file_hosts }
    const call = async () => assert.fail('no call is needed')
    const receivers = async (api_url?: string) => {
      const options = parseOptions({ ...tokens, api_url }, 'default')
      const found = await Promise.all(
        file_hosts.map(async (host) => {
          const attachment = { kind: 'document' as const, ref: `${host}/a.txt` }
          const { headers } = await resolveAttachmentUrl(attachment, { call, options }, neverAborted)
          return headers === undefined ? [] : [host]
        }),
      )
      return found.flat()
    }
    assert.deepEqual(await receivers('https://slack.example.org'), [
      'https://files.example.org',
      'http://127.0.0.1:9000',
    ])
    assert.deepEqual(await receivers(), [])
  })

  test('only Slack and the configured server receive the token', async (t) => {
    const { server, adapter } = await startSlackTest(t)
    const at = async (ref: string) => await adapter.locate?.({ kind: 'document', ref }, neverAborted)
    const own = await at(`${new URL(server.apiUrl).origin}/files-pri/F1/a.txt`)
    assert.equal(own?.headers?.['authorization'], `Bearer ${server.botToken}`)
    assert.equal(own?.refusedType, 'text/html')
    assert.equal(own?.trusted, new URL(server.apiUrl).origin)
    assert.ok((await at('https://files.slack.com/files-pri/T1-F1/a.txt'))?.headers)
    for (const url of [
      'https://drive.example.org/a',
      'http://files.slack.com/a',
      'https://slack.com.evil.org/a',
      'https://notslack.com/a',
    ]) {
      assert.equal((await at(url))?.headers, undefined, url)
    }
  })

  test('the URL of a file without one is fetched by id', async (t) => {
    const { server, adapter } = await startSlackTest(t)
    const file = server.addFile('a.txt', 'text/plain', Buffer.from('hello'))
    const address = await adapter.locate?.({ kind: 'document', ref: String(file['id']) }, neverAborted)
    const response = await fetch(address?.url ?? '', { headers: address?.headers ?? {} })
    assert.equal(await response.text(), 'hello')
    await assert.rejects(async () => await adapter.locate?.({ kind: 'document', ref: 'F0NOWHERE' }, neverAborted))
  })
})

describe('whether a message arrived', () => {
  test('is found in its thread', async (t) => {
    const { server, adapter } = await startSlackTest(t)
    const root = server.workspace.post(channel, { user: ada, text: 'a thread', subtype: 'hidden' })
    for (let at = 0; at < 150; at += 1) {
      server.workspace.post(channel, { user: bob, text: `noise ${at}`, thread_ts: root.ts, subtype: 'hidden' })
    }
    const message = reply('found?', channel, { thread: root.ts })
    server.faults.dropResponse('chat.postMessage')
    await adapter.send(message, neverAborted)
    const found = await adapter.resolveUnknown?.(message, neverAborted)
    assert.ok(found !== undefined && found !== 'unknown' && found.sent)
    assert.deepEqual(await adapter.resolveUnknown?.({ ...message, deliveryId: 'other' }, neverAborted), { sent: false })
  })

  test('is unknown without the scope to read, and rejects during an outage', async (t) => {
    const { server, adapter } = await startSlackTest(t)
    const message = reply('found?')
    server.faults.respond('conversations.history', { status: 503, body: '' })
    await assert.rejects(async () => await adapter.resolveUnknown?.(message, neverAborted))
    server.scopes.delete('im:history')
    assert.equal(await adapter.resolveUnknown?.(message, neverAborted), 'unknown')
  })
})
