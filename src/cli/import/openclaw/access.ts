/**
 * Reads who may talk to the agent on a channel of OpenClaw, in the terms of this gateway. No person gets access who had none. Where a rule
 * cannot be expressed, the stricter one is taken and the report says so.
 */
import { asArray, asRecord, asString, isRecord, type JsonObject } from '../../../lib/json.ts'
import { type ChannelFacts, channelFacts } from './channel-facts.ts'

export interface AccessInput {
  readonly channel: string
  readonly facts: ChannelFacts
  readonly settings: JsonObject
  /** `channels.defaults` */
  readonly defaults: JsonObject
  /** `accessGroups` */
  readonly accessGroups: JsonObject
}

export type ChannelAccess = ReturnType<typeof readAccess>

export function readAccess({ channel, facts, settings, defaults, accessGroups }: AccessInput) {
  const notes: (readonly [string, string])[] = []
  const dm = asRecord(settings['dm'])
  const dmPolicy = dm['enabled'] === false ? 'disabled' : asString(settings['dmPolicy'] ?? dm['policy']) || 'pairing'
  const groupPolicy = asString(settings['groupPolicy'] ?? defaults['groupPolicy']) || 'allowlist'
  const listed = (key: string, value: unknown) => readIds(value, { channel, accessGroups, key, notes })
  const direct = listed('allowFrom', settings['allowFrom'] ?? dm['allowFrom'])
  const explicit =
    settings['groupAllowFrom'] === undefined ? undefined : listed('groupAllowFrom', settings['groupAllowFrom'])
  const opensGroups = groupPolicy === 'open'
  const places = readPlaces({ facts, settings, opensGroups, listed, notes })
  const listedInGroups = groupPolicy === 'allowlist' ? (explicit ?? direct) : []
  const inGroups = groupPolicy === 'disabled' ? [] : [...listedInGroups, ...places.people]
  const isOpen = dmPolicy === 'open' && direct.includes('*')
  if (isOpen && !opensGroups)
    notes.push([
      'allowFrom',
      '`*` is not taken: everybody could write in groups, too. Set allow_all_users if you want that',
    ])
  const people = direct.filter((id) => id !== '*')
  const hasDirect = dmPolicy !== 'disabled'
  if (hasDirect && groupPolicy === 'disabled' && people.length > 0)
    notes.push(['groupPolicy', 'here, people who may write directly may also write in groups'])
  const groupPeople = inGroups.filter((id) => id !== '*' && !(hasDirect && people.includes(id)))
  if (groupPeople.length > 0 && places.isLimited)
    notes.push(['groupAllowFrom', 'here, these people may write in every group in which the bot is'])
  const openChats = opensGroups && !places.isLimited ? ['*'] : places.open
  return {
    allowFrom: hasDirect ? people : [],
    groupAllowFrom: [...new Set(groupPeople)],
    groupAllowedChats: groupPolicy === 'disabled' ? [] : openChats,
    allowAllUsers: isOpen && opensGroups && !places.isLimited,
    unauthorizedDm: dmPolicy === 'pairing' ? 'pair' : 'ignore',
    /** Whether people whom an owner has approved have access. */
    admitsPaired: dmPolicy === 'pairing' || dmPolicy === 'allowlist',
    /** What is different here: keys and reasons. */
    notes,
  }
}

interface IdContext extends Pick<AccessInput, 'channel' | 'accessGroups'> {
  readonly key: string
  readonly notes: (readonly [string, string])[]
}

