/**
 * The thread of `recall.ts`: finds messages of earlier conversations on a connection that only reads. It keeps its connection
 * and its statements between requests.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { parentPort } from 'node:worker_threads'
import { ownWords } from '../../message/own-words.ts'
import type { RecallRow, RecallSession, RecallThreadRequest, RecallWindow } from './recall.ts'
import { parseRecallQuery } from './recall-query.ts'
import { toProblem } from './thread-problem.ts'
import { visibleKeys } from './visible-keys.ts'

type Values = Readonly<Record<string, string | number | null>>
type Request = RecallThreadRequest

/** Hits that are ranked: the newest ones that the person may see. */
const maxRanked = 300
/** After this time a search goes on with what it has found, ms. */
const maxSearchMs = 120
/** Words that a beginning stands for: the most frequent of the first ones. */
const maxPrefixWords = 64
const maxPrefixMs = 30
const minPrefixWords = 1_000

/** Neither taken back nor of a failed turn, and no summary. What a compression has replaced counts. */
const isHistory = 'm.superseded >= 0 and m.is_summary = 0'

/** The current conversation, and what was copied into it, is before the model already. */
const isOutOfView = `not exists (select 1 from messages c where c.session_id = :current and c.ord = m.ord
  and c.superseded = 0 and c.role = m.role and c.created_at = m.created_at and c.content = m.content)`

/** A shortened copy replaces a message under the same ordinal; the first row is the original. */
const isOriginal = `not exists (select 1 from messages o where o.session_id = m.session_id and o.ord = m.ord
  and o.id < m.id and o.superseded >= 0 and o.is_summary = 0)`

const roleMatches = `(',' || :roles || ',') like ('%,' || m.role || ',%')`
const isVisible = `s.session_key in (select session_key from visible)`
const withVisible = `with visible as materialized (${visibleKeys})`
const hitColumns = 'm.id as id, m.session_id as session, m.role as role'

/** The time is read for few rows only: most cost less than that. */
const inTime = (id: string) => `((${id} & 31) <> 0 or within_time(${id}))`

/** The rows of other people are left out before they are read. */
const indexHits = (direction: 'asc' | 'desc') => `${withVisible} select ${hitColumns}
    from messages_fts cross join messages m on m.id = messages_fts.rowid
    where messages_fts match :match and ${inTime('messages_fts.rowid')}
      and +messages_fts.rowid in (select v.id from sessions s cross join messages v on v.session_id = s.id where ${isVisible})
      and ${isHistory} and ${roleMatches} and ${isOutOfView}
    order by messages_fts.rowid ${direction} limit ${maxRanked}`

/** With the plus sign, the index is read once instead of once for each row. */
const selectScores = `select rowid as id, bm25(messages_fts) as score from messages_fts
  where messages_fts match :match and rowid between cast(:first as integer) and cast(:last as integer)
    and +rowid in (select value from json_each(:ids))`

const selectWords = `select term, doc from temp.recall_words where term >= :from and term < :to`

/** Without the cast, the number is bound as a real one, and all rows that match are read. */
const selectSnippet = `select snippet(messages_fts, 0, '«', '»', '…', 24) as snippet from messages_fts
  where messages_fts match :match and rowid = cast(:id as integer)`

const textHits = (conditions: string, score: string, direction: 'asc' | 'desc') => `${withVisible},
  own as materialized (select s.id from sessions s where ${isVisible} order by s.updated_at ${direction})
  select ${hitColumns}, ${score} as score
    from own cross join messages m on m.session_id = own.id
    where ${inTime('m.id')} and ${isHistory} and ${roleMatches} and (${conditions}) and ${isOutOfView}`

const selectSession = `${withVisible}
  select s.id as session, s.title as title, s.platform as source, s.created_at as startedAt, s.updated_at as lastActive,
    (select count(*) from messages m where m.session_id = s.id and ${isHistory} and ${isOriginal}) as messages,
    coalesce((select substr(own_words(m.content), 1, 300) from messages m
      where m.session_id = s.id and m.role = 'user' and ${isHistory} order by m.ord limit 1), '') as preview
  from sessions s where ${isVisible}`

