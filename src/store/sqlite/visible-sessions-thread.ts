/**
 * The thread of `visible-sessions.ts`. It imports little, so that it starts fast.
 */
import { DatabaseSync } from 'node:sqlite'
import { parentPort } from 'node:worker_threads'
import { ownWords } from '../../message/own-words.ts'
import { visibleKeys } from './visible-keys.ts'
import type { ThreadRequest } from './visible-sessions.ts'

const listSessions = `select id as session, updated_at as at, '' as role,
  coalesce(nullif(title, ''), (select substr(own_words(content), 1, 2000) from messages
    where session_id = sessions.id and role = 'user' order by ord limit 1), '') as text
  from sessions where session_key in (${visibleKeys}) and coalesce(end_reason, '') <> 'compression' order by updated_at desc limit :limit`

const searchMessages = `select m.session_id as session, m.created_at as at, m.role as role,
  snippet(messages_fts, 0, '«', '»', '…', 24) as text
  from messages_fts join messages m on m.id = messages_fts.rowid join sessions s on s.id = m.session_id
  where messages_fts match :match and s.session_key in (${visibleKeys}) order by m.id desc limit :limit`

/** The rows of a copied conversation are older than its session, and count where they were written. */
const countedMessages = `from messages m join sessions s on s.id = m.session_id
  where s.updated_at >= :since and m.created_at >= :since and m.created_at >= s.created_at
  and (:all or s.session_key in (${visibleKeys}))`

const tokensOf = (kind: string) => `coalesce(sum(json_extract(m.usage, '$.${kind}')), 0)`

const countTotals = `select count(distinct m.session_id) as sessions,
  coalesce(sum(m.role in ('user', 'assistant')), 0) as messages,
  ${tokensOf('inputTokens')} as inputTokens, ${tokensOf('outputTokens')} as outputTokens ${countedMessages}`

const countDays = `select date(m.created_at / 1000, 'unixepoch', 'localtime') as day,
  count(distinct m.session_id) as sessions, ${tokensOf('inputTokens')} + ${tokensOf('outputTokens')} as tokens
  ${countedMessages} group by day order by day`

const countTools = `select m.tool_name as name, count(*) as calls ${countedMessages} and m.role = 'tool'
  group by name order by calls desc, name limit 10`

function read(request: ThreadRequest): unknown {
  const db = new DatabaseSync(request.database, { readOnly: true, timeout: 1_000 })
  try {
    db.function('own_words', { deterministic: true }, (text) => ownWords(String(text)))
    const { platform = null, account = null, userId = null } = request.scope?.direct ?? {}
    const keys = { key: request.scope?.sessionKey ?? null, platform, account, user: userId }
    if (request.kind === 'insights') {
      const counted = { ...keys, since: request.since, all: request.scope === null ? 1 : 0 }
      return {
        ...db.prepare(countTotals).get(counted),
        days: db.prepare(countDays).all(counted),
        tools: db.prepare(countTools).all(counted),
      }
    }
    const { limit, match } = request
    return match === undefined
      ? db.prepare(listSessions).all({ ...keys, limit })
      : db.prepare(searchMessages).all({ ...keys, limit, match })
  } finally {
    db.close()
  }
}

parentPort?.on('message', (request: ThreadRequest) => {
  try {
    parentPort?.postMessage({ answer: read(request) })
  } catch (error) {
    parentPort?.postMessage({ problem: error instanceof Error ? error.message : String(error) })
  }
})
