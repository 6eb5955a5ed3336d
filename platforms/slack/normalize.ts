/**
 * From what Slack sends to what the gateway takes. Pure: a payload and what is known in; one thing that happened out.
 *
 * A payload is the body of an event, of an interaction or of a slash command, however it came (socket, HTTP, history).
 */
import { brand, type EventKey } from '#sdk'
import { type Incoming, ignored, type View } from './incoming.ts'
import { normalizePress, normalizeSlash } from './normalize-action.ts'
import { normalizeDeletion, normalizeEdit, normalizeReaction } from './normalize-change.ts'
import { normalizeMessage } from './normalize-message.ts'
import { type Fields, fieldsIn, fieldsOf, isFields, listIn, textIn } from './payload.ts'

/** Never throws, whatever the payload is. */
export function normalize(payload: unknown, view: View): Incoming {
  if (!isFields(payload)) return ignored('not an object')
  const type = textIn(payload, 'type')
  if (type === 'block_actions') return normalizePress(payload, view)
  if (type === undefined && textIn(payload, 'command') !== undefined) return normalizeSlash(payload, view)
  if (type !== 'event_callback') return ignored(`a payload of type ${type ?? 'unknown'}`)
  if (!isOurs(payload, view)) return ignored('an event of another workspace')
  return withAlias(normalizeEvent(fieldsIn(payload, 'event'), payload, view), textIn(payload, 'event_id'))
}

function normalizeEvent(event: Fields, envelope: Fields, view: View): Incoming {
  switch (textIn(event, 'type')) {
    case 'message':
      switch (textIn(event, 'subtype')) {
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
      return ignored(`an event of type ${textIn(event, 'type') ?? 'unknown'}`)
  }
}

/** An app that is installed in several workspaces gets the events of all of them; this account is one of them. */
export function isOurs(envelope: Fields, { identity }: Pick<View, 'identity'>): boolean {
  const installed = listIn(envelope, 'authorizations').map((one) => textIn(fieldsOf(one), 'team_id'))
  const teams = [...installed, textIn(envelope, 'context_team_id'), textIn(envelope, 'team_id')]
  const named = teams.filter((team) => team !== undefined)
  // An installation for a whole organisation names no workspace.
  return named.length === 0 || named.some((team) => team === identity.teamId || team.startsWith('E'))
}

/** The event's own id is a second name, by which a repeated delivery is known too. */
function withAlias(incoming: Incoming, eventId: string | undefined): Incoming {
  if (eventId === undefined) return incoming
  const alias = brand<EventKey>(`sl:ev:${eventId}`)
  if (incoming.kind !== 'message' && incoming.kind !== 'change') return incoming
  return { ...incoming, keys: [...incoming.keys, alias] }
}
