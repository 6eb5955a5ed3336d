/**
 * A made-up context for each event, with which a hook can be tried.
 */
import type { HookEvents } from '../message/hook-events.ts'

const someone = { platform: 'sample', user_id: '1001' }
const session = { session_id: '20260101_120000_0a1b2c3d', session_key: 'agent:main:sample:dm:1001' }
const place = { chat_id: '1001', thread_id: '', chat_type: 'dm' }
const said = { message: 'What is on my disk?', message_full: 'What is on my disk?' }
const answered = { response: 'Three files.', response_full: 'Three files.' }
const agent = { ...someone, ...session, ...place, ...said }
const sent = {
  platform: someone.platform,
  chat_id: '1001',
  thread_id: '',
  session_key: session.session_key,
  kind: 'reply',
}
const question = { ...someone, chat_id: '1001', thread_id: '', session_key: session.session_key, approval_id: 'q1' }
const reaction = {
  ...someone,
  reaction: '👍',
  item_user_id: '',
  item_type: 'message',
  channel_id: '1001',
  message_ts: '7',
  team_id: '',
  event_ts: '1767268800.000000',
  raw_event: {},
}

type Samples = { readonly [Name in Exclude<keyof HookEvents, `command:${string}`>]: HookEvents[Name] }

const samples: Samples = {
  'gateway:startup': { platforms: ['web'] },
  'gateway:shutdown': { platforms: ['web'] },
  'session:start': { ...someone, ...session },
  'session:end': { ...someone, session_key: session.session_key },
  'session:reset': { ...someone, session_key: session.session_key },
  'session:compress': {
    platform: someone.platform,
    session_id: session.session_id,
    old_session_id: '',
    in_place: true,
    compression_count: 1,
  },
  'agent:start': agent,
  'agent:step': {
    ...someone,
    session_id: session.session_id,
    iteration: 2,
    tool_names: ['terminal'],
    tools: [{ name: 'terminal', result: '{"output":"a\\nb\\nc"}' }],
  },
  'agent:end': { ...agent, ...answered, model: 'sample-model', provider: 'openai' },
  'message:received': { ...someone, ...place, ...said, session_key: session.session_key, message_id: '7' },
  'message:refused': { ...someone, ...place, ...said, message_id: '7', reason: 'not on the allow list' },
  'message:sent': { ...sent, message: answered.response, message_full: answered.response, message_id: '8' },
  'message:failed': { ...sent, message: answered.response, message_full: answered.response, error: 'chat not found' },
  'approval:requested': { ...question, kind: 'approval', message: 'Run `rm notes.txt`?', choices: ['once', 'deny'] },
  'approval:resolved': { ...question, kind: 'approval', outcome: 'answered', answer: 'once', resolved_by: '1001' },
  'reaction:added': reaction,
  'reaction:removed': reaction,
}

const byName: ReadonlyMap<string, unknown> = new Map(Object.entries(samples))

/** Of a command, whatever its name; of any other unknown event an empty one. */
export function sampleOf(event: string): unknown {
  const [base, name = ''] = event.split(':')
  if (base !== 'command') return byName.get(event) ?? {}
  return { ...someone, command: name, args: '', raw_command: name, raw_args: '' } satisfies HookEvents['command:status']
}