/** Compressed and branched conversations go on in their child. A root has no such parent. */
const selectRoot = `with recursive line(id, depth) as (
    select :session, 0
    union all
    select p.id, depth + 1 from line join sessions s on s.id = line.id join sessions p on p.id = s.parent_id
      where p.end_reason in ('compression', 'branch') and depth < 200)
  select id from line order by depth desc limit 1`

/** Without the texts of skills, which no person has said. */
const said = `case m.role when 'user' then own_words(m.content) else m.content end`
const rowColumns = `m.id as id, m.role as role, substr(${said}, 1, 8000) as content, length(${said}) as length,
  m.created_at as at, m.tool_name as toolName, m.tool_calls as toolCalls`
/** Rows that a person would read as the conversation, for the roles of the request. */
const readable = `from messages m where m.session_id = :session and ${isHistory} and ${isOriginal}
  and ${roleMatches} and (m.content <> '' or :all)`
const rowsBefore = `select ${rowColumns} ${readable} and m.ord <= :ord order by m.ord desc limit :count`
const rowsAfter = `select ${rowColumns} ${readable} and m.ord > :ord order by m.ord limit :count`

let db: DatabaseSync | undefined
const statements = new Map<string, StatementSync>()

function prepared(sql: string): StatementSync {
  const known = statements.get(sql)
  const statement = known ?? db?.prepare(sql)
  if (statement === undefined) throw new Error('the database is not open')
  if (known === undefined) {
    statement.setAllowUnknownNamedParameters(true)
    statements.set(sql, statement)
  }
  return statement
}

/** Runs a statement with those of the values that it names. */
function all(sql: string, values: Values): Record<string, unknown>[] {
  return prepared(sql).all(values)
}

class OutOfTime extends Error {}

/** When the search that runs now ends, by `performance.now()`. */
let deadline = 0

function open(path: string): DatabaseSync {
  const opened = new DatabaseSync(path, { readOnly: true, timeout: 1_000 })
  opened.function('own_words', { deterministic: true }, (text) => ownWords(String(text)))
  opened.function('within_time', (_row) => {
    if (performance.now() > deadline) throw new OutOfTime('the time of the search is over')
    return 1
  })
  opened.exec("create virtual table temp.recall_words using fts5vocab('main', 'messages_fts', 'row')")
  return opened
}

/** The rows that are found until the deadline. */
function allInTime(sql: string, values: Values): { rows: Record<string, unknown>[]; isPartial: boolean } {
  const rows: Record<string, unknown>[] = []
  try {
    for (const row of prepared(sql).iterate(values)) rows.push(row)
    return { rows, isPartial: false }
  } catch (error) {
    // A statement that has failed fails again at its next use.
    statements.delete(sql)
    if (performance.now() <= deadline) throw error
    return { rows, isPartial: true }
  }
}

/** Writes words like the tokenizer of the index does: small letters without accents. */
function wordsThatBegin(beginning: string): string[] {
  const from = beginning.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
  const until = performance.now() + maxPrefixMs
  const terms: { term: string; documents: number }[] = []
  for (const { term, doc } of prepared(selectWords).iterate({ from, to: `${from}\u{10ffff}` })) {
    terms.push({ term: String(term), documents: Number(doc) })
    // A busy machine must not leave out words of a small index.
    if (terms.length >= minPrefixWords && performance.now() > until) break
  }
  return terms
    .sort((a, b) => b.documents - a.documents)
    .slice(0, maxPrefixWords)
    .map(({ term }) => term)
}

function answer(request: Request): unknown {
  const { platform = null, account = null, userId = null } = request.scope.direct ?? {}
  const values = { key: request.scope.sessionKey, platform, account, user: userId, current: request.current }
  switch (request.kind) {
    case 'discover':
      return discover(request, values)
    case 'browse':
      return browse(request.limit, values)
    case 'read':
      return read(request, values)
  }
}

interface Hit {
  readonly id: number
  readonly session: string
  readonly role: string
  /** The expression that found it in the index. */
  readonly match?: string | undefined
}

