/**
 * Redaction in a running gateway: model requests, stored messages, replies and events.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { createRedactor } from '../../../plugins/redact-secrets/redactor.ts'
import { createSecretStores } from '../../../plugins/redact-secrets/secret-store.ts'
import { parseRedactSettings } from '../../../plugins/redact-secrets/settings.ts'
import { isVendorField, skipNone } from '../../../plugins/redact-secrets/visit-strings.ts'
import { asArray } from '../../../src/sdk.ts'
import type { TestGateway, TestGatewayOptions } from '../../kit/start-gateway.ts'
import { conversation, rowsIn } from '../../stories/support.ts'
import { pluginFiles, writeFiles } from '../loader-support.ts'
import { pluginsConfig, startWithBundledPlugins } from './support.ts'

const token = `ghp_${'a1B2'.repeat(9)}`
const placeholder = /\[secret:[0-9a-f]{8}\]/

function withRedaction(
  t: TestContext,
  settings: Readonly<Record<string, unknown>> = {},
  options: TestGatewayOptions = {},
): Promise<TestGateway> {
  return startWithBundledPlugins(t, { 'redact-secrets': settings }, options)
}

async function sent(gateway: TestGateway, number: number): Promise<string> {
  return JSON.stringify((await gateway.modelRequest(number)).body)
}

function placeholderIn(text: string): string {
  return placeholder.exec(text)?.[0] ?? `no placeholder in ${text}`
}

test('the model reads placeholders, which are stable across turns and restarts and differ between chats', async (t) => {
  const gateway = await withRedaction(
    t,
    {},
    { replies: [{ text: 'One' }, { text: 'Two' }, { text: 'Three' }, { text: 'Four' }] },
  )
  await gateway.say(`my token is ${token}, keep it`)
  await gateway.waitForReply('One')
  await gateway.say('and now?')
  await gateway.waitForReply('Two')
  await gateway.say(`mine is ${token}, too`, { chat: 'elsewhere', user: 'bob' })
  await gateway.waitForReply('Three')
  await gateway.stop()
  await gateway.start()
  await gateway.say('still there?')
  await gateway.waitForReply('Four')
  const requests = [0, 1, 2, 3].map((number) => conversation(gateway.model.requests[number])[0] ?? '')
  for (const number of [0, 1, 2, 3]) assert.ok(!(await sent(gateway, number)).includes(token))
  const first = placeholderIn(requests[0] ?? '')
  assert.equal(requests[0], `user: my token is ${first}, keep it`)
  assert.deepEqual([requests[1], requests[3]], [requests[0], requests[0]])
  assert.match(requests[2] ?? '', placeholder)
  assert.notEqual(placeholderIn(requests[2] ?? ''), first)
})

test('tool results and replies are stored and sent without secrets', async (t) => {
  const gateway = await withRedaction(
    t,
    {},
    {
      prepare: (home) => writeFileSync(join(home.root, 'notes.txt'), `The token is ${token}.`),
      replies: [
        { toolCalls: [{ name: 'read_file', arguments: { path: 'notes.txt' } }] },
        { text: `I would use ghp_${'Z9y8'.repeat(9)} here.` },
      ],
    },
  )
  await gateway.say('read it')
  const { text } = await gateway.waitForReply('I would use')
  assert.match(text, /^I would use \[secret:[0-9a-f]{8}\] here\.$/)
  assert.match(await sent(gateway, 1), placeholder)
  assert.ok(!(await sent(gateway, 1)).includes(token))
  await gateway.stop()
  const kept = JSON.stringify(rowsIn(gateway.home, 'select * from messages'))
  assert.doesNotMatch(kept, /ghp_/)
  assert.match(kept, /The token is \[secret:/)
})

test('events for subscribers contain no secrets of requests or responses', async (t) => {
  const recorder = pluginFiles(
    'recorder',
    `const { appendFileSync } = await import('node:fs')
     ctx.registerSubscriber('all', (event) => appendFileSync(ctx.directory + '/events', JSON.stringify(event) + '\\n'))`,
  )
  const both = pluginsConfig({ 'redact-secrets': { protect_tool_results: false }, recorder: {} })
  const gateway = await withRedaction(
    t,
    {},
    {
      prepare: (home) => {
        writeFiles(home.plugins, recorder)
        writeFileSync(join(home.root, 'notes.txt'), `{"password": "hunter2hunter2", "token": "${token}"}`)
      },
      startNow: false,
      replies: [{ toolCalls: [{ name: 'read_file', arguments: { path: 'notes.txt' } }] }, { text: `Here: ${token}` }],
    },
  )
  gateway.configure({ plugins: both })
  await gateway.start()
  await gateway.say(`read it, ${token}`)
  await gateway.waitForReply('Here: [secret:')
  await gateway.stop()
  const events = readFileSync(join(gateway.home.plugins, 'recorder/events'), 'utf8')
  assert.doesNotMatch(events, /ghp_|hunter2/)
  assert.match(events, /read it, \[secret:/)
  assert.match(events, /password[\\"]+: [\\"]+\[secret:/)
  assert.match(events, /Here: \[secret:/)
})

test('only a tool that the settings name receives the secret instead of the placeholder', async (t) => {
  const cases: readonly [readonly string[], RegExp][] = [
    [['write_file'], /^x ghp_[a1B2]+ y$/],
    [[], /^x \[secret:[0-9a-f]{8}\] y$/],
  ]
  for (const [allowed, expected] of cases) {
    const gateway = await withRedaction(
      t,
      { restore_for_tools: allowed },
      {
        model: ({ body }) => {
          const named = placeholderIn(JSON.stringify(asArray(body['messages']).slice(1)))
          return JSON.stringify(body['messages']).includes('"tool"')
            ? { text: 'Written' }
            : { toolCalls: [{ name: 'write_file', arguments: { path: 'kept.txt', content: `x ${named} y` } }] }
        },
      },
    )
    await gateway.say(`write my token ${token} down`)
    await gateway.waitForReply('Written')
    assert.match(readFileSync(join(gateway.home.root, 'kept.txt'), 'utf8'), expected)
    assert.ok(!(await sent(gateway, 1)).includes(token))
    await gateway.stop()
  }
})

test('a secret that the model sees masked reaches the named tool, and neither the log nor the transcript', async (t) => {
  const gateway = await withRedaction(
    t,
    { restore_for_tools: ['write_file'] },
    {
      config: { log: { level: 'debug' } },
      prepare: (home) => writeFileSync(join(home.root, 'notes.txt'), `The token is ${token}.`),
      model: ({ body }) => {
        const text = JSON.stringify(asArray(body['messages']).slice(1))
        const named = placeholder.exec(text)?.[0]
        if (named === undefined) return { toolCalls: [{ name: 'read_file', arguments: { path: 'notes.txt' } }] }
        if (text.includes('kept.txt')) return { text: `Written: ${named}` }
        return { toolCalls: [{ name: 'write_file', arguments: { path: 'kept.txt', content: `x ${named} y` } }] }
      },
    },
  )
  await gateway.say('copy the token')
  await gateway.waitForReply('Written: [secret:')
  await gateway.stop()
  assert.equal(readFileSync(join(gateway.home.root, 'kept.txt'), 'utf8'), `x ${token} y`)
  const kept = ['messages', 'turns', 'outbox'].map((name) => rowsIn(gateway.home, `select * from ${name}`))
  const requests = gateway.model.requests.map(({ body }) => body)
  for (const text of [JSON.stringify(kept), JSON.stringify(requests), gateway.log.join('')])
    assert.doesNotMatch(text, /ghp_/)
  assert.match(JSON.stringify(kept), /x \[secret:[0-9a-f]{8}\] y/)
})

test('a request that cannot be redacted is not sent', async (t) => {
  const deep = pluginFiles(
    'deep',
    `ctx.registerMiddleware('llm_request', ({ request }) => {
       let metadata = 'end'
       for (let level = 0; level < 70; level++) metadata = { metadata }
       return { request: { ...request, metadata } }
     })`,
  )
  const gateway = await withRedaction(t, {}, { startNow: false, prepare: (home) => writeFiles(home.plugins, deep) })
  gateway.configure({ plugins: pluginsConfig({ deep: {}, 'redact-secrets': {} }) })
  await gateway.start()
  await gateway.say('hello')
  await gateway.waitForReply('could not be redacted')
  assert.equal(gateway.model.requests.length, 0)
})

const key = '00'.repeat(32)
const redactionWith = (settings: Readonly<Record<string, unknown>> = {}) =>
  createRedactor(createSecretStores(key)('s'), parseRedactSettings(settings))

test('a secret that was found once in a session is replaced everywhere, also earlier in the request', () => {
  const request = {
    messages: [
      { role: 'user', content: 'correct-horse is what I use' },
      { role: 'user', content: 'so: password=correct-horse' },
    ],
  }
  const clean = JSON.stringify(redactionWith().data(request, isVendorField))
  assert.doesNotMatch(clean, /correct-horse/)
  assert.equal(new Set(clean.match(/\[secret:[0-9a-f]{8}\]/g)).size, 1)
})

test('arguments are redacted by field name, and data that the provider has signed stays unchanged', () => {
  const sealed = [
    { type: 'thinking', thinking: `is ${token} right?`, signature: token },
    { type: 'reasoning', summary: [{ text: token }], encrypted_content: token },
    { source: { type: 'base64', data: token } },
    { type: 'tool_use', id: token, name: 'x', input: {} },
  ]
  assert.equal(redactionWith().data(sealed, isVendorField), sealed)
  const open = { input: { password: 'hunter2', session_key: 'web:dm:1', max_tokens: 5, data: token } }
  const clean = redactionWith().data(open, isVendorField)
  assert.match(
    JSON.stringify(clean),
    /^\{"input":\{"password":"\[secret:\w{8}\]","session_key":"web:dm:1","max_tokens":5,"data":"\[secret:\w{8}\]"\}\}$/,
  )
  assert.doesNotMatch(JSON.stringify(redactionWith().data(sealed, skipNone)), /ghp_/)
})

test('text that looks like a data URL or like signed data is redacted', () => {
  const picture = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUA'
  const request = {
    messages: [
      { role: 'user', content: `data: {"key": "${token}"}` },
      { role: 'user', content: `data:text/plain,${token}` },
      { role: 'user', content: `data:text/plain;base64,AAAA ${token}` },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: picture } }] },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'call_1', input: { type: 'thinking', id: token, note: token } }],
      },
      { role: 'user', content: [{ type: 'base64', data: 'AAAA', text: token }] },
      { role: 'user', content: [{ type: 'thinking', thinking: 'hm', signature: 'x', text: token }] },
    ],
  }
  const clean = JSON.stringify(redactionWith().data(request, isVendorField))
  assert.doesNotMatch(clean, /ghp_/)
  assert.ok(clean.includes(picture) && clean.includes('"id":"call_1"'))
})

test('configured patterns are replaced after their group, and ignored texts stay', () => {
  const { text } = redactionWith({ patterns: ['(ticket )[A-Z]{3}-\\d+'], ignore: [token] })
  assert.match(text('see ticket ABC-123 please'), /^see ticket \[secret:\w{8}\] please$/)
  assert.equal(text(`the example ${token}`), `the example ${token}`)
})

test('redacting a text twice gives the same result, whatever surrounds a placeholder', () => {
  const pieces = [
    ...[
      token,
      'Authorization: Bearer ',
      '"password": "',
      '"',
      ' ',
      '. ',
      'api_key=',
      '&token=',
      'https://u:',
      '@host/',
    ],
    ...['abc123def456ghi789', ', ', '(', ')', '\\"', 'token: "', '\n', 'x', '[secret:0a1b2c3d]', '{"key":"', '"}'],
  ]
  const redaction = redactionWith()
  const check = (parts: readonly string[]) => {
    const once = redaction.text(parts.join(''))
    assert.ok(!once.includes(token), once)
    assert.equal(redaction.text(once), once)
  }
  const some = fc.array(fc.constantFrom(...pieces), { maxLength: 9 })
  fc.assert(fc.property(some, check), { seed: 20_260_821, numRuns: 3_000 })
})

test('a plugin with an invalid pattern is not loaded, and the pattern is named', async (t) => {
  for (const [pattern, reason] of [
    ['(', /\bsettings\.patterns, number 1: .*\(/],
    ['x*', /\bsettings\.patterns, number 1: /],
  ] as const) {
    const gateway = await withRedaction(t, { patterns: [pattern] })
    assert.match(gateway.current().status().plugins[0]?.reason ?? '', reason)
    await gateway.stop()
  }
})
