/**
 * What plugins hear and say of messages, commands, questions and the end of sessions.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApprovalInfo } from '../../src/approvals/contract.ts'
import { brand } from '../../src/lib/ids.ts'
import type { MessageEvent } from '../../src/message/event.ts'
import type { EventKey, SessionKey } from '../../src/message/ids.ts'
import { createGatewayHooks, type LoadingPlugins } from '../../src/plugins/gateway-hooks.ts'
import type { HookName } from '../../src/plugins/hook-map.ts'
import { createTestHooks } from './support.ts'

function createTestGatewayHooks() {
  const under = createTestHooks()
  let loading: LoadingPlugins | undefined
  const gatewayHooks = createGatewayHooks({
    hooks: under.hooks,
    log: under.log,
    loading: () => loading,
    isUnknownCommand: ({ messageType }) => messageType === 'command',
    roleOf: ({ userId }) => (userId === 'ada' ? 'member' : null),
    routeOf: ({ platform, chatType }) => (platform === 'cli' ? '' : `${platform}_${chatType}`),
  })
  const got: unknown[][] = []
  const watch = (...names: HookName[]) => {
    for (const name of names)
      under.hooks.registerNamed('watcher', name, (payload) => void got.push([name, { ...payload }]))
  }
  /** Plugins load from now on; the returned function ends that. */
  const startLoading = (mayPreDispatch: boolean) => {
    const { promise: done, resolve } = Promise.withResolvers<boolean>()
    loading = { done, mayPreDispatch }
    return async (isLoaded = true) => {
      if (isLoaded) loading = undefined
      resolve(isLoaded)
      await done
    }
  }
  return { ...under, gatewayHooks, got, watch, startLoading }
}

const sessionKey = brand<SessionKey>('agent:main:web:dm:1')
const source = { platform: 'web', account: 'default', chatId: '1', chatType: 'dm', userId: 'ada' } as const
const event: MessageEvent = { source, text: 'hello', messageType: 'text', messageId: 'm1', timestamp: 0 }
const envelope = { telemetry_schema_version: 'hermes.observer.v1', route: 'web_dm' } as const

// — pre_gateway_dispatch

test('the first valid result decides about a message', async () => {
  const { hooks, gatewayHooks, warnings } = createTestGatewayHooks()
  assert.equal(gatewayHooks.hasPreDispatchHooks(), false)
  assert.deepEqual(await gatewayHooks.preDispatch(event, sessionKey), { kind: 'pass', event })
  hooks.registerNamed('odd', 'pre_gateway_dispatch', () => ({ action: 'burn' }))
  hooks.registerNamed('watcher', 'pre_gateway_dispatch', () => ({ noted: true }))
  hooks.register('silent', 'pre_gateway_dispatch', () => null)
  hooks.register('editor', 'pre_gateway_dispatch', () => ({ action: 'rewrite', text: 'good day' }))
  hooks.register('filter', 'pre_gateway_dispatch', () => ({ action: 'skip' }))
  assert.equal(gatewayHooks.hasPreDispatchHooks(), true)
  assert.deepEqual(await gatewayHooks.preDispatch(event, sessionKey), {
    kind: 'pass',
    event: { ...event, text: 'good day' },
  })
  assert.deepEqual(warnings(), [['plugin.invalid_result', 'odd', 'pre_gateway_dispatch']])
})

test('a message can be skipped with a reason, or allowed before a later hook skips it', async () => {
  const { hooks, gatewayHooks } = createTestGatewayHooks()
  const skip = hooks.register('filter', 'pre_gateway_dispatch', () => ({ action: 'skip', reason: 'too loud' }))
  assert.deepEqual(await gatewayHooks.preDispatch(event, sessionKey), { kind: 'skip', reason: 'too loud' })
  skip.remove()
  const allow = hooks.register('friend', 'pre_gateway_dispatch', () => ({ action: 'allow' }))
  hooks.register('filter', 'pre_gateway_dispatch', () => ({ action: 'skip' }))
  assert.deepEqual(await gatewayHooks.preDispatch(event, sessionKey), { kind: 'pass', event })
  allow.remove()
  assert.deepEqual(await gatewayHooks.preDispatch(event, sessionKey), {
    kind: 'skip',
    reason: 'skipped by plugin filter',
  })
})

test('a plugin that fails or hangs lets the message through', async () => {
  const { hooks, gatewayHooks, time } = createTestGatewayHooks()
  hooks.register('broken', 'pre_gateway_dispatch', () => {
    throw new Error('no list')
  })
  hooks.register('hanging', 'pre_gateway_dispatch', () => new Promise(() => undefined))
  const screened = gatewayHooks.preDispatch(event, sessionKey)
  await time.advance(30_000)
  assert.deepEqual(await screened, { kind: 'pass', event })
})

