import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { isHermesError } from '../../src/lib/errors.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { at } from './support.ts'

const broken: readonly { what: string; text: string; expected: RegExp }[] = [
  { what: 'that is not YAML', text: 'http: {port: 0\nmodel: [', expected: /config\.yaml:\d+:\d+/ },
  {
    what: 'with wrong values',
    text: 'http: {port: 0}\nmax_iterations: many\n',
    expected: /config\.yaml:2:\d+.*max_iterations/,
  },
  { what: 'that is a list', text: '- a\n- b\n', expected: /config\.yaml:1:1/ },
  {
    what: 'whose aliases expand to a billion values',
    text: 'a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e]\n',
    expected: /config\.yaml/,
  },
]

/** Selects a free port, because an invalid file cannot. */
const anyPort = { PATH: process.env['PATH'], HERMES_HTTP_PORT: '0' }

async function degraded(gateway: TestGateway): Promise<string> {
  const ready = await gateway.http('/readyz')
  assert.equal(ready.status, 200)
  return JSON.stringify(at(await ready.json(), 'degraded'))
}

for (const { what, text, expected } of broken) {
  test(`a first start with a configuration ${what} runs degraded: the web page works, platforms are disabled, and log, status and page name the issue`, async (t) => {
    const gateway = await startTestGateway(t, { configText: text, gateway: { environment: anyPort } })
    assert.match(await degraded(gateway), expected)
    assert.match(gateway.current().status().degraded.join(), expected)
    const off = gateway.current().status().platforms['fake']?.state
    assert.ok(off === undefined || off === 'disabled', off)
    const answer = await gateway.post('/v1/chat/completions', {
      messages: [{ role: 'user', content: 'Reply exactly ok' }],
    })
    assert.match(String(at(await answer.json(), 'choices', 0, 'message', 'content')), /ok/)
    await gateway.waitForLog({ event: 'config.issue', msg: expected })
    assert.match(await firstLineOf(await gateway.http('/web/stream?chat=page')), expected)
  })
}

test('with --strict such a start fails and lists all issues', async (t) => {
  const gateway = await startTestGateway(t, {
    startNow: false,
    configText: 'max_iterations: many\nagent: {drain_timeout: soon}\n',
    gateway: { environment: anyPort, strict: true },
  })
  await assert.rejects(gateway.start(), (error) => {
    assert.ok(isHermesError(error, 'config/invalid'))
    assert.match(error.message, /max_iterations/)
    assert.match(error.message, /drain_timeout/)
    return true
  })
})

test('a configuration that becomes invalid at runtime is ignored until it is fixed', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.waitForLog({ event: 'platform.connected' })
  await gateway.current().config.watch()
  writeFileSync(gateway.home.configFile, 'platforms: {fake: {allow_from: [')
  await gateway.waitForLog({ event: 'config.issue' })
  assert.match(await degraded(gateway), /config\.yaml/)
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')

  gateway.configure({ platforms: { fake: { allow_from: ['friend'] } } })
  await gateway.waitForLog({ event: 'config.recovered' })
  assert.equal(await degraded(gateway), '[]')
  await gateway.say('me too?', { user: 'stranger' })
  await gateway.waitForLog({ event: 'inbox.refused' })
})

test('the next start uses the last valid configuration', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.stop()
  writeFileSync(gateway.home.configFile, 'platforms: [')
  await (await gateway.start()).initialConnectsDone()
  assert.match(await degraded(gateway), /config\.yaml:1/)
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
})

test('a model that is configured at runtime replies to the next message', async (t) => {
  const gateway = await startTestGateway(t, { config: { model: undefined, provider: 'demo' } })
  await gateway.current().config.watch()
  await gateway.say('Reply exactly: demo')
  await gateway.waitForReply('demo')
  gateway.configure({})
  await gateway.waitForLog({ event: 'config.reloaded' })
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
})

/** The first line of the event stream. */
async function firstLineOf(response: Response): Promise<string> {
  let text = ''
  assert.ok(response.body)
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk
    if (text.includes('\n')) break
  }
  return text.split('\n')[0] ?? ''
}

test('an account whose environment variable is not set fails, and other accounts work, also after a restart', async (t) => {
  const family = { url: 'http://127.0.0.1:9', token: `\${FAMILY_BOT_TOKEN}` }
  const gateway = await startTestGateway(t, { config: { platforms: { fake: { accounts: { family } } } } })
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
  await gateway.stop()
  await gateway.start()
  await gateway.say('still there?')
  await gateway.waitForReply('You said: still there?')
  const { fake } = gateway.current().status().platforms
  assert.equal(fake?.state, 'failed')
  assert.match(fake?.reason ?? '', /family: \$\{FAMILY_BOT_TOKEN\}.*config\.yaml:\d+:\d+/)
})