/** User ids and `*`. Names are left out: they can change hands. */
export function readIds(value: unknown, context: IdContext): string[] {
  const { channel, accessGroups, key, notes } = context
  return asArray(value).flatMap((item): string[] => {
    const text = typeof item === 'number' ? String(item) : asString(item).trim()
    if (text === '*') return ['*']
    const group = /^accessGroup:(?<name>.+)$/.exec(text)?.groups?.['name']
    if (group !== undefined) {
      const members = asRecord(asRecord(accessGroups[group])['members'])[channel]
      if (Array.isArray(members)) return readIds(members, { ...context, accessGroups: {} })
      notes.push([key, `the access group ${group.slice(0, 40)} has no list for ${channel}`])
      return []
    }
    const prefix = [channel, 'tg', 'user'].find((name) => text.toLowerCase().startsWith(`${name}:`))
    const id = prefix === undefined ? text : text.slice(prefix.length + 1)
    if (channelFacts[channel]?.userId.test(id) === true) return [id]
    notes.push([key, 'entries that are no user ids are not taken'])
    return []
  })
}

interface Places {
  /** Ids of chats in which every member may write. */
  readonly open: readonly string[]
  /** The people who are named in single chats. */
  readonly people: readonly string[]
  /** The bot answers in the named chats only. */
  readonly isLimited: boolean
}

interface PlacesInput extends Pick<AccessInput, 'facts' | 'settings'> {
  readonly opensGroups: boolean
  listed(key: string, value: unknown): string[]
  readonly notes: (readonly [string, string])[]
}

/** Telegram's groups, Discord's guilds with their channels, and Slack's channels. */
function readPlaces(input: PlacesInput): Places {
  const { facts, settings } = input
  if (facts.places === 'groups') return readGroups(input)
  const scopes =
    facts.places === 'guilds'
      ? Object.values(asRecord(settings['guilds'])).filter(isRecord)
      : [{ channels: settings['channels'] }]
  const scopesRead = scopes.map((scope) => readScope(scope, input))
  return {
    open: scopesRead.flatMap(({ open }) => open),
    people: scopesRead.flatMap(({ people }) => people),
    isLimited: scopesRead.some(({ isLimited }) => isLimited),
  }
}

function readGroups({ facts, settings, opensGroups, listed }: PlacesInput): Places {
  const groups = Object.entries(asRecord(settings['groups'])).filter(([id]) => id !== '*')
  const chats = groups.filter(([id]) => facts.chatId.test(id))
  // In a group of an allow list, only the people of the list may write.
  const inherited = opensGroups ? undefined : []
  const { open, people } = sortPlaces(chats, (place) => usersOf(place, 'allowFrom', listed) ?? inherited)
  const hasAll = Object.hasOwn(asRecord(settings['groups']), '*')
  return { open, people, isLimited: groups.length > 0 && !hasAll }
}

/** A guild of Discord, or the whole of Slack. */
function readScope({ channels, users, roles }: JsonObject, { facts, listed, notes }: PlacesInput): Places {
  if (roles !== undefined) notes.push(['guilds', 'roles are not taken: they would also count in direct messages'])
  const inherited = users === undefined ? undefined : listed('users', users)
  const entries = Object.entries(asRecord(channels)).filter(([id]) => id !== '*')
  if (entries.length === 0) {
    if (inherited === undefined && facts.places === 'guilds')
      notes.push(['guilds', 'a whole server cannot be allowed; name its channels in group_allowed_chats'])
    return { open: [], people: inherited ?? [], isLimited: false }
  }
  const usable = entries.filter(([id]) => facts.chatId.test(id))
  if (usable.length < entries.length) notes.push([facts.places, 'channels without an id are not taken'])
  const { open, people } = sortPlaces(usable, (place) => usersOf(place, 'users', listed) ?? inherited)
  return { open, people, isLimited: true }
}

function usersOf(place: JsonObject, key: string, listed: PlacesInput['listed']): string[] | undefined {
  return place[key] === undefined ? undefined : listed(key, place[key])
}

function sortPlaces(
  places: readonly (readonly [string, unknown])[],
  users: (place: JsonObject) => readonly string[] | undefined,
): Pick<Places, 'open' | 'people'> {
  const open: string[] = []
  const people: string[] = []
  for (const [id, value] of places) {
    const place = asRecord(value)
    if (place['allow'] === false || place['enabled'] === false) continue
    const list = users(place)
    if (list === undefined || list.includes('*')) open.push(id)
    else people.push(...list)
  }
  return { open, people }
}
