/**
 * A sample context for each event, for `hermes hooks test`.
 */
import type { HookEvents } from '../message/hook-events.ts'

const user = { platform: 'sample', user_id: '1001' }
const session = { session_id: '20260101_120000_0a1b2c3d', session_key: 'agent:main:sample:dm:1001' }
const chat = { chat_id: '1001', thread_id: '', chat_type: 'dm' }
const userMessage = { message: 'What is on my disk?', message_full: 'What is on my disk?' }
const agentResponse = { response: 'Three files.', response_full: 'Three files.' }
const agent = { ...user, ...session, ...chat, ...userMessage }
const sentMessage = {
  platform: user.platform,
  chat_id: '1001',
  thread_id: '',
  session_key: session.session_key,
  kind: 'reply',
}
const question = { ...user, chat_id: '1001', thread_id: '', session_key: session.session_key, approval_id: 'q1' }
const reaction = {
  ...user,
  reaction: '👍',
  item_user_id: '',
  item_type: 'message',
  channel_id: '1001',
  message_ts: '7',
  team_id: '',
  event_ts: '1767268800.000000',
  raw_event: {},
}

type SampleContexts = { readonly [Name in Exclude<keyof HookEvents, `command:${string}`>]: HookEvents[Name] }

const sampleContexts: SampleContexts = {
  'gateway:startup': { platforms: ['web'] },
  'gateway:shutdown': { platforms: ['web'] },
  'session:start': { ...user, ...session },
  'session:end': { ...user, session_key: session.session_key, reason: 'new' },
  'session:reset': { ...user, session_key: session.session_key },
  'session:compress': {
    platform: user.platform,
    session_id: session.session_id,
    old_session_id: '',
    in_place: true,
    compression_count: 1,
  },
  'agent:start': agent,
  'agent:step': {
    ...user,
    session_id: session.session_id,
    iteration: 2,
    tool_names: ['terminal'],
    tools: [{ name: 'terminal', result: '{"output":"a\\nb\\nc"}' }],
  },
  'agent:end': { ...agent, ...agentResponse, model: 'sample-model', provider: 'openai' },
  'message:received': { ...user, ...chat, ...userMessage, session_key: session.session_key, message_id: '7' },
  'message:refused': { ...user, ...chat, ...userMessage, message_id: '7', reason: 'not on the allow list' },
  'message:sent': {
    ...sentMessage,
    message: agentResponse.response,
    message_full: agentResponse.response,
    message_id: '8',
  },
  'message:failed': {
    ...sentMessage,
    message: agentResponse.response,
    message_full: agentResponse.response,
    error: 'chat not found',
  },
  'approval:requested': { ...question, kind: 'approval', message: 'Run `rm notes.txt`?', choices: ['once', 'deny'] },
  'approval:resolved': { ...question, kind: 'approval', outcome: 'answered', answer: 'once', resolved_by: '1001' },
  'reaction:added': reaction,
  'reaction:removed': reaction,
}

const byName: ReadonlyMap<string, object> = new Map(Object.entries(sampleContexts))

/** Supports any command name. Empty for unknown events. */
export function sampleContext(event: string): Readonly<Record<string, unknown>> {
  const [base, name = ''] = event.split(':')
  if (base !== 'command') return { ...byName.get(event) }
  return { ...user, command: name, args: '', raw_command: name, raw_args: '' } satisfies HookEvents['command:status']
}
