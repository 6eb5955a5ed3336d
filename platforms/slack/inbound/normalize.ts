/**
 * From what Slack sends to what the gateway takes. Pure: a payload and what is known in; one thing that happened out.
 *
 * A payload is the body of an event, of an interaction or of a slash command, however it came (socket, HTTP, history).
 */
import { brand, type EventKey } from '#sdk'
import { normalizeDeletion, normalizeEdit, normalizeReaction } from './changes.ts'
import { type InboundEvent, ignored, type NormalizeContext } from './context.ts'
import { normalizePress, normalizeSlash } from './interactions.ts'
import { normalizeMessage } from './message.ts'
import { asRecord, isRecord, type JsonRecord, recordAt, recordsAt, textAt } from './payload.ts'

/** Never throws, whatever the payload is. */
export function normalize(payload: unknown, view: NormalizeContext): InboundEvent {
  if (!isRecord(payload)) return ignored('not an object')
  const type = textAt(payload, 'type')
  if (type === 'block_actions') return normalizePress(payload, view)
  if (type === undefined && textAt(payload, 'command') !== undefined) return normalizeSlash(payload, view)
  if (type !== 'event_callback') return ignored(`a payload of type ${type ?? 'unknown'}`)
  if (!isForWorkspace(payload, view)) return ignored('an event of another workspace')
  return withEventIdKey(normalizeEvent(recordAt(payload, 'event'), payload, view), textAt(payload, 'event_id'))
}

function normalizeEvent(event: JsonRecord, envelope: JsonRecord, view: NormalizeContext): InboundEvent {
  switch (textAt(event, 'type')) {
    case 'message':
      switch (textAt(event, 'subtype')) {
        case 'message_changed':
          return normalizeEdit(event, view)
        case 'message_deleted':
          return normalizeDeletion(event, view)
        default:
          return normalizeMessage(event, view)
      }
    case 'app_mention':
      return normalizeMessage(event, view)
    case 'reaction_added':
    case 'reaction_removed':
      return normalizeReaction(event, envelope, view)
    default:
      return ignored(`an event of type ${textAt(event, 'type') ?? 'unknown'}`)
  }
}

/** An app that is installed in several workspaces gets the events of all of them; this account is one of them. */
export function isForWorkspace(envelope: JsonRecord, { identity }: Pick<NormalizeContext, 'identity'>): boolean {
  const installed = recordsAt(envelope, 'authorizations').map((one) => textAt(asRecord(one), 'team_id'))
  const teams = [...installed, textAt(envelope, 'context_team_id'), textAt(envelope, 'team_id')]
  const named = teams.filter((team) => team !== undefined)
  // An installation for a whole organisation names no workspace.
  return named.length === 0 || named.some((team) => team === identity.teamId || team.startsWith('E'))
}

/** The event's own id is a second name, by which a repeated delivery is known too. */
function withEventIdKey(incoming: InboundEvent, eventId: string | undefined): InboundEvent {
  if (eventId === undefined) return incoming
  const alias = brand<EventKey>(`sl:ev:${eventId}`)
  if (incoming.kind !== 'message' && incoming.kind !== 'change') return incoming
  return { ...incoming, keys: [...incoming.keys, alias] }
}
