/**
 * Hooks decide about commands before they run, except about /stop, /approve and /deny.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { HomeLayout } from '../../src/lib/home.ts'
import { startTestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'
import { waitForCommandReply, waitForQuestion } from './support.ts'

/** Installs a hook in JavaScript whose handler has this body. */
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

test('a hook denies a command with a reason', async (t) => {
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

test('if a hook denies without a reason, the notice names the blocked command', async (t) => {
  const gateway = await withHook(t, 'command:*', `return { decision: 'deny' }`)
  await gateway.say('/reset', { user: 'ada' })
  await gateway.waitForReply('`/reset`')
  assert.equal(gateway.events.filter(({ name }) => name === 'session:reset').length, 0)
  const { context } = await gateway.waitForEvent('command:new')
  assert.equal(context['raw_command'], 'reset')
})

test('a hook handles a command itself', async (t) => {
  const gateway = await withHook(t, 'command:version', `return { decision: 'handled', message: 'mine' }`)
  await gateway.say('/version')
  await gateway.waitForReply('mine')
})

test('a hook rewrites a command; its arguments are kept unless the hook replaces them', async (t) => {
  const gateway = await withHook(
    t,
    'command:version',
    `return { decision: 'rewrite', command_name: '/new', ...(context.args === 'keep' ? {} : { raw_args: 'Taxes' }) }`,
  )
  await gateway.say('/version keep')
  await waitForCommandReply(gateway, 'keep')
  await gateway.say('/version other')
  await waitForCommandReply(gateway, 'Taxes')
})

test('a command rewritten to an unknown name is answered as unknown', async (t) => {
  const gateway = await withHook(t, 'command:version', `return { decision: 'rewrite', command_name: 'nonsense' }`)
  await gateway.say('/version')
  await gateway.waitForReply('/nonsense')
})

test('a command runs if a hook throws or times out', async (t) => {
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

test('/stop runs without a decision of hooks, which receive it afterwards', async (t) => {
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
  await waitForCommandReply(gateway)
  await gateway.waitForReply('version', 'watch')
  await gateway.waitForReply('stop', 'watch')
})

test('no hook can block /approve and /deny', async (t) => {
  const gateway = await withHook(
    t,
    ['command:approve', 'command:deny', 'command:status'],
    `await gateway.send('fake:watch', context.command)
     return { decision: 'deny', message: 'no' }`,
    { config: { approvals: { destructive_slash_confirm: true } } },
  )
  await gateway.say('/status')
  await gateway.waitForReply('no')
  for (const [command, answer] of Object.entries({ deny: 'cancel', approve: 'once' })) {
    await gateway.say('/new')
    await gateway.say(`/${command}`)
    await gateway.waitForEvent('approval:resolved', { outcome: 'answered', answer })
    await gateway.waitForReply(command, 'watch')
  }
  await gateway.waitForEvent('session:reset')
  assert.equal(gateway.replies('chat').filter((text) => text === 'no').length, 1)
})

test('a pending hook does not delay a later /stop', async (t) => {
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
  await waitForCommandReply(gateway)
  await gateway.waitForReply('was still waiting for a hook')
})

test('hooks decide once, before the confirmation question', async (t) => {
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
  await gateway.platform.press(await waitForQuestion(gateway), 'Approve once')
  await waitForCommandReply(gateway, 'Taxes')
  assert.equal(gateway.replies().filter((text) => text.includes('`/new`')).length, 1)
  assert.equal(readFileSync(join(gateway.home.root, 'asked'), 'utf8'), 'never\nTaxes\n')
  assert.equal(gateway.events.filter(({ name }) => name === 'command:new').length, 2)
})