function discover(request: Extract<Request, { kind: 'discover' }>, values: Values) {
  const { hits: textMatches, isPartial } = findHits(request, { ...values, roles: request.roles })
  const lines = new Map<string, Hit>()
  for (const hit of textMatches) {
    const root = rootOf(hit.session)
    if (!lines.has(root)) lines.set(root, hit)
    if (lines.size >= request.limit) break
  }
  const results = [...lines].flatMap(([root, hit]) => {
    const session = sessionOf(hit.session, values)
    if (session === undefined) return []
    const view = windowOf(hit.session, hit.id, 5, { ...values, roles: readableRoles(request.roles), all: 0 })
    return [
      { ...session, root, role: hit.role, hit: hit.id, snippet: snippetOf(hit), view, ...bookends(hit.session, view) },
    ]
  })
  return { kind: 'discover', results, isPartial }
}

/** What was said is shown around a hit; output of tools only where it was searched. */
const readableRoles = (roles: string) => (roles.includes('tool') ? 'user,assistant,tool' : 'user,assistant')

interface Found {
  readonly hits: readonly Hit[]
  /** The time was over before all messages were searched. */
  readonly isPartial: boolean
}

function findHits({ query, sort }: Extract<Request, { kind: 'discover' }>, values: Values): Found {
  deadline = performance.now() + maxSearchMs
  const { expressions, texts } = parseRecallQuery(query, wordsThatBegin)
  const direction = sort === 'oldest' ? 'asc' : 'desc'
  let isPartial = false
  for (const match of expressions) {
    const matches = allInTime(indexHits(direction), { ...values, match })
    isPartial = matches.isPartial
    const hits = matches.rows.map((row) => toHit(row, match))
    if (hits.length > 0) return { hits: sort === 'relevance' ? byScore(hits, match) : hits, isPartial }
  }
  if (texts.length === 0) return { hits: [], isPartial }
  const bound = Object.fromEntries(texts.map((text, at) => [`t${at}`, `%${text.replace(/[\\%_]/g, '\\$&')}%`]))
  const comparisons = texts.map((_, at) => `m.content like :t${at} escape '\\'`)
  const score = `-(${comparisons.map((comparison) => `(${comparison})`).join(' + ')})`
  for (const operator of texts.length === 1 ? [' and '] : [' and ', ' or ']) {
    const hits = allInTime(textHits(comparisons.join(operator), score, direction), { ...values, ...bound })
    isPartial = hits.isPartial
    const order = (row: Record<string, unknown>) => (sort === 'relevance' ? Number(row['score']) : 0)
    const sign = sort === 'oldest' ? 1 : -1
    const rows = hits.rows.sort((a, b) => order(a) - order(b) || sign * (Number(a['id']) - Number(b['id'])))
    if (rows.length > 0) return { hits: rows.slice(0, maxRanked).map((row) => toHit(row)), isPartial }
  }
  return { hits: [], isPartial }
}

/** The best first, and of equal ones the newest. */
function byScore(hits: readonly Hit[], match: string): Hit[] {
  const ids = hits.map(({ id }) => id)
  const range = { first: Math.min(...ids), last: Math.max(...ids) }
  const scored = all(selectScores, { match, ids: JSON.stringify(ids), ...range })
  const scores = new Map(scored.map((row) => [Number(row['id']), Number(row['score'])]))
  const scoreOf = ({ id }: Hit) => scores.get(id) ?? 0
  return hits.toSorted((a, b) => scoreOf(a) - scoreOf(b) || b.id - a.id)
}

function toHit(row: Record<string, unknown>, match?: string): Hit {
  return {
    id: Number(row['id']),
    session: String(row['session']),
    role: String(row['role']),
    match,
  }
}

function snippetOf({ id, match }: Hit): string {
  return match === undefined ? '' : String(all(selectSnippet, { match, id })[0]?.['snippet'] ?? '')
}

function rootOf(session: string): string {
  return String(all(selectRoot, { session })[0]?.['id'] ?? session)
}

function sessionOf(id: string, values: Values): RecallSession | undefined {
  const [row] = all(`${selectSession} and s.id = :id`, { ...values, id })
  return row === undefined ? undefined : toSession(row)
}

