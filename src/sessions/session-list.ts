/**
 * Pages of sessions and of their messages, for the JSON API and the command line. They only read, and run on a connection of their
 * own. A page begins at a row and not after a number of rows, so that it is fast in a long list and rows may be added meanwhile.
 */
import { shorten } from '../lib/visible-text.ts'
import { ownWords, withoutFrame } from '../message/own-words.ts'
import type { SessionSource } from '../message/source.ts'
import { query, row, rows, sql, type Transaction } from '../store/query.ts'
import { outcomeOf } from './shown-tool-calls.ts'

/** A position in a list that is ordered by time. */
export interface SessionPosition {
  /** `updated_at` and id of a session. */
  readonly at: number
  readonly id: string
}

export interface SessionFilter {
  readonly platform?: string | undefined
  /** The id of a chat. */
  readonly chat?: string | undefined
  /** True: only the current sessions of conversations; false: only earlier ones. */
  readonly current?: boolean | undefined
  /** A conversation. */
  readonly session_key?: string | undefined
  /** The folder of the conversation, absolute. */
  readonly directory?: string | undefined
  /** True: only pinned sessions; false: only the others. */
  readonly pinned?: boolean | undefined
  readonly search?: SessionSearch | undefined
  /** Sessions that a compression has ended, too. They go on in another session. */
  readonly withContinued?: boolean
}

/** What a message of the session contains: an FTS5 expression, or texts that the index does not know, all of which must occur. */
export type SessionSearch = { readonly match: string } | { readonly texts: readonly string[] }

const columns = [
  's.id',
  's.session_key',
  's.platform',
  's.user_id',
  's.title',
  's.parent_id',
  's.created_at',
  's.updated_at',
  's.ended_at',
  's.end_reason',
  's.input_tokens',
  's.output_tokens',
  's.cost',
  's.priced_tokens',
  's.pinned',
] as const

/** Null where a conversation works in the configured folder. */
const directory = sql<string | null>`(select json_extract(settings, '$.workspace') from session_settings w
  where w.session_key = s.session_key)`

/** When a conversation of each platform was used last. */
export const lastUseOfPlatforms = query((db) =>
  db
    .selectFrom('sessions')
    .select(['platform', sql<number>`max(updated_at)`.as('at')])
    .groupBy('platform'),
)

/** The people who wrote on platforms, the last one first, before a position. A person has one row for each platform. */
export const peopleWhoWrote = query((db, p: { at: number; key: string; limit: number }) => {
  const statement = sql<{
    platform: string
    user_id: string
    user_name: string | null
    account: string | null
    sessions: number
    last_at: number
  }>`select s.platform, s.user_id, max(json_extract(l.source, '$.userName')) as user_name, max(json_extract(l.source, '$.account')) as account,
      count(distinct s.id) as sessions, max(s.updated_at) as last_at
    from sessions s left join lanes l on l.session_key = s.session_key and json_extract(l.source, '$.userId') = s.user_id
    where s.user_id <> '' group by s.platform, s.user_id
    having (max(s.updated_at), s.platform || ':' || s.user_id) < (${p.at}, ${p.key})
    order by 6 desc, s.platform || ':' || s.user_id desc limit ${p.limit}`
  return { compile: () => statement.compile(db) }
})

type ListParams = {
  readonly at: number
  readonly id: string
  readonly platform: string | null
  readonly chat: string | null
  /** 1 or 0; null for both. */
  readonly current: number | null
  readonly session_key: string | null
  readonly directory: string | null
  /** 1 or 0; null for both. */
  readonly pinned: number | null
  readonly continued: number
  readonly limit: number
}

