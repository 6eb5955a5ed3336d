/**
 * Finds the turns of a conversation.
 */
import { query, rows, sql, type Transaction } from '../store/query.ts'

const selectTurns = query((db, p: { turn: string; ids: string }) =>
  db
    .selectFrom('turns')
    .select('id')
    .where('session_key', '=', (turns) => turns.selectFrom('turns').select('session_key').where('id', '=', p.turn))
    .where(({ eb }) => eb('id', 'in', sql<string>`(select value from json_each(${p.ids}))`)),
)

/** Returns those of the turns `ids` that belong to the conversation of the turn `turn`. */
export function* turnsOfSameConversation(turn: string, ids: readonly string[]): Transaction<ReadonlySet<string>> {
  return new Set((yield* rows(selectTurns, { turn, ids: JSON.stringify(ids) })).map(({ id }) => id))
}
