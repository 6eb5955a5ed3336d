/**
 * The tool calls of turns, for pages that show what the agent did in a chat. A call is shown only in the chat whose message its turn
 * works on.
 */
import { asRecord, asString, parseJson } from '../lib/json.ts'
import type { ChatRef } from '../message/chat-range.ts'
import type { ToolCallSummary } from '../message/tool-view.ts'
import type { ImagePart, ToolCall } from '../message/transcript.ts'
import { query, row, rows, type Transaction } from '../store/query.ts'

/** The newest ones. Each takes up to 500 bytes in the answer. */
const maxCalls = 500
/** Limits the turns to the newest: a page that was closed for long may name thousands. */
const maxTurns = 200

const selectOwnTurn = query((db, p: { turn_id: string; platform: string; account: string; chat_id: string }) =>
  db
    .selectFrom('turn_inputs')
    .innerJoin('inbox', 'inbox.seq', 'turn_inputs.seq')
    .select('turn_inputs.turn_id')
    .where('turn_inputs.turn_id', '=', p.turn_id)
    .where('inbox.platform', '=', p.platform)
    .where('inbox.account', '=', p.account)
    .where('inbox.chat_id', '=', p.chat_id)
    .limit(1),
)

/** Whether the turn works on a message of this chat. */
function* isTurnOf({ platform, account, chatId: chat_id }: ChatRef, turn_id: string): Transaction<boolean> {
  return (yield* row(selectOwnTurn, { turn_id, platform, account, chat_id })) !== undefined
}

const selectCalls = query((db, p: { turn_id: string; limit: number }) =>
  db
    .selectFrom('tool_calls')
    .select(['call_id', 'name', 'state', 'result', 'started_at', 'ended_at'])
    .where('turn_id', '=', p.turn_id)
    .where('state', '!=', 'started')
    .orderBy('started_at', 'desc')
    .limit(p.limit),
)

/** The ended calls of these turns, the turns in the given order and the calls of each in the order of their start. */
export function* listShownToolCalls(chat: ChatRef, turnIds: readonly string[]): Transaction<ToolCallSummary[]> {
  const shown: ToolCallSummary[][] = []
  let left = maxCalls
  for (const turnId of [...new Set(turnIds.toReversed())].slice(0, maxTurns)) {
    if (left <= 0) break
    if (!(yield* isTurnOf(chat, turnId))) continue
    const calls = (yield* rows(selectCalls, { turn_id: turnId, limit: left })).map(
      ({ call_id, name, state, result, started_at, ended_at }) => {
        const outcome = outcomeOf({ state, result })
        return {
          turnId,
          callId: call_id,
          tool: name,
          ...outcome,
          startedAt: started_at,
          endedAt: ended_at ?? started_at,
        }
      },
    )
    left -= calls.length
    shown.unshift(calls.reverse())
  }
  return shown.flat()
}

/** What people read of a call that has ended. */
export function outcomeOf({ state, result }: { readonly state: string; readonly result: string | null }) {
  const { ok, label, summary } = asRecord(result === null ? undefined : parseJson(result))
  const isDone = state === 'done' && result !== null
  return {
    state: !isDone ? ('interrupted' as const) : ok === true ? ('done' as const) : ('failed' as const),
    label: asString(label),
    summary: asString(summary),
  }
}

const selectCall = query((db, p: { turn_id: string; call_id: string }) =>
  db
    .selectFrom('turns')
    .leftJoin('messages', (join) =>
      join
        .onRef('messages.session_id', '=', 'turns.session_id')
        .onRef('messages.turn_id', '=', 'turns.id')
        .on('messages.tool_call_id', '=', p.call_id),
    )
    .leftJoin('texts', 'texts.id', 'messages.text_id')
    .select(['turns.session_id', 'messages.content', 'texts.body', 'messages.images'])
    .where('turns.id', '=', p.turn_id)
    .limit(1),
)

const selectRequests = query((db, p: { session_id: string; turn_id: string }) =>
  db
    .selectFrom('messages')
    .select('tool_calls')
    .where('session_id', '=', p.session_id)
    .where('turn_id', '=', p.turn_id)
    .where('tool_calls', 'is not', null),
)

export interface StoredToolCall {
  readonly tool: string
  readonly arguments: string
  /** What the model received; undefined while the call runs. */
  readonly result: string | undefined
  readonly images: readonly ImagePart[]
}

/** A call of a turn of this chat. Undefined for any other, and for the calls of scripts and of sub-agents, which are not stored. */
export function* findShownToolCall(
  chat: ChatRef,
  { turnId: turn_id, callId }: { readonly turnId: string; readonly callId: string },
): Transaction<StoredToolCall | undefined> {
  if (!(yield* isTurnOf(chat, turn_id))) return undefined
  const stored = yield* row(selectCall, { turn_id, call_id: callId })
  if (stored === undefined) return undefined
  const requests = yield* rows(selectRequests, { session_id: stored.session_id, turn_id })
  const calls = requests.flatMap(({ tool_calls }) => (tool_calls === null ? [] : parseCalls(tool_calls)))
  const call = calls.find(({ id }) => id === callId)
  if (call === undefined) return undefined
  const result = stored.body ?? stored.content ?? undefined
  return {
    tool: call.name,
    arguments: call.arguments,
    result,
    images: stored.images === null ? [] : parseImages(stored.images),
  }
}

/** The transcript has written these, so their shapes are known. */
function parseCalls(json: string): ToolCall[] {
  return JSON.parse(json)
}
function parseImages(json: string): ImagePart[] {
  return JSON.parse(json)
}