/** `condition`: which sessions a search has found. */
const listQuery = <P extends ListParams>(condition: (p: P) => ReturnType<typeof sql<boolean>>) =>
  query((db, p: P) =>
    db
      .selectFrom('sessions as s')
      .leftJoin('lanes as l', 'l.session_key', 's.session_key')
      .select([...columns, 'l.source', 'l.session_id as current_id', directory.as('directory')])
      .where(sql<boolean>`(s.updated_at, s.id) < (${p.at}, ${p.id})`)
      .where(sql<boolean>`(${p.continued} or s.end_reason is not 'compression')`)
      .where(sql<boolean>`(${p.platform} is null or s.platform = ${p.platform})`)
      .where(sql<boolean>`(${p.chat} is null or json_extract(l.source, '$.chatId') = ${p.chat})`)
      .where(sql<boolean>`(${p.current} is null or (s.id is l.session_id) = ${p.current})`)
      .where(sql<boolean>`(${p.session_key} is null or s.session_key = ${p.session_key})`)
      .where(sql<boolean>`(${p.directory} is null or ${directory} = ${p.directory})`)
      .where(sql<boolean>`(${p.pinned} is null or s.pinned = ${p.pinned})`)
      .where(condition(p))
      .orderBy('s.updated_at', 'desc')
      .orderBy('s.id', 'desc')
      .limit(p.limit),
  )

/** What the model has received, also what a summary has replaced since; nothing that was taken back. */
const isSearched = sql`m.superseded >= 0 and m.is_summary = 0`
const containsAll = (texts: string) =>
  sql`${isSearched} and not exists (select 1 from json_each(${texts}) t where instr(m.content, t.value) = 0)`

const listAll = listQuery((_: ListParams) => sql<boolean>`1`)
/** The index of the few pinned sessions is used. */
const listPinned = listQuery((_: ListParams) => sql<boolean>`s.pinned = 1`)
const listMatching = listQuery(
  (p: ListParams & { readonly match: string }) => sql<boolean>`s.id in (select m.session_id
    from messages_fts cross join messages m on m.id = messages_fts.rowid
    where messages_fts match ${p.match} and ${isSearched})`,
)
const listContaining = listQuery(
  (p: ListParams & { readonly texts: string }) =>
    sql<boolean>`s.id in (select m.session_id from messages m where ${containsAll(p.texts)})`,
)

const selectOne = query((db, p: { id: string }) =>
  db
    .selectFrom('sessions as s')
    .leftJoin('lanes as l', 'l.session_key', 's.session_key')
    .select([...columns, 'l.source', 'l.session_id as current_id', directory.as('directory')])
    .where('s.id', '=', p.id),
)

/** Describes a session without a title by its first message. */
const selectFirstUserMessage = query((db, p: { session_id: string }) =>
  db
    .selectFrom('messages')
    .select('content')
    .where('session_id', '=', p.session_id)
    .where('role', '=', 'user')
    .orderBy('ord')
    .limit(1),
)

type Row = NonNullable<typeof listAll.types>['row']

/** A session as lists show it. */
export interface ListedSession extends Omit<Row, 'source' | 'current_id'> {
  /** The source of the newest message of the conversation; undefined for a session of no conversation. */
  readonly source: SessionSource | undefined
  readonly isCurrent: boolean
  /** The title, or the words of the first message. */
  readonly about: string
}

function* toListed({ source, current_id, ...session }: Row): Transaction<ListedSession> {
  const opening =
    session.title === '' ? (yield* row(selectFirstUserMessage, { session_id: session.id }))?.content : undefined
  // The gateway wrote it, so its shape is known. It is empty where a session was compressed before its next message.
  const known: SessionSource | undefined = source === null || source === '' ? undefined : JSON.parse(source)
  const about = shorten(opening === undefined ? session.title : withoutFrame(ownWords(opening)), 200)
  return { ...session, source: known, isCurrent: current_id === session.id, about }
}

/** The sessions before a position, the newest first. */
export function* listSessions(
  { platform, chat, current, session_key, directory: folder, pinned, search, withContinued = false }: SessionFilter,
  before: SessionPosition | undefined,
  limit: number,
): Transaction<ListedSession[]> {
  const params = {
    at: before?.at ?? Number.MAX_SAFE_INTEGER,
    id: before?.id ?? '',
    platform: platform ?? null,
    chat: chat ?? null,
    current: current === undefined ? null : Number(current),
    session_key: session_key ?? null,
    directory: folder ?? null,
    pinned: pinned === undefined ? null : Number(pinned),
    continued: Number(withContinued),
    limit,
  }
  const listed: ListedSession[] = []
  for (const session of yield* selectPage(params, search)) listed.push(yield* toListed(session))
  return listed
}

