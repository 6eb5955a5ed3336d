/**
 * The thread of `visible-sessions.ts`. It imports little, so that it starts fast.
 */
import { DatabaseSync } from 'node:sqlite'
import { parentPort } from 'node:worker_threads'
import { ownWords } from '../../message/own-words.ts'
import { toProblem } from './thread-problem.ts'
import { visibleKeys } from './visible-keys.ts'
import type { ThreadRequest } from './visible-sessions.ts'

const listSessions = `select id as session, updated_at as at, '' as role,
  coalesce(nullif(title, ''), (select substr(own_words(content), 1, 2000) from messages
    where session_id = sessions.id and role = 'user' order by ord limit 1), '') as text
  from sessions where session_key in (${visibleKeys}) and coalesce(end_reason, '') <> 'compression'
    and (:id is null or id = :id) order by updated_at desc limit :limit`

const searchMessages = `select m.session_id as session, m.created_at as at, m.role as role,
  snippet(messages_fts, 0, '«', '»', '…', 24) as text
  from messages_fts join messages m on m.id = messages_fts.rowid join sessions s on s.id = m.session_id
  where messages_fts match :match and s.session_key in (${visibleKeys}) order by m.id desc limit :limit`

/** The rows of a copied conversation are older than its session, and count where they were written. */
const countedMessages = `from messages m join sessions s on s.id = m.session_id
  where s.updated_at >= :since and m.created_at >= :since and m.created_at >= s.created_at
  and (:all or s.session_key in (${visibleKeys}))`

/** Each with `usage`, JSON: the responses, and the calls of models beside them. */
const used = `select m.session_id, m.created_at, m.usage, coalesce(t.model, '') as model
  ${countedMessages.replace(' where', ' left join turns t on t.id = m.turn_id where')} and m.usage is not null
  union all select a.session_id, a.created_at, a.usage, a.model
  from auxiliary_calls a left join sessions s on s.id = a.session_id
  where a.created_at >= :since and (:all or s.session_key in (${visibleKeys}))`

const sumOf = (kind: string) => `coalesce(sum(json_extract(usage, '$.${kind}')), 0)`
const tokens = `${sumOf('inputTokens')} + ${sumOf('outputTokens')}`
const spent = `${sumOf('cost')} as cost, coalesce(sum(case when json_extract(usage, '$.cost') is null
  then json_extract(usage, '$.inputTokens') + json_extract(usage, '$.outputTokens')
  else json_extract(usage, '$.unpricedTokens') end), 0) as unpricedTokens`

const countTotals = `select count(distinct m.session_id) as sessions,
  coalesce(sum(m.role in ('user', 'assistant')), 0) as messages ${countedMessages}`

const countTokens = `select ${sumOf('inputTokens')} as inputTokens, ${sumOf('outputTokens')} as outputTokens, ${spent} from (${used})`

const countDays = `select date(created_at / 1000, 'unixepoch', 'localtime') as day,
  count(distinct session_id) as sessions, ${tokens} as tokens, ${spent} from (${used}) group by day order by day`

const countModels = `select model, ${tokens} as tokens, ${spent} from (${used})
  where model <> '' group by model order by tokens desc, model limit 5`

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
        ...db.prepare(countTokens).get(counted),
        days: db.prepare(countDays).all(counted),
        models: db.prepare(countModels).all(counted),
        tools: db.prepare(countTools).all(counted),
      }
    }
    const { limit, match, id = null } = request
    return match === undefined
      ? db.prepare(listSessions).all({ ...keys, limit, id })
      : db.prepare(searchMessages).all({ ...keys, limit, match })
  } finally {
    db.close()
  }
}

parentPort?.on('message', (request: ThreadRequest) => {
  try {
    parentPort?.postMessage({ answer: read(request) })
  } catch (error) {
    parentPort?.postMessage(toProblem(error))
  }
})
