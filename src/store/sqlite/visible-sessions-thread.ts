/**
 * The thread of `visible-sessions.ts`. It imports nothing else, so that it starts fast.
 */
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { ThreadRequest } from './visible-sessions.ts'

/** `:user` is null outside of direct messages, and equals nothing. */
const visibleKeys = `select session_key from lanes where session_key = :key or (
  json_extract(source, '$.platform') = :platform and json_extract(source, '$.account') = :account
  and json_extract(source, '$.chatType') = 'dm' and json_extract(source, '$.userId') = :user)`

const listSessions = `select id as session, updated_at as at, '' as role,
  coalesce(nullif(title, ''), (select substr(content, 1, 200) from messages
    where session_id = sessions.id and role = 'user' order by ord limit 1), '') as text
  from sessions where session_key in (${visibleKeys}) order by updated_at desc limit :limit`

const searchMessages = `select m.session_id as session, m.created_at as at, m.role as role,
  snippet(messages_fts, 0, '«', '»', '…', 24) as text
  from messages_fts join messages m on m.id = messages_fts.rowid join sessions s on s.id = m.session_id
  where messages_fts match :match and s.session_key in (${visibleKeys}) order by m.id desc limit :limit`

function read({ database, scope, limit, match }: ThreadRequest): unknown[] {
  const db = new DatabaseSync(database, { readOnly: true, timeout: 1_000 })
  try {
    const { platform = null, account = null, userId = null } = scope.direct ?? {}
    const keys = { key: scope.sessionKey, platform, account, user: userId, limit }
    return match === undefined ? db.prepare(listSessions).all(keys) : db.prepare(searchMessages).all({ ...keys, match })
  } finally {
    db.close()
  }
}

const request: ThreadRequest = workerData
parentPort?.postMessage(read(request))
