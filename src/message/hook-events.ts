/**
 * The typed map of gateway events (contract §1.4). Payload keys are the contract's own: drop-in handlers read them.
 * Hooks observe these events.
 */
import type { Role } from './authority.ts'
import type { MessageEvent } from './event.ts'

export interface HookEvents {
  /** Every platform has connected or failed, or ten seconds have passed. */
  'gateway:startup': { platforms: string[] }
  /** The daemon is stopping, and running turns have ended. */
  'gateway:shutdown': { platforms: string[] }
  /** The first turn of a session starts, also after a reset. `reason`: only after an automatic reset, `daily` or `idle`. */
  'session:start': {
    platform: string
    user_id: string
    session_id: string
    session_key: string
    reason?: string | undefined
  }
  /** A session ends. `reason`: `new`, `daily`, `idle`, or `resume` and `branch` for the commands of these names. */
  'session:end': { platform: string; user_id: string; session_key: string; reason: string }
  /** `/new` or `/reset` created a new session. */
  'session:reset': { platform: string; user_id: string; session_key: string }
  /** A summary replaced the older part of a conversation. The session keeps its id, so `old_session_id` is ''. */
  'session:compress': {
    platform: string
    session_id: string
    old_session_id: string
    in_place: boolean
    compression_count: number
  }
  /** The agent starts to handle a message. `message` is truncated to 500 code points, `message_full` is complete. */
  'agent:start': AgentContext
  /** A model call with its tools. `iteration` counts from 1; `tool_names` are the tools of the previous iteration. */
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
  /** A message or command was accepted, or accepted again after an edit. It may wait in the queue. */
  'message:received': MessageContext & { session_key: string; message_id: string }
  /** A message was refused because its author has no access. */
  'message:refused': MessageContext & { reason: string; message_id: string }
  /** The platform accepted a reply or a notice. A long reply is several messages. Messages of hooks emit no event. */
  'message:sent': SentContext & { message_id: string }
  /** A message became a dead letter. */
  'message:failed': SentContext & { error: string }
  /** A user is asked to approve a command or to confirm `/new`. */
  'approval:requested': ApprovalContext & { message: string; choices: string[] }
  /** A question was answered or has expired. */
  'approval:resolved': ApprovalContext & { outcome: string; answer: string; resolved_by: string }
  /** A user reacted to a message. `reaction` is the emoji, or the platform's name of it. */
  'reaction:added': ReactionContext
  /** A user removed a reaction. */
  'reaction:removed': ReactionContext
}

interface ReactionContext {
  platform: string
  reaction: string
  /** The user who reacted. */
  user_id: string
  /** The author of the message; '' if the platform does not report it. */
  item_user_id: string
  /** Always `message`. */
  item_type: string
  channel_id: string
  /** The platform's id of the message. */
  message_ts: string
  /** The workspace or guild, or ''. */
  team_id: string
  /** Seconds since 1970, with six decimals. */
  event_ts: string
  /** The payload of the platform. */
  raw_event: Readonly<Record<string, unknown>>
}

interface MessageContext {
  platform: string
  user_id: string
  chat_id: string
  /** '' without a thread. */
  thread_id: string
  /** `dm`, `group`, `channel`, `thread` or `forum`. */
  chat_type: string
  /** Truncated to 500 code points. */
  message: string
  message_full: string
}

interface SentContext {
  platform: string
  chat_id: string
  /** '' without a thread. */
  thread_id: string
  /** '' outside a session. */
  session_key: string
  /** `reply`: a text of the agent. `notice`: a text of the gateway. */
  kind: string
  /** Truncated to 500 code points. */
  message: string
  message_full: string
}

interface ApprovalContext {
  platform: string
  /** The user whose action waits for the answer. */
  user_id: string
  chat_id: string
  /** '' without a thread. */
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
  /** '' without a thread. */
  thread_id: string
  /** `dm`, `group`, `channel`, `thread` or `forum`. */
  chat_type: string
  message: string
  message_full: string
}

export type HookEventName = keyof HookEvents & string

/** The payload of any event. */
export type HookContext = HookEvents[HookEventName]

type FixedEventName = Exclude<HookEventName, `command:${string}`>

/** A record, so that a missing event is a compile error. */
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

/** Every event except `command:<name>`, which exists for each command. */
export const hookEventNames: readonly string[] = Object.keys(fixedEvents)

/** The third argument of a handler. */
export interface HookServices {
  /** Aborts when the handler must end. */
  readonly signal: AbortSignal
  /** Writes to the log of the gateway: a text, then fields. */
  readonly log: Readonly<
    Record<'debug' | 'info' | 'warn' | 'error', (text: string, fields?: Readonly<Record<string, unknown>>) => void>
  >
  readonly gateway: {
    /** Sends a message to `<platform>` (its home channel) or `<platform>:<chat_id>[:<thread_id>]`; resolves once it is stored. */
    send(target: string, text: string): Promise<unknown>
    /**
     * Starts the agent in a separate session. Resolves at once with the id of the task. Without `role` it has that of the
     * person whose event is handled, and that of the owner for an event of the gateway itself.
     */
    startAgent(
      prompt: string,
      options?: {
        readonly maxIterations?: number
        readonly deliver?: string
        readonly route?: string
        readonly role?: Role
      },
    ): Promise<string>
  }
}

/** Receives every event in order. Must not throw or block; a listener queues its work. */
export type HookEventListener = <Name extends HookEventName>(name: Name, context: HookEvents[Name]) => void

/** Truncates a text to 500 code points for hook payloads. */
export function truncateForHooks(text: string): string {
  if (text.length <= 500) return text
  return Array.from(text.slice(0, 1_000)).slice(0, 500).join('')
}

/** The common payload of the events of a turn. */
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
