import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { isHermesError } from '../../src/lib/errors.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { at } from './support.ts'

const broken: readonly { what: string; text: string; says: RegExp }[] = [
  { what: 'that is no YAML', text: 'http: {port: 0\nmodel: [', says: /config\.yaml:\d+:\d+/ },
  {
    what: 'with wrong values',
    text: 'http: {port: 0}\nmax_iterations: many\n',
    says: /config\.yaml:2:\d+.*max_iterations/,
  },
  { what: 'that is a list', text: '- a\n- b\n', says: /expected keys/ },
  {
    what: 'that unfolds to a billion values',
    text: 'a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e]\n',
    says: /config\.yaml/,
  },
]

/** A port of its own although the file cannot set one. */
const anyPort = { PATH: process.env['PATH'], HERMES_HTTP_PORT: '0' }

async function degraded(gateway: TestGateway): Promise<string> {
  const ready = await gateway.http('/readyz')
  assert.equal(ready.status, 200)
  return JSON.stringify(at(await ready.json(), 'degraded'))
}

for (const { what, text, says } of broken) {
  test(`a first start with a configuration ${what} runs degraded: the page works, the platforms stay off, and both say what to mend`, async (t) => {
    const gateway = await startTestGateway(t, { configText: text, gateway: { environment: anyPort } })
    assert.match(await degraded(gateway), says)
    assert.match(gateway.current().status().degraded.join(), says)
    const off = gateway.current().status().platforms['fake']?.state
    assert.ok(off === undefined || off === 'disabled', off)
    const answer = await gateway.post('/v1/chat/completions', {
      messages: [{ role: 'user', content: 'Reply exactly ok' }],
    })
    assert.match(String(at(await answer.json(), 'choices', 0, 'message', 'content')), /ok/)
    await gateway.waitForLog(says)
    assert.match(await firstLineOf(await gateway.http('/web/stream?chat=page')), says)
  })
}

test('with --strict such a start is refused, and says every problem at once', async (t) => {
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

test('a configuration that breaks while the gateway runs changes nothing until it is mended', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.waitForLog('"event":"platform.connected"')
  await gateway.current().config.watch()
  writeFileSync(gateway.home.configFile, 'platforms: {fake: {allow_from: [')
  await gateway.waitForLog('the current configuration stays in use')
  assert.match(await degraded(gateway), /config\.yaml/)
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')

  gateway.configure({ platforms: { fake: { allow_from: ['friend'] } } })
  await gateway.waitForLog('the configuration is valid again')
  assert.equal(await degraded(gateway), '[]')
  await gateway.say('me too?', { user: 'stranger' })
  await gateway.waitForLog('message refused')
})

test('the last good configuration serves the next start', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.stop()
  writeFileSync(gateway.home.configFile, 'platforms: [')
  await (await gateway.start()).initialConnectsDone()
  assert.match(await degraded(gateway), /config\.yaml:1/)
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
})

test('a model that is configured while the gateway runs answers the next message', async (t) => {
  const gateway = await startTestGateway(t, { config: { model: undefined, provider: 'demo' } })
  await gateway.current().config.watch()
  await gateway.say('Reply exactly: demo')
  await gateway.waitForReply('demo')
  gateway.configure({})
  await gateway.waitForLog('configuration reloaded')
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
})

/** The first thing that the page is told, whatever becomes of the chat. */
async function firstLineOf(response: Response): Promise<string> {
  let text = ''
  assert.ok(response.body)
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    text += piece
    if (text.includes('\n')) break
  }
  return text.split('\n')[0] ?? ''
}

test('an account whose variable is not set fails alone: the others chat on, through a restart too', async (t) => {
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
  assert.match(fake?.reason ?? '', /family: \$\{FAMILY_BOT_TOKEN\} is not set \(config\.yaml:\d+:\d+\)/)
})
