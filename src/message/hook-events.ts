/**
 * The typed map of gateway events (contract §1.4). Payload keys are the contract's own: drop-in handlers read them.
 * Hooks watch these; `gateway.ts` decides who listens.
 */
import type { MessageEvent } from './event.ts'

export interface HookEvents {
  /** Every first connect has settled, or ten seconds have passed. */
  'gateway:startup': { platforms: string[] }
  /** The daemon is stopping; the drain has ended. */
  'gateway:shutdown': { platforms: string[] }
  /** The first turn of a session begins, also after a reset. */
  'session:start': { platform: string; user_id: string; session_id: string; session_key: string }
  /** A session is about to end because of a reset. */
  'session:end': { platform: string; user_id: string; session_key: string }
  /** `/new` or `/reset` made a new session. */
  'session:reset': { platform: string; user_id: string; session_key: string }
  /** The older part of a conversation has been replaced by a summary. The session keeps its id, so `old_session_id` is ''. */
  'session:compress': {
    platform: string
    session_id: string
    old_session_id: string
    in_place: boolean
    compression_count: number
  }
  /** The agent begins to work on a message. `message` is cut to 500 code points, `message_full` is not. */
  'agent:start': AgentContext
  /** One model call and its tools; `iteration` counts from 1, `tool_names` are those of the iteration before. */
  'agent:step': {
    platform: string
    user_id: string
    session_id: string
    iteration: number
    tool_names: string[]
    tools: { name: string; result: string }[]
  }
  /** The agent has finished; the reply is stored but not yet sent. */
  'agent:end': AgentContext & { response: string; response_full: string; model: string; provider: string }
  /** A known slash command, by its canonical name. */
  [command: `command:${string}`]: {
    platform: string
    user_id: string
    command: string
    args: string
    raw_command: string
    raw_args: string
  }
  /** Somebody's message was taken in, commands included, or anew after an edit. It may wait for its turn. */
  'message:received': MessageContext & { session_key: string; message_id: string }
  /** Somebody wrote who may not. */
  'message:refused': MessageContext & { reason: string; message_id: string }
  /** The platform has taken a message of ours: an answer or a notice; what hooks send is not told of. A long answer is several. */
  'message:sent': SentContext & { message_id: string }
  /** A message of ours was given up. */
  'message:failed': SentContext & { error: string }
  /** Somebody is asked: whether a command may run, or whether `/new` is meant. */
  'approval:requested': ApprovalContext & { message: string; choices: string[] }
  /** A question has its answer, or nobody answered in time. */
  'approval:resolved': ApprovalContext & { outcome: string; answer: string; resolved_by: string }
  /** Somebody reacted to a message with an emoji. `reaction` is the emoji, or the platform's name of it. */
  'reaction:added': ReactionContext
  /** Somebody took a reaction back. */
  'reaction:removed': ReactionContext
}

interface ReactionContext {
  platform: string
  reaction: string
  /** Who reacted. */
  user_id: string
  /** Whose message it is; '' where the platform does not say. */
  item_user_id: string
  /** Always `message`. */
  item_type: string
  channel_id: string
  /** The platform's id of the message. */
  message_ts: string
  /** The workspace or guild; '' where there is none. */
  team_id: string
  /** Seconds since 1970, with six decimals. */
  event_ts: string
  /** What the platform sent. */
  raw_event: Readonly<Record<string, unknown>>
}

interface MessageContext {
  platform: string
  user_id: string
  chat_id: string
  /** '' where there is none. */
  thread_id: string
  /** `dm`, `group`, `channel`, `thread` or `forum`. */
  chat_type: string
  /** Cut to 500 code points. */
  message: string
  message_full: string
}

interface SentContext {
  platform: string
  chat_id: string
  /** '' where there is none. */
  thread_id: string
  /** '' where it belongs to no session. */
  session_key: string
  /** `reply`: the agent's words. `notice`: those of the gateway. */
  kind: string
  /** Cut to 500 code points. */
  message: string
  message_full: string
}

interface ApprovalContext {
  platform: string
  /** Whose action waits. */
  user_id: string
  chat_id: string
  /** '' where there is none. */
  thread_id: string
  session_key: string
  approval_id: string
  /** `approval`, `slash-confirm` or `clarify`. */
  kind: string
}

interface AgentContext {
  platform: string
  user_id: string
  session_id: string
  session_key: string
  chat_id: string
  /** '' where there is none. */
  thread_id: string
  /** `dm`, `group`, `channel`, `thread` or `forum`. */
  chat_type: string
  message: string
  message_full: string
}

export type HookEventName = keyof HookEvents & string

/** What a handler of any event gets. */
export type HookContext = HookEvents[HookEventName]

type FixedEventName = Exclude<HookEventName, `command:${string}`>

/** A record, so that one that is missing does not compile. */
const fixedEvents: Readonly<Record<FixedEventName, true>> = {
  'gateway:startup': true,
  'gateway:shutdown': true,
  'session:start': true,
  'session:end': true,
  'session:reset': true,
  'session:compress': true,
  'agent:start': true,
  'agent:step': true,
  'agent:end': true,
  'message:received': true,
  'message:refused': true,
  'message:sent': true,
  'message:failed': true,
  'approval:requested': true,
  'approval:resolved': true,
  'reaction:added': true,
  'reaction:removed': true,
}

/** Every event except those of commands: there is a `command:<name>` for each command. */
export const hookEventNames: readonly string[] = Object.keys(fixedEvents)

/** What a handler gets as its third argument. */
export interface HookServices {
  /** Aborts when the handler should end. */
  readonly signal: AbortSignal
  /** Lines for the log of the gateway: a text, then fields. */
  readonly log: Readonly<
    Record<'debug' | 'info' | 'warn' | 'error', (text: string, fields?: Readonly<Record<string, unknown>>) => void>
  >
  readonly gateway: {
    /** Sends a message to `<platform>` (its home channel) or `<platform>:<chat_id>[:<thread_id>]`; resolves once it is stored. */
    send(target: string, text: string): Promise<unknown>
    /** Starts the agent in a session of its own; resolves at once with the id of the task. */
    startAgent(
      prompt: string,
      options?: { readonly maxIterations?: number; readonly deliver?: string; readonly route?: string },
    ): Promise<string>
  }
}

/** Told of every event, in order. Must neither throw nor wait: a listener that has work queues it. */
export type HookEventListener = <Name extends HookEventName>(name: Name, context: HookEvents[Name]) => void

/** The first 500 code points, as hook contexts carry them. */
export function truncateForHooks(text: string): string {
  if (text.length <= 500) return text
  return Array.from(text.slice(0, 1_000)).slice(0, 500).join('')
}

/** What the events of a turn have in common. */
export function createAgentContext(
  { source, text }: Pick<MessageEvent, 'source' | 'text'>,
  sessionId: string,
  sessionKey: string,
): AgentContext {
  return {
    platform: source.platform,
    user_id: source.userId ?? '',
    session_id: sessionId,
    session_key: sessionKey,
    chat_id: source.chatId,
    thread_id: source.threadId ?? '',
    chat_type: source.chatType,
    message: truncateForHooks(text),
    message_full: text,
  }
}