test('a rewritten text can become a command and vice versa, and a photo stays a photo', async () => {
  const { hooks, gatewayHooks } = createTestGatewayHooks()
  let text = '/new'
  hooks.register('editor', 'pre_gateway_dispatch', () => ({ action: 'rewrite', text }))
  const rewritten = async (from: Partial<MessageEvent>) => {
    const screened = await gatewayHooks.preDispatch({ ...event, ...from }, sessionKey)
    return screened.kind === 'pass' ? `${screened.event.messageType} ${screened.event.text}` : screened.kind
  }
  assert.equal(await rewritten({}), 'command /new')
  assert.equal(await rewritten({ messageType: 'photo' }), 'photo /new')
  assert.equal(await rewritten({ allowGatewayControl: false }), 'text /new')
  text = ''
  assert.equal(await rewritten({ messageType: 'command', text: '/new' }), 'text ')
})

test('internal messages are not passed to plugins', async () => {
  const { hooks, gatewayHooks } = createTestGatewayHooks()
  hooks.register('filter', 'pre_gateway_dispatch', () => assert.fail('asked about an internal event'))
  assert.deepEqual(await gatewayHooks.preDispatch({ ...event, internal: true }, sessionKey), {
    kind: 'pass',
    event: { ...event, internal: true },
  })
})

test('a message is passed to plugins with the keys of the contract', async () => {
  const { hooks, gatewayHooks } = createTestGatewayHooks()
  let seen: unknown
  hooks.register('reader', 'pre_gateway_dispatch', (payload) => {
    seen = JSON.parse(JSON.stringify(payload))
    return null
  })
  await gatewayHooks.preDispatch(
    {
      ...event,
      attachments: [{ kind: 'photo', url: 'https://example.org/a.png', mimeType: 'image/png' }],
      replyTo: { messageId: 'm0', text: 'before', isOwnMessage: true },
    },
    sessionKey,
  )
  assert.deepEqual(seen, {
    session_key: sessionKey,
    role: 'member',
    ...envelope,
    event: {
      text: 'hello',
      message_type: 'text',
      message_id: 'm1',
      timestamp: '1970-01-01T00:00:00.000Z',
      user_id: 'ada',
      user_name: null,
      source: {
        platform: 'web',
        account: 'default',
        chat_id: '1',
        chat_name: null,
        chat_type: 'dm',
        user_id: 'ada',
        user_name: null,
        thread_id: null,
        chat_topic: null,
        user_id_alt: null,
        chat_id_alt: null,
        is_bot: false,
        scope_id: null,
        parent_chat_id: null,
      },
      media_urls: ['https://example.org/a.png'],
      media_types: ['image/png'],
      reply_to_message_id: 'm0',
      reply_to_text: 'before',
      reply_to_author_id: null,
      reply_to_author_name: null,
      reply_to_is_own_message: true,
      internal: false,
      allow_gateway_control: true,
      metadata: {},
    },
  })
})

test('while plugins load, a message waits for those that may decide about it', async () => {
  const { hooks, gatewayHooks, startLoading } = createTestGatewayHooks()
  const endLoading = startLoading(true)
  assert.equal(gatewayHooks.hasPreDispatchHooks(), true)
  const deciding = gatewayHooks.preDispatch(event, sessionKey)
  hooks.registerNamed('guard', 'pre_gateway_dispatch', () => ({ action: 'skip', reason: 'no' }))
  await endLoading()
  assert.deepEqual(await deciding, { kind: 'skip', reason: 'no' })
})

test('while plugins load that do not decide about messages, only an unknown command waits', async () => {
  const { gatewayHooks, startLoading } = createTestGatewayHooks()
  const endLoading = startLoading(false)
  assert.deepEqual(await gatewayHooks.preDispatch(event, sessionKey), { kind: 'pass', event })
  const settled: string[] = []
  const command: MessageEvent = { ...event, text: '/weather', messageType: 'command' }
  const deciding = gatewayHooks.preDispatch(command, sessionKey).then(() => settled.push('decided'))
  const loaded = endLoading().then(() => settled.push('loaded'))
  await Promise.all([deciding, loaded])
  assert.deepEqual(settled.toSorted(), ['decided', 'loaded'])
  assert.equal(settled[0], 'loaded')
})

test('a message that waits for plugins is not accepted when the gateway stops', async () => {
  const { gatewayHooks, startLoading } = createTestGatewayHooks()
  const endLoading = startLoading(true)
  const deciding = assert.rejects(gatewayHooks.preDispatch(event, sessionKey), { code: 'http/starting' })
  await endLoading(false)
  await deciding
})

