/**
 * Converts a payload of Slack into what the gateway accepts. Pure.
 *
 * A payload is the body of an event, an interaction or a slash command, from a socket, HTTP or the history.
 */
import { brand, type EventKey, isRecord } from '#sdk'
import { normalizeDeletion, normalizeEdit, normalizeReaction } from './changes.ts'
import { type InboundEvent, ignored, type NormalizeContext } from './context.ts'
import { normalizePress, normalizeSlash } from './interactions.ts'
import { normalizeMessage } from './message.ts'
import { asRecord, type JsonRecord, recordAt, recordsAt, textAt } from './payload.ts'

/** Never throws. */
export function normalize(payload: unknown, context: NormalizeContext): InboundEvent {
  if (!isRecord(payload)) return ignored('not an object')
  const type = textAt(payload, 'type')
  if (type === 'block_actions') return normalizePress(payload, context)
  if (type === undefined && textAt(payload, 'command') !== undefined) return normalizeSlash(payload, context)
  if (type !== 'event_callback') return ignored(`a payload of type ${type ?? 'unknown'}`)
  if (!isForWorkspace(payload, context)) return ignored('an event of another workspace')
  return withEventIdKey(normalizeEvent(recordAt(payload, 'event'), payload, context), textAt(payload, 'event_id'))
}

function normalizeEvent(event: JsonRecord, envelope: JsonRecord, context: NormalizeContext): InboundEvent {
  switch (textAt(event, 'type')) {
    case 'message':
      switch (textAt(event, 'subtype')) {
        case 'message_changed':
          return normalizeEdit(event, context)
        case 'message_deleted':
          return normalizeDeletion(event, context)
        default:
          return normalizeMessage(event, context)
      }
    case 'app_mention':
      return normalizeMessage(event, context)
    case 'reaction_added':
    case 'reaction_removed':
      return normalizeReaction(event, envelope, context)
    case 'app_uninstalled':
      return { kind: 'refused', reason: 'the app was removed from the workspace: install it again' }
    case 'tokens_revoked':
      return normalizeRevocation(event, context)
    default:
      return ignored(`an event of type ${textAt(event, 'type') ?? 'unknown'}`)
  }
}

/** Names the users whose tokens were revoked. The app may also hold tokens of users, which this adapter does not use. */
function normalizeRevocation(event: JsonRecord, { identity }: NormalizeContext): InboundEvent {
  const bots = recordAt(event, 'tokens')['bot']
  if (!Array.isArray(bots) || !bots.includes(identity.botUserId))
    return ignored('the token of another user was revoked')
  return { kind: 'refused', reason: 'the token was revoked: install the app again and set the new token' }
}

/** An app in several workspaces receives the events of all of them. An account handles one workspace. */
export function isForWorkspace(envelope: JsonRecord, { identity }: Pick<NormalizeContext, 'identity'>): boolean {
  const installed = recordsAt(envelope, 'authorizations').map((authorization) =>
    textAt(asRecord(authorization), 'team_id'),
  )
  const teams = [...installed, textAt(envelope, 'context_team_id'), textAt(envelope, 'team_id')]
  const named = teams.filter((team) => team !== undefined)
  // An organisation-wide installation has the id of the organisation instead.
  return named.length === 0 || named.some((team) => team === identity.teamId || team.startsWith('E'))
}

/** Adds the id of the event as a second key, which also identifies repeated deliveries. */
function withEventIdKey(incoming: InboundEvent, eventId: string | undefined): InboundEvent {
  if (eventId === undefined) return incoming
  const alias = brand<EventKey>(`sl:ev:${eventId}`)
  if (incoming.kind !== 'message' && incoming.kind !== 'change') return incoming
  return { ...incoming, keys: [...incoming.keys, alias] }
}