function* selectPage(params: ListParams, search: SessionSearch | undefined): Transaction<readonly Row[]> {
  if (search === undefined) return yield* rows(params.pinned === 1 ? listPinned : listAll, params)
  if ('match' in search) return yield* rows(listMatching, { ...params, match: search.match })
  return yield* rows(listContaining, { ...params, texts: JSON.stringify(search.texts) })
}

export function* findListedSession(id: string): Transaction<ListedSession | undefined> {
  const session = yield* row(selectOne, { id })
  return session === undefined ? undefined : yield* toListed(session)
}

interface Hit {
  readonly session_id: string
  readonly id: number
  readonly role: string
  readonly created_at: number
  readonly excerpt: string
}

/** SQLite takes the other columns from the row with the largest id. */
const hitColumns = sql`m.session_id as session_id, max(m.id) as id, m.role as role, m.created_at as created_at`
const ofSessions = (ids: string) => sql`m.session_id in (select value from json_each(${ids}))`

const selectMatches = query((db, p: { match: string; ids: string }) => ({
  compile: () =>
    sql<Omit<Hit, 'excerpt'>>`select ${hitColumns}
      from messages_fts cross join messages m on m.id = messages_fts.rowid
      where messages_fts match ${p.match} and ${isSearched} and ${ofSessions(p.ids)} group by m.session_id`.compile(db),
}))

/** Without the cast, the number is bound as a real one, and all rows that match are read. */
const selectExcerpt = query((db, p: { match: string; id: number }) => ({
  compile: () =>
    sql<{ excerpt: string }>`select snippet(messages_fts, 0, '«', '»', '…', 24) as excerpt from messages_fts
      where messages_fts match ${p.match} and rowid = cast(${p.id} as integer)`.compile(db),
}))

const selectContaining = query((db, p: { texts: string; ids: string }) => ({
  compile: () =>
    sql<Hit>`select ${hitColumns}, m.content as excerpt from messages m
      where ${ofSessions(p.ids)} and ${containsAll(p.texts)} group by m.session_id`.compile(db),
}))

/** Characters of an excerpt before and after a text that was found. */
const excerptChars = 80

/** The newest message of each session that a search has found. */
export function* findHits(search: SessionSearch, sessionIds: readonly string[]): Transaction<Map<string, Hit>> {
  const ids = JSON.stringify(sessionIds)
  const hits = new Map<string, Hit>()
  if ('match' in search) {
    const { match } = search
    for (const hit of yield* rows(selectMatches, { match, ids })) {
      const excerpt = (yield* row(selectExcerpt, { match, id: hit.id }))?.excerpt ?? ''
      hits.set(hit.session_id, { ...hit, excerpt })
    }
    return hits
  }
  const [text = ''] = search.texts
  for (const hit of yield* rows(selectContaining, { texts: JSON.stringify(search.texts), ids })) {
    const at = hit.excerpt.indexOf(text)
    const before = hit.excerpt.slice(Math.max(0, at - excerptChars), at)
    const after = hit.excerpt.slice(at + text.length, at + text.length + excerptChars)
    hits.set(hit.session_id, { ...hit, excerpt: `${before}«${text}»${after}`.toWellFormed() })
  }
  return hits
}

export interface MessagePosition {
  readonly ord: number
  readonly id: number
}

export interface MessageFilter {
  /** With commas. */
  readonly roles?: string | undefined
  /** Whether the list includes messages that were taken back or belong to failed turns, and summaries. */
  readonly all: boolean
}

type PageParams = {
  readonly session_id: string
  readonly ord: number
  readonly id: number
  readonly roles: string
  readonly all: number
  readonly limit: number
}

const messageColumns = [
  'm.id',
  'm.ord',
  'm.role',
  'm.content',
  'm.text_id',
  'm.tool_calls',
  'm.tool_call_id',
  'm.tool_name',
  'm.turn_id',
  'm.superseded',
  'm.is_summary',
  'm.images',
  'm.created_at',
] as const

/**
 * The condition is about `messages as m`. A shortened copy replaces a message under the same ordinal; the first row
 * is the original.
 */
export const isOriginal = sql<boolean>`not exists (select 1 from messages o where o.session_id = m.session_id and o.ord = m.ord
  and o.id < m.id and o.superseded >= 0 and o.is_summary = 0)`