test('plugins are notified of what happened while they were loading', async () => {
  const { hooks, gatewayHooks, got, watch, startLoading } = createTestGatewayHooks()
  const endLoading = startLoading(false)
  const replaced = { sessionKey, source, oldSessionId: 'old', newSessionId: 'new', reason: 'idle' }
  gatewayHooks.sessionReplaced(replaced)
  watch('on_session_reset')
  await endLoading()
  await hooks.drain(1_000)
  assert.deepEqual(
    got.map(([name]) => name),
    ['on_session_reset'],
  )
})

// — what is only heard of

test('plugins are notified of edits, deletions and reactions as events of their platform', async () => {
  const { gatewayHooks, got, watch, drained } = createTestGatewayHooks()
  watch('gateway_platform_event')
  gatewayHooks.messageChanged({ kind: 'edited', of: brand<EventKey>('k'), event }, sessionKey)
  gatewayHooks.messageChanged({ kind: 'deleted', of: brand<EventKey>('k'), source, timestamp: 1 }, sessionKey)
  gatewayHooks.messageChanged(
    { kind: 'reaction', source, added: true, reaction: '👍', messageId: 'm1', timestamp: 1, raw: { secret: 1 } },
    sessionKey,
  )
  await drained()
  const seen: unknown = JSON.parse(JSON.stringify(got))
  assert.ok(Array.isArray(seen))
  assert.deepEqual(
    seen.map(([, { platform, event_type, payload, route }]) => [
      platform,
      event_type,
      route,
      payload.text,
      payload.reaction,
    ]),
    [
      ['web', 'message_edited', 'web_dm', 'hello', undefined],
      ['web', 'message_deleted', 'web_dm', undefined, undefined],
      ['web', 'reaction', 'web_dm', undefined, '👍'],
    ],
  )
  assert.deepEqual(Object.keys(seen[0][1]), ['platform', 'event_type', 'payload', 'route'])
})

test('plugins are notified of a command with the typed name, also in the terminal', async () => {
  const { gatewayHooks, got, watch, drained } = createTestGatewayHooks()
  watch('pre_command')
  const called = { sessionKey, source, name: 'new', rawCommand: 'reset', args: 'plans' }
  gatewayHooks.commandReceived(called)
  gatewayHooks.commandReceived({ ...called, source: { ...source, platform: 'cli' } })
  await drained()
  const common = { command: 'new', alias_used: 'reset', args_raw: 'plans', session_key: sessionKey }
  assert.deepEqual(got, [
    ['pre_command', { surface: 'gateway', ...common, platform: 'web', ...envelope }],
    ['pre_command', { surface: 'cli', ...common, platform: 'cli', ...envelope, route: '' }],
  ])
})

test('plugins are notified of an approval and its answer with the tool call', async () => {
  const { gatewayHooks, got, watch, drained } = createTestGatewayHooks()
  watch('pre_approval_request', 'post_approval_response')
  const asked: ApprovalInfo = {
    sessionKey,
    source,
    about: {
      command: 'rm -r build',
      description: 'removes a folder',
      patternKeys: ['rm-recursive', 'shell'],
      turnId: 't1',
      toolCallId: 'c1',
    },
  }
  gatewayHooks.approvalRequested(asked)
  gatewayHooks.approvalResolved(asked, 'once', 'ada')
  await drained()
  const keys = {
    command: 'rm -r build',
    description: 'removes a folder',
    pattern_key: 'rm-recursive',
    pattern_keys: ['rm-recursive', 'shell'],
    session_key: sessionKey,
    surface: 'gateway',
    turn_id: 't1',
    tool_call_id: 'c1',
  }
  assert.deepEqual(got, [
    ['pre_approval_request', { ...keys, ...envelope }],
    ['post_approval_response', { ...keys, choice: 'once', decided_by: 'ada', ...envelope }],
  ])
})

test('the end of the old session is reported before the new one', async () => {
  const { gatewayHooks, got, watch, drained } = createTestGatewayHooks()
  watch('on_session_reset', 'on_session_finalize')
  gatewayHooks.sessionReplaced({ sessionKey, source, oldSessionId: 's1', newSessionId: 's2', reason: 'new' })
  await drained()
  const ids = { platform: 'web', reason: 'new', old_session_id: 's1', new_session_id: 's2' }
  assert.deepEqual(got, [
    ['on_session_finalize', { session_id: 's1', ...ids, ...envelope }],
    ['on_session_reset', { session_id: 's2', ...ids, ...envelope }],
  ])
})

test('the stop of the gateway ends sessions without a session id', async () => {
  const { gatewayHooks, got, watch, drained } = createTestGatewayHooks()
  watch('on_session_finalize')
  gatewayHooks.gatewayStopping()
  await drained()
  assert.deepEqual(got, [
    [
      'on_session_finalize',
      {
        session_id: null,
        platform: '',
        reason: 'shutdown',
        old_session_id: null,
        new_session_id: null,
        ...envelope,
        route: '',
      },
    ],
  ])
})
