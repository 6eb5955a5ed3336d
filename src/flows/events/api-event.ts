/**
 * The events of `GET /api/events`, as clients receive them.
 */
interface EventBase {
  /** Where a client reads on after this event. A number as text, which grows with every event, also over restarts. */
  readonly cursor: string
  /** ISO 8601. */
  readonly at: string
  readonly platform?: string
  readonly session_key?: string
  readonly session_id?: string
}

interface TurnFields {
  readonly turn_id: string
}

interface ApprovalFields {
  readonly approval_id: string
  /** `approval`, `slash-confirm` or `clarify`. */
  readonly kind: string
  readonly chat_id: string
}

/** What happened, by `type`. */
export interface ApiEventFields {
  /** What a person wrote (`user`), once the agent reads it, and what the agent answered (`assistant`), also between tools. */
  readonly message: TurnFields & {
    readonly message_id: string
    readonly role: 'user' | 'assistant'
    /** At most 2,000 characters; the whole text is in `/api/sessions/<id>/messages`. */
    readonly text: string
    readonly truncated: boolean
  }
  readonly turn_started: TurnFields
  readonly turn_ended: TurnFields & { readonly status: string }
  readonly tool_started: TurnFields & { readonly call_id: string; readonly tool: string; readonly label: string }
  readonly tool_ended: TurnFields & {
    readonly call_id: string
    readonly tool: string
    readonly ok: boolean
    readonly summary: string
  }
  readonly approval_requested: ApprovalFields & { readonly text: string; readonly choices: readonly string[] }
  /** `outcome`: `answered`, `expired`, `replaced` or `cancelled`. `answer`: a choice, or ''. */
  readonly approval_resolved: ApprovalFields & {
    readonly outcome: string
    readonly answer: string
    readonly resolved_by: string
  }
  /** The first turn of a session begins. `reason`: `daily` or `idle` when it follows one that ended by itself, or ''. */
  readonly session_started: { readonly reason: string }
  /** `reason`: `new`, `daily`, `idle`, `resume` or `branch`. */
  readonly session_ended: { readonly reason: string }
  /** A run of a scheduled job begins. `scheduled_for`: ISO 8601. */
  readonly job_fired: { readonly job_id: string; readonly name: string; readonly scheduled_for: string }
}

export type ApiEventType = keyof ApiEventFields

export type ApiEvent = {
  readonly [Type in ApiEventType]: EventBase & { readonly type: Type } & ApiEventFields[Type]
}[ApiEventType]

/** An event before it has its place. */
export type NewApiEvent = {
  readonly [Type in ApiEventType]: Omit<EventBase, 'cursor'> & { readonly type: Type } & ApiEventFields[Type]
}[ApiEventType]

const types: Readonly<Record<ApiEventType, true>> = {
  message: true,
  turn_started: true,
  turn_ended: true,
  tool_started: true,
  tool_ended: true,
  approval_requested: true,
  approval_resolved: true,
  session_started: true,
  session_ended: true,
  job_fired: true,
}

export function isApiEventType(text: string): text is ApiEventType {
  return Object.hasOwn(types, text)
}

export const apiEventTypes: readonly ApiEventType[] = Object.keys(types).filter(isApiEventType)

/** The response of `GET /api/events`. */
export interface EventPage {
  /** The oldest first. */
  readonly events: readonly ApiEvent[]
  readonly next_cursor: string
  /**
   * Events between the cursor and the first one here are lost: others than messages are kept in memory only, the newest 2,000
   * of them, and messages until they are pruned.
   */
  readonly missed: boolean
}