function toSession(row: Record<string, unknown>): RecallSession {
  return {
    session: String(row['session']),
    title: String(row['title']),
    source: String(row['source']),
    startedAt: Number(row['startedAt']),
    lastActive: Number(row['lastActive']),
    messages: Number(row['messages']),
    preview: String(row['preview']),
  }
}

/** The messages around one of them, the anchor included. */
function windowOf(session: string, anchor: number, count: number, values: Values): RecallWindow {
  const ord = Number(all('select ord from messages where id = :anchor', { anchor })[0]?.['ord'] ?? 0)
  const before = all(rowsBefore, { ...values, session, ord, count: count + 1 })
    .map(toRow)
    .reverse()
  const after = all(rowsAfter, { ...values, session, ord, count }).map(toRow)
  const rows = [...before, ...after]
  return { rows, before: Math.max(0, before.length - 1), after: after.length }
}

/** The first and the last three messages, without those of the window. */
function bookends(session: string, { rows }: RecallWindow) {
  const values = { session, roles: 'user,assistant', all: 0, count: 3 }
  const isElsewhere = ({ id }: RecallRow) => rows.every((row) => row.id !== id)
  const first = all(rowsAfter, { ...values, ord: -1 }).map(toRow)
  const last = all(rowsBefore, { ...values, ord: Number.MAX_SAFE_INTEGER })
    .map(toRow)
    .reverse()
  const start = first.filter(isElsewhere)
  return { start, end: last.filter((row) => isElsewhere(row) && start.every(({ id }) => id !== row.id)) }
}

function toRow(row: Record<string, unknown>): RecallRow {
  const { toolName, toolCalls } = row
  return {
    id: Number(row['id']),
    role: String(row['role']),
    content: String(row['content']),
    length: Number(row['length']),
    at: Number(row['at']),
    ...(typeof toolName === 'string' ? { toolName } : {}),
    ...(typeof toolCalls === 'string' ? { toolCalls } : {}),
  }
}

/** The current session is left out. */
function browse(limit: number, values: Values) {
  const sql = `${selectSession} and s.id <> :current and coalesce(s.end_reason, '') <> 'compression'
    and exists (select 1 from messages m where m.session_id = s.id) order by s.updated_at desc limit :limit`
  return { kind: 'browse', sessions: all(sql, { ...values, limit }).map(toSession) }
}

/** A part of one session: around a message, or its beginning and its end. */
function read({ session: wanted, around, window }: Extract<Request, { kind: 'read' }>, values: Values) {
  const owner = around === null ? wanted : ownerOf(around, wanted)
  const session = owner === undefined ? undefined : sessionOf(owner, values)
  if (session === undefined) return { kind: 'absent' }
  const whole = { ...values, session: session.session, roles: 'user,assistant,tool', all: 1 }
  if (around !== null) return { kind: 'read', session, view: windowOf(session.session, around, window, whole), end: [] }
  const rows = all(rowsAfter, { ...whole, ord: -1, count: 20 }).map(toRow)
  const last = all(rowsBefore, { ...whole, ord: Number.MAX_SAFE_INTEGER, count: 10 })
    .map(toRow)
    .reverse()
  const end = last.filter(({ id }) => rows.every((row) => row.id !== id))
  return { kind: 'read', session, view: { rows, before: 0, after: 0 }, end }
}

/** The session of a message, if it is the wanted one or one that it continues in. */
function ownerOf(message: number, wanted: string): string | undefined {
  const sql = `select m.session_id as session from messages m where m.id = :message and ${isHistory}`
  const [row] = all(sql, { message })
  if (row === undefined) return undefined
  const owner = String(row['session'])
  return owner === wanted || rootOf(owner) === rootOf(wanted) ? owner : undefined
}

parentPort?.on('message', ({ database, request }: { database: string; request: Request }) => {
  try {
    db ??= open(database)
    parentPort?.postMessage({ answer: answer(request) })
  } catch (error) {
    parentPort?.postMessage(toProblem(error))
  }
})
