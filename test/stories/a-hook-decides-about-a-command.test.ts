/**
 * Hooks decide about commands before they run, and never about those by which people get out of trouble.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { HomeLayout } from '../../src/lib/home.ts'
import { startTestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'

/** A hook in JavaScript whose handler has this body. */
function hook(home: HomeLayout, name: string, events: string, body: string): void {
  const folder = join(home.hooks, name)
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  writeFileSync(join(folder, 'HOOK.yaml'), `events: ${events}\n`)
  writeFileSync(
    join(folder, 'handler.js'),
    `export const handle = async (event, context, { gateway }) => {\n${body}\n}\n`,
  )
}

function withHook(t: TestContext, events: string | readonly string[], body: string, more: TestGatewayOptions = {}) {
  return startTestGateway(t, { ...more, prepare: (home) => hook(home, 'judge', JSON.stringify(events), body) })
}

test('a hook denies a command, with its reason', async (t) => {
  const gateway = await withHook(
    t,
    'command:version',
    `return { decision: ' Deny ', message: 'Not for ' + context.user_id }`,
  )
  await gateway.say('/version', { user: 'ada' })
  await gateway.waitForReply('Not for ada')
  await gateway.say('/whoami')
  await gateway.until(({ text }) => text.includes('allow'))
})

test('a hook that denies without a reason: the person is told which command was blocked', async (t) => {
  const gateway = await withHook(t, 'command:*', `return { decision: 'deny' }`)
  await gateway.say('/reset', { user: 'ada' })
  await gateway.waitForReply('Command `/reset` was blocked by a hook.')
  assert.equal(gateway.events.filter(({ name }) => name === 'session:reset').length, 0)
  const { context } = await gateway.waitForEvent('command:new')
  assert.equal(context['raw_command'], 'reset')
})

test('a hook answers a command itself', async (t) => {
  const gateway = await withHook(t, 'command:version', `return { decision: 'handled', message: 'mine' }`)
  await gateway.say('/version')
  await gateway.waitForReply('mine')
})

test('a hook makes another command of one; its arguments stay unless it gives others', async (t) => {
  const gateway = await withHook(
    t,
    'command:version',
    `return { decision: 'rewrite', command_name: '/new', ...(context.args === 'keep' ? {} : { raw_args: 'Taxes' }) }`,
  )
  await gateway.say('/version keep')
  await gateway.waitForReply('New conversation: keep')
  await gateway.say('/version other')
  await gateway.waitForReply('New conversation: Taxes')
})

test('a command that a hook made up is answered as unknown', async (t) => {
  const gateway = await withHook(t, 'command:version', `return { decision: 'rewrite', command_name: 'nonsense' }`)
  await gateway.say('/version')
  await gateway.waitForReply('/nonsense')
})

test('a hook that throws, or takes for ever, lets the command through', async (t) => {
  const gateway = await withHook(
    t,
    'command:*',
    `if (context.command === 'version') throw new Error('broken')\nawait new Promise(() => undefined)`,
    { config: { hooks: { command_timeout: 0.2, timeout: 0.5 } } },
  )
  await gateway.say('/version')
  await gateway.waitForReply('0.0.0-test')
  await gateway.say('/help')
  await gateway.waitForReply('/stop')
})

test('no hook is asked about /stop, and it is told of it afterwards', async (t) => {
  const gateway = await withHook(
    t,
    'command:*',
    `await gateway.send('fake:watch', context.command)\nreturn { decision: 'deny' }`,
    {
      replies: [{ text: 'one two three four', hang: 'stream', hangAfter: 3 }],
    },
  )
  await gateway.say('a long question')
  await gateway.modelRequest(0)
  await gateway.say('/version')
  await gateway.waitForReply('0.0.0-test')
  await gateway.say('/stop')
  await gateway.waitForReply('Stopped.')
  await gateway.waitForReply('version', 'watch')
  await gateway.waitForReply('stop', 'watch')
})

test('no hook can hold back /approve and /deny, not even one that denies everything', async (t) => {
  const gateway = await withHook(
    t,
    ['command:approve', 'command:deny', 'command:status'],
    `await gateway.send('fake:watch', context.command)
     return { decision: 'deny', message: 'no' }`,
    { config: { approvals: { destructive_slash_confirm: true } } },
  )
  await gateway.say('/status')
  await gateway.waitForReply('no')
  for (const [word, answer] of Object.entries({ deny: 'cancel', approve: 'once' })) {
    await gateway.say('/new')
    await gateway.say(`/${word}`)
    await gateway.waitForEvent('approval:resolved', { outcome: 'answered', answer })
    await gateway.waitForReply(word, 'watch')
  }
  await gateway.waitForEvent('session:reset')
  assert.equal(gateway.replies('chat').filter((text) => text === 'no').length, 1)
})

test('a hook that is still thinking cannot hold back a /stop that comes behind', async (t) => {
  const gateway = await withHook(
    t,
    'command:version',
    `await gateway.send('fake:watch', 'thinking'); await new Promise(() => undefined)`,
    {
      config: { hooks: { command_timeout: 60, timeout: 60 } },
    },
  )
  await gateway.say('/version')
  await gateway.waitForReply('thinking', 'watch')
  await gateway.say('/stop')
  await gateway.waitForReply('There is nothing to stop.')
  await gateway.waitForReply('was still waiting for a hook')
})

test('hooks decide before a person is asked whether he means it, and once: not again when he has said yes', async (t) => {
  const gateway = await withHook(
    t,
    'command:new',
    `const { appendFileSync } = await import('node:fs')
     appendFileSync(process.env.HERMES_HOME + '/asked', context.args + '\\n')
     return context.args === 'never' ? { decision: 'deny', message: 'Not here.' } : undefined`,
    { config: { approvals: { destructive_slash_confirm: true } }, capabilities: ['edit', 'buttons'] },
  )
  await gateway.say('/new never')
  await gateway.waitForReply('Not here.')
  await gateway.say('/new Taxes')
  await gateway.platform.press(await gateway.waitForReply('Go on?'), 'Approve once')
  await gateway.waitForReply('✨ New conversation: Taxes')
  assert.equal(gateway.replies().filter((text) => text.includes('Go on?')).length, 1)
  assert.equal(readFileSync(join(gateway.home.root, 'asked'), 'utf8'), 'never\nTaxes\n')
  assert.equal(gateway.events.filter(({ name }) => name === 'command:new').length, 2)
})
