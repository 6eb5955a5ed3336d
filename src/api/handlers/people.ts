/**
 * `/api/people`: who may talk to the agent, and who has written.
 */
import { z } from 'zod'
import type { SessionSource } from '../../message/source.ts'
import { isPlatformRole } from '../../platforms/config.ts'
import type { ApiServices } from '../services.ts'
import type { ApiPeople, PeopleQuery } from '../shapes/people.ts'
import { askReader } from './ask-reader.ts'
import { cleanOptional } from './clean-texts.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'

type Person = ApiPeople['people'][number]

export async function listPeople(services: ApiServices, query: PeopleQuery, signal: AbortSignal): Promise<ApiPeople> {
  return query.of === 'named'
    ? { people: namedPeople(services), next_cursor: null }
    : await peopleWhoWrote(services, query, signal)
}

/** Whom the lists in effect and the pairings name, owners first. */
function namedPeople({ accountDirectory }: ApiServices): Person[] {
  const people = new Map<string, Person>()
  for (const { platform, account, access, roles, blocked } of accountDirectory.list()) {
    if (access.access === 'token' || blocked?.kind === 'off') continue
    const lists = [roles.owners, roles.adminFrom, roles.members, roles.guests]
    const ids = [...lists, access.allowFrom, access.groupAllowFrom, access.gatewayAllowedUsers].flat()
    const open = access.allowAllUsers || access.gatewayAllowAllUsers ? ['*'] : []
    for (const id of [...ids, ...(access.paired?.ids ?? []), ...open]) {
      const key = `${platform.name}:${id}`
      if (id === '' || people.has(key)) continue
      const isGroup = id === '*' || isPlatformRole(id, platform)
      const person = describe(accountDirectory, { platform: platform.name, account, userId: id })
      const reason = isGroup ? 'a list of the configuration' : person.reason
      people.set(key, { ...person, is_allowed: isGroup || person.is_allowed, reason })
    }
  }
  const rank = { owner: 0, member: 1, guest: 2 }
  return [...people.values()].sort((a, b) => rank[a.role] - rank[b.role])
}

const seenPeople = z.array(
  z.object({
    platform: z.string(),
    user_id: z.string(),
    user_name: z.string().nullable(),
    account: z.string().nullable(),
    sessions: z.number(),
    last_at: z.number(),
  }),
)
const position = z.tuple([z.number(), z.string()])

async function peopleWhoWrote(
  services: ApiServices,
  { limit, cursor }: PeopleQuery,
  signal: AbortSignal,
): Promise<ApiPeople> {
  const list = ['people']
  const [at = Number.MAX_SAFE_INTEGER, key = ''] = decodeCursor(list, cursor, position) ?? []
  const request = { about: 'people', before: { at, key }, limit: limit + 1 } as const
  const rows = await askReader(services, request, seenPeople, signal)
  const page = rows.slice(0, limit)
  const last = rows.length > limit ? page.at(-1) : undefined
  return {
    people: page.map(({ platform, user_id, user_name, account, sessions, last_at }) => ({
      ...describe(services.accountDirectory, { platform, account: account ?? 'default', userId: user_id }),
      user_name: cleanOptional(services.outbox.withhold, user_name),
      conversations: sessions,
      last_at: new Date(last_at).toISOString(),
    })),
    next_cursor: last === undefined ? null : encodeCursor(list, [last.last_at, `${last.platform}:${last.user_id}`]),
  }
}

/** What the person may do in a direct message. */
function describe(
  directory: ApiServices['accountDirectory'],
  { platform, account, userId }: Pick<SessionSource, 'platform' | 'account'> & { readonly userId: string },
): Person {
  const source: SessionSource = { platform, account, chatId: userId, chatType: 'dm', userId }
  const { allowed, reason } = directory.access({ source })
  const { role } = directory.authorityOf(source)
  return {
    platform,
    user_id: userId,
    user_name: null,
    role,
    is_allowed: allowed,
    reason,
    conversations: null,
    last_at: null,
  }
}
