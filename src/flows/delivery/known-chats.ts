/**
 * Chats in which the agent was spoken to, from the newest sessions.
 */
import { type ChatType, type SessionSource, type Target, targetOf } from '../../message/source.ts'
import { query, rows, type Transaction } from '../../store/query.ts'

export interface KnownChat {
  readonly target: Target
  readonly name?: string | undefined
  readonly type: ChatType
  /** The source of the newest message of the session, which may be another person's. */
  readonly source: SessionSource
  /** One for each session of the chat: who has begun it, and who has written last. */
  readonly people: readonly SessionSource[]
}

/** The newest sessions that are looked at, so that a large database is not read as a whole. */
const maxSessions = 2_000

const selectNewest = query((db, p: { platform: string; limit: number }) =>
  db
    .selectFrom((from) =>
      from
        .selectFrom('sessions')
        .select(['session_key', 'user_id', 'platform', 'updated_at'])
        .orderBy('updated_at', 'desc')
        .limit(p.limit)
        .as('newest'),
    )
    .innerJoin('lanes', 'lanes.session_key', 'newest.session_key')
    .where('newest.platform', '=', p.platform)
    .select(['lanes.source', 'newest.user_id'])
    .orderBy('newest.updated_at', 'desc'),
)

export interface KnownChatsQuery {
  readonly platform: string
  readonly account?: string | undefined
  /** Only chats in which this person has written. */
  readonly userId?: string
}

/** Each chat and thread once, the newest first. */
export function* findKnownChats({ platform, account, userId }: KnownChatsQuery): Transaction<readonly KnownChat[]> {
  const chats = new Map<string, KnownChat & { readonly people: SessionSource[] }>()
  for (const { source: json, user_id } of yield* rows(selectNewest, { platform, limit: maxSessions })) {
    const source: SessionSource = JSON.parse(json)
    if (account !== undefined && source.account !== account) continue
    if (userId !== undefined && source.userId !== userId && user_id !== userId) continue
    const target = targetOf(source)
    const key = `${target.account}\n${target.chatId}\n${target.threadId ?? ''}`
    const people = user_id === '' || user_id === source.userId ? [source] : [source, withUser(source, user_id)]
    const known = chats.get(key)
    if (known !== undefined) {
      known.people.push(...people)
      continue
    }
    const name = source.chatName ?? (source.chatType === 'dm' ? source.userName : undefined)
    chats.set(key, { target, type: source.chatType, source, people, name })
  }
  return [...chats.values()]
}

/** The chat of a source with another person, of whom nothing but the id is known. */
function withUser(source: SessionSource, userId: string): SessionSource {
  const { platform, account, chatId, chatType, parentChatId } = source
  return { platform, account, chatId, chatType, parentChatId, userId }
}
