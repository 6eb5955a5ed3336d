/**
 * SQL that loses data, where it is given to a database client.
 */

import { sourceText } from '../field.ts'
import { requireApproval } from '../rule-match.ts'
import type { CommandRule } from '../simple-command.ts'

const clients =
  /^(?:psql|mysql|mariadb|sqlite3|sqlcmd|duckdb|cockroach|clickhouse-client|clickhouse|pgcli|mycli|usql|isql)$/

export const databases: CommandRule = ({ name, args, input }) => {
  if (!clients.test(name)) return undefined
  const piped = input.kind === 'text' || input.kind === 'pipe' ? (input.text ?? '') : ''
  const sql = `${args.map(sourceText).join(' ')}\n${piped}`
  if (/\bdrop\s+(?:table|database|schema)\b/i.test(sql))
    return requireApproval('sql-drop', 'drops a table or a database')
  if (/\btruncate\b/i.test(sql)) return requireApproval('sql-truncate', 'empties a table')
  const deletesAll = sql
    .split(';')
    .some((statement) => /\bdelete\s+from\b/i.test(statement) && !/\bwhere\b/i.test(statement))
  return deletesAll ? requireApproval('sql-delete', 'deletes every row of a table') : undefined
}