/** A summary is read by people only where what it replaces is in another session. */
const isNotRepeated = sql<boolean>`(m.is_summary = 0 or not exists (
  select 1 from messages o where o.session_id = m.session_id and o.superseded > 0))`

const pageQuery = (direction: 'older' | 'newer') =>
  query((db, p: PageParams) => {
    const position = sql`(${p.ord}, ${p.id})`
    const order = direction === 'older' ? 'desc' : 'asc'
    return (
      db
        .selectFrom('messages as m')
        .select(messageColumns)
        .where('m.session_id', '=', p.session_id)
        // The first condition is the one that the index knows.
        .where('m.ord', direction === 'older' ? '<=' : '>=', p.ord)
        .where(
          direction === 'older' ? sql<boolean>`(m.ord, m.id) < ${position}` : sql<boolean>`(m.ord, m.id) > ${position}`,
        )
        .where(sql<boolean>`instr(${p.roles}, m.role) > 0`)
        .where(sql<boolean>`(${p.all} or (m.superseded >= 0 and ${isOriginal} and ${isNotRepeated}))`)
        .orderBy('m.ord', order)
        .orderBy('m.id', order)
        .limit(p.limit)
    )
  })
const pageQueries = { older: pageQuery('older'), newer: pageQuery('newer') }

export type ListedMessage = NonNullable<(typeof pageQueries.older)['types']>['row']

/** The messages on one side of a position, those next to it first. */
export function* listMessages(
  sessionId: string,
  { roles = 'user,assistant,tool', all }: MessageFilter,
  from: MessagePosition,
  direction: 'older' | 'newer',
  limit: number,
): Transaction<readonly ListedMessage[]> {
  return yield* rows(pageQueries[direction], { session_id: sessionId, ...from, roles, all: Number(all), limit })
}

const selectMessage = query((db, p: { session_id: string; id: number }) =>
  db
    .selectFrom('messages as m')
    .leftJoin('texts', 'texts.id', 'm.text_id')
    .select([...messageColumns, 'texts.body'])
    .where('m.id', '=', p.id)
    .where('m.session_id', '=', p.session_id),
)

/** With its whole text. */
export function* findListedMessage(sessionId: string, id: number): Transaction<ListedMessage | undefined> {
  const message = yield* row(selectMessage, { session_id: sessionId, id })
  return message === undefined ? undefined : { ...message, content: message.body ?? message.content, text_id: null }
}

const neighbour = (direction: 'before' | 'after') =>
  query((db, p: { session_id: string; ord: number }) =>
    db
      .selectFrom('messages')
      .select('turn_id')
      .where('session_id', '=', p.session_id)
      .where('ord', direction === 'before' ? '<' : '>', p.ord)
      .orderBy('ord', direction === 'before' ? 'desc' : 'asc')
      .limit(1),
  )
const neighbours = { before: neighbour('before'), after: neighbour('after') }

/** Whether a message is the first or the last one of its turn. */
export function* isAtEndOfTurn(
  sessionId: string,
  { ord, turn_id }: Pick<ListedMessage, 'ord' | 'turn_id'>,
  end: 'first' | 'last',
): Transaction<boolean> {
  if (turn_id === null) return false
  const next = yield* row(neighbours[end === 'first' ? 'before' : 'after'], { session_id: sessionId, ord })
  return next?.turn_id !== turn_id
}

export type ToolCallOutcome = Omit<ReturnType<typeof outcomeOf>, 'state'> & {
  readonly state: ReturnType<typeof outcomeOf>['state'] | 'running'
}

const selectCallStates = query((db, p: { turn_id: string }) =>
  db.selectFrom('tool_calls').select(['call_id', 'state', 'result']).where('turn_id', '=', p.turn_id),
)

/** What people read of the calls of a turn, by call. Empty once they are pruned. */
export function* toolCallOutcomes(turnId: string): Transaction<Map<string, ToolCallOutcome>> {
  const calls = yield* rows(selectCallStates, { turn_id: turnId })
  return new Map(calls.map((call) => [call.call_id, call.state === 'started' ? running : outcomeOf(call)]))
}

const running: ToolCallOutcome = { state: 'running', label: '', summary: '' }
