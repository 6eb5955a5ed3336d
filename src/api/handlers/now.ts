/**
 * `/api/now`, `/api/queue`, `/api/turns` and `/api/changes`: what happens now, what waits, and when something has changed.
 */
import { z } from 'zod'
import { HermesError } from '../../lib/errors.ts'
import { brand } from '../../lib/ids.ts'
import type { SessionKey } from '../../message/ids.ts'
import type { ApiServices } from '../services.ts'
import { type ApiNow, type ApiQueue, nowResponse, type QueueQuery, queueEntry } from '../shapes/now.ts'
import { askReader } from './ask-reader.ts'
import { cleanOptional, cleanText } from './clean-texts.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'

const readNow = nowResponse
  .omit({ platforms: true })
  .extend({ lastUse: z.array(z.object({ platform: z.string(), at: z.string() })) })

export async function showNow(services: ApiServices, signal: AbortSignal): Promise<ApiNow> {
  const { withhold } = services.outbox
  const { turns, messages, replies, lastUse } = await askReader(services, { about: 'now' }, readNow, signal)
  const lastEvents = new Map(lastUse.map(({ platform, at }) => [platform, at]))
  return {
    platforms: Object.entries(services.lifecycle.status().platforms).map(([name, health]) => ({
      ...health,
      name,
      last_event_at: lastEvents.get(name) ?? null,
    })),
    turns: turns.map((turn) => ({
      ...turn,
      title: cleanText(withhold, turn.title),
      chat_name: cleanOptional(withhold, turn.chat_name),
      user_name: cleanOptional(withhold, turn.user_name),
    })),
    messages,
    replies,
  }
}

/** Stops the turn of a conversation, if it is still this one. Rejects `http/not-found`. */
export async function stopTurn(
  services: ApiServices,
  { turn_id }: { readonly turn_id: string },
  signal: AbortSignal,
): Promise<{ readonly ok: true }> {
  const { turns } = await askReader(services, { about: 'now' }, readNow, signal)
  const turn = turns.find(({ id }) => id === turn_id)
  if (turn === undefined) throw new HermesError('http/not-found', `No turn ${JSON.stringify(turn_id)} runs.`)
  await services.sessions.stopTurn(brand<SessionKey>(turn.session_key))
  return { ok: true }
}

const position = z.tuple([z.number()])

export async function listQueue(
  services: ApiServices,
  { of, state, limit, cursor }: QueueQuery,
  signal: AbortSignal,
): Promise<ApiQueue> {
  const { withhold } = services.outbox
  const list = ['queue', of, state]
  const [before = Number.MAX_SAFE_INTEGER] = decodeCursor(list, cursor, position) ?? []
  const request = { about: 'queue', of, state, before, limit: limit + 1 } as const
  const rows = await askReader(services, request, z.array(queueEntry), signal)
  const page = rows.slice(0, limit)
  const last = rows.length > limit ? page.at(-1) : undefined
  return {
    entries: page.map((entry) => ({
      ...entry,
      text: cleanText(withhold, entry.text),
      reason: cleanOptional(withhold, entry.reason),
    })),
    next_cursor: last === undefined ? null : encodeCursor(list, [last.id]),
  }
}

/** A line for each change, until the client goes. */
export async function streamChanges({ opened }: ApiServices, signal: AbortSignal): Promise<Response> {
  return new Response((await opened.changes()).open(signal), {
    headers: {
      'content-type': 'application/x-ndjson; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      // Disables buffering in reverse proxies.
      'x-accel-buffering': 'no',
    },
  })
}
